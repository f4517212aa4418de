//! Printed amounts: numbers with a unit, read exactly, and their largest rounding error.

use trace::Ns;

/// A decimal number that only the printer has rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: i64,
    /// Number of decimals; negative with a positive exponent.
    scale: i32,
}

impl Decimal {
    /// The number that `text` starts with, and its unit, which follows.
    pub(super) fn parse(text: &str) -> Option<(Decimal, &str)> {
        let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
        let whole = digits(0);
        let (mut end, mut fraction) = (whole, 0);
        if text[end..].starts_with('.') {
            fraction = digits(end + 1);
            end += 1 + fraction;
        }
        if whole + fraction == 0 {
            return None;
        }
        let number: String = text[..end].chars().filter(|c| *c != '.').collect();
        let (exponent, end) = exponent(text, end);
        let scale = i32::try_from(fraction).ok()?.checked_sub(exponent)?;
        Some((Decimal { digits: number.parse().ok()?, scale }, &text[end..]))
    }

    /// The number times `unit`, rounded to the nearest integer.
    pub(super) fn times(self, unit: i64) -> Option<i64> {
        let product = i128::from(self.digits) * i128::from(unit);
        let power = |scale: i32| 10i128.checked_pow(scale.unsigned_abs());
        let exact = match self.scale {
            // A 64-bit number with a hundred decimals is 0.
            scale if scale > 0 => power(scale).map_or(0, |power| (product + power / 2) / power),
            scale => product.checked_mul(power(scale)?)?,
        };
        i64::try_from(exact).ok()
    }

    /// Half of its last place times `unit`: the largest rounding error of the printed number.
    pub(super) fn half(self, unit: i64) -> i64 {
        let half = i128::from(unit) / 2;
        let power = 10i128.checked_pow(self.scale.unsigned_abs());
        let half = match self.scale {
            scale if scale > 0 => power.map_or(0, |power| half / power),
            _ => power.and_then(|power| half.checked_mul(power)).unwrap_or(i128::MAX),
        };
        i64::try_from(half).unwrap_or(i64::MAX)
    }

    /// The number as floating point, for comparisons that need not be exact.
    pub(super) fn approximately(self) -> f64 {
        self.digits as f64 / 10f64.powi(self.scale)
    }
}

/// The exponent `e+03` at `at`, and where it ends; nvprof prints long times with it.
fn exponent(text: &str, at: usize) -> (i32, usize) {
    let Some(rest) = text[at..].strip_prefix(['e', 'E']) else { return (0, at) };
    let signed = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    let digits = signed.bytes().take_while(u8::is_ascii_digit).count();
    let number = &rest[..rest.len() - signed.len() + digits];
    match (digits, number.parse()) {
        (1..=3, Ok(exponent)) => (exponent, text.len() - rest.len() + number.len()),
        _ => (0, at),
    }
}

/// Nanoseconds of a unit of time, in the spelling of nvprof and nsys.
pub(super) fn time_unit(unit: &str) -> Option<Ns> {
    Some(match unit {
        "ns" | "nsec" => 1,
        "us" | "usec" | "µs" | "μs" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        _ => return None,
    })
}

/// A duration or a time and half of its last place, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time {
    pub(super) ns: Ns,
    pub(super) half: Ns,
}

impl Time {
    /// Reads `605.51ms`, or a bare number if the column has the unit.
    pub(super) fn parse(text: &str, unit: Option<Ns>) -> Option<Time> {
        let (number, written) = Decimal::parse(text)?;
        let unit = if written.is_empty() { unit? } else { time_unit(written)? };
        Some(Time { ns: number.times(unit)?, half: number.half(unit) })
    }
}

/// The factor between a printer's units of size: 1000 or 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thousand {
    Decimal,
    Binary,
}

/// A size whose prefix may mean powers of 1000 or of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    number: Decimal,
    /// The power of the factor: 2 for `MB`.
    power: u32,
    /// Whether the unit states that the factor is 1024 (`MiB`).
    binary: bool,
}

impl Size {
    /// Reads `1.3750MB`, `5.8111GB/s`, or a bare number if the column has the unit.
    pub(super) fn parse(text: &str, unit: Option<&str>) -> Option<Size> {
        let (number, written) = Decimal::parse(text)?;
        let unit = if written.is_empty() { unit? } else { written };
        let unit = unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps")).unwrap_or(unit);
        let (power, rest) = match unit.as_bytes().first()? {
            b'K' | b'k' => (1, &unit[1..]),
            b'M' => (2, &unit[1..]),
            b'G' => (3, &unit[1..]),
            b'T' => (4, &unit[1..]),
            _ => (0, unit),
        };
        let binary = match rest {
            "B" | "b" | "byte" | "bytes" => false,
            "iB" => true,
            _ => return None,
        };
        Some(Size { number, power, binary })
    }

    /// The size in bytes.
    pub(super) fn bytes(self, thousand: Thousand) -> Option<i64> {
        let base: i64 = if self.binary || thousand == Thousand::Binary { 1024 } else { 1000 };
        self.number.times(base.checked_pow(self.power)?)
    }

    /// The factor with which this size in `duration` gives `rate`: if the two have different prefixes, only one factor
    /// fits.
    pub(super) fn thousand(self, rate: Size, duration: Ns) -> Option<Thousand> {
        let steps = rate.power.checked_sub(self.power).filter(|steps| *steps > 0)?;
        let (size, rate) = (self.number.approximately(), rate.number.approximately());
        if duration <= 0 || size <= 0.0 || rate <= 0.0 {
            return None;
        }
        let ratio = size / (duration as f64 / 1e9) / rate;
        let thousand = ratio.powf(1.0 / f64::from(steps));
        // Three numbers of five digits are far more exact than the 2.4 % between the two factors.
        [(1000.0, Thousand::Decimal), (1024.0, Thousand::Binary)]
            .into_iter()
            .find(|(of, _)| (thousand / of - 1.0).abs() < 0.005)
            .map(|(_, answer)| answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_and_know_their_last_place() {
        let time = |text| Time::parse(text, None).map(|time| (time.ns, time.half));
        assert_eq!(time("605.51ms"), Some((605_510_000, 5_000)));
        assert_eq!(time("6.04460s"), Some((6_044_600_000, 5_000)));
        assert_eq!(time("348ns"), Some((348, 0)));
        assert_eq!(time("1.5e+03s"), Some((1_500_000_000_000, 50_000_000_000)));
        assert_eq!(Time::parse("0.000001", Some(1_000)), Some(Time { ns: 0, half: 0 }));
        for text in
            ["", "ms", "-", "1.5", "4 threads", "1.5elapsed", "99999999999999999999s", "1e99s", "1e+999s"]
        {
            assert_eq!(time(text), None, "{text}");
        }
    }

    #[test]
    fn a_rate_determines_the_factor() {
        let size = |text| Size::parse(text, None).unwrap();
        let thousand = |bytes, rate, ns| size(bytes).thousand(size(rate), ns);
        assert_eq!(thousand("1.3750MB", "5.8111GB/s", 231_070), Some(Thousand::Binary));
        assert_eq!(thousand("409.60KB", "3.0167GB/s", 135_780), Some(Thousand::Decimal));
        assert_eq!(thousand("1.00KB", "1.00KB/s", 1_000_000_000), None);
        assert_eq!(thousand("1.00KB", "9.00GB/s", 1_000), None);
        assert_eq!(size("1.3750MB").bytes(Thousand::Binary), Some(352 * 1024 * 4));
        assert_eq!(size("409.60KB").bytes(Thousand::Decimal), Some(409_600));
        assert_eq!(Size::parse("4.194", Some("MB")).unwrap().bytes(Thousand::Decimal), Some(4_194_000));
        assert_eq!(Size::parse("1", Some("MiB")).unwrap().bytes(Thousand::Decimal), Some(1 << 20));
        assert_eq!(Size::parse("1MX", None), None);
        assert_eq!(Size::parse("é", None), None);
    }
}
