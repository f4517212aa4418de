//! Decimal numbers as integers, exactly.

use super::words::{at_least, first, repeat, word};

/// Numbers from here on are refused: sums and differences of two must fit an `i64`.
pub(super) const LIMIT: i64 = 1 << 61;

/// `text` × 10^`shift` as an integer, rounded toward zero; `None` if it is not a number or too large.
#[cold]
pub(super) fn decimal(text: &[u8], shift: u32) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let mut value: i64 = 0;
    let mut seen = false;
    // Number of digits to read after the point; `None` before the point.
    let mut places: Option<u32> = None;
    for &byte in digits {
        match byte {
            b'0'..=b'9' => {
                seen = true;
                match &mut places {
                    Some(0) => continue,
                    Some(left) => *left -= 1,
                    None => {}
                }
                value = value.checked_mul(10)?.checked_add((byte - b'0') as i64)?;
            }
            b'.' if places.is_none() => places = Some(shift),
            b'e' | b'E' if seen => return scientific(text, shift),
            _ => return None,
        }
    }
    if !seen {
        return None;
    }
    let value = value.checked_mul(10i64.pow(places.unwrap_or(shift)))?;
    (value < LIMIT).then_some(if negative { -value } else { value })
}

fn scientific(text: &[u8], shift: u32) -> Option<i64> {
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let value = value * 10f64.powi(shift as i32);
    (value.abs() < LIMIT as f64).then_some(value as i64)
}

/// A number written with digits and at most one point.
pub(super) struct Plain {
    /// Times ten to the asked power, rounded toward zero.
    pub value: u64,
    /// Bytes of its text.
    pub length: usize,
}

/// The number that `text` starts with, × 10^`shift`, `shift` at most 3; `None` unless it starts with a digit, has at
/// most 16 before a point and at most 7 after it, and eight bytes follow each of them.
#[inline]
pub(super) fn plain(text: &[u8], shift: u32) -> Option<Plain> {
    let (digits, mut length) = leading_digits(word(text, 0)?);
    let mut value = number_of(digits, length);
    if length == 0 {
        return None;
    }
    if length == 8 {
        let (digits, more) = leading_digits(word(text, 8)?);
        (value, length) = (value * POWERS[more] + number_of(digits, more), 8 + more);
    }
    let mut kept = 0;
    if *text.get(length)? == b'.' {
        let (digits, places) = leading_digits(word(text, length + 1)?);
        kept = places.min(shift as usize);
        value = value * POWERS[kept] + number_of(digits, kept);
        length += 1 + places;
        if places == 8 {
            return None;
        }
    }
    Some(Plain { value: value * POWERS[shift as usize - kept], length })
}

/// The powers of ten up to the eighth.
const POWERS: [u64; 9] = {
    let mut powers = [1; 9];
    let mut at = 1;
    while at < 9 {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// The values of the digits that a word of text starts with, a byte each, and their number; what follows them is any.
#[inline]
fn leading_digits(word: u64) -> (u64, usize) {
    let digits = word ^ repeat(b'0');
    (digits, first(at_least(digits, 10)).unwrap_or(8))
}

/// The number that the first `count` of `digits` make: pairs of digits, then of pairs, then of fours are joined.
#[inline]
fn number_of(digits: u64, count: usize) -> u64 {
    // Zeros come before the digits: to the low end, where a word has its first bytes.
    let digits = digits.checked_shl(64 - 8 * count as u32).unwrap_or(0);
    let pairs = digits.wrapping_mul((10 << 8) + 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul((100 << 16) + 1) >> 16 & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul((10_000 << 32) + 1) >> 32
}

#[cfg(test)]
mod tests {
    use super::super::Scanner;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn microseconds_keep_every_digit() {
        let ns = |text: &str| decimal(text.as_bytes(), 3);
        assert_eq!(ns("4363758915460.832"), Some(4_363_758_915_460_832));
        assert_eq!(ns("1661938466265032"), Some(1_661_938_466_265_032_000));
        assert_eq!(ns("40.3949"), Some(40_394));
        assert_eq!(ns("-0.5"), Some(-500));
        assert_eq!(ns("1e3"), Some(1_000_000));
        assert_eq!(ns("7."), Some(7_000));
        for bad in ["NaN", "", "-", ".", "1.2.3", "99999999999999999999", "1e99", "null"] {
            assert_eq!(ns(bad), None, "{bad}");
        }
    }

    proptest! {
        /// Numbers are read in one way, whether or not they are plain, and whatever follows them.
        #[test]
        fn a_number_is_what_its_digits_are(
            text in r"-?[0-9]{0,22}(\.[0-9]{0,12})?(e[0-9])?",
            after in r"[,}\] :x.]{1,10}",
            shift in 0u32..4,
        ) {
            let whole = format!("{text}{after}");
            let (mut scanner, mut scalars) = (Scanner::new(whole.as_bytes()), Scanner::new(whole.as_bytes()));
            let scalar = scalars.scalar_or_skip();
            let value = scalar.map(|scalar| scalar.and_then(|scalar| decimal(scalar.digits(), shift)));
            prop_assert_eq!(scanner.number(shift), value);
            prop_assert_eq!(scanner.at(), scalars.at());
        }
    }
}
