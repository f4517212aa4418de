//! A workload of the rounds of threads.

use super::act::{Node, Thing};
use super::chosen::Role;
use super::fold::{Folded, Round, median};
use super::writer::Writer;
use rustc_hash::FxHashMap;
use sim::Model;
use std::collections::BTreeMap;
use trace::{ContextId, DeviceId, Ns, ProcessId, StreamId, ThreadId, Trace};
use workload::{BufferId, Call, Process, Repeat, Step, StreamKind, Workload};

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
    /// How long the rounds take together, ns.
    pub lasts: Ns,
}

/// Most steps of all threads together: a run of the simulator makes a million in a second.
const MOST_STEPS: f64 = 300_000.0;

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
        let mut made = Made { parts, devices: &devices, contexts: FxHashMap::default(), streams: FxHashMap::default() };
        for member in members {
            let count = counts.entry(member.role).or_default();
            *count += 1;
            let name = format!("{}-{count}", member.role.word());
            let ends = member.role == Role::Waiter || !has_waiter;
            let repeat = if ends { Repeat::Times(rounds(member, lasts)) } else { Repeat::WhileOthers };
            made.thread(process, member, &name, repeat);
        }
    }
    workload
}

/// How often a thread does its round.
fn rounds(member: &Member, lasts: Ns) -> u64 {
    /// Fewest rounds: what happens again and again happens more than twice.
    const FEWEST: i64 = 3;
    u64::try_from((lasts / member.round.ns.max(1)).max(FEWEST)).unwrap_or(1)
}

/// How long the rounds take together, ns: less if that were too many steps.
fn lasts(parts: &Parts<'_>, members: &[Member]) -> Ns {
    let rate = |member: &Member| made(&member.round.body) / member.round.ns.max(1) as f64;
    let rate: f64 = members.iter().map(rate).sum();
    (MOST_STEPS / rate.max(f64::MIN_POSITIVE)).min(parts.lasts as f64) as Ns
}

/// Steps that a body makes.
fn made(body: &[Folded]) -> f64 {
    let of = |folded: &Folded| match folded {
        Folded::Step { .. } => 1.0,
        Folded::Loop { times, body } => median(times.iter().copied()) as f64 * made(body),
    };
    body.iter().map(of).sum()
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
        let mut buffers: Vec<BufferId> = writer.buffers.values().copied().collect();
        buffers.sort_unstable();
        if self.parts.warms_up {
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
