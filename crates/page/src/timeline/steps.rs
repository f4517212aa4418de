//! The steps that a program repeats, as a strip above the timeline: each step's time and what it went into.

use super::labels::BoxStyle;
use super::lanes::Window;
use crate::html::shown;
use explain::{About, AccountPart, Cause, Explanation, OneStep, SlowStep, Steps};
use report::bars;
use rustc_hash::FxHashMap;
use serde::Serialize;
use trace::Ns;

/// Most steps whose names and parts are in the page: their numbers take about 50 bytes each. Of more, only times are.
const MOST: usize = 20_000;

/// Longest name of a step, columns.
const NAME: usize = 80;

/// The steps; times in ns from the timeline's start. The page reads columns, which deflate better than rows.
#[derive(Serialize)]
pub(crate) struct Strip {
    /// `65 steps (ProfilerStep)`
    title: String,
    /// `GPU 0`; the thread where there is no GPU.
    of: String,
    /// Whether `of` is a GPU: then a step has busy time.
    is_gpu: bool,
    starts: Vec<u64>,
    takes: Vec<u64>,
    busy: Vec<u64>,
    /// Empty if they have none.
    names: Vec<String>,
    /// The causes, and what they look like.
    causes: Vec<(&'static str, BoxStyle)>,
    /// Of each step, causes (by index) and times by turns. Empty if they are not known.
    idle: Vec<Vec<u64>>,
    /// The median step.
    median: Median,
    /// The slow steps in order.
    slow: Vec<Slow>,
}

impl Strip {
    /// Removes the names of findings.
    pub fn forget_findings(&mut self) {
        self.slow.iter_mut().flat_map(|slow| &mut slow.more).for_each(|more| more.finding = None);
    }
}

#[derive(Serialize)]
struct Median {
    takes: u64,
    busy: u64,
    idle: Vec<u64>,
}

/// Causes of which a slow step had more time than the median step.
#[derive(Serialize)]
struct Slow {
    /// Its index.
    at: usize,
    more: Vec<More>,
}

#[derive(Serialize)]
struct More {
    cause: u64,
    place: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    finding: Option<String>,
}

/// A step with its start and end in the timeline, ns.
type Placed<'s> = (&'s OneStep, (u64, u64));

/// Numbers for causes, as they come.
#[derive(Default)]
struct Causes {
    known: FxHashMap<Cause, u64>,
    all: Vec<(&'static str, BoxStyle)>,
}

impl Causes {
    fn number(&mut self, cause: Cause) -> u64 {
        *self.known.entry(cause).or_insert_with(|| {
            self.all.push((cause.id(), BoxStyle::idle(About::of(cause).family)));
            self.all.len() as u64 - 1
        })
    }

    fn pairs(&mut self, parts: impl Iterator<Item = (Cause, Ns)>) -> Vec<u64> {
        parts.flat_map(|(cause, ns)| [self.number(cause), positive(ns)]).collect()
    }
}

fn positive(ns: Ns) -> u64 {
    u64::try_from(ns).unwrap_or_default()
}

/// The steps within the window; `None` without steps.
pub(crate) fn strip(explanation: &Explanation, window: Window) -> Option<Strip> {
    let steps = explanation.steps.as_ref()?;
    let each: Vec<Placed<'_>> = steps.each.iter().filter_map(|step| placed(step, window)).collect();
    if each.is_empty() {
        return None;
    }
    let mut causes = Causes::default();
    // Why a GPU was idle may be unknown.
    let is_known = explanation.accounts.refused.is_none() || steps.device.is_none();
    let with_parts = is_known && each.len() <= MOST;
    let usual = &steps.median;
    let median = Median {
        takes: positive(usual.duration_ns),
        busy: positive(usual.busy_ns),
        idle: causes.pairs(usual.idle.iter().filter(|_| is_known).map(|part| (part.cause, part.ns))),
    };
    let idle =
        each.iter().filter(|_| with_parts).map(|(step, _)| causes.pairs(step.idle.iter().copied())).collect();
    let slow = slow(steps, &each, &mut causes);
    Some(Strip {
        title: title(steps),
        of: of(steps),
        is_gpu: steps.device.is_some(),
        starts: each.iter().map(|(_, (start, _))| *start).collect(),
        takes: each.iter().map(|(_, (start, end))| end - start).collect(),
        busy: each.iter().map(|(step, _)| positive(step.busy_ns)).collect(),
        names: names(&each),
        causes: causes.all,
        idle,
        median,
        slow: if is_known {
            slow
        } else {
            slow.into_iter().map(|slow| Slow { more: Vec::new(), ..slow }).collect()
        },
    })
}

fn placed(step: &OneStep, window: Window) -> Option<Placed<'_>> {
    let end = step.start_ns.saturating_add(step.duration_ns);
    Some((step, window.place(step.start_ns, end)?))
}

fn title(steps: &Steps) -> String {
    let count = report::steps::count(steps);
    format!("{count} ({})", shown(&report::steps::name(steps.source, &steps.name)))
}

fn of(steps: &Steps) -> String {
    steps.device.map_or_else(|| format!("thread {}", steps.tid), |device| format!("GPU {device}"))
}

/// The names of steps, if they have some and are not too many.
fn names(each: &[Placed<'_>]) -> Vec<String> {
    if each.len() > MOST || each.iter().all(|(step, _)| step.name.is_empty()) {
        return Vec::new();
    }
    each.iter().map(|(step, _)| report::elide(&shown(&step.name), NAME)).collect()
}

/// The slow steps, in order.
fn slow(steps: &Steps, each: &[Placed<'_>], causes: &mut Causes) -> Vec<Slow> {
    let at = |slow: &SlowStep| each.binary_search_by_key(&slow.start_ns, |(step, _)| step.start_ns).ok();
    let mut more = |part: &AccountPart| More {
        cause: causes.number(part.cause),
        place: bars::place(part),
        finding: part.finding.clone(),
    };
    let one = |slow: &SlowStep| Some(Slow { at: at(slow)?, more: slow.more.iter().map(&mut more).collect() });
    let mut slow: Vec<Slow> = steps.slow.iter().filter_map(one).collect();
    slow.sort_by_key(|slow| slow.at);
    slow
}

#[cfg(test)]
mod tests {
    use super::*;
    use explain::{StepSource, StepTime};
    use trace::Trace;

    const WINDOW: Window = Window { start: 1_000, end: 1_000_000_000 };

    fn part(cause: Cause, ns: Ns) -> AccountPart {
        let finding = (cause == Cause::HostCode).then(|| String::from("H1"));
        AccountPart { cause, ns, places: Vec::new(), calls: Vec::new(), finding, spent: Vec::new() }
    }

    fn time(duration_ns: Ns, host_code: Ns) -> StepTime {
        StepTime {
            duration_ns,
            busy_ns: duration_ns - host_code,
            idle: vec![part(Cause::HostCode, host_code)],
        }
    }

    /// Steps of 100 ns, the last one of 300 ns, in which the program computed.
    fn explanation(count: i64) -> Explanation {
        let each = |at: i64| {
            let (duration_ns, host_code) = if at + 1 == count { (300, 240) } else { (100, 40) };
            let (name, start_ns) = (format!("</script> {at}\u{202e}"), 1_000 + at * 100);
            OneStep { name, start_ns, duration_ns, busy_ns: 60, idle: vec![(Cause::HostCode, host_code)] }
        };
        let each: Vec<OneStep> = (0..count).map(each).collect();
        let last = each.last().unwrap();
        let slow = SlowStep {
            name: last.name.clone(),
            start_ns: last.start_ns,
            duration_ns: 300,
            busy_more_ns: 0,
            more: vec![part(Cause::HostCode, 200)],
        };
        let steps = Steps {
            name: String::from("step #"),
            source: StepSource::Ranges,
            pid: 1,
            tid: 7,
            threads: 1,
            requests: false,
            device: Some(3),
            count: count as u64,
            warm_up: 0,
            mean_ns: 100 + 200 / count,
            per_second: 1e9 / (100 + 200 / count) as f64,
            median_ns: 100,
            spread_ns: 0,
            median: time(100, 40),
            total: time(count * 100 + 200, count * 40 + 200),
            slow: vec![slow],
            each,
        };
        let explanation = explain::explain(&Trace::default(), &explain::Options::default());
        Explanation { steps: Some(steps), ..explanation }
    }

    #[test]
    fn each_step_has_its_time_its_causes_and_a_harmless_name() {
        let strip = strip(&explanation(5), WINDOW).unwrap();
        assert_eq!((&*strip.title, &*strip.of), ("5 steps (step #)", "GPU 3"));
        assert_eq!(strip.starts, [0, 100, 200, 300, 400]);
        assert_eq!((&strip.takes[3..], &strip.busy[3..]), (&[100, 300][..], &[60, 60][..]));
        assert_eq!(strip.causes, [("host-code", BoxStyle::IdleHost)]);
        assert_eq!((&strip.idle[0], &strip.idle[4]), (&vec![0, 40], &vec![0, 240]));
        assert_eq!(strip.names[1], "</script> 1\\u{202e}");
        let [Slow { at: 4, more }] = &strip.slow[..] else { panic!("one slow step") };
        assert_eq!((more[0].cause, more[0].finding.as_deref()), (0, Some("H1")));
    }

    #[test]
    fn steps_outside_the_window_are_not_in_the_strip() {
        let strip = strip(&explanation(5), Window { start: 1_250, end: 1_390 }).unwrap();
        assert_eq!((strip.starts, strip.takes), (vec![0, 50], vec![50, 90]));
        assert!(strip.slow.is_empty());
    }

    #[test]
    fn of_very_many_steps_only_the_times_are_kept() {
        let strip = strip(&explanation(MOST as i64 + 1), WINDOW).unwrap();
        assert_eq!((strip.starts.len(), strip.names.len(), strip.idle.len()), (MOST + 1, 0, 0));
        assert_eq!((strip.slow.len(), strip.median.idle), (1, vec![0, 40]));
    }

    #[test]
    fn where_idle_time_has_no_causes_steps_have_none() {
        let mut explanation = explanation(5);
        explanation.accounts.refused = Some(explain::Refusal::Lost);
        let strip = strip(&explanation, WINDOW).unwrap();
        assert!(strip.idle.is_empty() && strip.median.idle.is_empty() && strip.slow[0].more.is_empty());
        assert_eq!(strip.slow[0].at, 4);
    }
}
