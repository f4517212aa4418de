//! The reasons why an operation that was ready did not start although its engine was idle.

use super::OverlapRule;
use super::queue::{Item, Queue};
use trace::{Ns, StreamId, Trace};
use waits::Engine;
use waits::{beside_default, is_default};

/// Shortest delay of a late operation, ns: a launch takes about 10 µs to reach the device.
const SOON: Ns = 20_000;

/// Most time between the end of an operation and the start of the one that waited for it, ns, as in `analysis/turns.rs`.
const HANDOVER: Ns = 250_000;

/// Hardware queues that a process has by default (`CUDA_DEVICE_MAX_CONNECTIONS`, CUDA programming guide).
const CONNECTIONS: usize = 8;

/// Most operations examined that end about when a late one starts.
const MOST: usize = 32;

/// Finds why operations are late.
pub(super) struct Lateness<'a> {
    trace: &'a Trace,
    queue: &'a Queue,
    /// Whether a stream ran beside its context's legacy default stream: then neither waits for the other.
    beside_default: Vec<bool>,
    /// Items of each stream of the device, by start.
    streams: Vec<Vec<u32>>,
}

/// The reason why an operation was late, and the item that it waited for.
#[derive(Clone, Copy)]
pub(super) struct Late {
    pub rule: OverlapRule,
    pub behind: u32,
}

impl<'a> Lateness<'a> {
    pub fn new(trace: &'a Trace, queue: &'a Queue) -> Lateness<'a> {
        let mut streams = vec![Vec::new(); trace.streams.len()];
        for (at, item) in (0..).zip(&queue.items) {
            if let Some(stream) = item.stream.some() {
                streams[stream.index()].push(at);
            }
        }
        let times = queue.items.iter().map(|item| (item.stream, item.start, item.end));
        let beside_default = beside_default(trace, times);
        Lateness { trace, queue, beside_default, streams }
    }

    /// The reason why an item did not start when it was ready; `None` if it was not late, or no rule fits.
    pub fn of(&self, item: &Item, ready: Ns) -> Option<Late> {
        let unit = self.queue.unit(item)?;
        let late = item.start.saturating_sub(ready);
        // Without a call it is unknown when the operation was issued.
        if item.issue.is_none() || late < SOON || self.queue.idle(unit, ready, item.start) < SOON {
            return None;
        }
        let slack = HANDOVER.min(late / 4);
        self.behind_default(item, slack)
            .or_else(|| self.behind_unready_copy(item, ready, slack))
            .or_else(|| self.behind_batch(item, slack))
            .or_else(|| self.behind_connection(item, ready, slack))
    }

    /// Late behind the legacy default stream: it waits for blocking streams, and they wait for it.
    fn behind_default(&self, item: &Item, slack: Ns) -> Option<Late> {
        let waits = |other: &Item| {
            let (own, others) = (self.is_default(item.stream), self.is_default(other.stream));
            let context = |stream| self.trace.context_of_stream(stream);
            let blocking = if own { other.stream } else { item.stream };
            own != others
                && context(item.stream) == context(other.stream)
                && !self.beside_default[blocking.index()]
                && other.issue.is_some_and(|issue| Some(issue) < item.issue)
        };
        let behind = self.just_before(item, slack).find(|at| waits(self.queue.item(*at)))?;
        Some(Late { rule: OverlapRule::DefaultStream, behind })
    }

    fn is_default(&self, stream: StreamId) -> bool {
        is_default(self.trace, stream)
    }

    /// Late behind a copy that is not ready: one engine runs all copies in the order of issue.
    fn behind_unready_copy(&self, item: &Item, ready: Ns, slack: Ns) -> Option<Late> {
        let is_copy = matches!(item.engine, Engine::CopyIn | Engine::CopyOut);
        if !is_copy || !self.queue.ability.one_queue_of_copies() {
            return None;
        }
        let unready = |other: &Item| {
            let before = other.before.map(|at| self.queue.item(at).end);
            self.queue.unit(other) == self.queue.unit(item)
                && other.stream != item.stream
                && other.issue.is_some_and(|issue| Some(issue) < item.issue)
                && before.is_some_and(|before| before > ready)
        };
        let behind = self.just_before(item, slack).find(|at| unready(self.queue.item(*at)))?;
        Some(Late { rule: OverlapRule::IssueOrder, behind })
    }

    /// Late behind kernels issued back to back: they signal when the last of them ends, and what follows one of them
    /// waits for all.
    fn behind_batch(&self, item: &Item, slack: Ns) -> Option<Late> {
        let kernel = self.queue.item(item.before?);
        if kernel.engine != Engine::Compute || !self.queue.ability.signals_together() {
            return None;
        }
        let together = |other: &Item| {
            other.batch == kernel.batch && other.stream != kernel.stream && other.end > kernel.done
        };
        let behind = self.just_before(item, slack).find(|at| together(self.queue.item(*at)))?;
        Some(Late { rule: OverlapRule::IssueOrder, behind })
    }

    /// Late behind another stream's kernel that waits: more streams have work than there are hardware queues.
    fn behind_connection(&self, item: &Item, ready: Ns, slack: Ns) -> Option<Late> {
        if item.engine != Engine::Compute || !self.queue.ability.has_hyper_q() {
            return None;
        }
        let held = |other: &Item| {
            let before = other.before.map(|at| self.queue.item(at).end);
            other.engine == Engine::Compute
                && other.stream != item.stream
                && self.trace.context_of_stream(other.stream) == self.trace.context_of_stream(item.stream)
                && other.issue.is_some_and(|issue| Some(issue) < item.issue)
                && before.is_some_and(|before| before > ready)
        };
        let about = self.queue.starting(item.start.saturating_sub(slack), item.start).take(MOST);
        let behind = about.filter(|at| held(self.queue.item(*at))).last()?;
        (self.streams_with_work(item, ready) > CONNECTIONS)
            .then_some(Late { rule: OverlapRule::Connections, behind })
    }

    /// Number of streams of the item's context with work that was issued and not done at `time`.
    fn streams_with_work(&self, item: &Item, time: Ns) -> usize {
        let context = self.trace.context_of_stream(item.stream);
        let has_work = |items: &&Vec<u32>| {
            let next = items.partition_point(|at| self.queue.item(*at).end <= time);
            items.get(next).is_some_and(|at| {
                let next = self.queue.item(*at);
                self.trace.context_of_stream(next.stream) == context
                    && next.issue.is_some_and(|issue| issue <= time)
            })
        };
        self.streams.iter().filter(has_work).count()
    }

    /// The items that ended when the item started, or shortly before.
    fn just_before(&self, item: &Item, slack: Ns) -> impl Iterator<Item = u32> + '_ {
        self.queue.ending(item.start.saturating_sub(slack), item.start).take(MOST)
    }
}
