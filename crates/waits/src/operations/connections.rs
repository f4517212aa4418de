//! Which streams share a hardware queue: kernels of such streams start in the order of their launches (`launched.rs`), or, where threads
//! launch them in bursts, never run at once, and each starts when the other's ends. A stream may go on in another queue: of streams that share none all along, those kernels are kept that waited for one of another stream (`changing.rs`).
//!
//! No trace records it, and only recordings of our own say whether `CUDA_DEVICE_MAX_CONNECTIONS` sets more or fewer than 8 queues for a
//! process; a client of MPS has 2. So it is read from the kernels' times.

use super::capacity::WHOLE;
use super::changing::{self, Behind};
use super::launched::{Kernel, Launched};
use super::launches::Launches;
use super::stream_sets::{MOST, StreamSet};
use crate::constants::{LAUNCH, NEXT_OPERATION, hardware_queues, set_queues};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use trace::{ContextId, Ns, OpId, OpKind, StreamId, Trace};

/// Fewest times that kernels of two streams waited for each other if these share a queue.
const FEWEST: u32 = 3;

/// A hardware queue that a stream shares with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedQueue {
    /// A number that no other queue of the trace has: a row of its streams.
    pub number: u32,
    /// Whether its kernels start in the order of their launches; else they never run at once.
    pub in_order: bool,
    /// How many queues these are. A stream stays in one of several until another stream is launched into it; then it goes on in the one that
    /// was used least recently, of those in which no kernel waits if there are any.
    pub count: u32,
}

/// The streams that share hardware queues with others.
pub(super) struct Connections {
    /// By stream; `None` if it shares none.
    pub queues: Vec<Option<SharedQueue>>,
    /// Kernels of streams that share several queues, each with the one of another stream for whose start it waited.
    pub behind: FxHashMap<OpId, OpId>,
    /// By context: whether more streams have kernels than there are queues.
    many: Vec<bool>,
}

impl Connections {
    /// Finds them in a device's operations, by start.
    pub fn new(trace: &Trace, ops: &[OpId], known: &Launches<'_>) -> Connections {
        let mut contexts = contexts(trace, ops, known);
        launched(trace, ops, &mut contexts, known);
        let mut found = Connections::none(trace);
        for (id, context) in contexts {
            if let Some(id) = id.some() {
                let process = trace.contexts.process[id.index()];
                if set_queues(trace, process).is_some_and(|queues| context.streams.len() <= queues) {
                    continue;
                }
                found.many[id.index()] = context.streams.len() > hardware_queues(trace, process);
            }
            context.number(&mut found.queues);
            found.behind.extend(context.change(trace, known, &mut found.queues));
        }
        found
    }

    /// None known: for devices without such queues.
    pub fn none(trace: &Trace) -> Connections {
        Connections {
            queues: vec![None; trace.streams.len()],
            behind: FxHashMap::default(),
            many: vec![false; trace.contexts.len()],
        }
    }

    /// The queue that a stream shares with others.
    pub fn queue(&self, stream: StreamId) -> Option<SharedQueue> {
        stream.some().and_then(|stream| self.queues[stream.index()])
    }

    /// Whether more streams of a context have kernels than there are hardware queues.
    pub fn are_exceeded(&self, context: ContextId) -> bool {
        context.some().is_some_and(|context| self.many[context.index()])
    }
}

/// The contexts of kernels, with those of their streams that waited for each other and never ran at once.
fn contexts(trace: &Trace, ops: &[OpId], known: &Launches<'_>) -> FxHashMap<ContextId, Context> {
    let mut contexts = FxHashMap::<ContextId, Context>::default();
    let mut places = vec![None; trace.streams.len()];
    for op in ops.iter().copied().filter(|op| trace.ops.kind[op.index()] == OpKind::Kernel) {
        let Some(stream) = trace.ops.stream[op.index()].some() else { continue };
        let context = contexts.entry(trace.context_of_stream(stream)).or_default();
        let place = *places[stream.index()].get_or_insert_with(|| context.add(stream));
        let times = (trace.ops.start[op.index()], trace.ops.end[op.index()]);
        context.start(Run { place, op, start: times.0, end: times.1 }, known);
    }
    contexts
}

/// Finds the streams whose kernels start in the order of their launches.
fn launched(trace: &Trace, ops: &[OpId], contexts: &mut FxHashMap<ContextId, Context>, known: &Launches<'_>) {
    contexts.retain(|_, context| context.streams.len() > 1);
    let mut places = vec![None; trace.streams.len()];
    for (id, context) in contexts.iter() {
        for (place, stream) in context.streams.iter().enumerate().take(MOST) {
            places[stream.index()] = Some((*id, place));
        }
    }
    let launches = || {
        let at = |op: &OpId| Some((*op, places[trace.ops.stream[op.index()].some()?.index()]?));
        let is_launched = |op: &&OpId| {
            trace.ops.kind[op.index()] == OpKind::Kernel && trace.ops.graph_node[op.index()] == 0
        };
        ops.iter().filter(is_launched).filter_map(at)
    };
    let kernel = |op: OpId, place: usize| Kernel {
        op,
        place,
        call: known.call(op),
        start: trace.ops.start[op.index()],
        end: trace.ops.end[op.index()],
    };
    let mut kernels: FxHashMap<ContextId, Vec<Vec<OpId>>> = FxHashMap::default();
    for (op, (id, place)) in launches() {
        let of = kernels.entry(id).or_insert_with(|| vec![Vec::new(); contexts[&id].streams.len().min(MOST)]);
        of[place].push(op);
    }
    for (id, kernels) in kernels {
        contexts.entry(id).or_default().launched = Launched::new(kernels);
    }
    for (op, (id, place)) in launches() {
        if let Some(context) = contexts.get_mut(&id) {
            context.launched.start(kernel(op, place), kernel, known);
        }
    }
}

/// A kernel.
#[derive(Clone, Copy)]
struct Run {
    /// The place of its stream.
    place: usize,
    op: OpId,
    start: Ns,
    end: Ns,
}

/// How often a kernel was ready and started when another stream's ended.
#[derive(Clone, Copy, Default)]
struct Waited {
    all: u32,
    /// Of them, how often that kernel left half of the device, and no event was waited for since its launch; a launch on its way waits for
    /// nothing.
    needlessly: u32,
}

/// The kernels of a context's streams, as time goes on.
#[derive(Default)]
struct Context {
    streams: Vec<StreamId>,
    /// By place of the stream: those whose kernels ran at once with its own.
    beside: Vec<StreamSet>,
    /// Running kernels.
    running: Vec<Run>,
    /// Kernels that ended last, at most one per stream.
    ended: Vec<Run>,
    /// By pair of places, the smaller one first.
    waited: FxHashMap<(usize, usize), Waited>,
    /// Which of them started in the order of their launches, if that was looked for.
    launched: Launched,
}

impl Context {
    fn add(&mut self, stream: StreamId) -> usize {
        self.streams.push(stream);
        self.beside.push(StreamSet::default());
        self.streams.len() - 1
    }

    fn start(&mut self, starts: Run, known: &Launches<'_>) {
        if starts.place >= MOST {
            return;
        }
        let Context { running, ended, beside, waited, .. } = self;
        ended.retain(|other| starts.start - other.end <= NEXT_OPERATION);
        running.retain(|other| {
            if other.end > starts.start {
                if other.place != starts.place {
                    beside[starts.place].insert(other.place);
                    beside[other.place].insert(starts.place);
                }
                return true;
            }
            ended.retain(|one| one.place != other.place);
            if starts.start - other.end <= NEXT_OPERATION {
                ended.push(*other);
            }
            false
        });
        let ran: i64 =
            running.iter().chain(&*ended).map(|other| known.share(other.op).unwrap_or(WHOLE)).sum();
        running.push(starts);
        let others = || ended.iter().filter(|other| other.place != starts.place);
        if others().all(|other| beside[starts.place].contains(other.place)) {
            return;
        }
        let Some(ready) = known.ready_in_stream(starts.op) else { return };
        for other in others().filter(|other| ready < other.end) {
            let pair = (starts.place.min(other.place), starts.place.max(other.place));
            let waited = waited.entry(pair).or_default();
            waited.all += 1;
            waited.needlessly += u32::from(
                ran <= WHOLE / 2
                    && ready + LAUNCH < other.end
                    && known.waits_for_no_event(starts.op, other.op),
            );
        }
    }

    /// Numbers the queues that streams share: those whose kernels start in order, and others of the rest.
    fn number(&self, queues: &mut [Option<SharedQueue>]) {
        let mut alone = vec![true; self.streams.len().min(MOST)];
        for in_order in [true, false] {
            let groups = match in_order {
                true => self.groups(&alone, self.launched.pairs(), Context::start_in_order),
                false => self.groups(
                    &alone,
                    self.waited.iter().map(|(pair, waited)| (pair, &waited.all)),
                    Context::never_run_at_once,
                ),
            };
            for group in groups.iter().filter(|group| group.len() > 1) {
                let number = self.streams[group[0]].index() as u32;
                for place in group {
                    queues[self.streams[*place].index()] = Some(SharedQueue { number, in_order, count: 1 });
                    alone[*place] = false;
                }
            }
        }
    }

    /// Streams that share no queue all along, but waited for each other in one for a time, go from queue to queue. Returns the kernels that
    /// waited, each with the one of another stream whose start let it start.
    fn change(
        &self,
        trace: &Trace,
        known: &Launches<'_>,
        queues: &mut [Option<SharedQueue>],
    ) -> Vec<(OpId, OpId)> {
        let streams = &self.streams[..self.streams.len().min(MOST)];
        let alone: Vec<bool> = streams.iter().map(|stream| queues[stream.index()].is_none()).collect();
        let mut behind: Vec<Behind> = self.launched.behind().to_vec();
        behind.retain(|Behind { places: (one, other), .. }| alone[*one] && alone[*other]);
        let waited = || {
            let kernels = self.launched.kernels().filter(|(_, place)| alone[*place]);
            let waits = kernels.filter_map(|(op, _)| Some(trace.ops.start[op.index()] - known.ready(op)?));
            waits.filter(|ns| *ns > NEXT_OPERATION).sum()
        };
        let Some(count) = changing::queues(&behind, waited) else { return Vec::new() };
        let alone = || streams.iter().zip(&alone).filter(|(_, alone)| **alone).map(|(stream, _)| *stream);
        let number = alone().next().map_or(0, |stream| stream.index() as u32);
        alone().for_each(|stream| {
            queues[stream.index()] = Some(SharedQueue { number, in_order: true, count });
        });
        behind.into_iter().map(|behind| (behind.op, behind.other)).collect()
    }

    /// Groups those places that are `alone` by pairs of them, those with the greatest numbers first, if `share` says so of two groups.
    fn groups<'a>(
        &self,
        alone: &[bool],
        pairs: impl Iterator<Item = (&'a (usize, usize), &'a u32)>,
        share: fn(&Context, &[usize], &[usize]) -> bool,
    ) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = (0..alone.len()).map(|place| vec![place]).collect();
        let mut of: Vec<usize> = (0..groups.len()).collect();
        let mut pairs: Vec<(Reverse<u32>, (usize, usize))> = pairs
            .filter(|((a, b), _)| alone[*a] && alone[*b])
            .map(|(pair, count)| (Reverse(*count), *pair))
            .collect();
        pairs.sort_unstable();
        for (_, (a, b)) in pairs {
            let (a, b) = (of[a].min(of[b]), of[a].max(of[b]));
            if a != b && share(self, &groups[a], &groups[b]) {
                let moved = std::mem::take(&mut groups[b]);
                moved.iter().for_each(|place| of[*place] = a);
                groups[a].extend(moved);
            }
        }
        groups
    }

    /// Whether no kernels of two groups ever ran at once, though others did beside them or there was room, and they waited for each other.
    fn never_run_at_once(&self, one: &[usize], other: &[usize]) -> bool {
        let waited = |count: fn(&Waited) -> u32| {
            move |(a, b): (usize, usize)| {
                let waited = self.waited.get(&(a.min(b), a.max(b))).map_or(0, count);
                (!self.beside[a].contains(b)).then_some(waited)
            }
        };
        // Where kernels fill the device, no two of them ever run at once.
        let have_others = |group: &[usize]| group.iter().any(|place| !self.beside[*place].is_empty());
        let have_room = || often(pairs(one, other).map(waited(|waited| waited.needlessly)));
        ([one, other].into_iter().all(have_others)
            && often(pairs(one, other).map(waited(|waited| waited.all))))
            || have_room()
    }

    /// Whether all kernels of two groups started in the order of their launches, and some followed others.
    fn start_in_order(&self, one: &[usize], other: &[usize]) -> bool {
        often(pairs(one, other).map(|(a, b)| self.launched.followed(a, b)))
    }
}

fn pairs<'a>(one: &'a [usize], other: &'a [usize]) -> impl Iterator<Item = (usize, usize)> + 'a {
    one.iter().flat_map(|a| other.iter().map(move |b| (*a, *b)))
}

/// Whether all numbers are known, and enough together.
fn often(mut numbers: impl Iterator<Item = Option<u32>>) -> bool {
    numbers.try_fold(0, |sum, number| Some(sum + number?)).is_some_and(|sum| sum >= FEWEST)
}
