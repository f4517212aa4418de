//! Turns groups into findings: their order, the waiter and the holder, the places and the fixes.

pub(crate) mod costs;
pub(crate) mod errors;
pub(crate) mod failed;
mod fitting;
pub(crate) mod fold;
mod handles;
pub(crate) mod links;
pub(crate) mod ranks;
mod root_finding;
mod root_places;
pub(crate) mod scope;

use crate::About;
use crate::account::{Costs, Root};
use crate::analysis::grounds::Grounds;
use crate::analysis::group::{Group, Groups, Key, add};
use crate::facts::Facts;
use crate::facts::places::{PlaceId, Places};
use crate::facts::stretch::Stretch;
use crate::findings::fold::{Folded, fold};
use crate::findings::links::{Links, id};
use crate::result::detail::detail;
use crate::result::finding::Phase;
use crate::result::framework::Frameworks;
use crate::result::loss::Loss;
use crate::result::side::{Doing, Side};
use crate::rules::fixes::{GRAPH, of_memory};
use crate::rules::kernel_build::NATIVE_CODE;
use crate::{Cause, Confidence, Evidence, Example, Finding, Fix, Party, Place, Unselected, Waiter};
use costs::{Roots, phase_in};
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{CallId, Ns};

/// Examples that a finding shows.
const EXAMPLES: usize = 3;

/// Source places that a finding shows for each side.
const PLACES: usize = 3;

/// Result of [`findings`].
pub(crate) struct Found {
    pub findings: Vec<Finding>,
    pub unselected: Vec<Unselected>,
    /// The single losses, if they are kept.
    pub losses: Vec<Loss>,
    /// The finding of each root.
    pub links: Links,
}

/// The findings: those that cost the GPUs most first, then those that lost most; unexplained ones last, and a wait for a call
/// before that call's own loss.
pub(crate) fn findings(facts: &Facts<'_>, groups: Groups, costs: &Costs) -> Found {
    let (groups, mut losses) = groups.done();
    let folded = in_order(facts, groups);
    let stretches = folded.iter().flat_map(|folded| folded.group.stretches()).collect();
    let places = Places::new(facts.trace, stretches);
    let frameworks = Frameworks::new(facts.trace);
    let mut roots = Roots::new(facts, costs, &frameworks);
    let mut links = Links::of(&folded);
    // Each with its number: those of slow calls have that of their group.
    let mut findings: Vec<(Finding, usize)> = Vec::new();
    for (at, folded) in folded.iter().enumerate() {
        let mut finding = finding(facts, &frameworks, &places, folded);
        if roots.are_known() {
            (finding.cost_ns, finding.cost_share) = (0, 0.0);
            roots.take(&mut finding, |root: &Root| links.finding(root) == Some(at));
        }
        findings.push((finding, at));
    }
    let parts = places_of_parts(&folded, &findings);
    for (finding, roots) in roots.rest(&parts) {
        links.add(findings.len(), &roots);
        findings.push((finding, findings.len()));
    }
    if roots.are_known() {
        findings.sort_by_key(|(finding, at)| {
            (std::cmp::Reverse(finding.cost_ns), (*at).min(folded.len()), finding.cause, finding.waiter.tid)
        });
    }
    let mut positions = vec![0; findings.len()];
    for (at, (finding, number)) in findings.iter_mut().enumerate() {
        finding.id = id(at);
        positions[*number] = at;
        for loss in folded.get(*number).into_iter().flat_map(|folded| &folded.group.losses) {
            losses[*loss as usize].finding = u32::try_from(at).ok();
        }
    }
    links.renumber(&positions);
    let mut findings: Vec<Finding> = findings.into_iter().map(|(finding, _)| finding).collect();
    withhold_graphs(&mut findings);
    Found { findings, unselected: roots.unselected(), losses, links }
}

/// The smallest part of the GPUs' time that allocations again and again cost where no graph can be captured, and the least part of what
/// launches cost: where that is far more, fewer of them are the remedy all the same. Choices.
const ALLOCATED: f64 = 0.01;
const ALLOCATED_OF_LAUNCHES: f64 = 1.0 / 3.0;

/// Offers no graph to a process that allocates and frees again and again: a graph needs addresses that stay.
fn withhold_graphs(findings: &mut [Finding]) {
    let mut shares = FxHashMap::<i64, f64>::default();
    let allocates =
        |finding: &&Finding| finding.cause == Cause::Allocation && finding.phase == Phase::Recurring;
    for finding in findings.iter().filter(allocates) {
        *shares.entry(finding.waiter.pid).or_default() += finding.cost_share;
    }
    for finding in findings {
        let least = ALLOCATED.max(finding.cost_share * ALLOCATED_OF_LAUNCHES);
        if shares.get(&finding.waiter.pid).is_some_and(|share| *share >= least) {
            finding.fixes.retain(|fix| *fix != GRAPH);
        }
    }
}

/// The cause of the first of [`findings`].
pub(crate) fn first_cause(facts: &Facts<'_>, groups: Groups, costs: &Costs) -> Option<Cause> {
    let folded = in_order(facts, groups.done().0);
    let links = Links::of(&folded);
    let causes: Vec<Cause> = folded.iter().map(|folded| folded.key.cause).collect();
    costs::first_cause(facts, costs, &causes, |root| links.finding(root))
}

/// The findings of slow calls and of waits, those that lost most first; see [`findings`].
fn in_order(facts: &Facts<'_>, groups: Vec<(Key, Group)>) -> Vec<Folded> {
    let mut folded = fold(facts, groups);
    folded.sort_by_key(|Folded { key, group, .. }| {
        (key.cause == Cause::Unexplained, std::cmp::Reverse(group.lost), *key)
    });
    victims_first(&mut folded);
    folded
}

/// Where the calls of each finding of slow calls are.
fn places_of_parts(folded: &[Folded], findings: &[(Finding, usize)]) -> FxHashMap<Key, Place> {
    let mut places = FxHashMap::default();
    for (folded, (finding, _)) in folded.iter().zip(findings) {
        let place = finding.places.first();
        places.extend(folded.keys.iter().filter_map(|key| Some((*key, place?.clone()))));
    }
    places
}

/// Moves a wait before the holder's own loss if they differ by at most a quarter: both are the same stretch of time, but for what the
/// waiting thread does before its next call comes to wait (launches beside pageable copies waited for 82 to 91 % of the copies' time: six
/// recordings of `stall` of `tests/gpu/programs.py`, H200).
fn victims_first(folded: &mut [Folded]) {
    for at in 1..folded.len() {
        let Some(holder) = folded[at].key.holder else { continue };
        let close = |own: &Folded| own.group.lost - own.group.lost / 4 <= folded[at].group.lost;
        let tells_same = |own: &Folded| own.key.holder.is_none() && own.key.waiter == holder && close(own);
        if let Some(before) = folded[..at].iter().position(tells_same) {
            folded[before..=at].rotate_right(1);
        }
    }
}

fn finding(facts: &Facts<'_>, frameworks: &Frameworks<'_>, places: &Places, folded: &Folded) -> Finding {
    let Folded { key, keys, group, waiters, holders } = folded;
    let longest = longest(group);
    let waiting: Vec<_> = group.parts.iter().map(|(_, stretch)| *stretch).collect();
    let span: Ns = waiters.iter().map(|thread| facts.chosen_span(*thread)).fold(0, Ns::saturating_add);
    // A call that extends beyond the selected time counts whole, in the time that it lost and in that which it is a part of.
    let beyond = waiting.iter().map(|stretch| facts.beyond_selection(*stretch)).fold(0, Ns::saturating_add);
    let share = group.lost as f64 / span.saturating_add(beyond).max(1) as f64;
    let stack = |stretch: Stretch| Some(facts.trace.calls.stack[stretch.call()?.index()]);
    let statement = About::of(key.cause).state(|| Grounds::new(facts, key, group));
    let fixes = of_memory(&statement.fixes, facts.trace.text(key.holder.unwrap_or(key.waiter).name()));
    // Few of the calls are slow, and one of dozens has its stack recorded: together they tell who makes them.
    let name = key.waiter.name();
    let recorded = waiters.iter().flat_map(|thread| facts.recorded_stacks(*thread, name, (Ns::MIN, Ns::MAX)));
    let in_driver = |fix: &Fix| key.cause != Cause::KernelBuild || *fix == NATIVE_CODE;
    let fixes: Vec<Fix> = fixes.into_iter().filter(in_driver).collect();
    Finding {
        id: String::new(),
        cause: key.cause,
        is_of_account: false,
        cost_ns: group.lost,
        cost_share: share,
        removal: None,
        short_calls: 0,
        other_calls: 0,
        phase: phase_in(facts, key.cause, group.lost, longest.iter().map(|(lost, _)| *lost)),
        chain: Vec::new(),
        lost_ns: group.lost,
        share,
        count: group.count(),
        pauses: None,
        max_ns: longest.first().map_or(0, |(lost, _)| *lost),
        waiter: party(facts, places, key.waiter, waiters.len(), &waiting),
        threads: threads(facts, places, keys),
        holder: key.holder.map(|side| party(facts, places, side, holders.len(), &in_calls(&group.holders))),
        or: others(facts, places, key, &group.or),
        evidence: group.evidence(),
        confidence: confidence(facts, key, group),
        because: statement.because,
        why: statement.why,
        places: ranked_places(places, group.parts.iter().copied()),
        work: "",
        inner: Vec::new(),
        tree: Vec::new(),
        examples: longest
            .iter()
            .map(|(lost, stretch)| Example { start_ns: stretch.start(facts.trace), duration_ns: *lost })
            .collect(),
        framework: frameworks.of(waiting.iter().copied().chain(in_calls(&group.holders)).filter_map(stack)),
        fixes: handles::fixes(facts.trace, waiting.iter().copied().filter_map(stack).chain(recorded), fixes),
    }
}

/// Every waiting thread, once with each call.
fn threads(facts: &Facts<'_>, places: &Places, keys: &[Key]) -> Vec<Waiter> {
    let mut threads: Vec<Waiter> = Vec::new();
    let mut known = FxHashSet::default();
    for side in keys.iter().map(|key| key.waiter) {
        if known.insert((side.thread, side.name())) {
            let Party { pid, tid, thread, call, .. } = party(facts, places, side, 1, &[]);
            threads.push(Waiter { pid, tid, thread, call });
        }
    }
    threads
}

/// The confidence of a finding. If an importer inferred threads from overlapping calls, two threads are certainly different
/// while their calls overlap; at other times the holder may be the waiter itself.
fn confidence(facts: &Facts<'_>, key: &Key, group: &Group) -> Confidence {
    let overlaps = group.evidence() == Evidence::Timing;
    let inferred = facts.trace.meta.threads_inferred && key.holder.is_some() && !overlaps;
    group.confidence().max(if inferred { Confidence::Possible } else { Confidence::Certain })
}

/// The parts that lost most, longest first.
fn longest(group: &Group) -> Vec<(Ns, Stretch)> {
    let mut parts = group.parts.clone();
    parts.sort_by_key(|(lost, stretch)| (std::cmp::Reverse(*lost), *stretch));
    parts.truncate(EXAMPLES);
    parts
}

fn in_calls(calls: &[CallId]) -> Vec<Stretch> {
    calls.iter().copied().map(Stretch::Call).collect()
}

fn party(facts: &Facts<'_>, places: &Places, side: Side, threads: usize, stretches: &[Stretch]) -> Party {
    let trace = facts.trace;
    let thread = trace.threads.row(side.thread);
    let process = thread.process.some().map_or(0, |process| trace.processes.pid[process.index()]);
    let parts = stretches.iter().map(|stretch| (stretch.duration(trace), *stretch));
    Party {
        pid: process,
        tid: thread.tid,
        thread: match trace.text(thread.name) {
            "" => thread.tid.to_string(),
            name => name.to_owned(),
        },
        threads: threads as u64,
        call: match side.doing {
            Doing::Call(name, _) => trace.text(name).to_owned(),
            Doing::Lock(_) | Doing::Unseen => String::new(),
        },
        detail: detail(facts, stretches),
        places: ranked_places(places, parts),
    }
}

/// Other parties that fit as well, each thread and call once.
fn others(facts: &Facts<'_>, places: &Places, key: &Key, or: &[CallId]) -> Vec<Party> {
    let side = |call: CallId| Side::of(facts, Stretch::Call(call));
    let mut sides: Vec<Side> = or.iter().map(|call| side(*call)).collect();
    sides.sort();
    sides.dedup();
    sides.retain(|side| Some(*side) != key.holder);
    let of = |other: &Side| {
        let calls: Vec<_> = or.iter().copied().filter(|call| side(*call) == *other).collect();
        party(facts, places, *other, 1, &in_calls(&calls))
    };
    sides.iter().take(EXAMPLES).map(of).collect()
}

/// The source places of some calls, or waits outside calls, most time first.
fn ranked_places(places: &Places, parts: impl Iterator<Item = (Ns, Stretch)>) -> Vec<Place> {
    let mut time = FxHashMap::<PlaceId, Ns>::default();
    for (lost, stretch) in parts {
        if let Some(place) = places.of(stretch) {
            add(time.entry(place).or_default(), lost);
        }
    }
    let mut ranked: Vec<_> = time.into_iter().map(|(place, time)| (places.row(place), time)).collect();
    ranked.sort_by(|(a, a_time), (b, b_time)| b_time.cmp(a_time).then_with(|| a.cmp(b)));
    ranked.into_iter().take(PLACES).map(|(place, _)| place.clone()).collect()
}
