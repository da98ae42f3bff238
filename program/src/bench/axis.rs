//! The range of an axis, where its ticks are, and what stands beside them.

/// Magnitudes beyond this, or below its inverse on a logarithmic axis, are not drawn: they are accidents, and nothing
/// between them and the rest could be told apart.
const LARGEST: f64 = 1e30;
/// Ranges narrower than this part of their magnitude are drawn as one value.
const NARROWEST: f64 = 1e-6;
/// A logarithmic axis spans at least this factor.
const LEAST_FACTOR: f64 = 1.5;
/// Intervals between ticks that a linear axis has at most, and decades that a logarithmic axis labels at most.
const MOST: f64 = 6.0;
/// Nearness in which a place on the axis counts as on a tick, in intervals.
const NEAR: f64 = 1e-9;

/// How values become places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Equal differences are equally far.
    Linear,
    /// Equal ratios are equally far; only values above zero have a place.
    Log,
}

/// Whether a value has a place on an axis of this scale.
pub(crate) fn drawable(value: f64, scale: Scale) -> bool {
    match scale {
        Scale::Linear => value.abs() <= LARGEST,
        Scale::Log => (1.0 / LARGEST..=LARGEST).contains(&value),
    }
}

/// What an axis shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Range {
    /// A range that holds all values, which must be [`drawable`], with some room: a linear one ends at ticks.
    pub(crate) fn new(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let (low, high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = match scale {
            Scale::Linear if low > high => (0.0, 1.0),
            Scale::Linear => linear_range(low, high),
            Scale::Log if low > high => (1.0, 10.0),
            Scale::Log => log_range(low, high),
        };
        Self { scale, low, high }
    }

    /// Where a value is, from 0 at the low end to 1 at the high end.
    pub(crate) fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        }
    }

    pub(crate) fn ticks(&self) -> Vec<f64> {
        ticks_between(self.scale, self.low, self.high)
    }
}

fn linear_range(low: f64, high: f64) -> (f64, f64) {
    let magnitude = low.abs().max(high.abs());
    let room = if magnitude < 1.0 / LARGEST { 1.0 } else { magnitude / 2.0 };
    let (low, high) = if high - low <= magnitude * NARROWEST || magnitude < 1.0 / LARGEST {
        (low - room, high + room)
    } else {
        (low, high)
    };
    let step = step(low, high);
    (step.tick((low / step.size() + NEAR).floor()), step.tick((high / step.size() - NEAR).ceil()))
}

fn log_range(low: f64, high: f64) -> (f64, f64) {
    let widening = (LEAST_FACTOR / (high / low)).max(1.0).sqrt();
    let (low, high) = (low / widening, high * widening);
    let room = (high / low).powf(0.05);
    (low / room, high * room)
}

/// A distance between ticks: 1, 2 or 5 times a power of ten.
#[derive(Clone, Copy, Debug)]
struct Step {
    digit: f64,
    power: i32,
}

impl Step {
    fn size(self) -> f64 {
        decimal(self.digit, self.power)
    }

    /// The tick of this number, to the last place: 3 × 0.1 is 0.3.
    fn tick(self, number: f64) -> f64 {
        // Without the sign of a zero, which would be shown.
        decimal(number * self.digit, self.power) + 0.0
    }
}

/// The smallest step that cuts the range into at most [`MOST`] intervals.
fn step(low: f64, high: f64) -> Step {
    let least = (high - low) / MOST;
    let power = least.log10().floor() as i32;
    let steps = [(1.0, power), (2.0, power), (5.0, power), (1.0, power + 1)];
    let mut steps = steps.map(|(digit, power)| Step { digit, power }).into_iter();
    steps.find(|step| step.size() >= least * (1.0 - NEAR)).unwrap_or(Step { digit: 2.0, power: power + 1 })
}

/// digits·10^power, rounded once, as no product with a power of ten beyond 10²² would be.
fn decimal(digits: f64, power: i32) -> f64 {
    format!("{digits}e{power}").parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
/// Where ticks are between two values, ascending; none if the values are not in order or have no place on the axis.
///
/// A linear axis has them at multiples of 1, 2 or 5 times a power of ten, with at most six intervals. A logarithmic
/// axis has them at powers of ten, of at most six decades or every second, third …; where it has fewer than three of
/// those, at 1, 2 and 5 times powers of ten; where it has fewer than three of those, as a linear one.
pub(crate) fn ticks(scale: Scale, low: f64, high: f64) -> Vec<f64> {
    // Written so that NaN is refused too.
    let in_order = low < high && drawable(low, scale) && drawable(high, scale);
    if !in_order || high - low < 1.0 / LARGEST / LARGEST {
        return Vec::new();
    }
    ticks_between(scale, low, high)
}

fn ticks_between(scale: Scale, low: f64, high: f64) -> Vec<f64> {
    match scale {
        Scale::Linear => linear_ticks(low, high),
        Scale::Log => log_ticks(low, high),
    }
}

fn linear_ticks(low: f64, high: f64) -> Vec<f64> {
    let step = step(low, high);
    let first = (low / step.size() - NEAR).ceil();
    let last = (high / step.size() + NEAR).floor();
    // Counted, so that a range far from zero cannot make an endless loop.
    let count = (last - first).clamp(-1.0, 2.0 * MOST) as i64;
    (0..=count).map(|number| step.tick(first + number as f64)).collect()
}

fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let first = (low.log10() - NEAR).ceil() as i32;
    let last = (high.log10() + NEAR).floor() as i32;
    let every = (f64::from(last - first) / MOST).ceil().max(1.0) as i32;
    let decades: Vec<f64> =
        (first..=last).filter(|power| power.rem_euclid(every) == 0).map(|power| decimal(1.0, power)).collect();
    if decades.len() >= 3 {
        return decades;
    }
    let within = |value: &f64| (low * (1.0 - NEAR)..=high * (1.0 + NEAR)).contains(value);
    let digits = |power: i32| [1.0, 2.0, 5.0].map(|digit| decimal(digit, power));
    let finer: Vec<f64> = (first - 1..=last).flat_map(digits).filter(within).collect();
    if finer.len() >= 3 { finer } else { linear_ticks(low, high) }
}

/// A tick's number: plain where that is short, otherwise with a power of ten.
pub(crate) fn label(value: f64) -> String {
    if value == 0.0 || (1e-3..1e5).contains(&value.abs()) {
        return format!("{value}").replace('-', "−");
    }
    let text = format!("{value:e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let power: String = power.chars().map(superscript).collect();
    match digits {
        "1" => format!("10{power}"),
        "-1" => format!("−10{power}"),
        _ => format!("{}·10{power}", digits.replace('-', "−")),
    }
}

fn superscript(letter: char) -> char {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    letter.to_digit(10).and_then(|digit| digits.get(digit as usize).copied()).unwrap_or('⁻')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_are_round_numbers() {
        assert_eq!(ticks(Scale::Linear, 0.0, 1.0), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!(ticks(Scale::Linear, 0.0, 0.6), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
        assert_eq!(ticks(Scale::Linear, -3.0, 17.0), [0.0, 5.0, 10.0, 15.0]);
        assert_eq!(ticks(Scale::Linear, 1234.0, 1236.5), [1234.0, 1234.5, 1235.0, 1235.5, 1236.0, 1236.5]);
        assert_eq!(ticks(Scale::Linear, -2e-5, 2e-5), [-2e-5, -1e-5, 0.0, 1e-5, 2e-5]);
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten_or_finer_where_there_are_few() {
        assert_eq!(ticks(Scale::Log, 1e-3, 1e1), [1e-3, 1e-2, 1e-1, 1e0, 1e1]);
        assert_eq!(ticks(Scale::Log, 0.9, 1100.0), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(ticks(Scale::Log, 80.0, 1300.0), [100.0, 200.0, 500.0, 1000.0]);
        assert_eq!(ticks(Scale::Log, 1.05, 1.9), [1.2, 1.4, 1.6, 1.8]);
        assert_eq!(ticks(Scale::Log, 1e-12, 1e12), [1e-12, 1e-8, 1e-4, 1e0, 1e4, 1e8, 1e12]);
    }

    #[test]
    fn ranges_that_are_none_have_no_ticks() {
        for (low, high) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (0.0, 1e300)] {
            assert_eq!(ticks(Scale::Linear, low, high), [0.0; 0]);
        }
        assert_eq!(ticks(Scale::Log, 0.0, 1.0), [0.0; 0]);
        assert_eq!(ticks(Scale::Log, -1.0, 1.0), [0.0; 0]);
    }

    #[test]
    fn there_are_always_a_few_ticks_and_all_are_within() {
        for scale in [Scale::Linear, Scale::Log] {
            for low in [1e-30, 3.3e-7, 0.02, 1.0, 77.0, 9.99e5, 1e29] {
                for factor in [1.00001, 1.3, 2.0, 5.5, 10.0, 99.0, 1e4, 1e11, 1e59] {
                    let high = f64::min(low * factor, 1e30);
                    let range = Range::new(scale, [low, high].into_iter());
                    let ticks = range.ticks();
                    assert!((3..=9).contains(&ticks.len()), "{scale:?} {low} to {high}: {ticks:?}");
                    for tick in ticks {
                        let place = range.place(tick);
                        assert!((-1e-6..=1.0 + 1e-6).contains(&place), "{scale:?} {low} to {high}: {tick} at {place}");
                    }
                }
            }
        }
    }

    #[test]
    fn ranges_hold_their_values_with_room() {
        let range = Range::new(Scale::Linear, [0.3, 9.1].into_iter());
        assert_eq!((range.low, range.high), (0.0, 10.0));
        assert_eq!(range.place(2.5), 0.25);
        let range = Range::new(Scale::Linear, [0.0, 10.0].into_iter());
        assert_eq!((range.low, range.high), (0.0, 10.0));
        let range = Range::new(Scale::Log, [1.0, 1e4].into_iter());
        assert!((range.place(100.0) - 0.5).abs() < 1e-12);
        // 5 % of the decades at each end.
        assert!((range.place(1.0) - 0.05 / 1.1).abs() < 1e-12);
    }

    #[test]
    fn one_value_is_in_the_middle_and_none_is_no_trouble() {
        for value in [-4.0, 0.0, 1e-40, 4.0, 1e30] {
            let range = Range::new(Scale::Linear, [value, value].into_iter());
            let place = range.place(value);
            assert!((0.25..=0.75).contains(&place), "{value} at {place} of {range:?}");
        }
        for value in [1e-30, 1.0, 7.5, 1e30] {
            let place = Range::new(Scale::Log, [value].into_iter()).place(value);
            assert!((place - 0.5).abs() < 1e-9, "{value} at {place}");
        }
        assert_eq!(Range::new(Scale::Linear, std::iter::empty()).ticks().len(), 6);
        assert_eq!(Range::new(Scale::Log, std::iter::empty()).ticks(), [1.0, 2.0, 5.0, 10.0]);
    }

    #[test]
    fn labels_are_short() {
        let found = [0.0, 0.3, -2.5, 20_000.0, 1e5, 2.5e-4, 1e-12, -1e6].map(label);
        assert_eq!(found, ["0", "0.3", "−2.5", "20000", "10⁵", "2.5·10⁻⁴", "10⁻¹²", "−10⁶"]);
    }
}
