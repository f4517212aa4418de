//! The sentences and figures that text and Markdown share.

use super::Shown;
use crate::units;
use prove::judge::{Gain, Judgement, Verdict};
use prove::{Agreement, Difference, Metric, Side};

/// A title and what it says; the first is the verdict.
pub(super) type Line = (&'static str, String);

/// Lines with the results of the runs, the most important first.
pub(super) fn lines(shown: Shown<'_>) -> Vec<Line> {
    let mut lines = vec![("gain", verdict(shown)), ("control", control(shown)), ("outputs", outputs(shown))];
    lines.extend(shown.predicted.map(|share| ("predicted", predicted(share, &shown.proof.judgement.gain))));
    lines.extend(width(shown).map(|sentence| ("interval", sentence)));
    lines
}

/// `after is faster by 26.0 % (25.1 % to 26.9 %)`
fn verdict(shown: Shown<'_>) -> String {
    let by = |word| format!("after is {word} by");
    judged(&shown.proof.judgement, &by(better(shown)), &by(worse(shown)))
}

/// Result of a judgement. The words before a gain and before a loss make it `a gain of 26.0 % (25.1 % to 26.9 %)`; without
/// either it is `no difference shown: at most 0.84 % (-0.84 % to 0.21 %)`.
pub fn judged(judged: &Judgement, gain: &str, loss: &str) -> String {
    let sentence = match judged.verdict {
        Verdict::Faster => format!("{gain} {}", size(&judged.gain)),
        Verdict::Slower => format!("{loss} {}", size(&judged.gain)),
        Verdict::NoDifference => {
            format!(
                "no difference shown: at most {} ({})",
                units::change(judged.gain.at_most()),
                interval(&judged.gain)
            )
        }
        Verdict::Unsteady => {
            let gain = units::change(judged.gain.share);
            format!("not certain, the machine is not steady: {gain} ({})", interval(&judged.gain))
        }
    };
    match (judged.steady, judged.verdict) {
        (false, Verdict::Faster | Verdict::Slower) => {
            format!("{sentence}; likely, not certain: the machine is not steady")
        }
        _ => sentence,
    }
}

/// The size of a gain or a loss, with its interval in the same direction.
fn size(gain: &Gain) -> String {
    let (share, low, high) = match gain.share < 0.0 {
        true => (-gain.share, -gain.high, -gain.low),
        false => (gain.share, gain.low, gain.high),
    };
    format!("{} ({} to {})", units::change(share), units::change(low), units::change(high))
}

/// A gain's interval: `25.1 % to 26.9 %`.
fn interval(gain: &Gain) -> String {
    format!("{} to {}", units::change(gain.low), units::change(gain.high))
}

fn better(shown: Shown<'_>) -> &'static str {
    match shown.tested.metric {
        Metric::Wall => "faster",
        Metric::Printed { .. } => "better",
    }
}

fn worse(shown: Shown<'_>) -> &'static str {
    match shown.tested.metric {
        Metric::Wall => "slower",
        Metric::Printed { .. } => "worse",
    }
}

fn control(shown: Shown<'_>) -> String {
    let (judged, of) = (&shown.proof.judgement, &shown.proof.judgement.control);
    match judged.steady {
        true => format!("before against itself: no difference shown ({})", interval(of)),
        false => {
            let word = if of.share > 0.0 { better(shown) } else { worse(shown) };
            format!(
                "before against itself: its second run of a block is {word} than its first by {}; what else runs, or heat, \
                 changes the machine's speed",
                size(of)
            )
        }
    }
}

fn outputs(shown: Shown<'_>) -> String {
    match &shown.proof.agreement {
        Agreement::Same => String::from("before and after print the same"),
        Agreement::Different(difference) => {
            format!("DIFFERENT: before and after do not print the same; {}", first(difference, "after"))
        }
        Agreement::Unknown(difference) => {
            let first = first(difference, "before, another run");
            format!("cannot be compared: before does not print the same in each run; {first}")
        }
    }
}

/// The first line that differs.
fn first(difference: &Difference, other: &str) -> String {
    let quoted = |line: &Option<String>| match line {
        Some(line) => format!("`{}`", crate::elide(&crate::visible(line), 40)),
        None => String::from("nothing"),
    };
    let Difference { line, first, other: printed } = difference;
    format!("line {line}: {} (before), {} ({other})", quoted(first), quoted(printed))
}

fn predicted(share: f64, gain: &Gain) -> String {
    let off = gain.share - share;
    let is_within = (gain.low..=gain.high).contains(&share);
    let points = format!("{:.1} points", off.abs() * 100.0);
    let side = if off < 0.0 { "less" } else { "more" };
    let within = if is_within { "within the interval" } else { "outside the interval" };
    format!("{}: measured {points} {side}; the prediction is {within}", units::change(share))
}

/// Sentence that the interval is wide, or that a signal ended the runs.
fn width(shown: Shown<'_>) -> Option<String> {
    let wanted = units::change(shown.tested.plan.precision);
    match (shown.proof.is_partial, shown.proof.is_precise) {
        (true, _) => Some(String::from("partial: a signal ended the runs")),
        (false, true) => None,
        (false, false) => {
            Some(format!("wider than ± {wanted}: for a narrower one raise --rounds, or let nothing else run"))
        }
    }
}

/// `24 rounds · 95 % interval · wall time`
pub(super) fn subtitle(shown: Shown<'_>) -> String {
    let rounds = units::counted(shown.proof.rounds() as u64, "round", "rounds");
    let metric = match &shown.tested.metric {
        Metric::Wall => String::from("wall time, less is better"),
        Metric::Printed { expression, sense } => {
            let which = match sense {
                prove::judge::Sense::LessIsBetter => "less",
                prove::judge::Sense::MoreIsBetter => "more",
            };
            format!("`{}`, {which} is better", crate::visible(expression.as_str()))
        }
    };
    format!("{metric} · {rounds} · intervals of 95 %")
}

/// The median, the least and the most of a command's values.
pub(super) fn figures(shown: Shown<'_>, side: Side) -> [String; 3] {
    let mut values = shown.proof.values(side);
    values.sort_by(f64::total_cmp);
    let at = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
    let (count, middle) = (values.len(), values.len() / 2);
    // Each block has two runs: the number is even.
    let median = (at(middle.saturating_sub(1)) + at(middle)) / 2.0;
    [median, at(0), at(count.saturating_sub(1))].map(|value| match shown.tested.metric {
        Metric::Wall => units::duration(value.round() as i64),
        Metric::Printed { .. } => units::number(value),
    })
}

/// Why a gain is too small: `the gain is 2.1 %, and 0.4 % at least, below the limit of 3.0 %`.
pub fn reason(gain: &Gain, limit: f64) -> String {
    let [share, low, limit] = [gain.share, gain.low, limit].map(units::change);
    format!("the gain is {share} and may be as low as {low}, under the limit of {limit}")
}
