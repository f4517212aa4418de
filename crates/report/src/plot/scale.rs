//! Axes.

use crate::units;

/// Round numbers from zero to at least `most`: about five.
pub(super) fn ticks(most: f64) -> Vec<f64> {
    if !most.is_finite() || most <= 0.0 {
        return vec![0.0, 1.0];
    }
    let raw = most / 5.0;
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].iter().map(|step| step * power).find(|step| *step >= raw);
    let step = step.unwrap_or(raw);
    let count = (most / step).ceil() as usize;
    (0..=count).map(|at| at as f64 * step).collect()
}

/// A tick's number, with as few decimals as possible.
pub(super) fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return units::count(value as u64);
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A measured number: three digits, or all digits of a larger one.
pub(super) fn measured(value: f64) -> String {
    match value.abs() {
        size if size >= 99.95 => number(value.round()),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_the_top() {
        assert_eq!(ticks(3833.0), [0.0, 1000.0, 2000.0, 3000.0, 4000.0]);
        assert_eq!(ticks(0.9), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(0.0), [0.0, 1.0]);
        assert_eq!(ticks(f64::NAN), [0.0, 1.0]);
    }

    #[test]
    fn numbers_have_no_more_decimals_than_they_need() {
        assert_eq!([4000.0, 0.6000000000000001, 2.5].map(number), ["4,000", "0.6", "2.5"]);
        assert_eq!([1976.4, 99.96, 12.34, 3.659].map(measured), ["1,976", "100", "12.3", "3.66"]);
    }
}
