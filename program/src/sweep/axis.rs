//! What `--set` and `--seeds` ask for: keys with their values, and the list of runs that they span.

use anyhow::{Result, bail, ensure};
use serde_json::{Map, Value};
use taut::scene::file::Change;

/// Values of one axis, and runs of a sweep, at most.
const MOST: u64 = 10_000_000;
/// Digits of the numbers between the ends of a range: libraries differ in the last bits of a power, and lists are the
/// same on all machines.
const DIGITS: usize = 9;

/// A key of the scene and its values, as TOML.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) key: String,
    pub(super) values: Vec<String>,
}

impl Axis {
    /// Reads what is on the right of `--set KEY=`.
    ///
    /// # Errors
    /// A sentence.
    pub(super) fn new(key: &str, text: &str) -> Result<Self> {
        let values = match text.split_once(':') {
            Some(("lin", range)) => spaced(range, |from, to, part| from + (to - from) * part),
            Some(("log", range)) => {
                let values = spaced(range, |from, to, part| from * (to / from).powf(part));
                let spans = |values: &Vec<f64>| values.iter().all(|value| *value > 0.0 && value.is_finite());
                values.and_then(|values| spans(&values).then_some(values).ok_or("the ends of log: are above 0"))
            }
            _ => Ok(Vec::new()),
        };
        let refused = |problem: &str| anyhow::anyhow!("--set {key}={text}: {problem}");
        let mut values: Vec<String> = values.map_err(refused)?.into_iter().map(number).collect();
        if values.is_empty() {
            values = split(text);
        }
        ensure!(values.iter().all(|value| !value.is_empty()), "--set {key}={text} has an empty value");
        for (index, value) in values.iter().enumerate() {
            ensure!(!values[..index].contains(value), "--set {key}={text} has {value} twice");
        }
        Ok(Self { key: key.to_owned(), values })
    }
}

/// Whole numbers without a point, so that they can stand for counts too.
fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { (value as i64).to_string() } else { format!("{value:?}") }
}

/// Numbers of `FROM..TO:COUNT`, both ends included.
fn spaced(range: &str, between: impl Fn(f64, f64, f64) -> f64) -> Result<Vec<f64>, &'static str> {
    const FORM: &str = "must be FROM..TO:COUNT, as 0.05..0.5:8";
    let (ends, count) = range.rsplit_once(':').ok_or(FORM)?;
    let (from, to) = ends.split_once("..").ok_or(FORM)?;
    let [from, to] = [from, to].map(|end| end.trim().parse::<f64>().ok().filter(|end| end.is_finite()));
    let (Some(from), Some(to)) = (from, to) else { return Err(FORM) };
    let count: u32 = count.trim().parse().map_err(|_| FORM)?;
    if !(2..=100_000).contains(&count) {
        return Err("COUNT must be in 2 … 100000");
    }
    let last = count - 1;
    let value = |index| match index {
        0 => from,
        index if index == last => to,
        index => {
            let value = between(from, to, f64::from(index) / f64::from(last));
            format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value)
        }
    };
    Ok((0..count).map(value).collect())
}

/// Parts between commas that are neither in brackets nor in quotes.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut depth, mut quote) = (0_i32, None);
    for letter in text.chars() {
        match letter {
            '"' | '\'' if quote.is_none() => quote = Some(letter),
            letter if quote == Some(letter) => quote = None,
            '[' | '{' if quote.is_none() => depth += 1,
            ']' | '}' if quote.is_none() => depth -= 1,
            ',' if quote.is_none() && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

/// Reads `--seeds`: numbers and ranges with commas between them; both ends of a range are in it.
pub(super) fn seeds(text: &str) -> Result<Vec<u64>, String> {
    const FORM: &str = "must be seeds with commas between them, or a range, as 1..1000";
    let mut seeds = Vec::new();
    for part in text.split(',') {
        let (from, to) = part.split_once("..").unwrap_or((part, part));
        let [from, to] = [from, to].map(|end| end.trim().parse::<u64>());
        let (Ok(from), Ok(to)) = (from, to) else { return Err(FORM.to_owned()) };
        if from > to || to - from >= MOST {
            return Err(format!("{part} has no seeds, or more than {MOST}"));
        }
        seeds.extend(from..=to);
    }
    let mut sorted = seeds.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("{} is there twice", pair[0])),
        None => Ok(seeds),
    }
}

/// All runs: each value of each axis with each of the others. The last axis changes from run to run, then the one
/// before it; seeds come after all axes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct List {
    pub(super) axes: Vec<Axis>,
    /// None, or one for each start noise.
    pub(super) seeds: Vec<u64>,
    count: u64,
}

/// What one run has of its own.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setting {
    pub(super) changes: Vec<Change>,
    pub(super) seed: Option<u64>,
}

impl List {
    /// # Errors
    /// A sentence, if a key has two axes or there are too many runs.
    pub(super) fn new(axes: Vec<Axis>, seeds: Vec<u64>) -> Result<Self> {
        let changed = |axis: &Axis| Change { key: axis.key.clone(), value: String::new() };
        for (index, axis) in axes.iter().enumerate() {
            let other = axes[..index].iter().find(|other| changed(other).meets(&changed(axis)));
            let Some(Axis { key: other, .. }) = other else { continue };
            let key = &axis.key;
            ensure!(key != other, "--set {key} is there twice; its values have commas between them");
            bail!("--set {other} and --set {key} are one value of the cloth");
        }
        let counts = axes.iter().map(|axis| axis.values.len()).chain([seeds.len().max(1)]);
        let count = counts.map(|count| count as u64).try_fold(1_u64, u64::checked_mul).filter(|count| *count <= MOST);
        let count = count.ok_or_else(|| anyhow::anyhow!("these are more than {MOST} runs"))?;
        Ok(Self { axes, seeds, count })
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The run of a number below [`List::count`].
    pub(super) fn setting(&self, run: u64) -> Setting {
        let mut rest = run;
        let mut digit = |base: usize| {
            let base = base as u64;
            let digit = rest % base;
            rest /= base;
            digit as usize
        };
        let seed = if self.seeds.is_empty() { None } else { Some(self.seeds[digit(self.seeds.len())]) };
        let change =
            |axis: &Axis| Change { key: axis.key.clone(), value: axis.values[digit(axis.values.len())].clone() };
        let mut changes: Vec<Change> = self.axes.iter().rev().map(change).collect();
        changes.reverse();
        Setting { changes, seed }
    }

    /// Runs among which each value of each axis occurs: the first, and one for every other value.
    pub(super) fn representatives(&self) -> Vec<u64> {
        let mut stride = self.seeds.len().max(1) as u64;
        let mut runs = vec![0];
        for axis in self.axes.iter().rev() {
            let values = axis.values.len() as u64;
            runs.extend((1..values).map(|value| value * stride));
            stride *= values;
        }
        runs
    }
}

impl Setting {
    /// As rows have it: numbers as numbers.
    pub(super) fn json(&self) -> Value {
        let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| text.into());
        let changes = self.changes.iter().map(|change| (change.key.clone(), value(&change.value)));
        changes.chain(self.seed.map(|seed| ("seed".to_owned(), seed.into()))).collect::<Map<_, _>>().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        Axis::new("a.b", text).map_or_else(|error| vec![error.to_string()], |axis| axis.values)
    }

    #[test]
    fn values_are_lists_or_ranges() {
        assert_eq!(values("1e-6,1e-5"), ["1e-6", "1e-5"]);
        assert_eq!(values("[0, -9.81, 0], [0,-1.6,0]"), ["[0, -9.81, 0]", "[0,-1.6,0]"]);
        assert_eq!(values("\"a,b\",c"), ["\"a,b\"", "c"]);
        assert_eq!(values("lin:1..3:3"), ["1", "2", "3"]);
        assert_eq!(values("lin:0..0.3:4"), ["0", "0.1", "0.2", "0.3"]);
        assert_eq!(values("lin:3..1:2"), ["3", "1"]);
        assert_eq!(values("log:0.001..1:4"), ["0.001", "0.01", "0.1", "1"]);
        assert_eq!(values("log:0.05..0.5:3"), ["0.05", "0.158113883", "0.5"]);
        // A word before a colon that is no range.
        assert_eq!(values("up:2"), ["up:2"]);
        for (text, expected) in [
            ("lin:1..3", "FROM..TO:COUNT"),
            ("lin:1:3", "FROM..TO:COUNT"),
            ("lin:a..3:3", "FROM..TO:COUNT"),
            ("lin:1..inf:3", "FROM..TO:COUNT"),
            ("lin:1..3:1", "COUNT must be in"),
            ("log:0..1:3", "above 0"),
            ("log:-1..1:3", "above 0"),
            ("1,,2", "an empty value"),
            ("1,2,1", "has 1 twice"),
            ("lin:1..1:2", "has 1 twice"),
        ] {
            assert!(values(text)[0].contains(expected), "{text}: {:?}", values(text));
        }
    }

    #[test]
    fn seeds_are_ranges_with_both_ends() {
        assert_eq!(seeds("1..4"), Ok(vec![1, 2, 3, 4]));
        assert_eq!(seeds("7, 2..3"), Ok(vec![7, 2, 3]));
        for text in ["", "x", "1..", "3..1", "1,2..4,3", "-1", "0..18446744073709551615"] {
            assert!(seeds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_list_is_the_product_and_the_last_axis_is_the_fastest() {
        let axes = || vec![Axis::new("a", "1,2").unwrap(), Axis::new("b", "x,y,z").unwrap()];
        let list = List::new(axes(), vec![5, 6]).unwrap();
        let all: Vec<String> = (0..list.count()).map(|run| list.setting(run).json().to_string()).collect();
        assert_eq!(all.len(), 12);
        assert_eq!(all[0], r#"{"a":1,"b":"x","seed":5}"#);
        assert_eq!(all[1], r#"{"a":1,"b":"x","seed":6}"#);
        assert_eq!(all[2], r#"{"a":1,"b":"y","seed":5}"#);
        assert_eq!(all[11], r#"{"a":2,"b":"z","seed":6}"#);
        let seen: Vec<&str> = list.representatives().iter().map(|run| all[*run as usize].as_str()).collect();
        for value in ["\"a\":1", "\"a\":2", "\"x\"", "\"y\"", "\"z\""] {
            assert!(seen.iter().any(|run| run.contains(value)), "{value}: {seen:?}");
        }
        assert_eq!(List::new(Vec::new(), Vec::new()).unwrap().count(), 1);
        assert!(List::new([axes(), axes()].concat(), Vec::new()).is_err());
        let long = Axis { key: "a".into(), values: (0..4000).map(|value| value.to_string()).collect() };
        let other = Axis { key: "b".into(), ..long.clone() };
        assert!(List::new(vec![long, other], Vec::new()).is_err());
    }
}
