//! Windows around pins: parts of yarns, projected by themselves ([`crate::mesh::windows`] says which and why).
//!
//! One dispatch does all passes, one after another, by a single workgroup: as dispatches of their own they would be
//! some twenty, each of less work than a dispatch costs. The arithmetic is that of whole yarns ([`yarn_projection`]); a
//! piece of a yarn between two pins keeps the strain that its whole yarn keeps.

use crate::engine::cpu::Run;
use crate::engine::fields::{Domain, Fields, Spec};
use crate::engine::layout::GROUP;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::mesh::topology::Topology;
use crate::mesh::windows::{MOST_PASSES, Pass};
use crate::mesh::yarns::YarnRow;
use crate::solver::line_solve::YarnView;
use crate::solver::yarn_projection;
use crate::stage::Recorder;
use crate::stage::recorder::Around;

static SOURCE: Source = Source::new("windows", include_str!("../../shaders/windows.wgsl"))
    .constants(&[("MOST_PASSES", Constant::U32(MOST_PASSES as u32))])
    .shares(&[&yarn_projection::SOURCE]);

/// Its fields.
pub(crate) const FIELDS: &[Spec] = &[
    Spec::of::<YarnRow>("pieces", Domain::PIECES, "pieces of yarns around pins, pass by pass").exact(),
    Spec::of::<[u32; 4]>(
        "window_passes",
        Domain::Fixed(MOST_PASSES),
        "first piece, one past the last, lanes per piece, how many are of yarns between two pins",
    )
    .exact(),
];

/// Projects all pieces, pass by pass.
pub(crate) static PROJECT_WINDOWS: Kernel = Kernel::new("project_windows", &SOURCE, project_windows_body)
    .pattern(Pattern::Passes)
    .aliases(&[("yarns", "pieces")])
    .amplification(AMPLIFICATION);

/// As a line solve, for some twenty of them on top of each other.
const AMPLIFICATION: f32 = 1024.0;

/// Records the passes around pins, where there are any.
pub(crate) fn record(recorder: &mut Recorder<'_>) {
    let Around { passes, pieces, work } = recorder.windows();
    if passes > 0 {
        // As a part of a cloth that has so many pieces, which is what the vertices they move are of its vertices.
        let whole = pieces as u64 * recorder.sizes().vertices() as u64 / u64::from(work.max(1));
        recorder.dispatch_slice(&PROJECT_WINDOWS, 0..pieces, whole as u32, [0, passes, 0, 0], &[]);
    }
}

/// Invocations that share a piece: as many as there are, but no more than make the runs shorter than the separators'
/// system is long.
fn lanes(pass: &Pass, longest: u32) -> u32 {
    let group = GROUP as u32;
    let most = group / (pass.pieces.len() as u32).clamp(1, group);
    // Those of yarns between two pins must be projected together.
    let together = group / pass.held.clamp(1, group);
    let useful = longest.isqrt().max(most);
    1 << useful.min(together).ilog2()
}

/// Fills the fields.
///
/// # Errors
/// [`Error::Field`](crate::error::Error::Field) if there is none of their names.
pub(crate) fn fill(topology: &Topology, fields: &mut Fields) -> Result<()> {
    let (windows, yarns) = (&topology.windows, &topology.yarns.yarns);
    for (row, piece) in fields.get_mut::<YarnRow>("pieces")?.iter_mut().zip(&windows.pieces) {
        let whole = &yarns[piece.yarn as usize];
        *row = YarnRow {
            first: piece.edges.start,
            count: piece.edges.len() as u32,
            closed: (whole.closed && piece.edges == whole.edges).into(),
            whole_first: whole.edges.start,
            whole_count: whole.edges.len() as u32,
        };
    }
    for (row, pass) in fields.get_mut::<[u32; 4]>("window_passes")?.iter_mut().zip(&windows.passes) {
        let Pass { pieces, held } = pass;
        *row = [pieces.start, pieces.end, lanes(pass, windows.longest(pass)), *held];
    }
    Ok(())
}

fn project_windows_body(run: &mut Run<'_>) -> Result<()> {
    let (passes, range) = (run.arguments()[1] as usize, run.range());
    let table = run.read::<[u32; 4]>("window_passes")?;
    let pieces = run.read::<YarnRow>("yarns")?;
    // A part of the pieces is asked for where it is tested that those of a pass do not depend on each other.
    let part = |[first, end, ..]: &[u32; 4]| range.start.max(*first as usize)..range.end.min(*end as usize);
    let passes = table[..passes].iter().map(|pass| pieces.get(part(pass)).unwrap_or_default());
    yarn_projection::project(&YarnView::of(run)?, passes);
    Ok(())
}
