//! Sizes as people write them.

/// Reads `1500`, `20KB`, `10 MB` or `1.5GB`; units are powers of ten.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let unit = match text[digits.len()..].trim().to_ascii_uppercase().as_str() {
        "" | "B" => 1.0,
        "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        other => return Err(format!("unknown unit {other}; use KB, MB or GB")),
    };
    match digits.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok((number * unit) as u64),
        _ => Err("expected a size such as 10MB".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn reads_units_and_refuses_nonsense() {
        assert_eq!(parse("1500"), Ok(1_500));
        assert_eq!(parse("20KB"), Ok(20_000));
        assert_eq!(parse("10 mb"), Ok(10_000_000));
        assert_eq!(parse("1.5GB"), Ok(1_500_000_000));
        for nonsense in ["", "GB", "-1MB", "1TB", "infGB"] {
            assert!(parse(nonsense).is_err(), "{nonsense}");
        }
    }
}
