//! Waits for locks: recorded ones, and those that the operating system's calls show.

use super::Facts;
use crate::facts::index::{self};
use crate::facts::stretch::Stretch;
use trace::{CallId, Ns, Sym, Wait, WaitId};

impl<'a> Facts<'a> {
    /// The times at which `call`'s thread waited for a lock within it, from the operating system's calls, ns.
    pub fn lock_waits(&self, call: CallId) -> impl Iterator<Item = (Ns, Ns)> {
        let waits = &self.locks.lock_calls[self.thread(call).index()];
        let from = waits.partition_point(|wait| wait.0 < self.start(call));
        let end = self.end(call);
        waits[from..].iter().copied().take_while(move |wait| wait.1 <= end)
    }

    /// The outermost calls that contain recorded waits for locks, then the waits outside calls, both in the tables' order.
    pub fn waiting(&self) -> impl Iterator<Item = Stretch> {
        let outside = self.index.outside_lock_waits().iter().copied().map(Stretch::Wait);
        let all = self.index.lock_waits().calls().map(Stretch::Call).chain(outside);
        // The waits of the tracer's own threads cost the program nothing.
        all.filter(|stretch| !self.is_tracer(stretch.thread(self.trace)))
    }

    /// The recorded waits for locks within an outermost call.
    pub fn waits(&self, call: CallId) -> impl Iterator<Item = WaitId> {
        self.index.lock_waits().of(call)
    }

    /// Whether this wait, or another for the same lock that began during it, found several holders.
    pub fn was_shared(&self, wait: &Wait) -> bool {
        let found = self.locks.shared.get_or_init(|| index::found_shared(self.trace));
        let lock = (self.trace.process_of_thread(wait.thread), wait.lock);
        found.get(&lock).is_some_and(|starts| {
            let from = starts.partition_point(|start| *start < wait.start);
            starts.get(from).is_some_and(|start| *start < wait.end)
        })
    }

    /// Other threads' recorded waits for the same lock that began during this one, by start.
    pub fn waits_for_lock(&self, wait: &Wait) -> impl Iterator<Item = Wait> {
        let of_locks = self.locks.of_locks.get_or_init(|| index::waits_of_locks(self.trace));
        let lock = (self.trace.process_of_thread(wait.thread), wait.lock);
        let all: &[WaitId] = of_locks.get(&lock).map_or(&[], |waits| waits);
        let waits = &self.trace.waits;
        let from = all.partition_point(|other| waits.start[other.index()] < wait.start);
        let (thread, end) = (wait.thread, wait.end);
        let within =
            all[from..].iter().map(|other| waits.row(*other)).take_while(move |other| other.start < end);
        within.filter(move |other| other.thread != thread)
    }

    /// The name of a library without its path.
    pub fn library(&self, name: Sym) -> &'a str {
        let path = self.trace.text(name);
        path.rsplit('/').next().unwrap_or_default()
    }
}
