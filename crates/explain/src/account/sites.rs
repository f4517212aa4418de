//! Where threads are outside calls. A site is all pauses of a thread between the same two calls: 100 samples a second tell
//! little of one pause of a millisecond, and much of a thousand. Without samples, the stack of the call that ends a pause
//! tells its place, else the ranges around it. A thread that runs none of the program's own code is where the program's thread waits
//! meanwhile: that asked for its work.

use super::activity::Activity;
use super::naming::{Naming, Spot, SpotId};
use super::outside::{Outside, Pause};
use super::segment::Segment;
use super::slept::{Slept, system_calls};
use super::sums::add_to;
use crate::facts::Facts;
use crate::facts::marks::Mark;
use crate::facts::places::{built_in, marked};
use crate::facts::weights::{Depth, SAMPLE, weights};
use crate::rules::kernel_build::{LEAST, OFTEN, loads_code, may_build, takes_times};
use crate::{Cause, Place};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use trace::{CallId, Ns, ProcessId, RangeKind, StackId, Sym, ThreadId, ThreadState, Trace};

/// A row of [`Sites`].
pub(crate) type SiteId = u32;

/// The pauses of a thread between the same two calls, or all times of a thread that are no pauses.
pub(super) struct Site {
    pub process: ProcessId,
    /// The call before the pauses; empty if there is none.
    pub last: Sym,
    /// The call that ends the pauses; empty if none does.
    pub next: Sym,
    /// In how many of the pauses a kernel may be built.
    builds: usize,
    /// The builder of kernels, if the stack of the call that ends the pauses shows one.
    builder: Option<Mark>,
    /// Whether it is no pause: the thread went from one call to the next at once.
    pub is_short: bool,
    /// The place, as far as something other than samples tells it.
    pub spot: Option<SpotId>,
    /// Of the thread awake, and asleep.
    pub seen: [Spots; 2],
}

/// The weight of samples by place.
type Spots = Vec<(SpotId, u64)>;

/// The weight of the fewest samples that divide a time: of eight, each is an eighth.
pub(super) const ENOUGH: u64 = 8 * SAMPLE;

/// One in so many samples before a call that loads code lies in a compiler where all of that time is for the kernel: a choice.
const BUILT: u64 = 8;

/// Where a thread was at a moment.
#[derive(Clone, Copy)]
pub(super) struct SpotSample {
    pub at: Ns,
    pub spot: Option<SpotId>,
    pub stack: StackId,
    pub asleep: bool,
    /// How much it counts for among the samples of its site.
    pub weight: u64,
}

/// The sites of all threads.
pub(super) struct Sites {
    places: Vec<Spot>,
    /// First one for each thread, for what are no pauses.
    sites: Vec<Site>,
    /// By thread and number of the pause.
    of: Vec<Vec<SiteId>>,
    /// The samples of each thread, in order.
    samples: Vec<Vec<SpotSample>>,
    /// The places of stacks.
    spots: FxHashMap<StackId, SpotId>,
    /// The stacks of the calls that loaded what was built, with the places of the builds.
    loads: Vec<(SpotId, StackId)>,
    /// Whether there are samples of threads asleep: some profilers take none.
    sees_sleep: bool,
    /// Where there are none, the system calls in which they may have slept.
    slept: Slept,
}

/// Thread, calls and place that pauses of one site have in common.
#[derive(PartialEq, Eq, Hash)]
struct Between {
    thread: ThreadId,
    /// The calls around: each with its function and its stack.
    calls: [(Sym, StackId); 2],
    /// The place that ranges tell.
    spot: Option<SpotId>,
}

/// A pause: its thread, its number, and the calls before and after it.
type Around = (ThreadId, usize, [CallId; 2]);

impl Sites {
    /// Finds the sites of all pauses. A pause in a marked function that only sleeps becomes time blocked.
    pub fn new(trace: &Trace, activity: &Activity<'_>, outside: &mut Outside) -> Sites {
        let mut naming = Naming::new(trace);
        let mut samples = samples_by_thread(&mut naming);
        ask(activity, &mut naming, &mut samples);
        let mut building = Building { trace, naming, sites: shorts(trace), known: FxHashMap::default() };
        let mut of: Vec<Vec<SiteId>> = vec![Vec::new(); trace.threads.len()];
        let (mut pauses, mut within) = (Vec::new(), Vec::new());
        for (thread, samples) in trace.threads.ids().zip(&samples) {
            for (at, pause) in outside.pauses(thread).iter().enumerate() {
                let around = [activity.call_before(thread, pause.start), pause.next];
                let site = building.between(thread, around, None);
                let from = samples.partition_point(|seen| seen.at < pause.start);
                let seen = samples[from..].iter().take_while(|seen| seen.at < pause.end);
                within.extend(seen.zip(from..).map(|(seen, sample)| Within {
                    site,
                    depth: Depth::at(seen.at, pause.start, pause.end),
                    pause: pause.start,
                    thread,
                    sample,
                }));
                of[thread.index()].push(site);
                pauses.push((thread, at, around));
            }
        }
        building.weigh(within, &mut samples);
        building.see_builders();
        building.lend();
        building.name_by_system_calls(&pauses, outside, &mut of, Most::OneCall);
        building.mark(&pauses, outside, &mut of);
        building.name_by_system_calls(&pauses, outside, &mut of, Most::OnePlace);
        let Building { mut naming, mut sites, .. } = building;
        for (thread, at, _) in pauses.iter().copied() {
            let site = &mut sites[of[thread.index()][at] as usize];
            site.builds += usize::from(is_like_build(trace, site, &outside.pauses(thread)[at]));
        }
        let mut loads = Vec::new();
        for (thread, at, [_, next]) in pauses {
            let pause = outside.pauses(thread)[at];
            let site = &sites[of[thread.index()][at] as usize];
            if builds(trace, site, &pause) {
                let by = site.builder.unwrap_or(Mark::BUILD);
                build(&mut naming, by, &mut samples[thread.index()], &pause);
                let stack = next.some().map_or(StackId::NONE, |call| trace.calls.stack[call.index()]);
                let spot = stack.some().and_then(|stack| naming.of_stack(stack));
                loads.extend(spot.map(|spot| (naming.building(spot, by), stack)));
            }
        }
        let spots = spots_of_stacks(&mut naming);
        let sees_sleep = samples.iter().flatten().any(|seen| seen.asleep);
        let slept = if sees_sleep { Slept::none(samples.len()) } else { Slept::of(trace, &spots) };
        Sites { places: naming.places, sites, of, samples, spots, loads, sees_sleep, slept }
    }

    /// The places in which a thread slept in `[from, to)`, by its system calls, each with the weight of samples; none where something
    /// else tells the place of the site that this time is of.
    pub fn slept(
        &self,
        site: SiteId,
        thread: ThreadId,
        (from, to): (Ns, Ns),
    ) -> impl Iterator<Item = (SpotId, u64)> {
        let is_told = self.row(site).spot.is_some();
        self.slept.places(thread, from, to).filter(move |_| !is_told)
    }

    /// Whether samples tell how long threads slept.
    pub fn sees_sleep(&self) -> bool {
        self.sees_sleep
    }

    /// The site of a segment outside calls.
    pub fn of(&self, outside: &Outside, thread: ThreadId, segment: &Segment) -> SiteId {
        let pause = outside.pause_at(thread, segment);
        let known = pause.map(|pause| self.of[thread.index()][pause]);
        known.unwrap_or(thread.index() as SiteId)
    }

    /// Whether a kernel is built in a pause: there are many like it.
    pub fn is_build(&self, trace: &Trace, site: SiteId, pause: &Pause) -> bool {
        builds(trace, self.row(site), pause)
    }

    pub fn row(&self, site: SiteId) -> &Site {
        &self.sites[site as usize]
    }

    /// The samples in a thread's calls of a function, within a time.
    pub fn in_calls(
        &self,
        facts: &Facts<'_>,
        thread: ThreadId,
        name: Sym,
        (from, to): (Ns, Ns),
    ) -> impl Iterator<Item = &SpotSample> {
        let calls = &facts.calls_by_thread()[thread.index()];
        self.samples(thread, from, to).iter().filter(move |seen| {
            let after = calls.partition_point(|call| facts.start(*call) <= seen.at);
            after.checked_sub(1).is_some_and(|last| {
                let call = calls[last];
                seen.at < facts.end(call) && facts.trace.calls.name[call.index()] == name
            })
        })
    }

    pub fn place(&self, spot: SpotId) -> &Place {
        &self.places[spot as usize].place
    }

    /// The cause of what is done at a place by a thread asleep or awake, if that is known work.
    pub fn cause(&self, spot: SpotId, asleep: bool) -> Option<Cause> {
        self.mark(spot).filter(|mark| asleep || !mark.is_sleep()).map(Mark::cause)
    }

    /// The known work at a place, if there is some.
    pub fn mark(&self, spot: SpotId) -> Option<Mark> {
        self.places[spot as usize].mark
    }

    /// The samples of a thread in `[from, to)`.
    pub fn samples(&self, thread: ThreadId, from: Ns, to: Ns) -> &[SpotSample] {
        let samples = &self.samples[thread.index()];
        if samples.is_empty() {
            return &[];
        }
        let first = samples.partition_point(|seen| seen.at < from);
        let count = samples[first..].iter().take_while(|seen| seen.at < to).count();
        &samples[first..first + count]
    }

    /// The stacks of the calls that loaded what was built at a place.
    pub fn loads(&self, spot: SpotId) -> impl Iterator<Item = StackId> {
        self.loads.iter().filter(move |load| load.0 == spot).map(|load| load.1)
    }

    /// The place of the stack of a call, or of one that was waited for.
    pub fn of_stack(&self, stack: StackId) -> Option<SpotId> {
        self.spots.get(&stack).copied()
    }
}

/// Whether a kernel is built in a pause of a site: what builds it is in the stack, or there are many like it.
fn builds(trace: &Trace, site: &Site, pause: &Pause) -> bool {
    (site.builds >= OFTEN || site.builder.is_some()) && is_like_build(trace, site, pause)
}

/// Whether a kernel may be built in a pause of a site.
fn is_like_build(trace: &Trace, site: &Site, pause: &Pause) -> bool {
    let (length, next) = (pause.end - pause.start, trace.text(site.next));
    may_build(length, next) || site.builder.is_some() && (length >= LEAST || takes_times(next))
}

/// The operator that made a call, if the trace links them.
fn operator_of(trace: &Trace, call: CallId) -> Option<&str> {
    let range = call.some().and_then(|call| trace.calls.range[call.index()].some())?;
    let is_operator = trace.ranges.kind[range.index()] == RangeKind::Operator;
    is_operator.then(|| trace.text(trace.ranges.name[range.index()]))
}

/// Lets the samples in a pause be of a build, where they do not say more.
fn build(naming: &mut Naming<'_>, by: Mark, samples: &mut [SpotSample], pause: &Pause) {
    let first = samples.partition_point(|seen| seen.at < pause.start);
    for seen in samples[first..].iter_mut().take_while(|seen| seen.at < pause.end) {
        seen.spot = seen.spot.map(|spot| naming.building(spot, by));
    }
}

/// A site for each thread, for its times that are no pauses.
fn shorts(trace: &Trace) -> Vec<Site> {
    let short = |thread| Site {
        process: trace.process_of_thread(thread),
        last: Sym::default(),
        next: Sym::default(),
        builds: 0,
        builder: None,
        is_short: true,
        spot: None,
        seen: Default::default(),
    };
    trace.threads.ids().map(short).collect()
}

/// The places of the stacks of calls, and of those that others waited for.
fn spots_of_stacks(naming: &mut Naming<'_>) -> FxHashMap<StackId, SpotId> {
    let Trace { waits, calls, .. } = naming.trace;
    let of_waits = [&waits.holder_stack, &waits.releaser_stack, &waits.stack];
    let stacks = of_waits.into_iter().flatten().chain(&calls.stack);
    let mut spots = FxHashMap::default();
    let mut last = StackId::NONE;
    for stack in stacks.filter_map(|stack| stack.some()) {
        if stack != last
            && !spots.contains_key(&stack)
            && let Some(spot) = naming.of_stack(stack)
        {
            spots.insert(stack, spot);
        }
        last = stack;
    }
    spots
}

fn samples_by_thread(naming: &mut Naming<'_>) -> Vec<Vec<SpotSample>> {
    let trace = naming.trace;
    let mut by_thread = vec![Vec::new(); trace.threads.len()];
    for sample in trace.samples.ids().map(|sample| trace.samples.row(sample)) {
        if let Some(thread) = sample.thread.some() {
            let spot = sample.stack.some().and_then(|stack| naming.of_stack(stack));
            let asleep = matches!(
                sample.state,
                ThreadState::Blocked | ThreadState::Uninterruptible | ThreadState::Stopped
            );
            let (at, stack) = (sample.at, sample.stack);
            by_thread[thread.index()].push(SpotSample { at, spot, stack, asleep, weight: SAMPLE });
        }
    }
    by_thread.iter_mut().for_each(|samples| samples.sort_by_key(|seen| seen.at));
    by_thread
}

/// Largest distance of two threads' samples that count as one moment, ns: two looks at the default rate.
pub(super) const NEAR: Ns = 20_000_000;

/// Lets the samples of threads in code that is not the program's have the line at which the program's own thread waits meanwhile.
fn ask(activity: &Activity<'_>, naming: &mut Naming<'_>, samples: &mut [Vec<SpotSample>]) {
    let trace = naming.trace;
    let own = |naming: &Naming<'_>, seen: &SpotSample| seen.spot.filter(|spot| naming.is_own(*spot));
    let mut first = BTreeMap::<ProcessId, (usize, ThreadId)>::new();
    for (thread, samples) in trace.threads.ids().zip(&*samples) {
        let count = samples.iter().filter(|seen| own(naming, seen).is_some()).count();
        let most = first.entry(trace.process_of_thread(thread)).or_insert((0, ThreadId::NONE));
        *most = if count > most.0 { (count, thread) } else { *most };
    }
    for (process, (_, asking)) in first.into_iter().filter(|(_, (count, _))| *count > 0) {
        let waits = |seen: &&SpotSample| seen.asleep || activity.call_at(asking, seen.at).is_some();
        let asking_samples: Vec<SpotSample> = samples[asking.index()].iter().filter(waits).copied().collect();
        let others = trace.threads.ids().filter(|thread| trace.process_of_thread(*thread) == process);
        for thread in others.filter(|thread| *thread != asking) {
            for seen in &mut samples[thread.index()] {
                let is_vague = own(naming, seen).is_none() && seen.stack.is_some();
                let asked = is_vague.then(|| near(&asking_samples, seen.at)).flatten();
                if let Some(spot) = asked.and_then(|asked| own(naming, asked)) {
                    seen.spot = Some(naming.asked(spot, seen.stack));
                }
            }
        }
    }
}

/// The sample nearest to a moment.
fn near(samples: &[SpotSample], at: Ns) -> Option<&SpotSample> {
    let next = samples.partition_point(|seen| seen.at < at);
    let around = samples[next.saturating_sub(1)..].iter().take(2);
    around.min_by_key(|seen| (seen.at - at).abs()).filter(|seen| (seen.at - at).abs() <= NEAR)
}

/// Whether a built-in function of Python's does nothing but wait: for a time, another thread, or input.
fn sleeps(function: &str) -> bool {
    let waits = [
        "sleep",
        "acquire",
        "poll",
        "select",
        "wait",
        "recv",
        "recv_into",
        "accept",
        "read",
        "readinto",
        "kevent",
        "run_backward",
    ];
    built_in(function).is_some_and(|name| waits.contains(&name))
}

/// A sample in a pause.
struct Within {
    site: SiteId,
    depth: Depth,
    /// The pause's start.
    pause: Ns,
    thread: ThreadId,
    /// Of the thread's.
    sample: usize,
}

/// The part of a pause that must be half of it to tell its place.
#[derive(Clone, Copy)]
enum Most {
    /// One system call.
    OneCall,
    /// System calls of one stack, together.
    OnePlace,
}

struct Building<'a> {
    trace: &'a Trace,
    naming: Naming<'a>,
    sites: Vec<Site>,
    known: FxHashMap<Between, SiteId>,
}

impl Building<'_> {
    /// The site between two calls; `spot` is the place that ranges tell.
    fn between(&mut self, thread: ThreadId, around: [CallId; 2], spot: Option<SpotId>) -> SiteId {
        let calls = &self.trace.calls;
        let call = |call: CallId| {
            call.some().map_or((Sym::default(), StackId::NONE), |call| {
                (calls.name[call.index()], calls.stack[call.index()])
            })
        };
        let key = Between { thread, calls: around.map(call), spot };
        let ((last, _), (next, stack)) = (key.calls[0], key.calls[1]);
        let (sites, naming) = (&mut self.sites, &mut self.naming);
        *self.known.entry(key).or_insert_with(|| {
            let process = naming.trace.process_of_thread(thread);
            let spot = spot.or_else(|| naming.of_stack(stack.some()?));
            let builder = naming.marks.of_stack(naming.trace, stack);
            let builder = builder.filter(|mark| mark.cause() == Cause::KernelBuild);
            let within = || Mark::builder_within(&naming.places[spot? as usize].place.function);
            let operator = || Mark::builder_within(operator_of(naming.trace, around[1])?);
            let times = takes_times(naming.trace.text(next));
            let builder = builder.or_else(within).or_else(|| operator().filter(|_| times));
            let seen = Default::default();
            sites.push(Site { process, last, next, builds: 0, builder, is_short: false, spot, seen });
            (sites.len() - 1) as SiteId
        })
    }

    /// The stacks of system calls tell the places of pauses of which `most` is in them, where neither samples nor the stacks of CUDA's calls
    /// do.
    fn name_by_system_calls(
        &mut self,
        pauses: &[Around],
        outside: &Outside,
        of: &mut [Vec<SiteId>],
        most: Most,
    ) {
        let by_thread = system_calls(self.trace);
        let calls = &self.trace.calls;
        for (thread, at, around) in
            pauses.iter().copied().filter(|(thread, ..)| !by_thread[thread.index()].is_empty())
        {
            if !self.is_untold(of[thread.index()][at]) {
                continue;
            }
            let (pause, own) = (&outside.pauses(thread)[at], &by_thread[thread.index()]);
            let within = |call: CallId| {
                let (start, end) = (calls.start[call.index()], calls.end[call.index()]);
                (end.min(pause.end) - start.max(pause.start)).max(0)
            };
            let from = own.partition_point(|call| calls.end[call.index()] <= pause.start);
            let during = own[from..].iter().copied().take_while(|call| calls.start[call.index()] < pause.end);
            let mut times = FxHashMap::<StackId, Ns>::default();
            for call in during {
                let ns = times.entry(calls.stack[call.index()]).or_default();
                *ns = match most {
                    Most::OneCall => within(call).max(*ns),
                    Most::OnePlace => within(call) + *ns,
                };
            }
            let most = times.into_iter().max_by_key(|(stack, ns)| (*ns, *stack));
            let most = most.filter(|(_, ns)| *ns >= (pause.end - pause.start) / 2);
            let spot = most.and_then(|(stack, _)| self.naming.of_stack(stack));
            if let Some(spot) = spot {
                of[thread.index()][at] = self.between(thread, around, Some(spot));
            }
        }
    }

    /// Ranges tell the places of those pauses of which nothing else does; each with its thread, number and the calls around. One in a
    /// marked function that only sleeps becomes time blocked.
    fn mark(&mut self, pauses: &[Around], outside: &mut Outside, of: &mut [Vec<SiteId>]) {
        let untold = pauses.iter().filter(|(thread, at, _)| self.is_untold(of[thread.index()][*at]));
        let untold: Vec<_> = untold.copied().collect();
        let middle = |(thread, at, _): &Around| {
            let pause = &outside.pauses(*thread)[*at];
            (*thread, pause.start + (pause.end - pause.start) / 2)
        };
        let moments: Vec<_> = untold.iter().map(middle).collect();
        let trace = self.trace;
        marked(trace, &moments, |moment, marked| {
            let (thread, at, around) = untold[moment];
            if let Some(place) = marked.place {
                let spot = self.naming.of_ranges(place, &marked.around);
                of[thread.index()][at] = self.between(thread, around, Some(spot));
            }
            let range = marked.range.map(|range| trace.text(trace.ranges.name[range.index()]));
            if range.is_some_and(sleeps) {
                outside.set_blocked(thread, at);
            }
        });
    }

    /// Gives each sample in a pause its weight, and adds it to its site.
    fn weigh(&mut self, mut within: Vec<Within>, samples: &mut [Vec<SpotSample>]) {
        within.sort_by_key(|within| (within.site, within.depth));
        for all in within.chunk_by(|one, other| one.site == other.site) {
            let depths: Vec<Depth> = all.iter().map(|within| within.depth).collect();
            let pauses: FxHashSet<Ns> = all.iter().map(|within| within.pause).collect();
            for (within, weight) in all.iter().zip(weights(&depths, pauses.len())) {
                let seen = &mut samples[within.thread.index()][within.sample];
                seen.weight = weight;
                if let Some(spot) = seen.spot {
                    let of_site = &mut self.sites[within.site as usize].seen;
                    add_to(&mut of_site[usize::from(seen.asleep)], spot, weight);
                }
            }
        }
    }

    /// Where samples before a call that loads code lie in a compiler, its caller's work there is for the same kernel: an interpreter
    /// translates what the compiler is given.
    fn see_builders(&mut self) {
        let places = &self.naming.places;
        for site in self.sites.iter_mut().filter(|site| site.builder.is_none()) {
            if loads_code(self.trace.text(site.next)) {
                let [awake, _] = &site.seen;
                let all: u64 = awake.iter().map(|(_, weight)| weight).sum();
                let mark = |spot: SpotId| {
                    places[spot as usize].mark.filter(|mark| mark.cause() == Cause::KernelBuild)
                };
                let built = awake.iter().filter_map(|(spot, weight)| Some((mark(*spot)?, *weight)));
                let most = built.max_by_key(|(_, weight)| *weight);
                site.builder = most.filter(|(_, weight)| weight * BUILT >= all).map(|(mark, _)| mark);
            }
        }
    }

    /// Lets sites without samples have those of the sites after the same call at the same place, if these are enough. What
    /// ends such a pause varies: a launch, or a look at an event first.
    fn lend(&mut self) {
        let mut sites: Vec<_> =
            self.known.iter().map(|(between, site)| (*site, between.thread, between.calls[0])).collect();
        sites.sort_by_key(|(site, ..)| *site);
        let after = |(site, thread, (name, stack)): (SiteId, ThreadId, (Sym, StackId))| {
            Some((site, (thread, name, self.naming.of_stack(stack.some()?)?)))
        };
        let sites: Vec<_> = sites.into_iter().filter_map(after).collect();
        let mut seen = FxHashMap::<_, [Spots; 2]>::default();
        for (site, after) in &sites {
            let all = seen.entry(*after).or_default();
            for (all, seen) in all.iter_mut().zip(&self.sites[*site as usize].seen) {
                seen.iter().for_each(|(spot, weight)| add_to(all, *spot, *weight));
            }
        }
        for (site, after) in sites {
            let (own, all) = (&mut self.sites[site as usize].seen, &seen[&after]);
            let weight: u64 = all.iter().flatten().map(|(_, weight)| weight).sum();
            if own.iter().all(Vec::is_empty) && weight >= ENOUGH {
                own.clone_from(all);
            }
        }
    }

    /// Whether neither samples nor stacks tell the place of a site.
    fn is_untold(&self, site: SiteId) -> bool {
        let site = &self.sites[site as usize];
        site.spot.is_none() && site.seen.iter().all(Vec::is_empty)
    }
}
