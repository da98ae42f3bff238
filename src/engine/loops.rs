//! The kernel that opens loops.

use super::cpu::Run;
use super::program::{Kernel, Pattern};
use super::source::Source;
use crate::error::Result;

static SOURCE: Source = Source::new("loops", include_str!("../../shaders/loops.wgsl"));

/// Starts a loop: it runs if the loop around it does.
pub(super) static OPEN_LOOP: Kernel =
    Kernel::new("open_loop", &SOURCE, open_loop_body).pattern(Pattern::Group).aliases(&[("decisions", "guards")]);

fn open_loop_body(run: &mut Run<'_>) -> Result<()> {
    let [own, parent, ..] = run.arguments();
    let mut decisions = run.write::<u32>("decisions")?;
    decisions[own as usize] = decisions[parent as usize];
    Ok(())
}
