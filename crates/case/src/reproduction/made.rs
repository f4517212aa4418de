//! Names of a process of a workload for what its threads use in the trace.

use super::act::{Node, Thing};
use super::chosen::Role;
use super::fold::{Folded, Round};
use rustc_hash::FxHashMap;
use sim::Model;
use std::collections::BTreeMap;
use trace::{ContextId, DeviceId, Ns, StreamId, ThreadId, Trace};
use workload::{Process, StreamKind};

/// A thread of the workload.
pub(super) struct Member {
    pub thread: ThreadId,
    pub role: Role,
    pub round: Round,
}

/// Material of a workload.
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

/// The GPUs of the workload: those that the threads use, in order, or fewer that stand for several.
pub(super) struct Devices {
    of: BTreeMap<DeviceId, u32>,
    gpus: u32,
}

impl Devices {
    pub fn of(trace: &Trace, members: &[Member], gpus: u32) -> Devices {
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

impl<'a> Made<'a> {
    pub fn new(parts: &'a Parts<'a>, devices: &'a Devices) -> Made<'a> {
        Made { parts, devices, contexts: FxHashMap::default(), streams: FxHashMap::default() }
    }

    /// The context of most of a thread's steps. A thread of a workload has one.
    pub fn context_of(&mut self, process: &mut Process, member: &Member) -> workload::ContextId {
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
