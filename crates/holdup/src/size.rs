//! Sizes on the command line.

/// Units, longest name first; powers of 1000, as disks are sold.
const UNITS: [(&str, u64); 5] =
    [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000), ("B", 1)];

/// Parses `4GB`, `500MB`; a bare number is bytes.
pub fn parse(text: &str) -> Result<u64, String> {
    let upper = text.trim().to_ascii_uppercase();
    let with_unit = UNITS.iter().find_map(|(name, unit)| Some((upper.strip_suffix(name)?, *unit)));
    let (number, unit) = with_unit.unwrap_or((&upper, 1));
    let bytes = number.trim_end().parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    bytes.ok_or_else(|| String::from("not a size; write it like 4GB or 500MB (a bare number is bytes)"))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sizes_have_units() {
        assert_eq!((parse("4GB"), parse("500 mb"), parse("7")), (Ok(4_000_000_000), Ok(500_000_000), Ok(7)));
        for wrong in ["", "GB", "-1", "1.5GB", "99999999999TB"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
