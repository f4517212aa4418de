//! Printed durations and counts.

use trace::Ns;

/// Reads `4.95 ms`, `5,287,895,575` or `1.5e+03s`; `unit` is that of the column, for a number without one.
pub(super) fn duration(text: &str, unit: Option<Ns>) -> Option<Ns> {
    let text = text.trim().replace(',', "");
    if let Some(ns) = quantity::duration(&text).or_else(|| quantity::duration(&plain(&text)?)) {
        return Ns::try_from(ns).ok();
    }
    let number: f64 = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)?;
    let ns = number * unit? as f64;
    (ns < Ns::MAX as f64).then_some(ns.round() as Ns)
}

/// The same duration without an exponent: nvprof prints `1.5e+03s`.
fn plain(text: &str) -> Option<String> {
    let at = text.find(['e', 'E'])?;
    let end = text[at..].find(|c: char| c.is_alphabetic() && !matches!(c, 'e' | 'E'))? + at;
    let number: f64 =
        text[..end].trim().parse().ok().filter(|number: &f64| *number >= 0.0 && *number < 1e15)?;
    Some(format!("{number:.6}{}", &text[end..]))
}

/// Nanoseconds of a unit of time.
pub(super) fn unit(name: &str) -> Option<Ns> {
    Some(match name {
        "ns" | "nsec" | "nanoseconds" => 1,
        "us" | "usec" | "µs" | "μs" | "microseconds" => 1_000,
        "ms" | "msec" | "milliseconds" => 1_000_000,
        "s" | "sec" | "seconds" => 1_000_000_000,
        _ => return None,
    })
}

/// Reads `1,479,834`.
pub(super) fn count(text: &str) -> Option<u64> {
    let digits = text.trim().replace(',', "");
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// Whether a text is a share: `98.41%`, `NaN%`, or in tables of nsys `98.4`. Nested times may add up to more than all.
pub(super) fn is_share(text: &str) -> bool {
    let text = text.trim();
    let number = text.trim_end_matches('%').trim_end();
    let is_marked = number.len() < text.len();
    match number.parse::<f64>() {
        Ok(number) if number.is_nan() => is_marked,
        Ok(number) => number >= 0.0 && number.is_finite() && (is_marked || number <= 100.5),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_and_without_a_unit() {
        let cases = [
            ("4.95 ms", None, Some(4_950_000)),
            ("953.67 ns", None, Some(953)),
            ("86.9692s", None, Some(86_969_200_000)),
            ("1.5e+03s", None, Some(1_500_000_000_000)),
            ("5,287,895,575", Some(1), Some(5_287_895_575)),
            ("0.5", Some(1_000), Some(500)),
            ("12", None, None),
            ("-1 ms", None, None),
            ("NaN", Some(1), None),
            ("1e400", Some(1), None),
            ("", Some(1), None),
            ("ms", Some(1), None),
        ];
        for (text, unit, ns) in cases {
            assert_eq!(duration(text, unit), ns, "{text}");
        }
        assert_eq!((count("1,479,834"), count("12.5"), count("")), (Some(1_479_834), None, None));
        assert!(is_share("98.41%") && is_share("NaN%") && is_share("0") && !is_share("12.1us"));
    }
}
