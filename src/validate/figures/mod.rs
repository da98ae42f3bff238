//! Small figures with known results, computed through `Cloth` or by single kernels wherever they are asked to: the
//! tests of this repository run them on the CPU and on every adapter, `taut validate` on those it is asked about.
//!
//! *The paper* is Goldenthal et al. 2007, *Efficient Simulation of Inextensible Cloth*. The double-precision
//! counterparts are in [`crate::reference`]. What is asserted to 2e-6 comes from values of order 1 in f32: one rounding
//! is 6e-8, and a figure takes a few tens of operations.
//!
//! A theme is a file with a list; a figure is a function that says what is wrong to a [`Trial`], on whatever place that
//! is. A place has no bounds of its own: what is asserted of a GPU is what is asserted of the CPU, but for results that
//! are exact on the CPU, where nothing is reassociated.

mod areas;
mod contact;
mod edges;
mod elastic;
mod filter;
mod forces;
mod lines;
mod motion;
mod projection;
mod trial;

pub use trial::{Place, Trial};

use super::{Check, Depth, Failure, Seen};

/// A figure with its name.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The theme, which is the name of its file, and its own.
    pub theme: &'static str,
    /// As a check of `taut validate` has it after `figures/`.
    pub name: &'static str,
    body: fn(&mut Trial<'_>) -> Result<(), Failure>,
}

impl Figure {
    /// Computes it there and compares.
    ///
    /// # Errors
    /// The first number that is wrong, in one sentence.
    pub fn run(&self, place: Place<'_>) -> Result<Seen, Failure> {
        let mut trial = Trial::new(place);
        (self.body)(&mut trial)?;
        trial.seen()
    }

    /// The same with a force in the way that the figure does not know: it must fail.
    ///
    /// # Errors
    /// That it did not agree.
    pub fn run_disturbed(&self, place: Place<'_>) -> Result<Seen, Failure> {
        let mut trial = Trial::disturbed(place);
        (self.body)(&mut trial)?;
        trial.seen()
    }
}

type Named = (&'static str, fn(&mut Trial<'_>) -> Result<(), Failure>);

/// All of them, theme by theme.
pub fn figures() -> Vec<Figure> {
    let themes: [(&str, &[Named]); 9] = [
        ("forces", forces::FIGURES),
        ("edges", edges::FIGURES),
        ("projection", projection::FIGURES),
        ("filter", filter::FIGURES),
        ("areas", areas::FIGURES),
        ("motion", motion::FIGURES),
        ("elastic", elastic::FIGURES),
        ("contact", contact::FIGURES),
        ("lines", lines::FIGURES),
    ];
    let one = |theme: &'static str, (name, body): &Named| Figure { theme, name, body: *body };
    themes.into_iter().flat_map(|(theme, list)| list.iter().map(move |figure| one(theme, figure))).collect()
}

pub(super) fn checks(_: Depth) -> Vec<Check> {
    let check = |figure: Figure| {
        Check::new(format!("figures/{}/{}", figure.theme, figure.name), move |subject| {
            figure.run(Place::Gpu(subject.gpu()))
        })
    };
    figures().into_iter().map(check).collect()
}
