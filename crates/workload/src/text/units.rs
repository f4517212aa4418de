//! Sizes and times with their units.

/// Units of sizes with their bytes, the largest first.
const SIZES: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1000),
    ("B", 1),
];

/// Units of times with their nanoseconds, the largest first.
const TIMES: [(&str, u64); 6] =
    [("min", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1000), ("µs", 1000), ("ns", 1)];

/// Bytes of a size as in `64 MiB`.
pub fn size(text: &str) -> Option<u64> {
    quantity(text, &SIZES)
}

/// Nanoseconds of a time as in `10 ms`.
pub fn time(text: &str) -> Option<u64> {
    quantity(text, &TIMES)
}

/// A decimal number and a unit, with or without a space between, if together they are a whole number.
fn quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = (&text[..unit_at], text[unit_at..].trim_start_matches(' '));
    let scale = units.iter().find(|(name, _)| *name == unit)?.1;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let ten = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let number = whole.parse::<u128>().ok()?.checked_mul(ten)?.checked_add(fraction.parse().ok()?)?;
    let scaled = number.checked_mul(scale.into())?;
    if !scaled.is_multiple_of(ten) {
        return None;
    }
    u64::try_from(scaled / ten).ok()
}

/// A size as TOML, in the largest power of 1024 that it is a multiple of.
pub fn write_size(bytes: u64) -> String {
    let binary = SIZES.iter().filter(|(unit, _)| unit.ends_with("iB"));
    written(bytes, binary).unwrap_or_else(|| format!("\"{bytes} B\""))
}

/// A time as TOML, in the largest unit up to the second that it is a multiple of.
pub fn write_time(ns: u64) -> String {
    let ascii = TIMES.iter().filter(|(unit, _)| unit.is_ascii() && *unit != "min");
    written(ns, ascii).unwrap_or_else(|| format!("\"{ns} ns\""))
}

fn written<'u>(number: u64, mut units: impl Iterator<Item = &'u (&'static str, u64)>) -> Option<String> {
    let (unit, scale) = units.find(|(_, scale)| number != 0 && number.is_multiple_of(*scale))?;
    Some(format!("\"{} {unit}\"", number / scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_exactly_or_not_at_all() {
        assert_eq!(size("64 MiB"), Some(64 << 20));
        assert_eq!(size("1.375MiB"), Some(1_441_792));
        assert_eq!(size("256 MB"), Some(256_000_000));
        assert_eq!(time("0.5 µs"), Some(500));
        assert_eq!(time("10 ms"), Some(10_000_000));
        for wrong in
            ["", "64", "MiB", "64 mib", "1.5 B", ".5 s", "1. s", "-1 s", "1e3 s", "64  \tMiB", "1..5 s"]
        {
            assert_eq!(size(wrong).or(time(wrong)), None, "{wrong}");
        }
        assert_eq!(size("16777216 TiB"), None, "2^64");
        assert_eq!(size("16777215 TiB"), Some(u64::MAX - ((1 << 40) - 1)));
        assert_eq!(time(&format!("0.{} s", "0".repeat(60))), None, "more digits than there is room for");
    }

    #[test]
    fn quantities_are_written_as_people_would() {
        assert_eq!(write_size(64 << 20), "\"64 MiB\"");
        assert_eq!(write_size(1_441_792), "\"1408 KiB\"");
        assert_eq!(write_size(1000), "\"1000 B\"");
        assert_eq!(write_size(0), "\"0 B\"");
        assert_eq!(write_time(1_500_000), "\"1500 us\"");
        assert_eq!(write_time(60_000_000_000), "\"60 s\"");
    }
}
