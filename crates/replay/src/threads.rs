//! The outermost calls of each thread, in order.

use trace::{CallId, Ns, ThreadId, Trace};

/// The outermost CUDA calls of the threads of a trace.
pub(crate) struct Threads {
    /// By thread, in order of their start.
    calls: Vec<Vec<CallId>>,
    /// For each call the outermost CUDA call that it is made in ([`trace::outermost_calls`]).
    outer: Vec<CallId>,
}

impl Threads {
    pub fn of(trace: &Trace) -> Threads {
        let calls = &trace.calls;
        let mut order: Vec<CallId> = calls
            .ids()
            .filter(|call| {
                trace::is_cuda_call(calls.api[call.index()]) && calls.thread[call.index()].is_some()
            })
            .collect();
        order.sort_unstable_by_key(|call| {
            let at = call.index();
            (calls.thread[at], calls.start[at], std::cmp::Reverse(calls.end[at]), *call)
        });
        let outer = trace::outermost_calls(trace, order.iter().copied());
        let mut threads = Threads { calls: vec![Vec::new(); trace.threads.len()], outer };
        for call in order.into_iter().filter(|call| threads.outer[call.index()] == *call) {
            threads.calls[calls.thread[call.index()].index()].push(call);
        }
        threads
    }

    /// The outermost calls of a thread.
    pub fn calls(&self, thread: ThreadId) -> &[CallId] {
        thread.some().map_or(&[], |thread| &self.calls[thread.index()])
    }

    /// The outermost call that a call is in.
    pub fn outer(&self, call: CallId) -> CallId {
        call.some().map_or(CallId::NONE, |call| self.outer[call.index()])
    }

    /// The start of the first call of all, ns.
    pub fn start(&self, trace: &Trace) -> Option<Ns> {
        self.calls.iter().filter_map(|calls| calls.first()).map(|call| trace.calls.start[call.index()]).min()
    }

    /// The end of the last call of all, ns.
    pub fn end(&self, trace: &Trace) -> Option<Ns> {
        self.calls.iter().filter_map(|calls| calls.last()).map(|call| trace.calls.end[call.index()]).max()
    }

    /// The outermost call of a thread that covers a moment.
    pub fn call_at(&self, trace: &Trace, thread: ThreadId, at: Ns) -> Option<CallId> {
        let calls = self.calls(thread);
        let after = calls.partition_point(|call| trace.calls.start[call.index()] <= at);
        let call = *calls.get(after.checked_sub(1)?)?;
        (at < trace.calls.end[call.index()]).then_some(call)
    }

    /// When the last call of a thread that had ended by then ended, ns.
    pub fn last_end(&self, trace: &Trace, thread: ThreadId, by: Ns) -> Ns {
        let calls = self.calls(thread);
        let ended = calls.partition_point(|call| trace.calls.end[call.index()] <= by);
        ended.checked_sub(1).map_or(Ns::MIN, |last| trace.calls.end[calls[last].index()])
    }
}
