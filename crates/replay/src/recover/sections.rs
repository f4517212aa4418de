//! The locks that threads hold outside of calls: Python's GIL, and mutexes. A trace has only the waits for them. So a section, in which a
//! thread holds one, is known where another thread waited for its end.

use crate::arithmetic::median;
use rustc_hash::FxHashMap;
use trace::{LockKind, Ns, ProcessId, ThreadId, Trace};
use waits::{CallOrder, Signal, SignalKind, within_no_call};

/// The sections of all threads.
pub(crate) struct Sections {
    /// By signal: the lock that its waiter acquires, and whether the waiter then holds it until another thread waits for it.
    pub acquired: Vec<Option<(u32, bool)>>,
    /// Where threads acquire locks for which they did not wait: the thread, when, and the lock.
    pub taken: Vec<(ThreadId, Ns, u32)>,
    /// By lock: how long after its release a thread that waits for it goes on, in the median; `None` if no wait says.
    pub handoffs: Vec<Option<Ns>>,
}

/// The waits for a lock that a thread was in, and those that it ended.
#[derive(Default)]
struct Uses {
    /// Start, end and signal.
    waits: Vec<(Ns, Ns, usize)>,
    /// The release, and since when the first one waited for it.
    releases: Vec<(Ns, Ns)>,
}

impl Sections {
    pub fn of(trace: &Trace, order: &CallOrder<'_>, signals: &[Signal]) -> Sections {
        let mut locks: FxHashMap<(ProcessId, i64), u32> = FxHashMap::default();
        let mut uses: FxHashMap<(ThreadId, u32), Uses> = FxHashMap::default();
        let mut sections =
            Sections { acquired: vec![None; signals.len()], taken: Vec::new(), handoffs: Vec::new() };
        let mut handoffs: Vec<Vec<Ns>> = Vec::new();
        for (number, signal) in signals.iter().enumerate() {
            let Some(address) = lock_of(trace, signal) else { continue };
            let next = locks.len() as u32;
            let lock = *locks.entry((trace.process_of_thread(signal.waiter), address)).or_insert(next);
            sections.acquired[number] = Some((lock, false));
            handoffs.resize_with(locks.len(), Vec::new);
            let handoff = signal.wait.some().map_or(0, |wait| trace.waits.handoff[wait.index()]);
            handoffs[lock as usize].extend((handoff > 0).then_some(handoff));
            let of_waiter = uses.entry((signal.waiter, lock)).or_default();
            of_waiter.waits.push((signal.start, signal.end, number));
            uses.entry((signal.by, lock)).or_default().releases.push((signal.at, signal.start));
        }
        sections.handoffs = handoffs.into_iter().map(|of| median(of.into_iter())).collect();
        let waited = ends_of_waits(trace);
        let mut born = vec![Ns::MIN; trace.threads.len()];
        for birth in signals.iter().filter(|signal| signal.kind == SignalKind::Birth) {
            born[birth.waiter.index()] = birth.end;
        }
        for ((thread, lock), mut of) in uses {
            of.waits.sort_unstable();
            of.releases.sort_unstable();
            of.releases.dedup_by_key(|(at, _)| *at);
            let went_on = |by: Ns| {
                let ends = &waited[thread.index()];
                let ended = ends.partition_point(|end| *end <= by);
                let waited = ended.checked_sub(1).map_or(Ns::MIN, |last| ends[last]);
                waited.max(order.last_end(thread, by)).max(born[thread.index()])
            };
            let begins = |at: Ns| within_no_call(trace, order, thread, at);
            sections.add(thread, lock, &of, went_on, begins);
        }
        // Nothing depends on the order of a map.
        sections.taken.sort_unstable();
        sections
    }

    /// Finds where each section of a thread begins: as long before the other thread came as that one then waited, because on average
    /// it comes in the middle; but not before the end of a call, of a wait, or of its section before. `went_on`: when the last call or
    /// wait of the thread ended that had ended by then, or when it began; `begins`: the moment at which a step can begin.
    fn add(
        &mut self,
        thread: ThreadId,
        lock: u32,
        of: &Uses,
        went_on: impl Fn(Ns) -> Ns,
        begins: impl Fn(Ns) -> Ns,
    ) {
        let mut before = Ns::MIN;
        for (at, since) in of.releases.iter().copied() {
            let own = of.waits.partition_point(|(start, ..)| *start < at);
            let own = own.checked_sub(1).map(|own| of.waits[own]);
            let own = own.filter(|(_, end, _)| before < *end && *end <= at);
            let from = (since - (at - since).max(0)).max(went_on(since.min(at))).max(before);
            match own.filter(|(_, end, _)| from <= *end) {
                Some((.., number)) => self.acquired[number] = Some((lock, true)),
                None => {
                    let from = begins(from);
                    self.taken.extend((from < at).then_some((thread, from, lock)));
                }
            }
            before = at;
        }
    }
}

/// When the waits of each thread outside of calls ended, ns, in order.
fn ends_of_waits(trace: &Trace) -> Vec<Vec<Ns>> {
    let waits = &trace.waits;
    let mut ends = vec![Vec::new(); trace.threads.len()];
    for at in (0..waits.len()).filter(|at| waits.call[*at].is_none()) {
        if let Some(thread) = waits.thread[at].some() {
            ends[thread.index()].push(waits.end[at]);
        }
    }
    ends.iter_mut().for_each(|ends| ends.sort_unstable());
    ends
}

/// The address of the lock that a signal's wait is for, if one thread at a time holds it.
fn lock_of(trace: &Trace, signal: &Signal) -> Option<i64> {
    let wait = signal.wait.some()?.index();
    matches!(trace.waits.kind[wait], LockKind::Gil | LockKind::Mutex).then(|| trace.waits.lock[wait])
}
