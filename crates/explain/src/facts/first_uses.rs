//! First uses: of a name, a kernel, a stream, a device.

use super::Facts;
use crate::Class;
use crate::facts::index::{self};
use rustc_hash::FxHashMap;
use trace::{CallId, Ns, OpId, OpKind};

impl Facts<'_> {
    /// Whether this is the first call of its name in its process.
    pub fn is_first_call(&self, call: CallId) -> bool {
        self.first.first_call.get(&(self.process(call), self.trace.calls.name[call.index()])) == Some(&call)
    }

    /// Whether a call creates its device's context, or waits for another call that does: no call that needs a context had
    /// returned on that device when it began, and most later calls of its name do not take as long.
    pub fn is_once_on_device(&self, call: CallId) -> bool {
        let alike = |other: &CallId| {
            let name =
                |call: CallId| (self.trace.calls.name[call.index()], self.process(call), self.device(call));
            *other != call && name(*other) == name(call) && !self.is_first_on_device(*other)
        };
        if !self.is_first_on_device(call) {
            return false;
        }
        let (mut later, mut as_long) = (0, 0);
        for other in self.slow.iter().copied().filter(alike) {
            later += 1;
            as_long += u64::from(self.duration(other) >= self.duration(call) / 2);
        }
        later == 0 || as_long * 2 < later
    }

    /// Whether no other call that needs a context had returned on this device when the call began.
    pub fn is_first_on_device(&self, call: CallId) -> bool {
        let index = || {
            let mut ready = FxHashMap::<_, Ns>::default();
            for call in
                self.calls_where(|call| self.outermost(call) == call && self.class(call).needs_context())
            {
                let ready = ready.entry((self.process(call), self.device(call))).or_insert(Ns::MAX);
                *ready = (*ready).min(self.end(call));
            }
            ready
        };
        let ready = self.first.ready.get_or_init(index).get(&(self.process(call), self.device(call)));
        self.class(call).needs_context() && ready.is_some_and(|ready| self.start(call) < *ready)
    }

    /// Whether this is the trace's first launch into its stream.
    pub fn is_first_launch(&self, call: CallId) -> bool {
        let index = || {
            let mut first = FxHashMap::default();
            for launch in self.calls_where(|call| self.class(call) == Class::Launch) {
                first.entry(self.stream(launch)).or_insert(launch);
            }
            first
        };
        let stream = self.stream(call).some();
        stream.is_some_and(|stream| self.first.first_launch.get_or_init(index).get(&stream) == Some(&call))
    }

    /// Whether most later calls of a first call's name take at least half as long: then the time is not that of a first
    /// use.
    pub fn is_nothing_new(&self, call: CallId) -> bool {
        let index = || index::later_calls(self.trace, &self.index.calls, &self.first.first_call);
        let name = (self.process(call), self.trace.calls.name[call.index()]);
        let later = self.first.later.get_or_init(index).get(&name).copied().unwrap_or_default();
        later.all > 0 && later.as_long * 2 >= later.all
    }

    /// The first kernel of this launch that its process did not run before.
    pub fn new_kernel(&self, call: CallId) -> Option<OpId> {
        let process = self.process(call);
        let ops = &self.trace.ops;
        let is_new = |op: &&OpId| {
            let first = self.first.first_kernel.get(&(process, ops.name[op.index()]));
            ops.kind[op.index()] == OpKind::Kernel && first == Some(*op)
        };
        self.ops(call).iter().find(is_new).copied()
    }
}
