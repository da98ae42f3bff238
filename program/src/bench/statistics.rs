//! Statistics of samples that do not follow a normal distribution: times have a long tail towards slow, so the median
//! and its relatives stand for them, never the mean.
//!
//! Every function answers `None` for what has no answer: no values, or one that is NaN or infinite.

/// A normal distribution's standard deviation over its median absolute deviation, 1/Φ⁻¹(3/4) = 1.4826. A spread of
/// [`deviation`] times this is comparable with a standard deviation; one slow outlier does not move it.
pub(crate) const SIGMAS_PER_DEVIATION: f64 = 1.4826;

/// The middle value, or the mean of the two middle ones.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values)?;
    let middle = sorted.len() / 2;
    Some(if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    } else {
        sorted[middle]
    })
}

/// The value below which `part` of the values lie, 0 ≤ `part` ≤ 1: 0.05 is p05, 0.95 is p95.
///
/// Interpolates linearly between the neighbours of the place `part`·(n − 1), counted from 0 in the sorted values: type
/// 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages" (1996), which is also NumPy's and R's default. Of
/// ten samples p05 is therefore between the smallest two, and of one sample every percentile is that sample.
pub(crate) fn percentile(values: &[f64], part: f64) -> Option<f64> {
    let sorted = sorted(values)?;
    if !(0.0..=1.0).contains(&part) {
        return None;
    }
    let place = part * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let [low, high] = [sorted[below], sorted[(below + 1).min(sorted.len() - 1)]];
    Some(low + (high - low) * (place - place.floor()))
}

/// The median absolute deviation (MAD): the median distance of the values from their median, in their unit. It is the
/// bare median, without the factor [`SIGMAS_PER_DEVIATION`].
pub(crate) fn deviation(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    median(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<_>>())
}

/// How one thing grows with another: y ∝ x^exponent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Growth {
    /// The slope of ln y against ln x by least squares.
    pub(crate) exponent: f64,
    /// Standard error of the exponent; `None` for two points, through which every line goes exactly.
    pub(crate) error: Option<f64>,
    /// The factor c of y = c·x^exponent.
    pub(crate) factor: f64,
}

/// Fits y = c·x^p by least squares of ln y against ln x.
///
/// With centred u = ln x − mean and v = ln y − mean, p = Σuv/Σu², and its standard error is √(Σ(v − pu)²/((n − 2)Σu²)).
/// `None` if the lists differ in length, have fewer than two points or only one x, or if a value is not finite and
/// above zero.
pub(crate) fn growth(x: &[f64], y: &[f64]) -> Option<Growth> {
    let usable = |value: &f64| value.is_finite() && *value > 0.0;
    if x.len() != y.len() || x.len() < 2 || !x.iter().chain(y).all(usable) || x.iter().all(|value| *value == x[0]) {
        return None;
    }
    let (mean_u, u) = centred(x);
    let (mean_v, v) = centred(y);
    let squares: f64 = u.iter().map(|u| u * u).sum();
    if squares == 0.0 {
        return None;
    }
    let exponent = u.iter().zip(&v).map(|(u, v)| u * v).sum::<f64>() / squares;
    let residual: f64 = u.iter().zip(&v).map(|(u, v)| (v - exponent * u).powi(2)).sum();
    let error = (x.len() > 2).then(|| (residual / ((x.len() - 2) as f64 * squares)).sqrt());
    Some(Growth { exponent, error, factor: (mean_v - exponent * mean_u).exp() })
}

/// The mean of the logarithms, and how far each is from it.
fn centred(values: &[f64]) -> (f64, Vec<f64>) {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    (mean, logarithms.iter().map(|value| value - mean).collect())
}

/// In ascending order; `None` if there are none or one is not finite.
fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(sorted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: Option<f64>, expected: f64) {
        let found = found.expect("a value");
        assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{found} instead of {expected}");
    }

    #[test]
    fn the_median_is_the_middle_in_any_order() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[7.0]), Some(7.0));
    }

    #[test]
    fn percentiles_interpolate_between_neighbours() {
        // numpy.percentile([1, 2, 4, 8, 16], [5, 50, 95, 100]) = [1.2, 4, 14.4, 16].
        let values = [16.0, 1.0, 8.0, 2.0, 4.0];
        close(percentile(&values, 0.05), 1.2);
        close(percentile(&values, 0.5), 4.0);
        close(percentile(&values, 0.95), 14.4);
        close(percentile(&values, 0.0), 1.0);
        close(percentile(&values, 1.0), 16.0);
        close(percentile(&[3.0], 0.95), 3.0);
        assert_eq!(percentile(&values, 1.01), None);
        assert_eq!(percentile(&values, f64::NAN), None);
    }

    #[test]
    fn one_outlier_does_not_move_the_deviation() {
        // Distances from 2 are 1, 1, 0, 0, 2, 4, 7.
        assert_eq!(deviation(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), Some(1.0));
        assert_eq!(deviation(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9e9]), Some(1.0));
        assert_eq!(deviation(&[5.0]), Some(0.0));
    }

    #[test]
    fn the_deviation_of_a_normal_distribution_times_its_factor_is_one_sigma() {
        // Quantiles of the normal distribution with σ = 3.
        let quantiles: Vec<f64> = (1..1000).map(|k| 3.0 * normal_quantile(f64::from(k) / 1000.0)).collect();
        let sigma = deviation(&quantiles).expect("values") * SIGMAS_PER_DEVIATION;
        assert!((sigma - 3.0).abs() < 0.005, "{sigma}");
    }

    /// Solves Φ(z) = p by bisection, with Φ by Simpson's rule.
    fn normal_quantile(p: f64) -> f64 {
        let density = |z: f64| (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
        let distribution = |z: f64| {
            let h = z / 200.0;
            let inner: f64 = (1..200).map(|i| density(h * f64::from(i)) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
            0.5 + h / 3.0 * (density(0.0) + inner + density(z))
        };
        let (mut low, mut high) = (-5.0, 5.0);
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if distribution(middle) < p { low = middle } else { high = middle }
        }
        low
    }

    #[test]
    fn an_exact_power_is_found_without_error() {
        let x = [10.0, 20.0, 40.0, 80.0];
        let y = x.map(|x: f64| 0.25 * x.powf(1.5));
        let growth = growth(&x, &y).expect("a fit");
        close(Some(growth.exponent), 1.5);
        close(Some(growth.factor), 0.25);
        assert!(growth.error.expect("an error") < 1e-12);
    }

    #[test]
    fn the_error_of_the_exponent_is_that_of_linear_regression() {
        // ln x = 0, 1, 2, 3 and ln y = 0, 2, 1, 3: Σuv/Σu² = 4/5, residual 1.8, √(1.8/(2·5)) = 0.42426.
        let e = std::f64::consts::E;
        let growth = growth(&[1.0, e, e.powi(2), e.powi(3)], &[1.0, e.powi(2), e, e.powi(3)]).expect("a fit");
        close(Some(growth.exponent), 0.8);
        close(growth.error, 0.18_f64.sqrt());
    }

    #[test]
    fn two_points_give_an_exponent_without_error() {
        let growth = growth(&[1.0, 2.0], &[3.0, 12.0]).expect("a fit");
        close(Some(growth.exponent), 2.0);
        assert_eq!(growth.error, None);
    }

    #[test]
    fn what_has_no_answer_is_none() {
        for values in [&[][..], &[1.0, f64::NAN], &[f64::INFINITY], &[1.0, f64::NEG_INFINITY]] {
            assert_eq!(median(values), None);
            assert_eq!(percentile(values, 0.5), None);
            assert_eq!(deviation(values), None);
        }
        let good = [1.0, 2.0, 3.0];
        assert!(growth(&good, &good).is_some());
        for bad in [&[][..], &[1.0, 2.0], &[2.0, 2.0, 2.0], &[1.0, 2.0, f64::NAN], &[0.0, 1.0, 2.0], &[-1.0, 1.0, 2.0]]
        {
            assert_eq!(growth(bad, &good), None, "{bad:?}");
        }
        assert_eq!(growth(&[1.0], &[1.0]), None);
    }
}
