//! Predicted gains of fixes in words. A gain whose range includes none is not called one.

use crate::escape::visible;
use crate::units;
use explain::{Explanation, Finding, Gain, NoGains};

/// A smaller gain is none, as a part of the time: half of what prints as 1 %.
const LEAST: f64 = 0.005;

/// Statement that a range of gains allows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Gain,
    Loss,
    /// A gain is the best guess, and none is possible.
    Unsure,
    None,
}

impl Verdict {
    fn of(gain: &Gain) -> Verdict {
        match () {
            () if gain.low > 0.0 => Verdict::Gain,
            () if gain.high < 0.0 => Verdict::Loss,
            () if gain.share >= LEAST => Verdict::Unsure,
            () => Verdict::None,
        }
    }
}

/// Whether a fix would only lose time, in a longer run too.
pub(crate) fn is_loss(gain: &Gain) -> bool {
    gain.high + gain.once < 0.0
}

/// `would gain 25 % (19 % … 31 %)`, `would lose 5 % (3 % … 7 %)`, `no gain predicted (-1 % … 1 %)`; and the thread that would be done
/// much earlier than the program, and what a fix takes once.
pub fn gain(gain: &Gain) -> String {
    let once = match gain.once >= LEAST {
        true => format!("; takes {} once, at the program's start and end", units::whole_percent(gain.once)),
        false => String::new(),
    };
    let Some(thread) = &gain.thread else { return format!("{}{once}", amount(gain)) };
    let share = units::whole_percent(thread.share);
    format!(
        "{}; thread {} would be done earlier by {share} of the time, other threads as before{once}",
        amount(gain),
        thread.tid
    )
}

/// In a few words: the gain, or else the thread that would be done earlier.
pub(super) fn phrase(gain: &Gain) -> String {
    match (Verdict::of(gain), &gain.thread) {
        (Verdict::Unsure | Verdict::None, Some(thread)) => {
            format!("thread {} would end {} earlier", thread.tid, units::whole_percent(thread.share))
        }
        _ => amount(gain),
    }
}

/// In a word or two: `25 %`, `no gain`; nothing if only a thread gains.
pub(super) fn brief(gain: &Gain) -> Option<String> {
    match (Verdict::of(gain), &gain.thread) {
        (Verdict::Gain | Verdict::Loss, _) => Some(units::whole_percent(gain.share)),
        (Verdict::Unsure | Verdict::None, Some(_)) => None,
        (Verdict::Unsure, None) => Some(String::from("unsure")),
        (Verdict::None, None) => Some(String::from("no gain")),
    }
}

fn amount(gain: &Gain) -> String {
    let range = |from, to| format!("({} … {})", units::whole_percent(from), units::whole_percent(to));
    let Gain { share, low, high, .. } = *gain;
    match Verdict::of(gain) {
        Verdict::Gain => format!("would gain {} {}", units::whole_percent(share), range(low, high)),
        Verdict::Loss => format!("would lose {} {}", units::whole_percent(-share), range(-high, -low)),
        Verdict::Unsure => format!("gain unsure {}", range(low, high)),
        Verdict::None => format!("no gain predicted {}", range(low, high)),
    }
}

/// Why the fixes of some findings have no gains, or what predicts them; nothing if that was not asked for, or no change predicts these
/// fixes.
pub(super) fn absent(explanation: &Explanation, findings: &[&Finding]) -> Option<String> {
    let mut fixes = findings.iter().flat_map(|finding| &finding.fixes);
    if fixes.all(|fix| fix.prediction().is_none()) {
        return None;
    }
    let path = visible(&explanation.trace.path);
    match explanation.gains.absent.as_ref()? {
        NoGains::Selection => None,
        NoGains::Size(_) => Some(format!("`holdup whatif {path}` predicts what the fixes would gain")),
        NoGains::Misfit { error, most } => {
            let (error, most) = (units::percent(*error), units::percent(*most));
            Some(format!(
                "what the fixes would gain is unknown: a replay of the trace differs by {error}, more than {most}: `holdup replay \
                 {path}` shows where"
            ))
        }
        NoGains::Refused(why) => Some(format!("what the fixes would gain is unknown: {why}")),
    }
}
