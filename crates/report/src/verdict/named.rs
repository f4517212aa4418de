//! A cause that the verdict names, with its place and fixes, as a line.

use crate::escape::visible;
use crate::layout::{elide, wrap};
use crate::place::{below, called, short, wide};
use crate::units;
use explain::{About, Cause, Explanation, Finding, Fix, Pauses, Phase, Place, is_usual};
use trace::Ns;

/// Most fixes of a cause that the verdict names.
const FIXES: usize = 2;

/// Most lines of a terminal for one cost.
pub(super) const LINES: usize = 2;

/// Whether a cost has room in [`LINES`] of so many columns.
pub(super) fn fits(text: &str, columns: usize) -> bool {
    columns == usize::MAX || wrap(text, columns).len() <= LINES
}

/// A cause that the verdict names.
pub(super) struct Named {
    /// The finding's id; empty for a cause that is none.
    pub id: String,
    pub cause: Cause,
    /// Part of the GPUs' time, with what the program would gain besides if that is predicted.
    pub share: f64,
    /// Whether most of the share is work of the host that comes after a wait and was hidden before.
    pub exposes: bool,
    /// Whether it is host code in pauses that are short: what a program does between launches, and no piece of work of its own.
    pub is_short_work: bool,
    /// `threads wait for Python's lock (GIL)`
    pub what: String,
    /// `, behind cudaMemcpyAsync`, where the call that was waited for is known.
    pub behind: String,
    /// `cudaFree in `, where the place is a range, which has many calls.
    pub call: String,
    /// `serve.py:17`, or a call
    pub at: String,
    /// The same with all of a long name, if that is longer.
    pub whole: String,
    /// The functions below it: ` → adam.py:545 _single_tensor_adam`.
    pub inner: String,
    pub fixes: Vec<&'static str>,
    /// Gain of the best of them, 0 to 1; 0 if that is unknown or may be none, and for what every program has.
    pub gain: f64,
}

/// A gain is printed beside a cost if it is larger by this part of the time: a choice.
const MORE: f64 = 0.02;

/// The mean of pauses from which on work of the host in them is a piece of its own, ns: a choice.
const SHORT: Ns = 1_000_000;

impl Named {
    /// Cost, or the gain of mending it if that is more: a wait that empties a queue costs what comes after it, too.
    pub fn worth(&self) -> f64 {
        self.share.max(self.gain)
    }

    /// A cause without a finding.
    pub fn plain(cause: Cause, share: f64, what: String) -> Named {
        let none = String::new;
        let (id, behind, at) = (none(), none(), none());
        let (inner, whole) = (none(), none());
        Named {
            id,
            cause,
            share,
            exposes: false,
            is_short_work: false,
            what,
            behind,
            call: String::new(),
            at,
            whole,
            inner,
            fixes: Vec::new(),
            gain: 0.0,
        }
    }

    pub fn of(finding: &Finding, explanation: &Explanation, knows_costs: bool) -> Named {
        let behind = finding.holder.as_ref().filter(|holder| !holder.call.is_empty());
        let behind = behind.map_or(String::new(), |holder| format!(", behind {}", called(&holder.call)));
        let when = match finding.phase {
            Phase::Once if finding.cause != Cause::FirstUse => {
                format!(", {}", crate::explanation::when(finding))
            }
            Phase::Once | Phase::Recurring => String::new(),
        };
        // A setting is at no operator.
        let place = at(finding).filter(|place| finding.cause != Cause::BlockingLaunch || place.line > 0);
        // A range is around many calls.
        let is_range = place.is_some_and(|place| place.line == 0 && place.file.is_empty());
        let call =
            Some(&finding.waiter.call).filter(|call| is_range && behind.is_empty() && !call.is_empty());
        let call = call.map_or(String::new(), |call| format!("{} in ", called(call)));
        let gains =
            |fix: &&Fix| explanation.gains.of(fix).is_none_or(|gain| !crate::explanation::is_loss(gain));
        Named {
            id: finding.id.clone(),
            cause: finding.cause,
            share: match (knows_costs, time_of_threads(explanation)) {
                (true, _) => finding.worth(),
                (false, 0) => finding.share,
                (false, time) => finding.lost_ns as f64 / time as f64,
            },
            what: format!("{}{when}", brief(finding, explanation)),
            exposes: knows_costs && finding.exposes(),
            is_short_work: finding.cause == Cause::HostCode
                && finding.pauses.as_ref().is_some_and(|pauses| pauses.ns < SHORT * pauses.count as Ns),
            behind,
            whole: place.map_or(String::new(), wide),
            call,
            at: match place {
                Some(place) => short(place),
                None if finding.cause == Cause::CollectiveWait => late(finding).unwrap_or_default(),
                None if !finding.waiter.call.is_empty() => called(&finding.waiter.call),
                None => finding.pauses.as_ref().map_or(String::new(), between),
            },
            inner: below(finding),
            fixes: finding.fixes.iter().filter(gains).map(|fix| fix.id).take(FIXES).collect(),
            gain: match is_usual(finding.cause) {
                true => 0.0,
                false => {
                    finding.fixes.iter().filter_map(|fix| sure_gain(explanation, fix)).fold(0.0, f64::max)
                }
            },
        }
    }

    /// Whether its place is a line: `serve.py:17`.
    pub fn has_line(&self) -> bool {
        self.at.rsplit_once(':').is_some_and(|(_, line)| line.parse::<u32>().is_ok())
    }

    /// ` (serve.py:16; own-stream)`: a place and fixes.
    pub fn hint(&self, place: &str, fixes: &[&str]) -> String {
        let gain = format!(" would gain {}", units::whole_percent(self.gain));
        let is_more = self.gain > self.share + MORE;
        let gain = if is_more && fixes.len() == 1 { gain } else { String::new() };
        let fixes = format!("{}{gain}", fixes.join(" or "));
        let parts: Vec<&str> = [place, &fixes].into_iter().filter(|text| !text.is_empty()).collect();
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) }
    }

    /// `31 %: calls wait for the driver's lock, behind cudaMemcpyAsync (serve.py:16 → libtorch.so; own-stream).` What does not fit is left
    /// out: the call in a range, what is below the place, the call behind, fixes but the first, the place, the first fix.
    pub fn line(&self, columns: usize, of: &str, end: &str) -> String {
        let with = |behind: &str, place: &str, fixes: usize| {
            let hint = self.hint(place, &self.fixes[..fixes.min(self.fixes.len())]);
            let exposed = if self.exposes { ", with what it exposes" } else { "" };
            format!("{}{of}{exposed}: {}{behind}{hint}{end}", units::percent(self.share), self.what)
        };
        let deep = |at: &str| format!("{at}{}", self.inner);
        let (whole, deep) =
            (deep(if self.whole.is_empty() { &self.at } else { &self.whole }), deep(&self.at));
        let (all, behind, at) = (self.fixes.len(), self.behind.as_str(), self.at.as_str());
        let called_whole = format!("{}{whole}", self.call);
        let called = if self.call.is_empty() { deep.clone() } else { format!("{}{at}", self.call) };
        let forms = [
            (behind, called_whole.as_str(), all),
            (behind, whole.as_str(), all),
            (behind, called.as_str(), all),
            (behind, deep.as_str(), all),
            (behind, at, all),
            ("", at, all),
            ("", at, 1),
            ("", "", 1),
        ];
        let mut lines = forms.iter().map(|(behind, place, fixes)| with(behind, place, *fixes));
        lines.find(|line| fits(line, columns)).unwrap_or_else(|| elide(&with("", "", 0), columns))
    }
}

/// The time of all threads with calls, ns: of what shares are parts where the GPUs' idle time has no causes.
pub(super) fn time_of_threads(explanation: &Explanation) -> Ns {
    explanation.accounts.threads.iter().filter(|thread| thread.calls > 0).map(|thread| thread.span_ns).sum()
}

/// The words for host code between calls that follow each other at once, as launches do.
const BETWEEN: &str = "host code runs between launches";

/// The words for messages that are waited for; which rank is late shows where several are in the trace.
const MESSAGES: &str =
    "an exchange with other ranks runs alone, or another rank is late: start it sooner, beside kernels";

/// The words for what a finding finds.
fn brief(finding: &Finding, explanation: &Explanation) -> &'static str {
    let between = finding.cause == Cause::HostCode && finding.fixes.iter().any(|fix| fix.id == "graph");
    match () {
        () if between => BETWEEN,
        () if finding.work == explain::MESSAGES && explanation.trace.processes == 1 => MESSAGES,
        () => About::of(finding.cause).brief,
    }
}

/// `process 4711`: the rank that the others wait for.
fn late(finding: &Finding) -> Option<String> {
    let late = finding.holder.as_ref()?;
    Some(match late.pid == finding.waiter.pid {
        true => format!("thread {}", visible(&late.thread)),
        false => format!("process {}", late.pid),
    })
}

/// `after cudaDeviceSynchronize`: where pauses are of which nothing else tells the place.
fn between(pauses: &Pauses) -> String {
    format!("after {}", called(&pauses.after))
}

/// Gain of a fix, if it gains something for sure.
pub(super) fn sure_gain(explanation: &Explanation, fix: &Fix) -> Option<f64> {
    explanation.gains.of(fix).filter(|gain| gain.low > 0.0).map(|gain| gain.share)
}

/// Where a finding's time is lost: the waiter's place, else the holder's, else the root's.
pub(super) fn at(finding: &Finding) -> Option<&Place> {
    let holder = finding.holder.iter().flat_map(|holder| &holder.places);
    let root = finding.chain.iter().filter_map(|link| link.place.as_ref());
    finding.places.iter().chain(holder).chain(root).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_line_what_matters_least_is_left_out() {
        let named = Named {
            at: "train.py:3".to_owned(),
            inner: " → streams.py:223 Event.wait".to_owned(),
            fixes: vec!["needed-event"],
            ..Named::plain(Cause::Dependency, 0.39, "work waits for an event, or for another GPU".to_owned())
        };
        let all = "39 %: work waits for an event, or for another GPU (train.py:3 → streams.py:223 Event.wait; needed-event).";
        let line = |columns| named.line(columns, "", ".");
        assert_eq!([line(usize::MAX), line(60)], [all, all]);
        let place = "39 %: work waits for an event, or for another GPU (train.py:3; needed-event).";
        assert_eq!(line(52), place, "words are not divided between lines");
        assert_eq!(line(36), "39 %: work waits for an event, or for another GPU (needed-event).");
    }
}
