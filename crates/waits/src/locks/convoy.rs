//! Launches that wait for the mutex of their context, or of their stream's hardware queue, and those that contend for the first so much
//! that it decides how fast they are.

use crate::class::Class;
use crate::index::Index;
use rustc_hash::{FxHashMap, FxHashSet};
use std::iter;
use trace::{CallId, ContextId, LockKind, Ns, OpId, OpKind, Trace};

/// The launches of a context are a convoy if they spend more than this part of their time in waits for mutexes, in percent. 24 threads:
/// 52 to 60, whether they only launch or their kernels share hardware queues; 8 threads that only launch: 18 to 22, 12 and 32 whose
/// kernels are busy: 14 to 16 (H100, 16 processors). Shorter waits are part of what a launch costs.
const WAITING: i128 = 33;

/// So many returns of launches show how long each holds the mutex.
const ENOUGH: usize = 100;

/// In the mean, a launch holds the mutex for at most this part of the model's time, in percent: 1.6 to 2.2 µs in six recordings of 24
/// threads that only launch (1.6 in the model of an H200). Where they wait for their kernels, too, it takes 4.1 to 4.6 µs from launch to
/// launch on 16 processors: much of that is the time until a thread has a processor, which is not the mutex's.
const MOST: Ns = 135;

/// Contexts whose launches are a convoy. Contexts whose launches wait for one mutex, as those of all GPUs of a process do with some drivers, are
/// one: the first of them stands for all.
#[derive(Default)]
pub struct Convoys {
    contexts: FxHashSet<ContextId>,
    /// The context that stands for each one that shares a mutex with others.
    shared: FxHashMap<ContextId, ContextId>,
    /// The mutex of each context whose launches wait for one. They also wait for those of hardware queues, and a thread may lose its
    /// processor while it holds one: waits of 2 to 8 ms are half of the time of 24 threads on eight queues and 16 processors (H200).
    mutexes: FxHashMap<ContextId, i64>,
    /// The launches of convoys, and how long each holds the mutex of its context, ns.
    pub holds: Vec<(CallId, Ns)>,
}

impl Convoys {
    /// The convoys of a trace. `usual_ns`: for how long a launch usually holds the mutex of its context; `None` if it holds none.
    pub fn of(index: &Index<'_>, usual_ns: Option<Ns>) -> Convoys {
        let trace = index.trace;
        let mut contexts: FxHashMap<ContextId, Launches> = FxHashMap::default();
        let waits = &trace.waits;
        let shared = shared(index);
        let of = |context: ContextId| stands_for(&shared, context);
        for at in 0..waits.len() {
            if let Some(context) = waited_for_launches(index, at) {
                let locks = &mut contexts.entry(of(context)).or_default().locks;
                locks.entry(waits.lock[at]).or_default().push((waits.start[at], waits.end[at]));
            }
        }
        let mutexes = contexts.iter().filter_map(|(context, of)| Some((*context, of.mutex()?))).collect();
        let mut convoys = Convoys { mutexes, shared: shared.clone(), ..Convoys::default() };
        contexts.retain(|context, of| of.locks[&convoys.mutexes[context]].len() >= ENOUGH);
        let Some(usual_ns) = usual_ns.filter(|_| !contexts.is_empty()) else { return convoys };
        for call in trace.threads.ids().flat_map(|thread| index.calls.of_thread(thread).iter().copied()) {
            if let Some(of) =
                launches_into(trace, index.ops(call)).and_then(|context| contexts.get_mut(&of(context)))
            {
                let (start, end) = (trace.calls.start[call.index()], trace.calls.end[call.index()]);
                of.returns.push((end, call));
                of.time += i128::from(end - start);
            }
        }
        let most = usual_ns * MOST / 100;
        for (context, of) in contexts {
            if let Some(holds) = of.holds(most) {
                convoys.contexts.insert(context);
                convoys.holds.extend(holds);
            }
        }
        convoys
    }

    /// The mutex that a recorded wait was for.
    pub fn mutex_of(&self, index: &Index<'_>, wait: usize) -> Mutex {
        let trace = index.trace;
        let Some(context) = waited_for_launches(index, wait) else { return Mutex::Other };
        let context = stands_for(&self.shared, context);
        let in_convoy = self.contexts.contains(&context);
        match self.mutexes.get(&context) {
            Some(mutex) if *mutex != trace.waits.lock[wait] => Mutex::OfQueue { in_convoy },
            Some(_) if in_convoy => Mutex::OfConvoy,
            _ => Mutex::Other,
        }
    }
}

/// Kind of mutex that a call waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mutex {
    /// Mutex of a context whose launches are a convoy.
    OfConvoy,
    /// Mutex of a stream's hardware queue, and whether the context's launches are a convoy.
    OfQueue {
        /// Whether the context's launches are a convoy.
        in_convoy: bool,
    },
    /// Another one.
    Other,
}

/// The context that stands for each one whose launches wait for a mutex for which those of other contexts wait, too.
fn shared(index: &Index<'_>) -> FxHashMap<ContextId, ContextId> {
    let mut of_locks: FxHashMap<i64, ContextId> = FxHashMap::default();
    let mut shared = FxHashMap::default();
    for at in 0..index.trace.waits.len() {
        let Some(context) = waited_for_launches(index, at) else { continue };
        let first = *of_locks.entry(index.trace.waits.lock[at]).or_insert(stands_for(&shared, context));
        if first != context {
            shared.insert(context, first);
        }
    }
    shared
}

fn stands_for(shared: &FxHashMap<ContextId, ContextId>, context: ContextId) -> ContextId {
    shared.get(&context).copied().unwrap_or(context)
}

/// The context of a launch that waited for a mutex, unless a call is known to have released it that holds it for longer than launches and
/// synchronizations do: a pageable copy holds it until the end of its last piece.
fn waited_for_launches(index: &Index<'_>, wait: usize) -> Option<ContextId> {
    let (trace, waits) = (index.trace, &index.trace.waits);
    if !waits.layer[wait].is_cuda() || waits.kind[wait] != LockKind::Mutex {
        return None;
    }
    let context = launches_into(trace, index.ops(index.calls.outermost(waits.call[wait]).some()?))?;
    let releaser = index.calls.outermost(waits.releaser_call[wait]).some();
    let is_short =
        |call: CallId| launches_into(trace, index.ops(call)).is_some() || index.class(call) == Class::Sync;
    releaser.is_none_or(is_short).then_some(context)
}

/// The context that a call with these operations launches a kernel into.
fn launches_into(trace: &Trace, ops: &[OpId]) -> Option<ContextId> {
    let op = ops.first()?.index();
    let is_launched = trace.ops.kind[op] == OpKind::Kernel && trace.ops.graph_node[op] == 0;
    is_launched.then(|| trace.context_of_stream(trace.ops.stream[op]))
}

/// The launches of a context.
#[derive(Default)]
struct Launches {
    /// When each returned, ns.
    returns: Vec<(Ns, CallId)>,
    /// The time of all, ns.
    time: i128,
    /// When they waited, by mutex, ns.
    locks: FxHashMap<i64, Vec<(Ns, Ns)>>,
}

impl Launches {
    /// The context's mutex: a launch acquires that, and one of its hardware queue, for which fewer wait.
    fn mutex(&self) -> Option<i64> {
        self.locks.iter().max_by_key(|(lock, waits)| (waits.len(), **lock)).map(|(lock, _)| *lock)
    }

    /// How long each launch holds the mutex, ns, if they are a convoy: for as long as from the return of the one before to its own, if
    /// somebody waits for one at both times; the others for the mean. The mean is at most `most`.
    fn holds(mut self, most: Ns) -> Option<impl Iterator<Item = (CallId, Ns)>> {
        let waited: i128 = self.locks.values().flatten().map(|(start, end)| i128::from(end - start)).sum();
        if 100 * waited < WAITING * self.time {
            return None;
        }
        self.returns.sort_unstable();
        let waiting = self.waiting_at_returns();
        let both = self.returns.windows(2).zip(waiting.windows(2));
        let from_the_one_before = both.map(|(at, waiting)| {
            let is_queued = waiting[0].min(waiting[1]) > 0;
            is_queued.then(|| at[1].0 - at[0].0)
        });
        let own: Vec<Option<Ns>> = iter::once(None).chain(from_the_one_before).collect();
        let (sum, count) = own.iter().flatten().fold((0, 0), |(sum, count), hold| (sum + hold, count + 1));
        if count < ENOUGH as Ns {
            return None;
        }
        let mean = sum / count;
        let within_most = move |hold: Ns| if mean > most { hold * most / mean } else { hold };
        let calls = self.returns.into_iter().map(|(_, call)| call);
        Some(calls.zip(own).map(move |(call, own)| (call, within_most(own.unwrap_or(mean)))))
    }

    /// How many wait for a mutex as each launch returns. One of them may hold its hardware queue's mutex, for which the others wait.
    fn waiting_at_returns(&self) -> Vec<usize> {
        let (mut starts, mut ends): (Vec<Ns>, Vec<Ns>) = self.locks.values().flatten().copied().unzip();
        starts.sort_unstable();
        ends.sort_unstable();
        let [mut started, mut ended] = [0; 2];
        let mut waiting = |at: Ns| {
            started += starts[started..].iter().take_while(|start| **start <= at).count();
            ended += ends[ended..].iter().take_while(|end| **end <= at).count();
            started - ended
        };
        self.returns.iter().map(|(at, _)| waiting(*at)).collect()
    }
}
