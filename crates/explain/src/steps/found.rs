//! Steps as they are found, which of them are slow, and how many of the first ones are a warm-up.

use rustc_hash::FxHashSet;
use trace::{CallId, Ns, OpId, Sym, ThreadId, Trace};
use waits::named;

named! {
    /// Records that show where steps begin.
    StepSource {
        /// Ranges that somebody marked.
        Ranges = "ranges",
        /// Launches of graphs: a step lasts from one graph to the next.
        GraphLaunches = "graph-launches",
        /// Kernels that a loop runs once: a step lasts from one of them to the next.
        Kernels = "kernels",
        /// Kernels that each of several threads runs once: a step is one thread's, from one of them to the next.
        Threads = "threads",
    }
}

/// Fewest steps that show a usual one.
pub(super) const FEWEST: usize = 5;

/// A step that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FoundStep {
    pub start: Ns,
    pub end: Ns,
    /// The name of its range; empty if it is none.
    pub name: Sym,
    pub thread: ThreadId,
    /// The outermost call that asked for the work with which it begins; `NONE` for a range.
    pub call: CallId,
    /// Whether its thread did nothing of the kind before.
    pub is_first: bool,
}

impl FoundStep {
    pub fn length(&self) -> Ns {
        self.end - self.start
    }
}

/// The steps that were found, by start, without those of a warm-up. Those of one thread are apart.
#[derive(Clone)]
pub(crate) struct Found {
    pub name: String,
    pub source: StepSource,
    /// The thread whose steps they are, or most of them.
    pub thread: ThreadId,
    pub steps: Vec<FoundStep>,
    /// Whether the time between them in which nothing was to do is left out.
    pub requests: bool,
    /// Number of the first steps that are not among these: slow ones are frequent among them.
    pub warm_up: usize,
}

impl Found {
    pub fn new(name: String, source: StepSource, thread: ThreadId, steps: Vec<FoundStep>) -> Found {
        Found { name, source, thread, steps, requests: false, warm_up: 0 }
    }

    /// The steps after the warm-up.
    pub(super) fn settled(mut self) -> Found {
        let first = warm_up(&Outliers::of(&self.lengths()).slow, self.steps.len());
        self.steps.drain(..first);
        self.warm_up += first;
        self
    }

    /// The steps in `[from, to)`; `None` if they are too few.
    pub fn within(mut self, from: Ns, to: Ns) -> Option<Found> {
        let first = self.steps.partition_point(|step| step.start < from);
        self.warm_up += first;
        self.steps.drain(..first);
        self.steps.retain(|step| step.end <= to);
        (first == 0 || self.steps.len() >= FEWEST).then_some(self)
    }

    /// The duration of each, ns.
    pub fn lengths(&self) -> Vec<Ns> {
        self.steps.iter().map(FoundStep::length).collect()
    }

    /// From the start of the first to the end of the last, ns; `None` without steps.
    pub fn span(&self) -> Option<(Ns, Ns)> {
        let end = self.steps.iter().map(|step| step.end).max()?;
        Some((self.steps[0].start, end))
    }

    /// How many there are in a second.
    pub fn per_second(&self) -> f64 {
        let took = self.span().map_or(0, |(start, end)| end - start);
        self.steps.len() as f64 * 1e9 / took.max(1) as f64
    }

    /// Number of their threads.
    pub fn threads(&self) -> usize {
        self.steps.iter().map(|step| step.thread).collect::<FxHashSet<_>>().len()
    }

    /// Whether a range of this name is a step.
    pub fn is_one(&self, trace: &Trace, name: &str) -> bool {
        let of_first = self.steps.first().filter(|first| !first.name.is_empty());
        let pattern = of_first.map(|first| without_numbers(trace.text(first.name)));
        pattern.is_some_and(|pattern| pattern == without_numbers(name))
    }
}

/// The median of steps, and which of them are slow.
pub(crate) struct Outliers {
    /// The median step: one of them, the shorter one if their number is even.
    pub median: usize,
    pub median_ns: Ns,
    pub spread_ns: Ns,
    /// The longest first.
    pub slow: Vec<usize>,
}

/// Steps from one slow step to the next while a program warms up: it compiles or first uses something in each of them, or tries
/// out ways for each of several shapes.
const SETTLING: usize = 5;

impl Outliers {
    /// Outliers among at least one step. A slow step takes more than one and a half times the median, and is beyond Tukey's outer
    /// fence (Exploratory Data Analysis, 1977): the third quartile and three times the distance between the quartiles.
    pub fn of(lengths: &[Ns]) -> Outliers {
        let took = |at: usize| lengths[at];
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        order.sort_by_key(|at| (took(*at), *at));
        let last = order.len() - 1;
        let [first, median, third] = [last / 4, last / 2, last - last / 4].map(|at| order[at]);
        let (median_ns, spread_ns) = (took(median), took(third) - took(first));
        let is_slow = |at: &usize| {
            let took = took(*at);
            took > median_ns + median_ns / 2 && took > lengths[third] + 3 * spread_ns
        };
        let is_enough = lengths.len() >= FEWEST;
        let slow = order.iter().rev().copied().take_while(|at| is_enough && is_slow(at)).collect();
        Outliers { median, median_ns, spread_ns, slow }
    }

    /// Whether most steps are alike: half of the durations are within half of the median.
    pub(super) fn are_alike(&self) -> bool {
        self.spread_ns <= self.median_ns / 2
    }
}

/// Number of the first steps, up to the last slow one that follows another one, or the beginning, within [`SETTLING`]
/// steps; none if most steps are among them.
fn warm_up(slow: &[usize], steps: usize) -> usize {
    let mut slow = slow.to_vec();
    slow.sort_unstable();
    let until = slow.iter().fold(0, |until, at| if *at < until + SETTLING { at + 1 } else { until });
    if until * 2 > steps { 0 } else { until }
}

/// When an operation was asked for; its start if that is unknown, ns.
pub(super) fn asked(trace: &Trace, op: OpId) -> Ns {
    let call = trace.ops.call[op.index()].some();
    call.map_or(trace.ops.start[op.index()], |call| trace.calls.start[call.index()])
}

/// The steps of a thread from each of some moments to the next, each with the call that asked for its first work.
pub(super) fn between(thread: ThreadId, begun: &[(Ns, CallId)]) -> Vec<FoundStep> {
    let step = |pair: &[(Ns, CallId)]| FoundStep {
        start: pair[0].0,
        end: pair[1].0,
        name: Sym::default(),
        thread,
        call: pair[0].1,
        is_first: false,
    };
    begun.windows(2).map(step).filter(|step| step.start < step.end).collect()
}

/// The name with `#` for each number.
pub fn without_numbers(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut in_number = false;
    for c in name.chars() {
        let is_digit = c.is_ascii_digit();
        if is_digit && !in_number {
            text.push('#');
        } else if !is_digit {
            text.push(c);
        }
        in_number = is_digit;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow(durations: &[Ns]) -> Vec<usize> {
        Outliers::of(durations).slow
    }

    #[test]
    fn a_slow_step_is_beyond_the_median_and_the_spread() {
        assert_eq!(slow(&[10, 10, 10, 10, 10, 40, 10, 25, 10, 10, 10]), [5, 7]);
        assert!(slow(&[10, 10, 10, 14, 10]).is_empty(), "less than one and a half times the median");
        assert!(slow(&[10, 20, 10, 20, 10, 20, 25]).is_empty(), "within the spread");
        assert!(slow(&[10, 10, 10, 90]).is_empty(), "too few");
    }

    #[test]
    fn the_first_steps_warm_up() {
        assert_eq!(warm_up(&[], 10), 0);
        assert_eq!(warm_up(&[4, 0, 7], 30), 8, "each follows within five");
        assert_eq!(warm_up(&[0, 6], 30), 1, "the second one is a step of the loop");
        assert_eq!(warm_up(&[5], 30), 0, "none of the first is slow");
        assert_eq!(warm_up(&[0, 3, 6], 10), 0, "most steps cannot be the first ones");
    }

    #[test]
    fn the_median_is_one_of_the_steps() {
        let outliers = Outliers::of(&[30, 10, 20, 40]);
        assert_eq!((outliers.median, outliers.median_ns), (2, 20));
    }
}
