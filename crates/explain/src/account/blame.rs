//! Who held a GPU up in a gap: the thread that asked for the operation that ended it, and through proven waits the thread
//! that held that one up. The root of the chain is charged, once.

use super::activity::{Activity, Doing, Segment};
use super::gaps::Gap;
use super::outside::{Outside, Pause};
use super::roots::{Charges, Culprit, Root};
use super::spots::Spots;
use crate::analysis::recorded_waits;
use crate::class::Class;
use crate::facts::Facts;
use crate::group::Key;
use crate::parts::Holder;
use crate::stretch::Stretch;
use crate::{Cause, Confidence};
use trace::{CallId, DeviceId, LockKind, LockLayer, Ns, ThreadId, WaitId};

/// Most threads of a chain: a longer one is a circle that is not quite closed.
const DEPTH: usize = 16;

/// The activity of all threads, and what is known of the times outside calls.
pub(super) struct Blame<'a> {
    pub facts: &'a Facts<'a>,
    pub activity: &'a Activity<'a>,
    pub outside: &'a Outside,
    pub spots: &'a Spots,
}

/// The threads of a chain so far: the waiter first.
#[derive(Clone, Copy)]
struct Path {
    threads: [ThreadId; DEPTH],
    length: usize,
}

impl Path {
    fn of(thread: ThreadId) -> Path {
        Path { threads: [thread; DEPTH], length: 1 }
    }

    /// The path to one more thread; `None` if that is in it already, or if it is too long.
    fn to(mut self, thread: ThreadId) -> Option<Path> {
        if self.length == DEPTH || self.threads[..self.length].contains(&thread) {
            return None;
        }
        self.threads[self.length] = thread;
        self.length += 1;
        Some(self)
    }

    fn last(&self) -> ThreadId {
        self.threads[self.length - 1]
    }

    fn threads(&self) -> &[ThreadId] {
        &self.threads[..self.length]
    }
}

impl Blame<'_> {
    /// Divides a gap of a GPU among roots. `floor` is the time that a launch into an idle GPU takes to start, ns.
    pub fn gap(&self, charges: &mut Charges, device: DeviceId, gap: &Gap, floor: Ns) {
        let of_gpu = |cause| Root::new(cause, Culprit::Device(device));
        let call = self.facts.outermost(self.facts.trace.ops.call[gap.next.index()]);
        charges.enter(&[]);
        let is_off = || self.facts.trace.meta.pauses().any(|(off, on)| off < gap.end && gap.start < on);
        if call.is_none() || !self.facts.one_clock() || is_off() {
            return charges.charge(of_gpu(Cause::NotRecorded), gap.length());
        }
        // The GPU waited for the thread until its call returned, at most until the operation started.
        let until = self.facts.end(call).clamp(gap.start, gap.end);
        let path = Path::of(self.facts.thread(call));
        charges.enter(path.threads());
        match gap.last.is_none() {
            true => charges.charge(of_gpu(Cause::StartUp), until - gap.start),
            false => self.thread(charges, path, (gap.start, until)),
        }
        let latency = (gap.end - until).min(floor);
        charges.enter(path.threads());
        charges.charge(of_gpu(Cause::LaunchLatency), latency);
        // Asked for, and nothing ran: it waited for something that is no operation of this GPU.
        charges.charge(of_gpu(Cause::Dependency), gap.end - until - latency);
    }

    /// Divides the time `[from, to)` of the last thread of a path among the roots of what it did.
    fn thread(&self, charges: &mut Charges, path: Path, (from, to): (Ns, Ns)) {
        self.activity.walk(path.last(), from, to, |segment| {
            charges.enter(path.threads());
            match segment.doing {
                Doing::Lost(_) | Doing::Waiting(_) => self.waiting(charges, path, segment),
                Doing::Working(_) | Doing::Outside(_) => self.alone(charges, path.last(), &segment),
            }
        });
    }

    /// Divides a segment among the causes of what the thread itself did: a wait is due to the wait.
    pub fn alone(&self, charges: &mut Charges, thread: ThreadId, segment: &Segment) {
        match segment.doing {
            Doing::Lost(part) => charges.charge(self.part(part), segment.length()),
            Doing::Waiting(wait) => charges.charge(self.wait(thread, wait), segment.length()),
            Doing::Working(call) => {
                let cause = match self.facts.class(call) {
                    Class::Sync => Cause::ExplicitSync,
                    _ => Cause::OwnWork,
                };
                let process = self.facts.trace.process_of_thread(thread);
                let name = self.facts.trace.calls.name[call.index()];
                charges.charge(Root::new(cause, Culprit::Call(process, name)), segment.length());
            }
            Doing::Outside(next) => {
                let culprit = self.place(thread, segment, next);
                for share in self.outside(thread, segment) {
                    charges.charge(Root::new(share.cause, culprit), share.ns);
                }
            }
        }
    }

    /// Divides a wait of the last thread of a path among the roots of what it waited for.
    fn waiting(&self, charges: &mut Charges, path: Path, segment: Segment) {
        let leaf = match segment.doing {
            Doing::Lost(part) => self.part(part),
            Doing::Waiting(wait) => self.wait(path.last(), wait),
            Doing::Working(_) | Doing::Outside(_) => return self.alone(charges, path.last(), &segment),
        };
        let mut from = segment.start;
        for (holder, until) in self.holders(&segment) {
            let until = until.clamp(from, segment.end);
            match holder.some().and_then(|holder| path.to(holder)) {
                Some(next) if self.is_for_work(&segment) => self.thread(charges, next, (from, until)),
                Some(next) => self.held(charges, next, (from, until), leaf),
                None => charges.charge(leaf, until - from),
            }
            charges.enter(path.threads());
            from = until;
        }
        // Between the release and the acquisition nobody held it.
        charges.charge(leaf, segment.end - from);
    }

    /// Whether a wait is for what another thread does, as for what it puts into a queue, and not for a lock that it holds.
    fn is_for_work(&self, segment: &Segment) -> bool {
        let Doing::Waiting(wait) = segment.doing else { return false };
        let kind = self.facts.trace.waits.kind[wait.index()];
        matches!(kind, LockKind::Condition | LockKind::Semaphore | LockKind::Barrier | LockKind::Join)
    }

    /// Divides the time for which the last thread of a path held a lock that another thread waited for. What a holder does
    /// on a processor is its work: that others wait for it is due to the lock, the `leaf`.
    fn held(&self, charges: &mut Charges, path: Path, (from, to): (Ns, Ns), leaf: Root) {
        let holder = path.last();
        self.activity.walk(holder, from, to, |held| {
            charges.enter(path.threads());
            match held.doing {
                Doing::Lost(_) | Doing::Waiting(_) => self.waiting(charges, path, held),
                Doing::Working(_) => charges.charge(leaf, held.length()),
                Doing::Outside(next) => {
                    for share in self.outside(holder, &held) {
                        let own = || Root::new(share.cause, self.place(holder, &held, next));
                        charges.charge(if share.may_work { leaf } else { own() }, share.ns);
                    }
                }
            }
        });
    }

    /// The root of a part of a call for which nobody else is to blame.
    fn part(&self, part: u32) -> Root {
        let part = self.activity.part(part);
        Root::new(part.cause, Culprit::Part(part.key))
    }

    /// The root of a wait for which nobody else is to blame.
    fn wait(&self, thread: ThreadId, wait: WaitId) -> Root {
        let (trace, at) = (self.facts.trace, wait.index());
        let lock = Culprit::Lock(trace.process_of_thread(thread), trace.waits.lock[at]);
        match trace.waits.layer[at] {
            LockLayer::Interpreter => Root::new(Cause::Gil, lock),
            LockLayer::Program => Root::new(Cause::Lock, lock),
            LockLayer::Unknown | LockLayer::Driver | LockLayer::Library => {
                let call = self.facts.outermost(trace.waits.call[at]);
                let stretch = call.some().map_or(Stretch::Wait(wait), Stretch::Call);
                let reason = recorded_waits::reason(self.facts, stretch, wait);
                Root::new(reason.cause, Culprit::Part(Key::of(self.facts, stretch, &reason)))
            }
        }
    }

    /// The threads that a wait was for, in order, each with the time until which it was.
    fn holders(&self, segment: &Segment) -> [(ThreadId, Ns); 2] {
        let thread = |holder: Holder| match holder {
            Holder::Call(call) => self.facts.thread(call),
            Holder::Thread(thread) => thread,
            Holder::Nobody => ThreadId::NONE,
        };
        match segment.doing {
            Doing::Lost(part) => {
                let part = self.activity.part(part);
                let proven = part.confidence != Confidence::Possible;
                let holder = if proven { thread(part.holder) } else { ThreadId::NONE };
                [(holder, segment.end); 2]
            }
            Doing::Waiting(wait) => {
                let wait = self.facts.trace.waits.row(wait);
                let free = wait.end.saturating_sub(wait.handoff).max(wait.start);
                match wait.holder.some() {
                    // Of those between the first and the last nothing is known.
                    Some(first) if wait.releaser.is_some() && wait.releaser != first => {
                        [(first, wait.start + (free - wait.start) / 2), (wait.releaser, free)]
                    }
                    Some(only) => [(only, free); 2],
                    None => [(wait.releaser, free); 2],
                }
            }
            Doing::Working(_) | Doing::Outside(_) => [(ThreadId::NONE, segment.end); 2],
        }
    }

    /// How a segment outside calls is divided.
    fn outside(&self, thread: ThreadId, segment: &Segment) -> [Share; 4] {
        let shares = self.outside.shares(thread, segment);
        let is_demand = |pause: &Pause| DEMAND.contains(&self.facts.trace.text(pause.call));
        let asleep = match self.outside.pause(thread, segment).is_some_and(is_demand) {
            true => Cause::NoDemand,
            false => Cause::Blocked,
        };
        [
            Share { cause: asleep, ns: shares.blocked, may_work: false },
            Share { cause: Cause::NoCpu, ns: shares.runnable, may_work: false },
            Share { cause: Cause::HostCode, ns: shares.running, may_work: true },
            Share { cause: Cause::NotRecorded, ns: shares.unknown, may_work: true },
        ]
    }

    /// Where a thread was outside calls, as far as it is known; `next` is its next call.
    fn place(&self, thread: ThreadId, segment: &Segment, next: CallId) -> Culprit {
        let process = self.facts.trace.process_of_thread(thread);
        let Some(pause) = self.outside.pause(thread, segment) else { return Culprit::Between(process) };
        match (self.spots.of(thread, pause), next.some()) {
            (Some(spot), _) => Culprit::Spot(process, spot),
            (None, Some(next)) => Culprit::Before(process, self.facts.trace.calls.name[next.index()]),
            (None, None) => Culprit::Between(process),
        }
    }
}

/// A part of a segment outside calls.
struct Share {
    cause: Cause,
    ns: Ns,
    /// Whether the thread worked, as far as it is known.
    may_work: bool,
}

/// The system calls in which a server waits for work from outside.
const DEMAND: [&str; 5] = ["accept", "accept4", "epoll_wait", "epoll_pwait", "epoll_pwait2"];
