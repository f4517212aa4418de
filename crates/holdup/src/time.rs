//! Times and durations on the command line.

use crate::failure::Failure;
use trace::{Ns, Selection};

/// Units, longer names first so that `ms` is not read as `s`.
const UNITS: [(&str, Ns); 7] = [
    ("min", 60_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ns", 1),
    ("s", 1_000_000_000),
];

/// Parses `1.5s`, `200ms`, `900us`; a bare number is seconds. Exact: no floating point.
pub fn parse(text: &str) -> Result<Ns, String> {
    let trimmed = text.trim();
    let with_unit = UNITS.iter().find_map(|(name, unit)| Some((trimmed.strip_suffix(name)?, *unit)));
    let (number, unit) = with_unit.unwrap_or((trimmed, 1_000_000_000));
    decimal(number.trim_end(), unit).ok_or_else(|| {
        String::from("not a time; write it like 1.5s, 200ms, 900us or 50ns (a bare number is seconds)")
    })
}

/// Refuses a time span that ends before it starts.
pub fn check(selection: &Selection) -> Result<(), Failure> {
    match (selection.from, selection.to) {
        (Some(from), Some(to)) if from > to => Err(Failure::Message(String::from(
            "--from is later than the end of the time to look at; swap them",
        ))),
        _ => Ok(()),
    }
}

/// A decimal number of units; digits beyond a nanosecond are dropped.
fn decimal(number: &str, unit: Ns) -> Option<Ns> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let whole: Ns = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // The longest unit has eleven digits, so eighteen decimals are more than enough.
    let mut part = 0;
    let mut weight = i128::from(unit) * 1_000_000_000_000_000_000;
    for digit in fraction.bytes().take(18) {
        weight /= 10;
        part += weight * i128::from(digit - b'0');
    }
    let part = Ns::try_from(part / 1_000_000_000_000_000_000).ok()?;
    whole.checked_mul(unit)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn times_are_exact() {
        let cases = [
            ("1.5s", 1_500_000_000),
            ("200ms", 200_000_000),
            ("0.412s", 412_000_000),
            ("900us", 900_000),
            ("900 µs", 900_000),
            ("50ns", 50),
            ("2min", 120_000_000_000),
            ("0.412345678", 412_345_678),
            (".5", 500_000_000),
            ("3", 3_000_000_000),
            ("1.0000000019", 1_000_000_001),
        ];
        for (text, ns) in cases {
            assert_eq!(parse(text), Ok(ns), "{text}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["", ".", "s", "-1s", "1e9", "1.5.2s", "1,5s", "99999999999999s", "ten", "+1s"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
