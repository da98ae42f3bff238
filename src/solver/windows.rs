//! Windows around pins: parts of yarns, projected by themselves ([`crate::mesh::windows`] says which and why).
//!
//! One dispatch does all passes, one after another, by a single workgroup: as dispatches of their own they would be
//! some twenty, each of less work than a dispatch costs. Where springs are solved along diagonals, passes of these come
//! in between ([`diagonals`]), and it is one for each of their turns. The arithmetic is that of whole yarns
//! ([`yarn_projection`]); a piece of a yarn between two pins keeps the strain that its whole yarn keeps.

use std::ops::Range;

use crate::engine::cpu::Run;
use crate::engine::fields::{Domain, Fields, Spec};
use crate::engine::layout::GROUP;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::Source;
use crate::error::Result;
use crate::mesh::topology::Topology;
use crate::mesh::windows::{MOST_PASSES, Pass, Piece, Windows};
use crate::mesh::yarns::YarnRow;
use crate::solver::diagonals;
use crate::solver::lawful_yarns::PROJECT_LAWFUL_WINDOWS;
use crate::solver::line_solve::YarnView;
use crate::solver::yarn_projection;
use crate::stage::Recorder;

static SOURCE: Source =
    Source::new("windows", include_str!("../../shaders/windows.wgsl")).shares(&[&yarn_projection::SOURCE]);

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
pub(super) const AMPLIFICATION: f32 = 1024.0;

/// Records the passes around pins, where there are any.
pub(crate) fn record(recorder: &mut Recorder<'_>) {
    let Some(windows) = recorder.windows() else { return };
    // As a part of a cloth that has so many pieces, which is what the vertices they move are of its vertices.
    let plain = windows.passes[..windows.plain as usize].last().map_or(0, |pass| pass.pieces.end as usize);
    let whole = plain * recorder.sizes().vertices() / windows.work().max(1);
    let kernel = if recorder.sizes().lawful() { &PROJECT_LAWFUL_WINDOWS } else { &PROJECT_WINDOWS };
    let yarns = |recorder: &mut Recorder<'_>, passes: Range<u32>| {
        dispatch_passes(recorder, kernel, &windows.passes, passes, whole as u32);
    };
    if recorder.about.moment.diagonals {
        for turn in &windows.turns {
            diagonals::record_pieces(recorder, &windows.diagonal_passes, turn.diagonals.clone());
            yarns(recorder, turn.yarns.clone());
        }
    } else {
        yarns(recorder, 0..windows.plain);
    }
}

/// Launches a kernel on a range of passes, which it gets as its first two arguments.
pub(super) fn dispatch_passes(
    recorder: &mut Recorder<'_>,
    kernel: &'static Kernel,
    passes: &[Pass],
    range: Range<u32>,
    whole: u32,
) {
    let chosen = &passes[range.start as usize..range.end as usize];
    if let (Some(first), Some(last)) = (chosen.first(), chosen.last()) {
        let pieces = first.pieces.start..last.pieces.end;
        recorder.dispatch_slice(kernel, pieces, whole, [range.start, range.end, 0, 0], &[]);
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
pub(crate) fn fill(windows: &Windows, topology: &Topology, fields: &mut Fields) -> Result<()> {
    let yarns = &topology.yarns.yarns;
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
    for (row, piece) in fields.get_mut::<YarnRow>("diagonal_pieces")?.iter_mut().zip(&windows.diagonal_pieces) {
        let (first, count) = (piece.edges.start, piece.edges.len() as u32);
        *row = YarnRow { first, count, closed: 0, whole_first: first, whole_count: count };
    }
    fill_passes(fields.get_mut("window_passes")?, &windows.passes, &windows.pieces);
    fill_passes(fields.get_mut("diagonal_passes")?, &windows.diagonal_passes, &windows.diagonal_pieces);
    Ok(())
}

/// Fills the table of passes; those beyond the last do nothing.
fn fill_passes(rows: &mut [[u32; 4]], passes: &[Pass], pieces: &[Piece]) {
    rows.fill([0, 0, 1, 0]);
    for (row, pass) in rows.iter_mut().zip(passes) {
        *row = [pass.pieces.start, pass.pieces.end, lanes(pass, pass.longest(pieces)), pass.held];
    }
}

/// The pieces of a dispatch, pass by pass.
pub(super) fn passes_of<'a>(run: &mut Run<'a>) -> Result<impl Iterator<Item = &'a [YarnRow]> + use<'a>> {
    let ([first, end, ..], range) = (run.arguments(), run.range());
    let table = run.read::<[u32; 4]>("window_passes")?;
    let pieces = run.read::<YarnRow>("yarns")?;
    // A part of the pieces is asked for where it is tested that those of a pass do not depend on each other.
    let part = move |[first, end, ..]: &[u32; 4]| range.start.max(*first as usize)..range.end.min(*end as usize);
    let passes = &table[first as usize..end as usize];
    Ok(passes.iter().map(move |pass| pieces.get(part(pass)).unwrap_or_default()))
}

fn project_windows_body(run: &mut Run<'_>) -> Result<()> {
    let passes = passes_of(run)?;
    yarn_projection::project(&YarnView::of(run)?, passes);
    Ok(())
}
