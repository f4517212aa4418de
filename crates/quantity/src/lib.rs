//! Sizes and durations with their units: the one grammar of command lines, lab settings and workload files.
//!
//! [`size`] and [`duration`] parse a quantity, [`exact_size`] and [`exact_duration`] print one. A quantity is a decimal
//! number and a unit, with or without spaces between them. Units ignore case. Integer arithmetic keeps every value
//! exact.
//!
//! ```
//! assert_eq!(quantity::size("64MiB"), Some(67_108_864));
//! assert_eq!(quantity::size("1.5 GiB"), Some(1_610_612_736));
//! assert_eq!(quantity::duration("1.5s"), Some(1_500_000_000));
//! assert_eq!(quantity::duration("200us"), Some(200_000));
//! assert_eq!(quantity::exact_size(1_441_792), "1408 KiB");
//! ```

/// Bytes of each unit of size, the largest first. As in coreutils and Docker, `K` to `T` without `B` are powers of 1024.
const SIZES: [(&str, u64); 13] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("T", 1 << 40),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("G", 1 << 30),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("M", 1 << 20),
    ("KiB", 1 << 10),
    ("kB", 1_000),
    ("K", 1 << 10),
    ("B", 1),
];

/// Nanoseconds of each unit of time, the largest first. The micro sign and the Greek letter are two characters.
const TIMES: [(&str, u64); 7] = [
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ns", 1),
];

/// Bytes of a size such as `64 MiB`, `1.5GB` or `2g`; a bare number is bytes. `None` if the text is not a size, not a
/// whole number of bytes, or does not fit 64 bits.
pub fn size(text: &str) -> Option<u64> {
    let (number, unit) = split(text);
    let scale = if unit.is_empty() { 1 } else { scale_of(unit, &SIZES)? };
    scaled(number, scale).filter(|(_, exact)| *exact).map(|(bytes, _)| bytes)
}

/// Nanoseconds of a duration such as `10 ms` or `1.5s`; digits below a nanosecond are dropped. `None` if the text is
/// not a duration, has no unit, or does not fit 64 bits.
pub fn duration(text: &str) -> Option<u64> {
    let (number, unit) = split(text);
    scaled(number, scale_of(unit, &TIMES)?).map(|(ns, _)| ns)
}

/// Like [`duration`], but a bare number is seconds.
pub fn duration_or_seconds(text: &str) -> Option<u64> {
    match split(text) {
        (number, "") => scaled(number, 1_000_000_000).map(|(ns, _)| ns),
        _ => duration(text),
    }
}

/// A size in the largest unit, a power of 1024 bytes, of which it is a multiple: `1408 KiB`.
pub fn exact_size(bytes: u64) -> String {
    exact(bytes, SIZES.iter().filter(|(unit, _)| unit.ends_with('B') && unit.contains('i')), "B")
}

/// A duration in the largest unit, up to the second, of which it is a multiple: `1500 us`.
pub fn exact_duration(ns: u64) -> String {
    exact(ns, TIMES.iter().filter(|(unit, _)| unit.is_ascii() && *unit != "min"), "ns")
}

fn exact<'u>(number: u64, mut units: impl Iterator<Item = &'u (&'static str, u64)>, least: &str) -> String {
    match units.find(|(_, scale)| number != 0 && number.is_multiple_of(*scale)) {
        Some((unit, scale)) => format!("{} {unit}", number / scale),
        None => format!("{number} {least}"),
    }
}

/// The number and the unit of a quantity.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..unit_at], text[unit_at..].trim_start())
}

fn scale_of(unit: &str, units: &[(&str, u64)]) -> Option<u64> {
    units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, scale)| *scale)
}

/// A decimal number times `scale`, rounded down, and whether it is exactly that.
fn scaled(number: &str, scale: u64) -> Option<(u64, bool)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // What each digit is worth, until that is no longer a whole number.
    let (mut part, mut worth, mut exact) = (0, u128::from(scale) * DECIMALS, true);
    for digit in fraction.bytes() {
        worth = if worth.is_multiple_of(10) { worth / 10 } else { 0 };
        part += worth * u128::from(digit - b'0');
        exact &= worth > 0 || digit == b'0';
    }
    let exact = exact && part.is_multiple_of(DECIMALS);
    let part = u64::try_from(part / DECIMALS).ok()?;
    Some((whole.checked_mul(scale)?.checked_add(part)?, exact))
}

/// 10²⁴: at least 24 decimals of a unit count.
const DECIMALS: u128 = 1_000_000_000_000_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_exactly_or_not_at_all() {
        let read = [
            ("64 MiB", 64 << 20),
            ("1.375MiB", 1_441_792),
            ("256 MB", 256_000_000),
            ("4GB", 4_000_000_000),
            ("4GiB", 4 << 30),
            ("1.5GB", 1_500_000_000),
            ("2G", 2 << 30),
            ("500m", 500 << 20),
            (" 500 mb ", 500_000_000),
            ("7", 7),
            ("0.5 kB", 500),
            (".5K", 512),
            ("1.50 kB", 1_500),
            ("16777215 TiB", u64::MAX - ((1 << 40) - 1)),
        ];
        for (text, bytes) in read {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for wrong in
            ["", ".", "GB", "-1", "+1 B", "1.5 B", "1,5 GB", "1e3 B", "1..5 KiB", "16777216 TiB", "5 s"]
        {
            assert_eq!(size(wrong), None, "{wrong}");
        }
        assert_eq!(size(&format!("0.{}1 TiB", "0".repeat(60))), None, "less than a byte");
        assert_eq!(size(&format!("1.{} TiB", "0".repeat(60))), Some(1 << 40));
    }

    #[test]
    fn durations_have_units() {
        let read = [
            ("1.5s", 1_500_000_000),
            ("200ms", 200_000_000),
            ("900 µs", 900_000),
            ("900μs", 900_000),
            ("50 NS", 50),
            ("2min", 120_000_000_000),
            (".5s", 500_000_000),
            ("1.0000000019s", 1_000_000_001),
        ];
        for (text, ns) in read {
            assert_eq!(duration(text), Some(ns), "{text}");
        }
        for wrong in
            ["", ".", "s", "3", "-1s", "1e9", "1.5.2s", "1,5s", "99999999999999s", "ten", "+1s", "5 MiB"]
        {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
        assert_eq!(duration_or_seconds("0.412345678"), Some(412_345_678));
        assert_eq!(duration_or_seconds("3"), Some(3_000_000_000));
        assert_eq!(duration_or_seconds("3 ms"), Some(3_000_000));
        assert_eq!(duration_or_seconds(""), None);
    }

    #[test]
    fn quantities_are_written_exactly() {
        for (bytes, text) in [(64 << 20, "64 MiB"), (1_441_792, "1408 KiB"), (1000, "1000 B"), (0, "0 B")] {
            assert_eq!((exact_size(bytes), size(text)), (text.to_owned(), Some(bytes)));
        }
        for (ns, text) in [(1_500_000, "1500 us"), (60_000_000_000, "60 s"), (7, "7 ns"), (0, "0 ns")] {
            assert_eq!((exact_duration(ns), duration(text)), (text.to_owned(), Some(ns)));
        }
    }
}
