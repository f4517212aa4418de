//! The rules that the gaps, in which the busiest engine was idle, are lost to.

use super::host::Host;
use super::late::Late;
use super::queue::{Item, Queue};
use super::slip::{AllSlips, Root, RootBehind, Slip, Waited, slips};
use super::times::{Gap, Times};
use super::{Behind, LateOps, LostOverlap, OverlapRule};
use crate::facts::places::{PLACED, Places};
use crate::facts::stretch::Stretch;
use crate::{Confidence, Example};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use trace::{CallId, Ns, OpKind, StreamId, Sym, Trace};
use waits::{Engine, is_default};

/// Most kinds of late operations that are listed per rule.
const MOST_KINDS: usize = 5;

/// Most examples per rule.
const EXAMPLES: usize = 3;

/// Shortest piece that counts, ns: it takes about as long to start an operation. A scalar that is read back is not worth a
/// stream.
const LEAST: Ns = 20_000;

/// Libraries whose kernels and calls contain their name.
const LIBRARIES: [&str; 7] = ["cublas", "cudnn", "cufft", "cusparse", "cusolver", "curand", "nccl"];

/// The losses of the gaps by rule, most time first.
pub(super) fn account(
    queue: &Queue,
    times: &Times,
    host: &Host<'_>,
    late: &FxHashMap<u32, Late>,
) -> Vec<LostOverlap> {
    let (slips, waited) = slips(queue, host, late);
    let trace = host.index.trace;
    let mut account = Account { trace, queue, host, rounds: rounds(queue), rules: Default::default() };
    let mut gaps = times.gaps.clone();
    account.fill(&mut gaps, &waited, times.busiest);
    let mut around = Around::default();
    for gap in &gaps {
        let ends = around.of(queue, gap, times.busiest);
        account.add(gap, &ends, &slips);
    }
    account.finish()
}

/// The operations around the current gap.
#[derive(Default)]
struct Around {
    /// Items that may still run in the next gap.
    open: Vec<u32>,
    next: u32,
}

/// The items at the ends of a gap, and within it.
struct Ends {
    /// The busiest engine's last one before the gap.
    before: Option<u32>,
    /// The busiest engine's first one after the gap.
    after: Option<u32>,
    /// Other engines' items within the gap.
    within: Vec<u32>,
}

impl Around {
    /// The items at a gap. Gaps must be passed in order.
    fn of(&mut self, queue: &Queue, gap: &Gap, busiest: usize) -> Ends {
        let is_of = |item: &Item| queue.unit(item) == Some(busiest) && item.start < item.end;
        self.open.retain(|at| queue.item(*at).end >= gap.from);
        while let Some(item) = queue.items.get(self.next as usize).filter(|item| item.start <= gap.to) {
            if item.end >= gap.from {
                self.open.push(self.next);
            }
            self.next += 1;
        }
        let open = || self.open.iter().copied();
        let overlaps = |item: &Item| item.start < gap.last && item.end > gap.first;
        Ends {
            before: open().find(|at| is_of(queue.item(*at)) && queue.item(*at).end == gap.from),
            after: open().find(|at| is_of(queue.item(*at)) && queue.item(*at).start == gap.to),
            within: open().filter(|at| !is_of(queue.item(*at)) && overlaps(queue.item(*at))).collect(),
        }
    }
}

struct Account<'a> {
    trace: &'a Trace,
    queue: &'a Queue,
    host: &'a Host<'a>,
    /// Start of each stream's last round, ns.
    rounds: FxHashMap<StreamId, Ns>,
    rules: [Lost; OverlapRule::ALL.len()],
}

/// The losses to one rule so far.
#[derive(Default)]
struct Lost {
    ns: Ns,
    count: u64,
    also: [bool; OverlapRule::ALL.len()],
    kinds: FxHashMap<Kind, OfKind>,
    examples: Vec<Example>,
}

/// The losses to late operations of one kind.
#[derive(Default)]
struct OfKind {
    count: u64,
    ns: Ns,
    /// The first calls that issued them, and what they waited for: at most [`PLACED`].
    late: Vec<CallId>,
    behind: Vec<CallId>,
}

/// A late operation, or what it waited for, with the calls that issued them.
struct Issued {
    kind: Kind,
    late: CallId,
    behind: CallId,
}

/// Late operations of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Kind {
    late: Party,
    behind: Option<Party>,
}

/// An operation, or a call in which a thread waited, by its names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Party {
    engine: Option<Engine>,
    kernel: Sym,
    stream: StreamId,
    call: Sym,
    library: &'static str,
}

impl Account<'_> {
    /// Fills gaps with the busiest engine's later operations that were already ready in them.
    fn fill(&mut self, gaps: &mut [Gap], waited: &[Waited], busiest: usize) {
        for waited in waited {
            let item = *self.queue.item(waited.item);
            if self.queue.unit(&item) != Some(busiest) {
                continue;
            }
            let mut left = item.end.saturating_sub(item.start);
            let begun = gaps.partition_point(|gap| gap.from < item.start);
            for gap in gaps[..begun].iter_mut().rev().filter(|gap| gap.to < item.start) {
                if gap.to <= waited.ready || left == 0 {
                    break;
                }
                let room = gap.last.saturating_sub(gap.first.max(waited.ready)).min(gap.ns).min(left);
                if room >= LEAST {
                    (left, gap.ns) = (left - room, gap.ns - room);
                    let behind = RootBehind::Item(waited.late.behind);
                    let kind = self.kind(&Root { late: waited.item, behind });
                    self.lose(waited.late.rule, room, kind, item.start);
                }
            }
        }
    }

    fn add(&mut self, gap: &Gap, ends: &Ends, slips: &AllSlips) {
        if let Some(stream) = self.one_stream(gap, ends) {
            return self.add_one_stream(gap, ends, stream);
        }
        let zero = Slip::NONE;
        let of = |at: Option<u32>| at.map_or(&zero, |at| slips.of(at));
        // After the busiest engine's last operation, the other engines' last one could have been earlier.
        let ends_last = || ends.within.iter().copied().max_by_key(|at| (self.queue.item(*at).end, *at));
        let next = ends.after.or_else(ends_last);
        let slip = of(next).beyond(of(ends.before), gap.ns);
        for rule in OverlapRule::ALL.iter().copied() {
            let (ns, root) = (slip.ns[rule as usize], slip.root[rule as usize]);
            if let Some(root) = root.filter(|_| ns >= LEAST) {
                let kind = self.kind(&root);
                self.lose(rule, ns, kind, self.queue.item(root.late).start);
            }
        }
    }

    /// The only stream of a gap between two operations of the busiest engine, if some later operation in it need not depend
    /// on the earlier ones.
    fn one_stream(&self, gap: &Gap, ends: &Ends) -> Option<StreamId> {
        let stream = |at: &u32| self.queue.item(*at).stream;
        let (before, after) = (ends.before?, ends.after?);
        let own = stream(&before).some()?;
        let same = stream(&after) == own && ends.within.iter().all(|at| stream(at) == own);
        let alone = || !self.queue.others_were_asked(after, own, self.queue.item(after).start);
        let goes_on = self.rounds.get(&own).is_some_and(|round| *round >= gap.from);
        (same && goes_on && alone()).then_some(own)
    }

    fn add_one_stream(&mut self, gap: &Gap, ends: &Ends, stream: StreamId) {
        let longest = ends.within.iter().copied().max_by_key(|at| {
            let item = self.queue.item(*at);
            (item.end.saturating_sub(item.start), Reverse(*at))
        });
        let Some(longest) = longest.filter(|_| gap.ns >= LEAST) else { return };
        let item = self.queue.item(longest);
        let behind = ends.before.map(|before| self.party(self.queue.item(before)));
        let kind = Kind { late: self.party(item), behind };
        let call = |at: u32| self.queue.item(at).call;
        let issued = Issued { kind, late: item.call, behind: ends.before.map_or(CallId::NONE, call) };
        let start = item.start;
        let also = &mut self.rules[OverlapRule::OneStream as usize].also;
        also[OverlapRule::DefaultStream as usize] |= is_default(self.trace, stream);
        for item in ends.within.iter().chain(&ends.after).map(|at| self.queue.item(*at)) {
            also[OverlapRule::PageableMemory as usize] |= self.host.is_pageable(item.call);
            // A wait within the gap delayed the call that issued this.
            let kept = self.host.kept(item.call).filter(|kept| kept.end > gap.from && kept.end <= gap.to);
            also[OverlapRule::Synchronization as usize] |= kept.is_some();
        }
        self.lose(OverlapRule::OneStream, gap.ns, issued, start);
    }

    fn lose(&mut self, rule: OverlapRule, ns: Ns, issued: Issued, start_ns: Ns) {
        let lost = &mut self.rules[rule as usize];
        lost.ns = lost.ns.saturating_add(ns);
        lost.count += 1;
        let known = lost.kinds.entry(issued.kind).or_default();
        known.count += 1;
        known.ns += ns;
        for (calls, call) in [(&mut known.late, issued.late), (&mut known.behind, issued.behind)] {
            calls.extend(call.some().filter(|_| calls.len() < PLACED));
        }
        let at = lost.examples.partition_point(|example| example.duration_ns >= ns);
        if at < EXAMPLES {
            lost.examples.insert(at, Example { start_ns, duration_ns: ns });
            lost.examples.truncate(EXAMPLES);
        }
    }

    fn kind(&self, root: &Root) -> Issued {
        let call = match root.behind {
            RootBehind::Item(at) => self.queue.item(at).call,
            RootBehind::Call(call) => call,
        };
        let behind = match root.behind {
            RootBehind::Item(at) => self.party(self.queue.item(at)),
            RootBehind::Call(call) => Party {
                engine: None,
                kernel: Sym::EMPTY,
                stream: StreamId::NONE,
                call: self.trace.calls.name[call.index()],
                library: "",
            },
        };
        let late = self.queue.item(root.late);
        let kind = Kind { late: self.party(late), behind: Some(behind) };
        Issued { kind, late: late.call, behind: call }
    }

    fn party(&self, item: &Item) -> Party {
        let trace = self.trace;
        let kernel = match trace.ops.kind[item.op.index()] {
            OpKind::Kernel => trace.ops.name[item.op.index()],
            _ => Sym::EMPTY,
        };
        let call = item.call.some().map_or(Sym::EMPTY, |call| trace.calls.name[call.index()]);
        let library = library(trace.text(kernel)).or_else(|| self.library_around(item.call)).unwrap_or("");
        Party { engine: Some(item.engine), kernel, stream: item.stream, call, library }
    }

    /// The library whose call issued an operation.
    fn library_around(&self, call: CallId) -> Option<&'static str> {
        let around = self.host.library_around(call.some()?)?;
        library(self.trace.text(self.trace.calls.name[around.index()]))
    }

    fn finish(mut self) -> Vec<LostOverlap> {
        let rules = std::mem::take(&mut self.rules).map(|lost| {
            let mut kinds: Vec<(Kind, OfKind)> = lost.kinds.into_iter().collect();
            kinds.sort_by_key(|(kind, of)| (Reverse(of.ns), *kind));
            let number = kinds.len() as u64;
            kinds.truncate(MOST_KINDS);
            (Lost { kinds: FxHashMap::default(), ..lost }, kinds, number)
        });
        let kinds = rules.iter().flat_map(|(_, kinds, _)| kinds);
        let calls = kinds.flat_map(|(_, of)| of.late.iter().chain(&of.behind).copied());
        let places = Places::new(self.trace, calls.map(Stretch::Call).collect());
        let told = OverlapRule::ALL.iter().copied().zip(rules).filter(|(_, (lost, ..))| lost.ns > 0);
        let mut found: Vec<_> = told
            .map(|(rule, (lost, kinds, number))| LostOverlap {
                operations: kinds.iter().map(|(kind, of)| self.late_ops(kind, of, &places)).collect(),
                kinds: number,
                ..self.told(rule, lost)
            })
            .collect();
        found.sort_by_key(|lost| (Reverse(lost.lost_ns), lost.rule));
        found
    }

    /// The overlap lost to a rule, without the kinds of operations.
    fn told(&self, rule: OverlapRule, lost: Lost) -> LostOverlap {
        let also = OverlapRule::ALL.iter().copied().filter(|rule| lost.also[*rule as usize]).collect();
        LostOverlap {
            rule,
            lost_ns: lost.ns,
            count: lost.count,
            evidence: rule.evidence(),
            confidence: self.confidence(rule, lost.count),
            also,
            operations: Vec::new(),
            kinds: 0,
            examples: lost.examples,
        }
    }

    /// The confidence of a loss. It is unknown whether the thread needed the results that it waited for, and which
    /// operations of one stream depend on each other; if a loss repeats, one round likely does not depend on all of the
    /// previous one. The end of a kernel that signalled with others is inferred.
    fn confidence(&self, rule: OverlapRule, count: u64) -> Confidence {
        match rule {
            OverlapRule::IssueOrder if self.queue.ability.one_queue_of_copies() => Confidence::Certain,
            OverlapRule::IssueOrder | OverlapRule::DefaultStream | OverlapRule::PageableMemory => {
                Confidence::Likely
            }
            OverlapRule::OneStream if count > 1 => Confidence::Likely,
            OverlapRule::OneStream | OverlapRule::Connections | OverlapRule::Synchronization => {
                Confidence::Possible
            }
        }
    }

    fn late_ops(&self, kind: &Kind, of: &OfKind, places: &Places) -> LateOps {
        let place = |calls: &[CallId]| places.most(calls.iter().map(|call| (*call, 1))).cloned();
        let text = |name: Sym| self.trace.text(name).to_owned();
        let number = |stream: StreamId| stream.some().map(|stream| self.trace.streams.number[stream.index()]);
        let behind = |party: Party| Behind {
            engine: party.engine,
            kernel: text(party.kernel),
            stream: number(party.stream),
            call: text(party.call),
            library: party.library.to_owned(),
            place: place(&of.behind),
        };
        LateOps {
            engine: kind.late.engine.unwrap_or(Engine::Other),
            kernel: text(kind.late.kernel),
            stream: number(kind.late.stream).unwrap_or_default(),
            call: text(kind.late.call),
            library: kind.late.library.to_owned(),
            place: place(&of.late),
            behind: kind.behind.map(behind),
            count: of.count,
            lost_ns: of.ns,
        }
    }
}

/// The start of the last round in each stream, ns: a copy in after another kind of operation, or a kernel after a copy out,
/// may work on other data than the operations before it.
fn rounds(queue: &Queue) -> FxHashMap<StreamId, Ns> {
    let mut last = FxHashMap::default();
    for item in &queue.items {
        let before = item.before.map(|before| queue.item(before).engine);
        let begins = match item.engine {
            Engine::CopyIn => before.is_some_and(|before| before != Engine::CopyIn),
            Engine::Compute => before == Some(Engine::CopyOut),
            Engine::CopyOut | Engine::Other => false,
        };
        if begins {
            last.insert(item.stream, item.start);
        }
    }
    last
}

/// The library of a kernel or a function, by its name.
fn library(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    LIBRARIES.into_iter().find(|library| name.contains(library))
}
