//! `taut bench paper`: figures 1 to 6 of Goldenthal et al. 2007, *Efficient Simulation of Inextensible Cloth*, measured
//! again, with this crate's own solvers beside the methods of the paper.
//!
//! | Module | Figure |
//! |---|---|
//! | `figures` | runs all of them |
//! | `relaxed` | 1: how deep a patch hangs |
//! | `singular` | 2: four steps that SHAKE cannot do |
//! | `residual` | 3: what is left of the equation of motion |
//! | `attempt` | 4 and 5: the methods that are compared, each at its own step |
//! | `shape` | 6: fast projection against ICD |
//! | `draw` | shapes of 1 and 6 |
//! | [`tell`] | tables and plots |
//! | [`record`] | what a result file gets |
//!
//! Figure 4 is the chain of the paper, figures 5 and 6 its cloth that falls on a ball. Collisions come last in a step
//! of the methods of the paper, so that their strain is measured before them; ours hold the limit behind them, too.
//!
//! Every method ends every step at the limit (equal rules: [`Settings::middle_strain`](taut::Settings::middle_strain)),
//! on one thread; times on the CPU are those that the thread really ran.
//!
//! The methods of the paper are those of `taut::reference`, so that only programs built with the feature `validate` run
//! them; every program reads and tells what one of those has found.

#[cfg(feature = "validate")]
mod attempt;
#[cfg(feature = "validate")]
mod draw;
#[cfg(feature = "validate")]
mod figures;
pub(crate) mod record;
#[cfg(feature = "validate")]
mod relaxed;
#[cfg(feature = "validate")]
mod residual;
#[cfg(feature = "validate")]
mod shape;
#[cfg(feature = "validate")]
mod singular;
pub(crate) mod tell;

#[cfg(not(feature = "validate"))]
use {
    super::Options,
    crate::bench::{results::ResultFile, suites::Place},
    anyhow::Result,
    taut::Cancel,
};

#[cfg(feature = "validate")]
pub(crate) use figures::run;

/// Runs nothing: [`bench`](super::bench) has refused to.
#[cfg(not(feature = "validate"))]
pub(crate) fn run(_: &Options, _: &[Place], _: &mut ResultFile, _: &Cancel) -> Result<Vec<(String, String)>> {
    Ok(Vec::new())
}

/// Suites of the rows.
pub(crate) const CHAIN: &str = "paper-4";
pub(crate) const CLOTH: &str = "paper-5";

/// The method of the paper, as rows name it.
const FAST: &str = "f64 fast projection";
