//! A workload of the rounds of threads.

use super::act::{Node, Thing};
use super::chosen::Role;
use super::fold::{Folded, Round, median};
use super::writer::Writer;
use rustc_hash::FxHashMap;
use sim::Model;
use std::collections::BTreeMap;
use trace::{ContextId, DeviceId, Ns, ProcessId, StreamId, ThreadId, Trace};
use workload::{Call, Process, Repeat, Step, StreamKind, Workload};

/// A thread of the workload.
pub(super) struct Member {
    pub thread: ThreadId,
    pub role: Role,
    pub round: Round,
}

/// What a workload is made from.
pub(super) struct Parts<'a> {
    pub trace: &'a Trace,
    pub model: &'a Model,
    /// By stream of the trace.
    pub kinds: &'a [StreamKind],
    pub graphs: &'a [Vec<Node>],
    /// Bytes of what threads make, by kind.
    pub sizes: &'a BTreeMap<Thing, u64>,
    /// Whether a thread does one round before those that are timed.
    pub warms_up: bool,
    /// The part of a kernel's duration that it has: fewer GPUs than in the trace are as busy as those.
    pub shares: (u32, u32),
    /// How often times and sizes are shorter than in the trace.
    pub shrinks: i64,
    /// How long the rounds take together, ns.
    pub lasts: Ns,
}

/// Most steps of all threads together: a run of the simulator makes a million in a second.
const MOST_STEPS: f64 = 100_000.0;

/// Longest round that a thread does once before those that are timed, ns.
const LONGEST_WARM_UP: Ns = 250_000_000;

/// The workload of these threads on at most so many GPUs.
pub(super) fn build(parts: &Parts<'_>, members: &[Member], gpus: u32) -> Workload {
    let mut workload = Workload::new("reproduction");
    let devices = Devices::of(parts.trace, members, gpus);
    let lasts = lasts(parts, members);
    let mut processes: BTreeMap<ProcessId, Vec<&Member>> = BTreeMap::new();
    for member in members {
        processes.entry(parts.trace.process_of_thread(member.thread)).or_default().push(member);
    }
    let has_waiter = members.iter().any(|member| member.role == Role::Waiter);
    let mut counts: BTreeMap<Role, usize> = BTreeMap::new();
    for (number, (_, members)) in processes.into_iter().enumerate() {
        let process = workload.process(format!("process-{}", number + 1));
        let mut made =
            Made { parts, devices: &devices, contexts: FxHashMap::default(), streams: FxHashMap::default() };
        for member in members {
            let count = counts.entry(member.role).or_default();
            *count += 1;
            let name = format!("{}-{count}", member.role.word());
            let ends = member.role == Role::Waiter || !has_waiter;
            let repeat = if ends { Repeat::For(lasts) } else { Repeat::WhileOthers };
            made.thread(process, member, &name, repeat);
        }
    }
    let (part, of) = parts.shares;
    if part < of && workload.processes.iter().any(|process| process.streams.len() > waits::HARDWARE_QUEUES) {
        // Streams that were on GPUs of their own share no hardware queue.
        workload.connections = Some(workload::MOST_CONNECTIONS);
    }
    workload
}

/// How long the rounds go on, ns: as long as there are not too many steps, and no shorter than the longest round.
fn lasts(parts: &Parts<'_>, members: &[Member]) -> u64 {
    let rate: f64 = members.iter().map(|member| rate(&member.round)).sum();
    let longest = longest(members);
    let most = (MOST_STEPS / rate.max(f64::MIN_POSITIVE)).min(parts.lasts as f64) as Ns;
    u64::try_from(most.max(longest.min(parts.lasts))).unwrap_or(1).max(1)
}

/// The longest round, ns.
fn longest(members: &[Member]) -> Ns {
    members.iter().map(|member| member.round.ns).max().unwrap_or(0)
}

/// How often times and sizes are shorter than in the trace: rounds that are longer than the whole run is to be become as long as that.
pub(super) fn shrinks(members: &[Member], lasts: Ns) -> i64 {
    longest(members).div_euclid(lasts.max(1)) + 1
}

/// Steps that a thread makes in a nanosecond: fewer than if it waits for nothing, and more than in the trace, by their ratio in the middle.
fn rate(Round { body, ns }: &Round) -> f64 {
    /// Duration of a short call, ns: a launch takes 2 to 4 µs.
    const CALL: f64 = 2_000.0;
    fn sums(body: &[Folded]) -> (f64, f64) {
        body.iter().fold((0.0, 0.0), |(steps, ns), folded| match folded {
            Folded::Step { pauses, .. } => {
                (steps + 1.0, ns + CALL + median(pauses.iter().map(|pause| pause.all())) as f64)
            }
            Folded::Loop { times, body } => {
                let (times, (of_steps, of_ns)) = (median(times.iter().copied()) as f64, sums(body));
                (steps + times * of_steps, ns + times * of_ns)
            }
        })
    }
    let (steps, least) = sums(body);
    steps / (least.max(1.0) * (*ns).max(1) as f64).sqrt()
}

/// The GPUs of the workload: those that the threads use, in order, or fewer that stand for several.
struct Devices {
    of: BTreeMap<DeviceId, u32>,
    gpus: u32,
}

impl Devices {
    fn of(trace: &Trace, members: &[Member], gpus: u32) -> Devices {
        let mut of = BTreeMap::new();
        for stream in members.iter().flat_map(|member| streams(&member.round.body)) {
            of.insert(trace.device_of_stream(stream), 0);
        }
        of.values_mut().zip(0..).for_each(|(number, next)| *number = next);
        Devices { of, gpus: gpus.max(1) }
    }

    fn number(&self, device: DeviceId) -> u32 {
        self.of.get(&device).copied().unwrap_or(0) % self.gpus
    }
}

/// The number of GPUs that threads use.
pub(super) fn devices(trace: &Trace, members: &[Member]) -> u32 {
    Devices::of(trace, members, 1).of.len().max(1) as u32
}

/// The streams of all steps.
fn streams(body: &[Folded]) -> Vec<StreamId> {
    let of = |folded: &Folded| match folded {
        Folded::Step { act, .. } => act.stream().filter(|stream| stream.is_some()).into_iter().collect(),
        Folded::Loop { body, .. } => streams(body),
    };
    body.iter().flat_map(of).collect()
}

/// Rows of one process.
pub(super) struct Made<'a> {
    pub parts: &'a Parts<'a>,
    devices: &'a Devices,
    contexts: FxHashMap<ContextId, workload::ContextId>,
    streams: FxHashMap<(StreamId, workload::ContextId), workload::StreamId>,
}

impl Made<'_> {
    fn thread(&mut self, process: &mut Process, member: &Member, name: &str, repeat: Repeat) {
        let context = self.context_of(process, member);
        let mut writer = Writer::new(self, process, context, name);
        let body = writer.write(&member.round.body);
        let mut before = std::mem::take(&mut writer.before);
        let mut buffers = writer.lasting();
        buffers.sort_unstable();
        if self.parts.warms_up && member.round.ns <= LONGEST_WARM_UP {
            before.extend(body.iter().cloned());
            before.push(Step::Call(Call::SynchronizeContext));
        }
        let thread = process.thread(name, context);
        (thread.repeat, thread.before, thread.body) = (repeat, before, body);
        let mut after = thread.after();
        after.synchronize_context();
        buffers.into_iter().for_each(|buffer| _ = after.free(buffer));
    }

    /// The context of most of a thread's steps. A thread of a workload has one.
    fn context_of(&mut self, process: &mut Process, member: &Member) -> workload::ContextId {
        let mut counts: BTreeMap<ContextId, usize> = BTreeMap::new();
        for stream in streams(&member.round.body) {
            *counts.entry(self.parts.trace.context_of_stream(stream)).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(context, count)| (*count, std::cmp::Reverse(*context)));
        match most.and_then(|(context, _)| context.some()) {
            Some(context) => self.context(process, context),
            None => process.primary(0),
        }
    }

    /// The context of the workload for one of the trace: the device's primary one, unless a process has several on one device.
    fn context(&mut self, process: &mut Process, context: ContextId) -> workload::ContextId {
        if let Some(known) = self.contexts.get(&context) {
            return *known;
        }
        let contexts = &self.parts.trace.contexts;
        let device = contexts.device[context.index()];
        let is_beside = self.contexts.keys().any(|other| contexts.device[other.index()] == device);
        let number = self.devices.number(device);
        let made = if is_beside { process.own_context(number) } else { process.primary(number) };
        self.contexts.insert(context, made);
        made
    }

    /// The first stream of a context of those that stand for one of the trace.
    pub fn first_stream(&self, context: workload::ContextId) -> Option<workload::StreamId> {
        let of_context = self.streams.iter().filter(|((_, of), _)| *of == context);
        of_context.map(|(_, stream)| *stream).min()
    }

    /// The stream of the workload for one of the trace, in a thread's context.
    pub fn stream(
        &mut self,
        process: &mut Process,
        stream: StreamId,
        context: workload::ContextId,
    ) -> workload::StreamId {
        if let Some(known) = self.streams.get(&(stream, context)) {
            return *known;
        }
        let kind = stream.some().map_or(StreamKind::NonBlocking, |stream| self.parts.kinds[stream.index()]);
        let made = match kind {
            StreamKind::Default => process.default_stream(context),
            StreamKind::Blocking | StreamKind::NonBlocking => {
                let number = process.streams.len() + 1;
                process.stream(format!("stream-{number}"), context, kind)
            }
        };
        self.streams.insert((stream, context), made);
        made
    }
}
