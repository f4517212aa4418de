//! Threads that wait for a mutex while others acquire it again and again.

use crate::index::Index;
use rustc_hash::FxHashMap;
use trace::{CallId, LockKind, Ns, Trace};

/// Shorter waits for a lock remain part of a call's own cost, ns. Threads that take turns at a lock for a few microseconds meet at
/// random: each single wait is chance, their sum is not.
pub const CHANCE: Ns = 20_000;

/// How long calls could have held CUDA's mutexes.
pub struct Mutexes<'a> {
    trace: &'a Trace,
    /// For how long each outermost call waited for a mutex, ns.
    waited: FxHashMap<(CallId, i64), Ns>,
    /// Whether launches or copies also waited for a lock of another kind: with a mutex in hand, perhaps, and for longer than a call takes.
    with_others: bool,
}

impl Mutexes<'_> {
    /// The waits of a trace.
    pub fn of<'a>(index: &Index<'a>) -> Mutexes<'a> {
        let trace = index.trace;
        let waits = &trace.waits;
        let mut of = Mutexes { trace, waited: FxHashMap::default(), with_others: false };
        for at in (0..waits.len()).filter(|at| waits.layer[*at].is_cuda()) {
            let Some(call) = index.calls.outermost(waits.call[at]).some() else { continue };
            let ns = waits.end[at] - waits.start[at];
            match waits.kind[at] {
                LockKind::Mutex => *of.waited.entry((call, waits.lock[at])).or_default() += ns,
                _ => of.with_others |= ns >= CHANCE && !index.ops(call).is_empty(),
            }
        }
        of
    }

    /// Whether others acquired the mutex for most of a wait: the first and the last holder, the only ones that are known, could not have held
    /// it for half of that time. A thread that sleeps is passed over like that. No call held the mutex for long, so the wait is part of what
    /// this call costs. Of eight threads that launch, waits of up to 8 ms began and ended with calls of 10 µs; as waits for those calls they
    /// got lost in replays, which were 4 to 6 % too fast (three recordings of `workers` of `benches/whatif`, H100).
    pub fn passed_over(&self, wait: usize, first: CallId, last: CallId) -> bool {
        let (waits, calls) = (&self.trace.waits, &self.trace.calls);
        let (start, end) = (waits.start[wait], waits.end[wait]);
        if waits.kind[wait] != LockKind::Mutex || end - start < CHANCE || self.with_others {
            return false;
        }
        let held = |call: CallId| {
            let Some(call) = call.some() else { return 0 };
            let (begins, ends) = (calls.start[call.index()], calls.end[call.index()]);
            let waited = self.waited.get(&(call, waits.lock[wait])).copied().unwrap_or(0);
            (ends.min(end) - begins.max(start)).min(ends - begins - waited).max(0)
        };
        let known = held(first) + if first == last { 0 } else { held(last) };
        2 * known < end - start
    }
}
