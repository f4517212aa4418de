//! Changes that remove the cause of a finding.

use crate::predict::fixes::{At, Scene};
use crate::predict::pauses::{self, Remainder};
use crate::recover::costs::take;
use crate::{Recovered, StepOf};
use explain::{Cause, Class, Effect, Explanation, Finding, Loss, Phase, Place, may_build, place_of_stack};
use rustc_hash::{FxHashMap, FxHashSet};
use sim::{CallOf, Does, Locks, RecordedStep};
use trace::{CallId, Ns, Sym, ThreadId, ThreadState, Trace};
use waits::AwaitedByCall;

/// Findings whose time is gone: their calls and threads no longer lose what they count. Operations take as long as before.
#[derive(Clone, Debug)]
pub struct Removed {
    text: String,
    /// The fix that mends them, if it stands for one.
    fix: Option<Mending>,
    findings: Vec<OfFinding>,
}

/// A fix that removes what findings find.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mending {
    /// When it is safe.
    safety: &'static str,
    /// Part of the time of [`Mending::of_ns`] for which GPUs are idle because of these findings: no removal gains less.
    pub cost: f64,
    /// The time of what the program repeats, ns; without that, of the GPUs.
    pub of_ns: Ns,
    /// How many calls and waits the findings count.
    pub count: usize,
    /// The cause that costs the GPUs most besides.
    pub next: Option<&'static str>,
}

/// Time and calls that a removal takes from a finding.
#[derive(Clone, Debug)]
struct OfFinding {
    losses: Vec<Loss>,
    /// Where threads run or sleep outside of calls, if that is what it finds, and where the holder of a lock does.
    places: Vec<Place>,
    /// Whether they sleep there; `None`: either.
    asleep: Option<bool>,
    /// The places of calls that load what is built before them.
    builds: Vec<Place>,
    /// The processes in which they do.
    pids: Vec<i64>,
    /// The threads and the function of short calls that wait for the device, if it finds those.
    short: Option<(Vec<(i64, i64)>, String)>,
    /// Calls that are not made.
    spared: Option<Spared>,
    /// The function whose operations wait for others that share their hardware queue, if it finds that.
    queued_by: Option<String>,
    /// Whether operations no longer wait for events of other streams.
    without_events: bool,
}

/// Calls of threads that a removal spares.
#[derive(Clone, Debug)]
struct Spared {
    /// Each thread and function.
    calls: FxHashSet<(i64, i64, String)>,
    /// Where they are; those without a stack are, too.
    places: Vec<Place>,
}

impl Removed {
    /// The finding of that name, as `H2`, of a whole trace; `None` if there is none.
    pub fn of(name: &str, explanation: &Explanation, losses: &[Loss]) -> Option<Removed> {
        let row = explanation.findings.iter().position(|finding| finding.id == name)?;
        let findings = vec![OfFinding::of(row, explanation, losses)];
        Some(Removed { text: format!("remove {name}"), fix: None, findings })
    }

    /// All findings that a fix removes: those that cost again and again and have it as a fix; `None` if none do.
    pub fn by_fix(id: &str, explanation: &Explanation, losses: &[Loss]) -> Option<Removed> {
        let fix = |finding: &Finding| finding.fixes.iter().copied().find(|fix| fix.id == id);
        let fix = |finding: &Finding| fix(finding).filter(|fix| fix.effect == Effect::Removal);
        let (mended, others): (Vec<usize>, Vec<usize>) =
            (0..explanation.findings.len()).partition(|row| fix(&explanation.findings[*row]).is_some());
        let finding = |row: &usize| &explanation.findings[*row];
        let mended: Vec<usize> =
            mended.into_iter().filter(|row| finding(row).phase == Phase::Recurring).collect();
        let safety = fix(finding(mended.first()?))?.safety;
        let knows_costs = explanation.accounts.refused.is_none() && !explanation.accounts.gpus.is_empty();
        // What is held back of a busy GPU is an estimate of its room, and no time.
        let is_idle = |row: &&usize| knows_costs && finding(row).cause != Cause::Dependency;
        let others = others.iter().map(finding);
        let next = others.max_by(|one, other| one.cost_share.total_cmp(&other.cost_share));
        let fix = Mending {
            safety,
            cost: mended.iter().filter(is_idle).map(|row| finding(row).cost_share).sum(),
            of_ns: steady_ns(explanation),
            count: mended.iter().map(|row| finding(row).count as usize).sum(),
            next: next.map(|finding| finding.cause.id()),
        };
        let findings = mended.iter().map(|row| OfFinding::of(*row, explanation, losses)).collect();
        Some(Removed { text: id.to_owned(), fix: Some(fix), findings })
    }

    /// `remove H2`, or the name of the fix.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// When the fix is safe, if it stands for one.
    pub(crate) fn safety(&self) -> Option<&'static str> {
        self.fix.map(|fix| fix.safety)
    }

    /// Whether it stands for a fix.
    pub fn is_fix(&self) -> bool {
        self.fix.is_some()
    }

    /// The fix that it stands for.
    pub(crate) fn fix(&self) -> Option<Mending> {
        self.fix
    }

    /// Applies it. Returns how many calls and pauses it changed.
    pub(crate) fn apply(&self, scene: &Scene<'_>, to: &mut Recovered) -> usize {
        self.findings.iter().map(|finding| finding.apply(scene, to)).sum()
    }
}

impl OfFinding {
    /// The finding of a row.
    fn of(row: usize, explanation: &Explanation, losses: &[Loss]) -> OfFinding {
        let finding = &explanation.findings[row];
        let of = |loss: &&Loss| loss.finding == Some(row as u32) && loss.lost_ns > 0;
        let is_work = is_known_work(finding.cause);
        let is_own = is_work || matches!(finding.cause, Cause::HostCode | Cause::Blocked);
        let own = finding.places.iter().filter(|_| is_own);
        // Where a lock's holder computes is what others wait for; where they wait they only wait.
        let is_outside = matches!(finding.cause, Cause::HostCode | Cause::Blocked | Cause::Lock | Cause::Gil);
        let holder = finding.holder.iter().filter(|_| is_outside).flat_map(|holder| &holder.places);
        let parties = finding.threads.iter().map(|of| of.pid);
        OfFinding {
            losses: losses.iter().filter(of).copied().collect(),
            places: own.chain(holder).cloned().collect(),
            asleep: (!is_work).then_some(finding.cause == Cause::Blocked),
            builds: finding.places.iter().filter(|_| finding.cause == Cause::KernelBuild).cloned().collect(),
            pids: parties.chain(finding.holder.iter().map(|of| of.pid)).collect(),
            short: (finding.is_of_account && waits_for_device(finding.cause)).then(|| {
                let threads = finding.threads.iter().map(|of| (of.pid, of.tid)).collect();
                (threads, finding.waiter.call.clone())
            }),
            spared: finding.is_of_account.then(|| Spared::of(finding)).flatten(),
            queued_by: (finding.cause == Cause::ConnectionAliasing).then(|| finding.waiter.call.clone()),
            without_events: finding.cause == Cause::Dependency,
        }
    }

    /// Applies it. Returns how many calls and pauses it changed.
    fn apply(&self, scene: &Scene<'_>, to: &mut Recovered) -> usize {
        let (calls, pauses): (Vec<Loss>, Vec<Loss>) =
            self.losses.iter().partition(|loss| loss.call.is_some());
        let spared = self.spared.iter().map(|spared| spared.apply(scene, to)).sum::<usize>();
        spared
            + in_calls(&calls, &self.short_waits(scene), scene, to)
            + in_pauses(&pauses, to)
            + self.at_places(scene, to)
            + self.before_loads(scene, to)
            + self.in_queues(scene, to)
            + self.behind_events(to)
    }

    /// Operations no longer wait for events of other streams.
    fn behind_events(&self, to: &mut Recovered) -> usize {
        if !self.without_events {
            return 0;
        }
        let Recovered { recorded, aliased, .. } = to;
        let works = (0..).zip(&mut recorded.works).filter(|(row, _)| aliased.binary_search(row).is_err());
        works.filter_map(|(_, work)| work.after.take()).count()
    }

    /// The short calls that wait for the device, if it finds those.
    fn short_waits(&self, scene: &Scene<'_>) -> FxHashSet<CallId> {
        let Some((threads, function)) = &self.short else { return FxHashSet::default() };
        let named = scene.calls().filter(|at| scene.name(at.id) == function.as_str());
        named.map(|at| at.id).filter(|call| threads.contains(&scene.thread(*call))).collect()
    }

    /// Operations no longer wait for those of other streams that share their hardware queue: each of these streams has its own.
    fn in_queues(&self, scene: &Scene<'_>, to: &mut Recovered) -> usize {
        let Some(function) = &self.queued_by else { return 0 };
        let mut changed = 0;
        for at in scene.calls().filter(|at| scene.name(at.id) == function) {
            let Does::Issue { works, .. } = at.call.does else { continue };
            for row in works.iter() {
                let work = &mut to.recorded.works[row];
                let is_aliased = to.aliased.binary_search(&(row as u32)).is_ok();
                changed += usize::from(is_aliased && work.after.take().is_some());
                let queue = to.recorded.queues.get_mut(work.stream as usize);
                changed += usize::from(queue.is_some_and(|queue| queue.take().is_some()));
            }
        }
        changed
    }

    /// Threads no longer build what they load at the places.
    fn before_loads(&self, scene: &Scene<'_>, to: &mut Recovered) -> usize {
        if self.builds.is_empty() {
            return 0;
        }
        let is_there = |call: CallId| {
            let stack = scene.trace.calls.stack[call.index()].some();
            stack
                .and_then(|stack| place_of_stack(scene.trace, stack))
                .is_some_and(|of| self.builds.contains(&of))
        };
        let mut changed = 0;
        for at in scene.calls().filter(|at| at.at > 0 && is_there(at.id)) {
            if let Some(ns) = to.recorded.threads[at.row][at.at - 1].host_mut()
                && may_build(*ns, scene.name(at.id))
            {
                *ns = 0;
                changed += 1;
            }
        }
        changed
    }

    /// Threads no longer run or sleep at the places: pauses are shorter by these samples' part of them.
    fn at_places(&self, scene: &Scene<'_>, to: &mut Recovered) -> usize {
        if self.places.is_empty() {
            return 0;
        }
        let Trace { samples, stacks, .. } = scene.trace;
        let is_there =
            |stack| place_of_stack(scene.trace, stack).is_some_and(|place| self.places.contains(&place));
        let there: Vec<bool> = stacks.ids().map(is_there).collect();
        let left = |sample: usize| {
            let is_there = samples.stack[sample].some().is_some_and(|stack| there[stack.index()]);
            let asleep = [ThreadState::Blocked, ThreadState::Uninterruptible, ThreadState::Stopped];
            let is_asleep = asleep.contains(&samples.state[sample]);
            let process = scene.trace.process_of_thread(samples.thread[sample]);
            let pid = process.some().map_or(0, |process| scene.trace.processes.pid[process.index()]);
            let is_gone =
                is_there && self.asleep.is_none_or(|asleep| asleep == is_asleep) && self.pids.contains(&pid);
            Remainder { part: f64::from(u8::from(!is_gone)), places: is_gone.into() }
        };
        pauses::shorten(left, scene, to).0
    }
}

/// The time that costs are parts of, ns.
fn steady_ns(explanation: &Explanation) -> Ns {
    let steady = explanation.accounts.steady.as_ref().map(|steady| steady.end_ns - steady.start_ns);
    let gpus = explanation.accounts.gpus.iter().map(|gpu| gpu.working_ns());
    steady.or_else(|| gpus.max()).unwrap_or(0)
}

/// Whether time outside calls is known work at the places of a finding.
fn is_known_work(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::FileReading
            | Cause::FileWriting
            | Cause::GarbageCollection
            | Cause::DataLoading
            | Cause::Feeding
            | Cause::KernelBuild
    )
}

impl Spared {
    /// The calls that a finding of short ones spares: those that make and destroy, or that wait for their own kernel.
    fn of(finding: &Finding) -> Option<Spared> {
        let makes = matches!(finding.cause, Cause::Allocation | Cause::ObjectChurn | Cause::PoolTrim);
        let calls = finding.threads.iter().filter(|of| !of.call.is_empty());
        let calls = calls.map(|of| (of.pid, of.tid, of.call.clone())).collect();
        makes.then(|| Spared { calls, places: finding.places.clone() })
    }

    fn apply(&self, scene: &Scene<'_>, to: &mut Recovered) -> usize {
        let trace = scene.trace;
        let is_there = |call: CallId| {
            let makes =
                matches!(scene.class(call), Class::Allocate | Class::Release | Class::Create | Class::Load);
            let is_one = || {
                let (pid, tid) = scene.thread(call);
                self.calls.contains(&(pid, tid, scene.name(call).to_owned()))
            };
            let stack = trace.calls.stack[call.index()].some().filter(|_| !self.places.is_empty());
            let place = || stack.and_then(|stack| place_of_stack(trace, stack));
            makes && is_one() && place().is_none_or(|place| self.places.contains(&place))
        };
        let mut spared = FxHashSet::default();
        for at in scene.calls().filter(|at| is_there(at.id)) {
            let Some(call) = to.call_mut(at) else { continue };
            (call.before_ns, call.held_ns, call.after_ns, call.notice_ns) = (0, 0, 0, 0);
            (call.does, call.locks) = (Does::Nothing, Locks::default());
            spared.insert((at.row, at.at));
        }
        to.lets_pass_beside(scene, &spared);
        spared.len()
    }
}

/// Calls no longer lose this time, and short ones do not wait.
fn in_calls(losses: &[Loss], short: &FxHashSet<CallId>, scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let mut lost: FxHashMap<CallId, Vec<Loss>> = FxHashMap::default();
    losses.iter().for_each(|loss| lost.entry(loss.call).or_default().push(*loss));
    to.lets_pass(scene, |at, number| {
        let losses = lost.get(&at.id).map_or(&[][..], Vec::as_slice);
        let holder = scene.holder(number).map_or(CallId::NONE, |holder| holder.id);
        losses.iter().any(|loss| is_lock(loss.cause) && [CallId::NONE, holder].contains(&loss.holder_call))
    });
    // Which calls of a thread meet the holder is chance: none of them waits for the lock.
    let kind = |call: CallId| (scene.trace.calls.thread[call.index()], scene.trace.calls.name[call.index()]);
    let locks = losses.iter().filter(|loss| is_lock(loss.cause));
    let free: FxHashSet<(ThreadId, Sym)> = locks.map(|loss| kind(loss.call)).collect();
    // Nor which of them waits for the device: without one of them the next one waits.
    let copied = |call: &CallOf| scene.copy(call).map(|copy| (copy.kind, copy.pinned));
    let wait = |at: &At| (kind(at.id), copied(&at.call));
    let is_hidden = |at: &At| {
        let losses = lost.get(&at.id).into_iter().flatten();
        losses.into_iter().any(|loss| waits_for_device(loss.cause)) || short.contains(&at.id)
    };
    let hidden: FxHashSet<_> = scene.calls().filter(is_hidden).map(|at| wait(&at)).collect();
    let mut changed = 0;
    for at in scene.calls() {
        let Some(call) = to.call_mut(at) else { continue };
        let before = *call;
        if free.contains(&kind(at.id)) {
            call.locks = Locks::default();
        }
        // Waits that the replay does not find anew are part of what the call costs.
        let costs_waits = at.call.behind.count == 0 && at.call.locks == Locks::default();
        let losses = lost.get(&at.id).map_or(&[][..], Vec::as_slice);
        losses.iter().for_each(|loss| spare(call, loss, costs_waits));
        let is_hidden = hidden.contains(&wait(&at));
        if is_hidden {
            does_not_wait(call);
        }
        changed += usize::from(*call != before || !losses.is_empty());
        // Else that one waits instead.
        if let Some(sync) = scene.sync_after(&at).filter(|_| is_hidden)
            && let Some(call) = to.call_mut(sync)
        {
            does_not_wait(call);
        }
    }
    changed
}

/// A call no longer loses this time: it does not wait for the device, or takes that much less. What it needs after a wait for a lock, it
/// needed. `costs_waits`: such waits are part of its own cost.
fn spare(call: &mut CallOf, loss: &Loss, costs_waits: bool) {
    match call.does {
        _ if is_lock(loss.cause) && !costs_waits => {}
        _ if is_lock(loss.cause) => {
            take([&mut call.before_ns, &mut call.held_ns, &mut call.after_ns], loss.lost_ns);
        }
        Does::Await(_) | Does::Issue { waits: true, .. } if is_of_device(loss.cause) => does_not_wait(call),
        _ => {
            let parts = [&mut call.before_ns, &mut call.held_ns, &mut call.after_ns, &mut call.notice_ns];
            take(parts, loss.lost_ns);
        }
    }
}

/// A call does not wait for what the device does.
fn does_not_wait(call: &mut CallOf) {
    (call.does, call.notice_ns) = match call.does {
        Does::Issue { works, waits: true } => (Does::Issue { works, waits: false }, 0),
        Does::Await(_) => (Does::Nothing, 0),
        other => (other, call.notice_ns),
    };
}

/// Whether a call waits for the work before it, asked for or not.
fn waits_for_device(cause: Cause) -> bool {
    matches!(cause, Cause::HiddenSync | Cause::ExplicitSync)
}

/// Whether a call waits for the device, or for its own copies.
fn is_of_device(cause: Cause) -> bool {
    matches!(cause.awaited_by_call(), AwaitedByCall::Device | AwaitedByCall::Copies)
}

/// Whether a thread waits for another one's call.
fn is_lock(cause: Cause) -> bool {
    cause.awaited_by_call() == AwaitedByCall::Call
}

/// Threads no longer lose this time between calls: waits end at once, and pauses are that much shorter.
fn in_pauses(losses: &[Loss], to: &mut Recovered) -> usize {
    let mut lost: FxHashMap<ThreadId, Vec<Loss>> = FxHashMap::default();
    losses.iter().for_each(|loss| lost.entry(loss.thread).or_default().push(*loss));
    let mut changed = 0;
    for row in 0..to.threads.len() {
        let Some(losses) = to.threads[row].and_then(|thread| lost.get(&thread)) else { continue };
        for loss in losses {
            let [from, until] = [loss.start - to.start, loss.end - to.start];
            let begins = &to.begins[row];
            let first = begins.partition_point(|begin| *begin <= from).saturating_sub(1);
            let mut rest = loss.lost_ns;
            for at in first..to.steps[row].len().min(begins.partition_point(|begin| *begin < until)) {
                let within = (begins[at + 1].min(until) - begins[at].max(from)).clamp(0, rest);
                changed +=
                    usize::from(shorten(&to.steps[row][at], &mut to.recorded.threads[row][at], within));
                rest -= within;
            }
        }
    }
    changed
}

/// Takes some time from a step outside of calls. Returns whether that changes it.
fn shorten(of: &StepOf, step: &mut RecordedStep, ns: Ns) -> bool {
    match (of, step) {
        (StepOf::Outside, RecordedStep::Host(host) | RecordedStep::HostUntil { ns: host, .. }) => {
            let taken = ns.min(*host);
            *host -= taken;
            taken > 0
        }
        (StepOf::Wait(_), step) if ns > 0 => {
            *step = RecordedStep::Host(0);
            true
        }
        _ => false,
    }
}
