//! What the suite `paper` adds to a result file: curves that are no times, findings, and how a run ended.

use serde_json::{Value, json};

use crate::bench::read::{Object, ReadError};

/// What figures 3 and 6 measured, and the numbers to set beside the paper's.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Paper {
    /// Curves of one figure stand together.
    pub(crate) curves: Vec<Curve>,
    /// In the order of the figures.
    pub(crate) findings: Vec<Finding>,
}

/// A curve of a figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    /// The figure, as in `3a`.
    pub(crate) figure: String,
    /// What it is, for the legend.
    pub(crate) name: String,
    /// Along the horizontal axis, with its unit.
    pub(crate) x_title: String,
    /// Along the vertical axis, with its unit.
    pub(crate) y_title: String,
    /// Places along the horizontal axis.
    pub(crate) x: Vec<f64>,
    /// As many values.
    pub(crate) y: Vec<f64>,
}

/// A number to set beside the paper's.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    /// The figure.
    pub(crate) figure: String,
    /// What it is, with its unit if it has one.
    pub(crate) name: String,
    /// The number.
    pub(crate) value: f64,
    /// The paper's number; `None` where it prints none.
    pub(crate) paper: Option<f64>,
}

/// How a run of the suite ended, and what was searched for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Detail {
    /// How it ended.
    pub(crate) ending: Ending,
    /// Why it failed, if it did.
    pub(crate) reason: Option<String>,
    /// Length of its steps \[s\]; `None` where the solver cuts frames itself.
    pub(crate) step_seconds: Option<f64>,
    /// Stiffness of its springs \[N/m\]; `None` without springs.
    pub(crate) stiffness: Option<f64>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Every frame within the limit.
    Held,
    /// To the end, but over the limit.
    Missed,
    /// The method gave up at every step size tried.
    Failed,
    /// Given up by the clock; times and strains are those of the part that was done.
    OverBudget,
}

impl Ending {
    const ALL: [Self; 4] = [Self::Held, Self::Missed, Self::Failed, Self::OverBudget];

    /// In a word or two, as in the file.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Missed => "missed",
            Self::Failed => "failed",
            Self::OverBudget => "over budget",
        }
    }
}

impl Paper {
    pub(crate) fn json(&self) -> Value {
        json!({
            "curves": self.curves.iter().map(Curve::json).collect::<Vec<_>>(),
            "findings": self.findings.iter().map(Finding::json).collect::<Vec<_>>(),
        })
    }

    pub(crate) fn read(object: &Object<'_>) -> Result<Self, ReadError> {
        Ok(Self {
            curves: object.objects("curves")?.iter().map(Curve::read).collect::<Result<_, _>>()?,
            findings: object.objects("findings")?.iter().map(Finding::read).collect::<Result<_, _>>()?,
        })
    }
}

impl Curve {
    fn json(&self) -> Value {
        json!({
            "figure": self.figure,
            "name": self.name,
            "x_title": self.x_title,
            "y_title": self.y_title,
            "x": self.x,
            "y": self.y,
        })
    }

    fn read(object: &Object<'_>) -> Result<Self, ReadError> {
        let curve = Self {
            figure: object.text("figure")?,
            name: object.text("name")?,
            x_title: object.text("x_title")?,
            y_title: object.text("y_title")?,
            x: object.amounts("x")?,
            y: object.amounts("y")?,
        };
        if curve.x.len() != curve.y.len() {
            return Err(object.wrong("y", "as long as x"));
        }
        Ok(curve)
    }
}

impl Finding {
    fn json(&self) -> Value {
        json!({ "figure": self.figure, "name": self.name, "value": self.value, "paper": self.paper })
    }

    fn read(object: &Object<'_>) -> Result<Self, ReadError> {
        Ok(Self {
            figure: object.text("figure")?,
            name: object.text("name")?,
            value: object.number("value")?,
            paper: object.or_null("paper", Object::number)?,
        })
    }
}

impl Detail {
    pub(crate) fn json(&self) -> Value {
        json!({
            "ending": self.ending.words(),
            "reason": self.reason,
            "step_seconds": self.step_seconds,
            "stiffness": self.stiffness,
        })
    }

    pub(crate) fn read(object: &Object<'_>) -> Result<Self, ReadError> {
        let words = object.text("ending")?;
        let ending = Ending::ALL.into_iter().find(|ending| ending.words() == words);
        Ok(Self {
            ending: ending.ok_or_else(|| object.wrong("ending", "held, missed, failed or over budget"))?,
            reason: object.or_null("reason", Object::text)?,
            step_seconds: object.or_null("step_seconds", Object::amount)?,
            stiffness: object.or_null("stiffness", Object::amount)?,
        })
    }
}
