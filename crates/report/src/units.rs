//! Numbers with their units, as every output writes them.
//!
//! Durations and sizes have three significant digits (`53.8 ms`), larger numbers have thousands separators (`1,163 s`).
//! Arithmetic is in integers, so that the output does not depend on rounding modes, and a listing of a million rows is fast.

use std::fmt::Write;
use trace::Ns;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// A duration with three significant digits: `814 ns`, `12.4 µs`, `53.8 ms`, `1.16 s`, `1,163 s`.
pub fn duration(ns: Ns) -> String {
    let magnitude = ns.unsigned_abs();
    let mut text = if ns < 0 { String::from("-") } else { String::new() };
    match magnitude {
        // The bounds are where rounding to three digits would reach the next unit.
        0..US => {
            push_grouped(&mut text, magnitude);
            text.push_str(" ns");
        }
        US..999_500 => push_scaled(&mut text, magnitude, US, " µs"),
        999_500..999_500_000 => push_scaled(&mut text, magnitude, MS, " ms"),
        _ => push_scaled(&mut text, magnitude, S, " s"),
    }
    text
}

/// A difference with its sign: `+1.80 ms`; `0` for none.
pub fn signed(ns: Ns) -> String {
    match ns {
        0 => String::from("0"),
        1.. => format!("+{}", duration(ns)),
        ..0 => duration(ns),
    }
}

/// Durations in the unit of the first one, and that unit: `["26.5", "33.2"]` and `ms`. They have three digits and at most
/// two decimals, so that a duration that is tiny beside the first is `0.00`.
pub fn durations_alike<const N: usize>(ns: [f64; N]) -> ([String; N], &'static str) {
    let (unit, name) = match ns.first().map_or(0, |first| first.abs().round() as u64) {
        0..US => (1, "ns"),
        US..999_500 => (US, "µs"),
        999_500..999_500_000 => (MS, "ms"),
        _ => (S, "s"),
    };
    (ns.map(|ns| three_digits(ns / unit as f64, 9.995)), name)
}

/// Three digits, at most two decimals, with thousands separators; two decimals only below so much.
fn three_digits(number: f64, two_below: f64) -> String {
    // The bounds are where rounding would add a digit.
    match number.abs() {
        small if small < two_below => format!("{number:.2}"),
        small if small < 99.95 => format!("{number:.1}"),
        large => {
            let mut text = if number < 0.0 { String::from("-") } else { String::new() };
            push_grouped(&mut text, large.round() as u64);
            text
        }
    }
}

/// A duration with two decimals, as the summary tables have it: `397.28 ms`, `1.98 s`; whole nanoseconds have none.
pub fn two_decimals(ns: f64) -> String {
    // 999.995 of a unit would print as 1000.00.
    let reaches = |unit: u64| ns.abs() >= unit as f64 * 0.999_995;
    let (unit, name) = match () {
        () if reaches(S) => (S, "s"),
        () if reaches(MS) => (MS, "ms"),
        () if reaches(US) => (US, "µs"),
        () if ns.fract() == 0.0 => return duration(ns as Ns),
        () => (1, "ns"),
    };
    format!("{} {name}", decimals(ns / unit as f64))
}

/// A number with two decimals and thousands separators.
pub fn decimals(number: f64) -> String {
    let hundredths = (number.abs() * 100.0).round() as u64;
    let mut text = if number < 0.0 && hundredths > 0 { String::from("-") } else { String::new() };
    push_grouped(&mut text, hundredths / 100);
    let _ = write!(text, ".{:02}", hundredths % 100);
    text
}

/// A size: `64 MiB`, `1.50 KiB`, `4 B`.
pub fn bytes(bytes: i64) -> String {
    let mut text = String::new();
    push_bytes(&mut text, bytes);
    text
}

/// A rate in powers of ten, as in data sheets: `16.8 GB/s`; empty if the size or the duration is not positive.
pub fn throughput(bytes: i64, ns: Ns) -> String {
    let mut text = String::new();
    push_throughput(&mut text, bytes, ns);
    text
}

/// A share of 1: `97 %`, `0.4 %`, `<0.1 %`; `100 %` and `0 %` only if it is exactly that.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p <= 0.0 => String::from("0 %"),
        p if p < 0.1 => String::from("<0.1 %"),
        p if p < 0.95 => format!("{p:.1} %"),
        p if (99.5..100.0).contains(&p) => format!("{:.1} %", p.min(99.9)),
        p => format!("{p:.0} %"),
    }
}

/// A share of 1 with two decimals, as in the summary tables: `60.98 %`.
pub fn percent_two_decimals(share: f64) -> String {
    format!("{} %", decimals(share * 100.0))
}

/// A change as a share of 1, with a minus if it is a loss: `26.0 %`, `-0.42 %`, `300 %`, `0 %`.
pub fn change(share: f64) -> String {
    let text = three_digits(share * 100.0, 0.995);
    match text.as_str() {
        "0.00" | "-0.00" => String::from("0 %"),
        _ => text + " %",
    }
}

/// A change as a share of 1 in whole percents, with a minus if it is a loss: `26 %`, `-3 %`, `0 %`.
pub fn whole_percent(share: f64) -> String {
    // No negative zero.
    format!("{:.0} %", (100.0 * share).round() + 0.0)
}

/// A number without a unit, with four significant digits: `0.001235`, `12.35`, `12,346`.
pub fn number(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 || !(1e-6..1e15).contains(&magnitude) {
        return if magnitude == 0.0 { String::from("0") } else { format!("{value:.3e}") };
    }
    // Rounded first, because that may add a digit.
    let rounded: f64 = format!("{magnitude:.3e}").parse().unwrap_or(magnitude);
    let digits = rounded.log10().floor() as i32 + 1;
    let sign = if value < 0.0 { "-" } else { "" };
    match usize::try_from(4 - digits) {
        Ok(decimals) if decimals > 0 => format!("{sign}{magnitude:.decimals$}"),
        _ => {
            let mut text = sign.to_owned();
            push_grouped(&mut text, magnitude.round() as u64);
            text
        }
    }
}

/// A whole number with thousands separators: `3,946`.
pub fn count(number: u64) -> String {
    let mut text = String::new();
    push_grouped(&mut text, number);
    text
}

/// A number with the noun it counts: `1 process`, `3 threads`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

pub(crate) fn push_bytes(text: &mut String, bytes: i64) {
    const UNITS: [&str; 6] = [" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"];
    if bytes < 1024 {
        let _ = write!(text, "{bytes} B");
        return;
    }
    let bytes = bytes as u64;
    let power = (bytes.ilog2() / 10) as usize;
    let unit = 1u64 << (10 * power);
    if bytes.is_multiple_of(unit) {
        push_grouped(text, bytes / unit);
        text.push_str(UNITS[power - 1]);
    } else {
        push_scaled(text, bytes, unit, UNITS[power - 1]);
    }
}

pub(crate) fn push_throughput(text: &mut String, bytes: i64, ns: Ns) {
    if bytes <= 0 || ns <= 0 {
        return;
    }
    // Bytes per nanosecond are GB/s; a million times that are kB/s as whole numbers.
    let kilobytes = u64::try_from(bytes as u128 * 1_000_000 / ns as u128).unwrap_or(u64::MAX);
    match kilobytes {
        0 => text.push_str("<1 kB/s"),
        1..1_000 => push_scaled(text, kilobytes, 1, " kB/s"),
        1_000..999_500 => push_scaled(text, kilobytes, 1_000, " MB/s"),
        _ => push_scaled(text, kilobytes, 1_000_000, " GB/s"),
    }
}

/// Appends a duration with three decimals of µs, ms or s, so that listings align at the point.
pub(crate) fn push_three_decimals(text: &mut String, ns: Ns) {
    let (ns, sign) = (ns.unsigned_abs(), if ns < 0 { "-" } else { "" });
    let (thousandths, unit) = match ns {
        0..MS => (ns, "µs"),
        MS..999_999_500 => ((ns + US / 2) / US, "ms"),
        _ => (ns.saturating_add(MS / 2) / MS, "s"),
    };
    let _ = write!(text, "{sign}{}.{:03} {unit}", thousandths / 1_000, thousandths % 1_000);
}

/// Appends a time in seconds with all nine decimals.
pub(crate) fn push_seconds(text: &mut String, ns: Ns) {
    let (magnitude, sign) = (ns.unsigned_abs(), if ns < 0 { "-" } else { "" });
    let _ = write!(text, "{sign}{}.{:09}", magnitude / S, magnitude % S);
}

/// Appends `value / unit` with three significant digits; the integer part keeps all its digits.
fn push_scaled(text: &mut String, value: u64, unit: u64, name: &str) {
    // Exbibytes times a hundred do not fit in 64 bits.
    let (value, whole) = (u128::from(value), u128::from(unit));
    let rounded = |scale: u128| (value * scale + whole / 2) / whole;
    // Rounding may add a digit (9.996), so the rounded number decides.
    let (scaled, decimals) = match (rounded(100), rounded(10)) {
        (hundredths, _) if unit > 1 && hundredths < 1_000 => (hundredths, 2),
        (_, tenths) if unit > 1 && tenths < 1_000 => (tenths, 1),
        _ => (rounded(1), 0),
    };
    let scale = 10u128.pow(decimals);
    push_grouped(text, (scaled / scale) as u64);
    if decimals > 0 {
        let _ = write!(text, ".{:0width$}", scaled % scale, width = decimals as usize);
    }
    text.push_str(name);
}

fn push_grouped(text: &mut String, number: u64) {
    if number < 1_000 {
        let _ = write!(text, "{number}");
        return;
    }
    push_grouped(text, number / 1_000);
    let _ = write!(text, ",{:03}", number % 1_000);
}

/// A file's size in units of powers of ten, as in file managers: `12 kB`, `1.2 MB`.
pub fn file_size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_a_sign() {
        let cases = [
            (0.26, "26.0 %"),
            (-0.0042, "-0.42 %"),
            (0.00996, "1.0 %"),
            (0.0, "0 %"),
            (-0.00001, "0 %"),
            (0.9996, "100 %"),
            (-12.0, "-1,200 %"),
        ];
        for (share, expected) in cases {
            assert_eq!(change(share), expected);
        }
    }

    #[test]
    fn numbers_have_four_digits() {
        let cases = [
            (0.0, "0"),
            (0.0012346, "0.001235"),
            (9.99996, "10.00"),
            (12.346, "12.35"),
            (-12_345.6, "-12,346"),
            (1e300, "1.000e300"),
        ];
        for (value, expected) in cases {
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn durations_have_three_digits_and_thousands_separators() {
        let cases = [
            (0, "0 ns"),
            (814, "814 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (9_996, "10.0 µs"),
            (12_449, "12.4 µs"),
            (99_960, "100 µs"),
            (100_000, "100 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (53_812_345, "53.8 ms"),
            (999_499_999, "999 ms"),
            (999_500_000, "1.00 s"),
            (1_163_180_000, "1.16 s"),
            (12_345_678_900, "12.3 s"),
            (3_600_000_000_000, "3,600 s"),
            (-53_812_345, "-53.8 ms"),
            (Ns::MAX, "9,223,372,037 s"),
            (Ns::MIN, "-9,223,372,037 s"),
        ];
        for (ns, text) in cases {
            assert_eq!(duration(ns), text, "{ns} ns");
        }
    }

    #[test]
    fn durations_of_a_row_share_the_unit_of_the_first() {
        let (texts, unit) = durations_alike([26_500_000.0, 33_234_018.7, 4_200.0, 1_303_912_100_000.0]);
        assert_eq!(
            (texts.each_ref().map(String::as_str), unit),
            (["26.5", "33.2", "0.00", "1,303,912"], "ms")
        );
        assert_eq!(durations_alike([136.82, 9.996]), (["137".to_owned(), "10.0".to_owned()], "ns"));
        assert_eq!(durations_alike([0.0, 99.96]), (["0.00".to_owned(), "100".to_owned()], "ns"));
        assert_eq!(durations_alike::<0>([]).1, "ns");
    }

    #[test]
    fn summary_durations_have_two_decimals() {
        let cases = [
            (0.0, "0 ns"),
            (976.0, "976 ns"),
            (136.82, "136.82 ns"),
            (999.999, "1.00 µs"),
            (3_870.0, "3.87 µs"),
            (397_280_000.0, "397.28 ms"),
            (999_999_999.0, "1.00 s"),
            (1_980_000_000.0, "1.98 s"),
            (12_345_000_000_000.0, "12,345.00 s"),
        ];
        for (ns, text) in cases {
            assert_eq!(two_decimals(ns), text, "{ns} ns");
        }
    }

    #[test]
    fn sizes_and_rates() {
        let sizes = [
            (4, "4 B"),
            (1_024, "1 KiB"),
            (1_536, "1.50 KiB"),
            (67_108_864, "64 MiB"),
            (67_000_000, "63.9 MiB"),
            (1_048_575, "1,024 KiB"),
            (i64::MAX, "8.00 EiB"),
            (0, "0 B"),
        ];
        for (size, text) in sizes {
            assert_eq!(bytes(size), text, "{size}");
        }
        assert_eq!(throughput(67_108_864, 4_000_000), "16.8 GB/s");
        assert_eq!(throughput(4, 1_000), "4.00 MB/s");
        assert_eq!(throughput(1, 1_000_000_000), "<1 kB/s");
        assert_eq!(throughput(64, 0), "");
        assert_eq!(throughput(i64::MAX, 1), "18,446,744,073,710 GB/s");
    }

    #[test]
    fn shares_are_never_rounded_to_all_or_nothing() {
        let cases = [
            (0.0, "0 %"),
            (0.0001, "<0.1 %"),
            (0.004, "0.4 %"),
            (0.0096, "1 %"),
            (0.97, "97 %"),
            (0.9951, "99.5 %"),
            (0.99999, "99.9 %"),
            (1.0, "100 %"),
            (1.94, "194 %"),
        ];
        for (share, text) in cases {
            assert_eq!(percent(share), text, "{share}");
        }
    }

    #[test]
    fn listing_units_align_at_the_point() {
        let three = |ns| {
            let mut text = String::new();
            push_three_decimals(&mut text, ns);
            text
        };
        assert_eq!(three(814), "0.814 µs");
        assert_eq!(three(53_812_345), "53.812 ms");
        assert_eq!(three(999_999_700), "1.000 s");
        assert_eq!(three(1_163_180_000), "1.163 s");
    }
}
