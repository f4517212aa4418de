//! Which streams share a hardware queue: kernels of such streams never run at once, and each starts when the other's ends.
//!
//! No trace records it, nor how many queues a process has (8, unless `CUDA_DEVICE_MAX_CONNECTIONS` sets more or fewer; 2 for
//! a client of MPS). So it is read from the kernels' times.

use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use trace::{ContextId, Ns, OpId, OpKind, StreamId, Trace};

/// Most time between the end of a kernel and the start of one that waited for it, ns, as in `overlap/slip.rs`.
const NEXT: Ns = 10_000;

/// Hardware queues of a process by default (`CUDA_DEVICE_MAX_CONNECTIONS`, CUDA programming guide).
const DEFAULT: usize = 8;

/// Fewest times that kernels of two streams waited for each other if these share a queue.
const FEWEST: u32 = 3;

/// Most streams of a context that are compared with each other.
const MOST: usize = 256;

/// The streams that share hardware queues with others.
pub(super) struct Connections {
    /// By stream: a number of its queue that no other queue has; `None` if it shares none.
    queues: Vec<Option<u32>>,
    /// By context: whether more streams have kernels than there are queues by default.
    many: Vec<bool>,
}

impl Connections {
    /// Finds them in a device's operations, by start. `ready` is the time at which a kernel could have started, as far as
    /// its own stream is concerned.
    pub fn new(trace: &Trace, ops: &[OpId], ready: impl Fn(OpId) -> Option<Ns>) -> Connections {
        let mut contexts = FxHashMap::<ContextId, Context>::default();
        let mut places = vec![None; trace.streams.len()];
        for op in ops.iter().copied().filter(|op| trace.ops.kind[op.index()] == OpKind::Kernel) {
            let Some(stream) = trace.ops.stream[op.index()].some() else { continue };
            let context = contexts.entry(trace.context_of_stream(stream)).or_default();
            let place = *places[stream.index()].get_or_insert_with(|| context.add(stream));
            let times = (trace.ops.start[op.index()], trace.ops.end[op.index()]);
            context.start(place, times, || ready(op));
        }
        let mut found =
            Connections { queues: vec![None; trace.streams.len()], many: vec![false; trace.contexts.len()] };
        for (id, context) in contexts {
            if let Some(id) = id.some() {
                found.many[id.index()] = context.streams.len() > DEFAULT;
            }
            context.queues(&mut found.queues);
        }
        found
    }

    /// None known: for devices without such queues.
    pub fn none(trace: &Trace) -> Connections {
        Connections { queues: vec![None; trace.streams.len()], many: vec![false; trace.contexts.len()] }
    }

    /// The queue that a stream shares with others.
    pub fn queue(&self, stream: StreamId) -> Option<u32> {
        stream.some().and_then(|stream| self.queues[stream.index()])
    }

    /// Whether more streams of a context have kernels than there are hardware queues by default.
    pub fn are_exceeded(&self, context: ContextId) -> bool {
        context.some().is_some_and(|context| self.many[context.index()])
    }
}

/// The kernels of a context's streams, as time goes on.
#[derive(Default)]
struct Context {
    streams: Vec<StreamId>,
    /// By place of the stream: those whose kernels ran at once with its own.
    beside: Vec<Places>,
    /// Running kernels: place of the stream, end.
    running: Vec<(usize, Ns)>,
    /// Kernels that ended last, at most one per stream.
    ended: Vec<(usize, Ns)>,
    /// By pair of places, the smaller one first: how often one's kernel was ready and started when the other's ended.
    waited: FxHashMap<(usize, usize), u32>,
}

/// A set of places.
#[derive(Clone, Copy, Default)]
struct Places([u64; MOST / 64]);

impl Places {
    fn insert(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    fn contains(&self, place: usize) -> bool {
        self.0[place / 64] & (1 << (place % 64)) != 0
    }

    fn is_empty(&self) -> bool {
        self.0 == [0; MOST / 64]
    }
}

impl Context {
    fn add(&mut self, stream: StreamId) -> usize {
        self.streams.push(stream);
        self.beside.push(Places::default());
        self.streams.len() - 1
    }

    fn start(&mut self, place: usize, (start, end): (Ns, Ns), ready: impl FnOnce() -> Option<Ns>) {
        if place >= MOST {
            return;
        }
        let Context { running, ended, beside, waited, .. } = self;
        ended.retain(|(_, end)| start - *end <= NEXT);
        running.retain(|(other, end)| {
            if *end > start {
                if *other != place {
                    beside[place].insert(*other);
                    beside[*other].insert(place);
                }
                return true;
            }
            ended.retain(|(one, _)| one != other);
            if start - *end <= NEXT {
                ended.push((*other, *end));
            }
            false
        });
        running.push((place, end));
        if ended.iter().all(|(other, _)| *other == place || beside[place].contains(*other)) {
            return;
        }
        let Some(ready) = ready() else { return };
        for (other, _) in ended.iter().filter(|(other, end)| *other != place && ready < *end) {
            *waited.entry((place.min(*other), place.max(*other))).or_default() += 1;
        }
    }

    /// Numbers the queues that streams share.
    fn queues(&self, queues: &mut [Option<u32>]) {
        let mut groups: Vec<Vec<usize>> =
            (0..self.streams.len().min(MOST)).map(|place| vec![place]).collect();
        let mut of: Vec<usize> = (0..groups.len()).collect();
        let mut pairs: Vec<(Reverse<u32>, (usize, usize))> =
            self.waited.iter().map(|(pair, count)| (Reverse(*count), *pair)).collect();
        pairs.sort_unstable();
        for (_, (a, b)) in pairs {
            let (a, b) = (of[a].min(of[b]), of[a].max(of[b]));
            if a != b && self.share(&groups[a], &groups[b]) {
                let moved = std::mem::take(&mut groups[b]);
                moved.iter().for_each(|place| of[*place] = a);
                groups[a].extend(moved);
            }
        }
        for group in groups.iter().filter(|group| group.len() > 1) {
            let number = self.streams[group[0]].index() as u32;
            group.iter().for_each(|place| queues[self.streams[*place].index()] = Some(number));
        }
    }

    /// Whether the streams of two groups share one queue: no kernels of theirs ever ran at once, though others did beside
    /// them, and they waited for each other.
    fn share(&self, one: &[usize], other: &[usize]) -> bool {
        let mut waited = 0;
        for (a, b) in one.iter().flat_map(|a| other.iter().map(move |b| (*a, *b))) {
            if self.beside[a].contains(b) {
                return false;
            }
            waited += self.waited.get(&(a.min(b), a.max(b))).copied().unwrap_or(0);
        }
        // Where kernels fill the device, no two of them ever run at once.
        let have_others = |group: &&[usize]| group.iter().any(|place| !self.beside[*place].is_empty());
        waited >= FEWEST && [one, other].iter().all(have_others)
    }
}
