//! The situation of a wait: what the holder of the lock does, as far as the fixes depend on it.

use crate::Class;
use crate::analysis::grounds::Grounds;
use crate::analysis::group::Group;
use crate::facts::Facts;
use crate::facts::stretch::Stretch;
use crate::result::side::Doing;
use trace::{CallId, Ns, StreamId};

/// The work of the holder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rules) enum Situation {
    /// It copies from or to pageable memory, and this waits.
    PageableCopy(Contender),
    /// It allocates or frees.
    Allocation,
    /// It submits work, as the waiter does, each only for a moment. On an H200 32 threads with 220 launches per iteration
    /// made 2,352 to 2,988 iterations per second; as processes under MPS they made 3,833, with one graph launch per
    /// iteration 9,223.
    Submission,
    /// Several threads hold the lock shared, one call after another; the waiter needs it exclusively.
    Shared(Purpose),
    /// It works on another GPU: the threads share no stream, pool or context.
    OtherGpu,
    /// It sets something up: loads code, creates a context, launches a kernel for the first time.
    Setup,
    /// Unknown, or the waiter is in no call of the trace.
    Unseen,
    /// It does anything else, and this waits.
    Other(Contender),
    /// No holder is known.
    NoHolder,
}

/// The kind of call that waits for the holder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rules) enum Contender {
    /// A call that submits to the same stream.
    SameStream,
    /// A call that allocates or frees.
    Allocation,
    /// Any other call.
    Other,
}

/// The purpose of exclusive access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rules) enum Purpose {
    /// To allocate or free.
    Allocation,
    /// To launch into a stream for the first time.
    FirstLaunch,
    /// Anything else.
    Other,
}

/// Fewest waits of one kind that cannot be first uses: a PyTorch program loads a few hundred kernels.
const OFTEN: u64 = 1000;

impl Situation {
    /// The situation of a finding's waits.
    pub fn of(grounds: &Grounds<'_>) -> Situation {
        let Grounds { facts, key, group, waits } = grounds;
        let waiter = grounds.waiter();
        if waits.as_ref().is_some_and(|waits| waits.for_sharers()) {
            return Situation::Shared(purpose(facts, group, waiter));
        }
        if key.holder.is_none() && !matches!(key.waiter.doing, Doing::Lock(_)) {
            return Situation::NoHolder;
        }
        if key.across_gpus {
            return Situation::OtherGpu;
        }
        if key.holder.is_some_and(|side| side.copies_pageable()) || copy_unknown(facts, &group.holders) {
            return Situation::PageableCopy(beside(grounds, waiter));
        }
        let holder = grounds.holder();
        // Set-up happens only a few times, and in slow calls.
        let often = group.in_short >= group.lost / 2 || group.count() >= OFTEN;
        match holder {
            Class::Allocate | Class::Release => Situation::Allocation,
            Class::Launch if !often && mostly_new(facts, &group.holders) => Situation::Setup,
            _ if holder.enqueues() && waiter.enqueues() && (often || has_operations(grounds)) => {
                Situation::Submission
            }
            _ if matches!(key.waiter.doing, Doing::Lock(_)) => Situation::Unseen,
            Class::Load | Class::Create => Situation::Setup,
            Class::Copy { blocking: true } => Situation::Other(beside(grounds, waiter)),
            _ if waiter == Class::Allocate || waiter == Class::Release => {
                Situation::Other(Contender::Allocation)
            }
            _ => Situation::Unseen,
        }
    }
}

/// Whether the trace has operations of the process whose calls wait.
fn has_operations(grounds: &Grounds<'_>) -> bool {
    let call = grounds.group.stretches().find_map(Stretch::call);
    call.is_some_and(|call| grounds.facts.has_operations(call))
}

/// Whether most of some calls copy from or to pageable memory as far as can be told where the trace has no kind of memory.
fn copy_unknown(facts: &Facts<'_>, calls: &[CallId]) -> bool {
    let copies = calls.iter().filter(|call| facts.copies_pageable(**call)).count();
    facts.has_unknown_copies() && copies * 2 > calls.len()
}

/// Whether most of some launches are the first launch of their kernel.
fn mostly_new(facts: &Facts<'_>, launches: &[CallId]) -> bool {
    let new = launches.iter().filter(|call| facts.new_kernel(**call).is_some()).count();
    new * 2 > launches.len()
}

/// The kind of the waiting call.
fn beside(grounds: &Grounds<'_>, waiter: Class) -> Contender {
    match waiter {
        Class::Allocate | Class::Release => Contender::Allocation,
        _ if share_a_stream(grounds) && !has_one_lock(grounds.facts) => Contender::SameStream,
        _ => Contender::Other,
    }
}

/// Whether the driver is known to be so old that a pageable copy locks the whole context, whatever the stream: one of 2018
/// does (seed 000), 580 does not (H200). Not measured in between.
fn has_one_lock(facts: &Facts<'_>) -> bool {
    let major = facts.trace.meta.driver.split('.').next().and_then(|major| major.parse::<u32>().ok());
    // A tracer may record CUDA's version in its place, such as 13.0.
    major.is_some_and(|major| (100..400).contains(&major))
}

/// Whether a waiter and a holder submit to one stream.
fn share_a_stream(grounds: &Grounds<'_>) -> bool {
    let holding = streams(grounds.facts, grounds.group.holders.iter().copied());
    let waiting = streams(grounds.facts, grounds.waiting_calls());
    waiting.iter().any(|stream| holding.binary_search(stream).is_ok())
}

/// The known streams of some calls, each once.
fn streams(facts: &Facts<'_>, calls: impl Iterator<Item = CallId>) -> Vec<StreamId> {
    let mut streams: Vec<_> = calls.filter_map(|call| facts.stream(call).some()).collect();
    streams.sort_unstable();
    streams.dedup();
    streams
}

/// The purpose for which the waiter needs exclusive access most of the time.
fn purpose(facts: &Facts<'_>, group: &Group, waiter: Class) -> Purpose {
    let is_first = |stretch: &Stretch| stretch.call().is_some_and(|call| facts.is_first_launch(call));
    let in_first = || group.parts.iter().filter(|(_, stretch)| is_first(stretch)).map(|(lost, _)| *lost);
    match waiter {
        Class::Allocate | Class::Release => Purpose::Allocation,
        Class::Launch if in_first().fold(0, Ns::saturating_add) > group.lost / 2 => Purpose::FirstLaunch,
        _ => Purpose::Other,
    }
}
