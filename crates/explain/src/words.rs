//! The evidence of a finding in words.

use crate::facts::Facts;
use crate::group::{Group, Key};
use crate::parts::Fact;
use crate::recorded::Recorded;
use crate::rules::RATED_BYTES;
use crate::stretch::Stretch;
use crate::{Cause, Class, Evidence};
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{CallId, CopyKind, MemoryKind, Ns, OpKind, StreamId, Sym};

/// What some calls of one name did: `DtoH pageable 67108864 B, stream 7`, or the kernel they
/// launched; empty when there is nothing to tell. Of waits outside calls, for what.
pub(crate) fn describe(facts: &Facts<'_>, stretches: &[Stretch]) -> String {
    let calls: Vec<CallId> = stretches.iter().filter_map(|stretch| stretch.call()).collect();
    match stretches.first() {
        None => String::new(),
        Some(Stretch::Wait(wait)) => {
            let library = facts.trace.waits.library[wait.index()];
            format!("waiting for a lock of {}", facts.library(library))
        }
        Some(Stretch::Call(first)) => match facts.class(*first) {
            Class::Copy { .. } => describe_copies(facts, &calls),
            Class::Launch => describe_launches(facts, &calls),
            _ => String::new(),
        },
    }
}

fn describe_copies(facts: &Facts<'_>, calls: &[CallId]) -> String {
    let copies: Vec<_> = calls.iter().filter_map(|call| facts.copied(*call)).collect();
    let Some(first) = copies.first() else { return String::new() };
    let host = match first.kind {
        CopyKind::DtoH | CopyKind::AtoH => first.dst,
        CopyKind::HtoD | CopyKind::HtoA => first.src,
        _ => MemoryKind::Unknown,
    };
    let host = if host == MemoryKind::Unknown { String::new() } else { format!(" {host}") };
    let least = copies.iter().map(|copy| copy.bytes).min().unwrap_or(0);
    let most = copies.iter().map(|copy| copy.bytes).max().unwrap_or(0);
    let bytes = if least == most { most.to_string() } else { format!("{least}\u{2013}{most}") };
    let stream = same_stream(facts, calls).map_or(String::new(), |number| format!(", stream {number}"));
    format!("{}{host} {bytes} B{stream}", first.kind)
}

/// The number of the one stream of some calls, if it is one.
fn same_stream(facts: &Facts<'_>, calls: &[CallId]) -> Option<i64> {
    let mut streams = calls.iter().map(|call| facts.stream(*call)).filter(|stream| stream.is_some());
    let first: StreamId = streams.next()?;
    streams.all(|stream| stream == first).then(|| facts.trace.streams.number[first.index()])
}

fn describe_launches(facts: &Facts<'_>, calls: &[CallId]) -> String {
    let stream = same_stream(facts, calls).map(|number| format!("stream {number}"));
    let said: Vec<String> = kernels(facts, calls.iter().copied()).into_iter().chain(stream).collect();
    said.join(", ")
}

/// The kernel that some launches put into their streams, or how many there are; a recording may know none.
fn kernels(facts: &Facts<'_>, launches: impl Iterator<Item = CallId>) -> Option<String> {
    let names: FxHashSet<Sym> = launches.flat_map(|launch| facts.kernels(launch)).collect();
    match names.len() {
        0 | 1 => names.into_iter().next().map(|name| facts.trace.text(name).to_owned()),
        count => Some(format!("{count} kernels")),
    }
}

/// The same in a sentence.
fn a_kernel(facts: &Facts<'_>, launches: impl Iterator<Item = CallId>) -> String {
    kernels(facts, launches).unwrap_or_else(|| "a kernel".to_owned())
}

/// The evidence for a cause with its figures.
pub(crate) fn because(facts: &Facts<'_>, key: &Key, group: &Group, recorded: Option<&Recorded>) -> String {
    if group.facts.iter().any(|fact| matches!(fact, Fact::Asked { .. })) {
        return asked_only(facts, key.cause, group);
    }
    if let (Evidence::Lock, Some(recorded)) = (group.evidence(), recorded) {
        return recorded.words(facts, key, group);
    }
    if group.facts.contains(&Fact::InLine) {
        return "the wait ends as the holder's call does, or as another call does that began when the holder's ended"
            .to_owned();
    }
    match key.cause {
        Cause::DriverLock | Cause::ApplicationLock => lock(facts, group),
        Cause::HiddenSync if group.facts.iter().any(|fact| matches!(fact, Fact::Launched(_))) => {
            let launches = group.facts.iter().filter_map(Fact::launch);
            let kernel = a_kernel(facts, launches);
            format!(
                "the thread launched {kernel} just before, which the copy waits for; the trace does not say what is \
                 copied"
            )
        }
        Cause::HiddenSync => awaited(facts, group, "each copy starts when the work before it ends"),
        Cause::ExplicitSync => explicit_sync(group),
        Cause::ImplicitDeviceSync if group.evidence() == Evidence::Timing => {
            launched(facts, group, "each call returns as another thread's wait for the GPU does")
        }
        Cause::ImplicitDeviceSync => {
            awaited(facts, group, "each call returns as the device finishes its work")
        }
        Cause::PageableStaging => format!("{} through staging buffers", Copies::of(group).words()),
        Cause::PageFaults => {
            format!(
                "{}: far below what staging reaches into memory in use (8 to 17 GB/s on an H200)",
                Copies::of(group).words()
            )
        }
        Cause::PageableOrder => {
            awaited(facts, group, "each copy starts or returns as another thread's pageable copy ends")
        }
        Cause::CopyEngineBusy => {
            awaited(facts, group, "each copy starts as another stream's copy in the same direction ends")
        }
        Cause::QueueFull => queue_full(facts, group),
        Cause::Allocation => "nothing in the trace kept the calls waiting".to_owned(),
        Cause::FirstUse => first_use(facts, group),
        Cause::ProfilerOverhead => overhead(facts, group),
        Cause::Unexplained => "no record and no overlap explains it".to_owned(),
        _ => String::new(),
    }
}

fn lock(facts: &Facts<'_>, group: &Group) -> String {
    if group.holders.is_empty() {
        return "the thread waited in a lock function of the operating system within the call; the trace \
                does not show who held it"
            .to_owned();
    }
    let mut ends: Vec<Ns> = group.holders.iter().map(|holder| facts.end(*holder)).collect();
    ends.sort_unstable();
    let apart = |stretch: &Stretch| from_nearest(&ends, stretch.end(facts.trace));
    let farthest = group.parts.iter().filter_map(|(_, stretch)| apart(stretch)).max().unwrap_or(0);
    let seen = group.facts.contains(&Fact::LockCall);
    let seen = if seen { "; the operating system's calls show the lock wait itself" } else { "" };
    format!(
        "each wait lies within the holder's calls and ends with one, at most {} µs apart{seen}",
        (farthest + 999) / 1000
    )
}

/// How far a time is from the nearest of some sorted ones.
fn from_nearest(sorted: &[Ns], time: Ns) -> Option<Ns> {
    let (before, after) = sorted.split_at(sorted.partition_point(|other| *other < time));
    let near = before.last().into_iter().chain(after.first());
    near.map(|other| (other - time).abs()).min()
}

/// `general`, and which operation was waited for most.
fn awaited(facts: &Facts<'_>, group: &Group, general: &str) -> String {
    let ops = &facts.trace.ops;
    let mut counts = FxHashMap::<_, u64>::default();
    for fact in &group.facts {
        if let Fact::Awaited(op) = fact {
            *counts.entry((ops.kind[op.index()], ops.name[op.index()], ops.copy[op.index()])).or_default() +=
                1;
        }
    }
    let most = counts.into_iter().max_by_key(|(key, count)| (*count, std::cmp::Reverse(*key)));
    let Some(((kind, name, copy), count)) = most else { return general.to_owned() };
    let what = match kind {
        OpKind::Kernel => facts.trace.text(name).to_owned(),
        OpKind::Copy => format!("a {copy} copy"),
        _ => kind.name().to_owned(),
    };
    format!("{general}; {count} of {} times that was {what}", group.facts.len())
}

/// `general`, and what that thread had launched.
fn launched(facts: &Facts<'_>, group: &Group, general: &str) -> String {
    match group.facts.iter().filter_map(Fact::launch).next_back() {
        Some(launch) => {
            let thread = facts.trace.threads.row(facts.thread(launch));
            let name = match facts.trace.text(thread.name) {
                "" => thread.tid.to_string(),
                name => name.to_owned(),
            };
            let kernel = a_kernel(facts, std::iter::once(launch));
            format!("{general}; thread {name} had launched {kernel} before that wait")
        }
        None => general.to_owned(),
    }
}

/// GB/s below which no copy takes its time: a fifteenth of what an H200 reaches into memory never touched.
const TOO_LITTLE: f64 = 0.1;

/// What is said of copies that only arguments tell of: everything that may have taken the time.
fn asked_only(facts: &Facts<'_>, cause: Cause, group: &Group) -> String {
    let copies = Copies::of(group);
    let launches = || group.facts.iter().filter_map(Fact::launch);
    let little = (copies.bytes as f64 / copies.time.max(1) as f64) < TOO_LITTLE;
    if cause == Cause::HiddenSync && little && launches().count() == group.facts.len() {
        let kernel = a_kernel(facts, launches());
        return format!(
            "{} by the calls' arguments, far too little to take so long; the thread launched {kernel} into the stream \
             just before",
            copies.words()
        );
    }
    let or = match cause {
        Cause::PageableStaging => {
            "; without the GPU's records, waiting for earlier work (hidden-sync) fits as well"
        }
        Cause::HiddenSync if copies.rate().is_none() => {
            ", too little to take so long; without the GPU's records, a slow copy (pageable-staging, \
             page-faults) fits as well"
        }
        Cause::HiddenSync => {
            ", far below what staging reaches (8 to 17 GB/s on an H200); without the GPU's records, a slow \
             copy (pageable-staging, page-faults) fits as well"
        }
        _ => "; without the GPU's records, waiting and copying cannot be told apart",
    };
    format!("{} by the calls' arguments{or}", copies.words())
}

/// What was copied in the parts of a finding.
struct Copies {
    count: u64,
    /// Bytes of a copy on average.
    each: i64,
    /// Of all of them; a call split in two parts states its copy twice.
    bytes: i64,
    time: Ns,
}

impl Copies {
    fn of(group: &Group) -> Copies {
        let copied = group.facts.iter().filter_map(|fact| match fact {
            Fact::Copied { bytes, time } | Fact::Asked { bytes, time, .. } => Some((*bytes, *time)),
            _ => None,
        });
        let (bytes, time) = copied
            .fold((0i64, 0i64), |sum, copy| (sum.0.saturating_add(copy.0), sum.1.saturating_add(copy.1)));
        let each = bytes / group.facts.len().max(1) as i64;
        Copies { count: group.count(), each, bytes, time }
    }

    /// GB/s, where copies are large enough to tell.
    fn rate(&self) -> Option<f64> {
        (self.each >= RATED_BYTES).then(|| self.bytes as f64 / self.time.max(1) as f64)
    }

    /// `25 copies of 64 MiB on average at 1.5 GB/s`
    fn words(&self) -> String {
        let each = size(self.each);
        let rate = self.rate().map_or(String::new(), |rate| format!(" at {rate:.1} GB/s"));
        match self.count {
            1 => format!("a copy of {each}{rate}"),
            copies => format!("{copies} copies of {each} on average{rate}"),
        }
    }
}

/// A size in the largest unit that leaves it at least 1.
fn size(bytes: i64) -> String {
    let (unit, name) = match bytes {
        0x4000_0000.. => (1 << 30, "GiB"),
        0x10_0000.. => (1 << 20, "MiB"),
        0x400.. => (1 << 10, "KiB"),
        _ => (1, "B"),
    };
    match bytes % unit {
        0 => format!("{} {name}", bytes / unit),
        _ => format!("{:.1} {name}", bytes as f64 / unit as f64),
    }
}

fn explicit_sync(group: &Group) -> String {
    let idle = group.facts.iter().filter(|fact| **fact == Fact::Idle).count();
    match idle {
        0 => "the call exists to wait".to_owned(),
        _ => {
            let calls = if idle == 1 { "1 call" } else { &format!("{idle} calls") };
            format!("the call exists to wait, but {calls} waited on with all known work of the GPU done")
        }
    }
}

fn queue_full(facts: &Facts<'_>, group: &Group) -> String {
    pending(group).unwrap_or_else(|| {
        let name = tracers_record(facts, group).unwrap_or_default();
        format!("the tracer's own record \"{name}\" lies in the calls")
    })
}

/// How many operations were pending; `None` where only the tracer's records say that they were too many.
fn pending(group: &Group) -> Option<String> {
    let counts = || {
        group.facts.iter().filter_map(|fact| match fact {
            Fact::Pending(count) => Some(*count),
            _ => None,
        })
    };
    let (least, most) = (counts().min()?, counts().max()?);
    Some(match least == most {
        true if group.count() == 1 => {
            format!("{most} operations were pending in the stream when the call began")
        }
        true => format!("{most} operations were pending in the stream when each call began"),
        false => format!("{least} to {most} operations were pending in the stream when the calls began"),
    })
}

fn first_use(facts: &Facts<'_>, group: &Group) -> String {
    let names: Vec<_> = group
        .facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::First(name) => Some(facts.trace.text(*name)),
            _ => None,
        })
        .collect();
    let recorded = tracers_record(facts, group);
    if let (Some(name), []) = (recorded, names.as_slice()) {
        return format!("the tracer's own record \"{name}\" lies in the call");
    }
    let (some, all) = (group.facts.len() - names.len(), group.facts.len());
    let recorded = recorded.map(|name| {
        format!("; the tracer's own record \"{name}\" lies in {some} of {all} parts of the time")
    });
    first_names(&names) + &recorded.unwrap_or_default()
}

fn first_names(names: &[&str]) -> String {
    match names {
        [] => "the first call in the trace".to_owned(),
        [only] => format!("first use in the trace of {only}"),
        [first, ..] => {
            format!("first uses in the trace of {} kernels or calls, such as {first}", names.len())
        }
    }
}

/// The first record of the tracer's own that a finding rests on.
fn tracers_record<'a>(facts: &Facts<'a>, group: &Group) -> Option<&'a str> {
    group.facts.iter().find_map(|fact| match fact {
        Fact::Tracer(name) => Some(facts.trace.text(*name)),
        _ => None,
    })
}

fn overhead(facts: &Facts<'_>, group: &Group) -> String {
    match tracers_record(facts, group) {
        Some(name) => format!("the tracer's own record, such as \"{name}\", fills the call"),
        None => {
            "a call that only reads state, with no other reason to take long; the trace holds no overhead \
                 records, so a thread that lost its CPU fits as well"
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(calls: usize, fact: Fact) -> Group {
        let part = |at: usize| (1, Stretch::Call(CallId::new(at)));
        let mut group = Group::default();
        group.parts = (0..calls).map(part).collect();
        group.facts = vec![fact; calls];
        group
    }

    #[test]
    fn small_copies_have_no_rate() {
        let copies = |count, bytes| Copies::of(&group(count, Fact::Copied { bytes, time: 1 << 20 })).words();
        assert_eq!(copies(200, 4), "200 copies of 4 B on average");
        assert_eq!(copies(1, RATED_BYTES / 2), "a copy of 512 KiB");
        assert_eq!(copies(1, RATED_BYTES), "a copy of 1 MiB at 1.0 GB/s");
        assert_eq!(copies(2, 16 * RATED_BYTES), "2 copies of 16 MiB on average at 16.0 GB/s");
    }

    #[test]
    fn one_call_is_not_each_call() {
        let pending = |calls| pending(&group(calls, Fact::Pending(1022))).expect("so many are pending");
        assert_eq!(pending(1), "1022 operations were pending in the stream when the call began");
        assert_eq!(pending(2), "1022 operations were pending in the stream when each call began");
    }

    #[test]
    fn the_nearest_time_is_found_as_by_looking_at_all() {
        for chosen in 0..1u32 << 7 {
            let times: Vec<Ns> = (0..7).filter(|time| chosen >> time & 1 == 1).map(|time| time * 3).collect();
            for time in -4..25 {
                let nearest = times.iter().map(|other| (other - time).abs()).min();
                assert_eq!(from_nearest(&times, time), nearest, "{time} among {times:?}");
            }
        }
    }
}
