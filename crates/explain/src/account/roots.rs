//! Roots of delays of threads and GPUs: a cause with its culprit, and how much time each is charged with.

use super::naming::SpotId;
use super::sites::SiteId;
use super::sums::add_to;
use super::trail::Trail;
use crate::Cause;
use crate::analysis::group::Key;
use rustc_hash::FxHashMap;
use trace::{CallId, DeviceId, Ns, OpId, ProcessId, StackId, Sym, ThreadId};

/// A cause and its culprit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Root {
    pub cause: Cause,
    pub culprit: Culprit,
    /// Whether what waited is selected, whatever the selected time.
    pub is_selected: bool,
}

impl Root {
    pub fn new(cause: Cause, culprit: Culprit) -> Root {
        Root { cause, culprit, is_selected: true }
    }

    pub fn selected(self, is_selected: bool) -> Root {
        Root { is_selected, ..self }
    }
}

/// Thread, place, call, lock or GPU that is to blame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Culprit {
    /// A part of slow calls: those of one finding.
    Part(Key),
    /// A lock of a process that is not CUDA's, by its address, and where its holder was, or the waiter if nobody knows the holder.
    Lock(ProcessId, i64, Option<SpotId>),
    /// The work of calls of this name, made at this place.
    Call(ProcessId, Sym, StackId),
    /// Activity of threads outside calls at a place.
    Spot(ProcessId, SpotId),
    /// Activity of threads outside calls at an unknown place, before they make calls of this name.
    Before(ProcessId, Sym),
    /// Activity of threads between calls that follow each other at once.
    Between(ProcessId),
    /// The GPU itself.
    Device(DeviceId),
    /// Activity of a thread outside calls at a site: its samples are to tell the places.
    Site(SiteId),
    /// Like [`Culprit::Site`], but while the thread holds a lock; where it was, if the recorded wait states it.
    Held(i64, SiteId, Option<SpotId>),
}

/// The time of roots.
pub(crate) type RootTimes = Vec<(Root, Ns)>;

/// The roots of the parts of the accounts, in the order of the accounts.
#[derive(Default)]
pub(crate) struct PartRoots {
    /// Of the idle time of each GPU.
    pub gpus: Vec<RootTimes>,
    /// Of the time for which each GPU was held back.
    pub held_back: Vec<RootTimes>,
    /// Of the time of each thread.
    pub threads: Vec<RootTimes>,
    /// Of the time for which the operations of each stream held their GPU back.
    pub streams: Vec<RootTimes>,
    /// Of the steps.
    pub steps: StepRoots,
}

/// The roots of the parts of steps.
#[derive(Default)]
pub(crate) struct StepRoots {
    pub median: RootTimes,
    pub total: RootTimes,
    /// Roots of which each slow step had more time.
    pub slow: Vec<RootTimes>,
}

/// The threads of a chain so far: the waiter first, then the thread that it waited for, and so on.
#[derive(Clone, Copy)]
pub(super) struct Path<'p> {
    pub thread: ThreadId,
    /// The thread before it, and what that waited for.
    before: Option<(&'p Path<'p>, Root)>,
    length: usize,
    /// Whether the first thread kept a GPU idle meanwhile.
    pub of_idle: bool,
    /// Whether the first thread's wait is selected; `None` if it waits for no other thread.
    waits_selected: Option<bool>,
}

/// Most threads of a chain: a longer one is a circle that is not quite closed.
const DEPTH: usize = 16;

impl<'p> Path<'p> {
    pub fn of(thread: ThreadId) -> Path<'static> {
        Path { thread, before: None, length: 1, of_idle: false, waits_selected: None }
    }

    /// The path of a thread that keeps a GPU idle.
    pub fn of_idle(thread: ThreadId) -> Path<'static> {
        Path { of_idle: true, ..Path::of(thread) }
    }

    /// The path to one more thread, which the last one waits for; `None` if that is in it already, or if it is too long.
    pub fn to(&'p self, thread: ThreadId, wait: Root) -> Option<Path<'p>> {
        let is_in = self.threads().any(|(known, _)| known == thread);
        let before = Some((self, wait));
        (self.length < DEPTH && !is_in).then_some(Path {
            thread,
            before,
            length: self.length + 1,
            of_idle: self.of_idle,
            waits_selected: self.waits_selected.or(Some(wait.is_selected)),
        })
    }

    /// Each thread, the last first, with what the thread before it waited for.
    pub fn threads(&self) -> impl Iterator<Item = (ThreadId, Option<Root>)> {
        std::iter::successors(Some(self), |path| path.before.map(|(before, _)| before))
            .map(|path| (path.thread, path.before.map(|(_, wait)| wait)))
    }

    /// Whether what the first thread waits for is selected; if it does that itself, `own` says.
    pub fn selects(&self, own: impl FnOnce() -> bool) -> bool {
        self.waits_selected.unwrap_or_else(own)
    }

    /// The thread that waited first.
    fn waiter(&self) -> ThreadId {
        self.threads().last().map_or(self.thread, |(thread, _)| thread)
    }
}

/// A thread of a chain: it waited for the one before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    pub thread: ThreadId,
    /// Cause and culprit for which it waited; `None` for the root.
    pub wait: Option<Root>,
}

/// Longest charges that a row keeps.
const LONGEST: usize = 3;

/// Charges of a root.
#[derive(Clone)]
pub(crate) struct Row {
    pub root: Root,
    /// All time, ns.
    pub ns: Ns,
    /// Number of charges; of a root in calls, of these calls.
    pub count: u64,
    /// The call that was charged last, if the root is in calls.
    pub last_call: CallId,
    /// Some of the calls that were charged.
    pub calls: CallSample,
    /// The longest charges, longest first: length and start, ns.
    pub longest: [(Ns, Ns); LONGEST],
    /// The chain of the longest charge for which another thread waited, root first; else of the longest.
    pub chain: Vec<Link>,
    /// Length of the charge of `chain`, ns.
    pub chain_ns: Ns,
    /// The threads that waited first, with the time of each.
    pub waiters: Vec<(ThreadId, Ns)>,
    /// The threads that they waited for in the end, or themselves.
    pub blamed: Vec<ThreadId>,
    /// Time charged to a thread that another one waited for, ns.
    pub chained: Ns,
    /// Time charged in parts of a pause of which only the sum is known, ns.
    pub partial: Ns,
    /// Samples within what was charged, by place.
    pub seen: Vec<(SpotId, u64)>,
    /// The pauses by the calls around them, once they are settled.
    pub between: Vec<Between>,
}

/// Most calls of a sample: of them the stacks of a few dozen are recorded. A choice.
const SAMPLED: usize = 1024;

/// Calls with their times: each one of the first [`SAMPLED`], then each second one, and so on, so that they stand for all.
#[derive(Clone, Default)]
pub(crate) struct CallSample {
    pub calls: Vec<(CallId, Ns)>,
    /// Binary logarithm of the distance of those that are kept.
    distance: u32,
    seen: u64,
}

impl CallSample {
    fn add(&mut self, call: CallId, ns: Ns) {
        self.seen += 1;
        if self.seen.trailing_zeros() >= self.distance {
            self.calls.push((call, ns));
            self.thin();
        }
    }

    fn absorb(&mut self, other: CallSample) {
        self.seen += other.seen;
        self.calls.extend(other.calls);
        self.distance = self.distance.max(other.distance);
        self.thin();
    }

    fn thin(&mut self) {
        while self.calls.len() > SAMPLED {
            let mut at = 0;
            self.calls.retain(|_| {
                at += 1;
                at % 2 == 0
            });
            self.distance += 1;
        }
    }
}

/// Pauses between two calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Between {
    /// The call before, and the call after.
    pub calls: [Sym; 2],
    /// Their time, ns.
    pub ns: Ns,
    pub count: u64,
}

impl Row {
    pub fn new(root: Root) -> Row {
        Row {
            root,
            ns: 0,
            count: 0,
            last_call: CallId::NONE,
            calls: CallSample::default(),
            longest: [(0, 0); LONGEST],
            chain: Vec::new(),
            chain_ns: 0,
            waiters: Vec::new(),
            blamed: Vec::new(),
            chained: 0,
            partial: 0,
            seen: Vec::new(),
            between: Vec::new(),
        }
    }

    fn add(&mut self, path: Option<&Path<'_>>, (start, ns): (Ns, Ns)) {
        self.ns += ns;
        self.count += 1;
        let Some(path) = path else { return self.keep((ns, start)) };
        add_to(&mut self.waiters, path.waiter(), ns);
        self.blame(path.thread);
        self.chained += if path.length > 1 { ns } else { 0 };
        if (path.length > 1, ns) > self.chain_rank() {
            self.chain_ns = ns;
            self.chain.clear();
            let mut wait = None;
            for (thread, waited) in path.threads() {
                self.chain.push(Link { thread, wait });
                wait = waited;
            }
        }
        self.keep((ns, start));
    }

    fn blame(&mut self, thread: ThreadId) {
        if !self.blamed.contains(&thread) {
            self.blamed.push(thread);
        }
    }

    /// Chains are compared by this: the highest is kept.
    fn chain_rank(&self) -> (bool, Ns) {
        (self.chain.len() > 1, self.chain_ns)
    }

    fn keep(&mut self, charge: (Ns, Ns)) {
        if let Some(at) = self.longest.iter().position(|known| charge.0 > known.0) {
            self.longest[at..].rotate_right(1);
            self.longest[at] = charge;
        }
    }

    /// Adds another row of the same root.
    pub fn absorb(&mut self, other: Row) {
        if other.chain_rank() > self.chain_rank() {
            (self.chain, self.chain_ns) = (other.chain, other.chain_ns);
        }
        self.ns += other.ns;
        self.count += other.count;
        other.longest.into_iter().for_each(|charge| self.keep(charge));
        other.waiters.into_iter().for_each(|(thread, ns)| add_to(&mut self.waiters, thread, ns));
        other.blamed.into_iter().for_each(|thread| self.blame(thread));
        self.chained += other.chained;
        self.partial += other.partial;
        self.calls.absorb(other.calls);
        other.seen.into_iter().for_each(|(spot, weight)| add_to(&mut self.seen, spot, weight));
        for pauses in other.between {
            match self.between.iter_mut().find(|known| known.calls == pauses.calls) {
                Some(known) => (known.ns, known.count) = (known.ns + pauses.ns, known.count + pauses.count),
                None => self.between.push(pauses),
            }
        }
    }
}

/// Rows by root: each root once.
pub(super) fn united(rows: impl IntoIterator<Item = Row>) -> Vec<Row> {
    let mut united: Vec<Row> = Vec::new();
    let mut known = FxHashMap::<Root, usize>::default();
    for row in rows {
        match known.get(&row.root) {
            Some(at) => united[*at].absorb(row),
            None => {
                known.insert(row.root, united.len());
                united.push(row);
            }
        }
    }
    united
}

/// Rows that are compared before a root is looked up: a thread that launches in a loop alternates between few.
const RECENT: usize = 4;

/// The time that each root is charged with.
#[derive(Default)]
pub(super) struct Charges {
    rows: Vec<Row>,
    known: FxHashMap<Root, usize>,
    recent: [usize; RECENT],
    next: usize,
    /// Single charges; `None` if only the sums are wanted.
    trail: Option<Trail>,
}

impl Charges {
    /// Empty sums that keep each single charge too, if that is wanted.
    pub fn kept(each: bool) -> Charges {
        Charges { trail: each.then(Trail::default), ..Charges::default() }
    }

    /// The next charges are for a gap that this operation ended.
    pub fn enter(&mut self, next: OpId) {
        self.trail.iter_mut().for_each(|trail| trail.enter(next));
    }

    /// The single charges, where they are kept.
    pub fn trail(&mut self) -> Option<Trail> {
        self.trail.take()
    }

    /// Charges a root with the `ns` from `start` on, for which the first thread of a path waited. Returns its row; `None` if
    /// that is no time.
    pub fn charge(&mut self, path: Option<&Path<'_>>, root: Root, start: Ns, ns: Ns) -> Option<usize> {
        (ns > 0).then(|| {
            let row = self.row(root);
            self.rows[row].add(path, (start, ns));
            if let Some(trail) = &mut self.trail {
                let mut threads: Vec<ThreadId> =
                    path.into_iter().flat_map(|path| path.threads().map(|(thread, _)| thread)).collect();
                threads.reverse();
                trail.push(row, threads, (start, ns));
            }
            row
        })
    }

    /// Counts a call once, whose time a row was charged with in several parts, here with `ns`.
    pub fn count_call(&mut self, row: usize, call: CallId, ns: Ns) {
        let row = &mut self.rows[row];
        row.count -= u64::from(row.last_call == call);
        row.last_call = call;
        row.calls.add(call, ns);
    }

    /// A call is one of those that a row was charged for, with `ns`.
    pub fn is_of_call(&mut self, row: usize, call: CallId, ns: Ns) {
        self.rows[row].calls.add(call, ns);
    }

    /// A sample of some weight lies in what a row was charged with.
    pub fn see(&mut self, row: usize, spot: SpotId, weight: u64) {
        add_to(&mut self.rows[row].seen, spot, weight);
    }

    /// Counts `ns` of a row's charges as a part of a pause.
    pub fn is_part(&mut self, row: usize, ns: Ns) {
        self.rows[row].partial += ns;
    }

    fn row(&mut self, root: Root) -> usize {
        let is_it = |row: &usize| self.rows.get(*row).is_some_and(|known| known.root == root);
        if let Some(row) = self.recent.into_iter().find(is_it) {
            return row;
        }
        let row = *self.known.entry(root).or_insert_with(|| {
            self.rows.push(Row::new(root));
            self.rows.len() - 1
        });
        self.recent[self.next] = row;
        self.next = (self.next + 1) % RECENT;
        row
    }

    /// Adds what others charged, with their single charges if both keep them.
    pub fn absorb(&mut self, rows: Vec<Row>, trail: Option<Trail>) {
        let to_own = rows.into_iter().map(|other| {
            let row = self.row(other.root);
            self.rows[row].absorb(other);
            row
        });
        let to_own: Vec<usize> = to_own.collect();
        if let (Some(own), Some(other)) = (&mut self.trail, trail) {
            own.append(other, &to_own);
        }
    }

    /// Every root that was charged, with its time; each once.
    pub fn done(self) -> Vec<Row> {
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_of_calls_stands_for_all() {
        let sample = |range: std::ops::Range<usize>| {
            let mut sample = CallSample::default();
            range.for_each(|at| sample.add(CallId::new(at), 1));
            sample
        };
        let of = |sample: &CallSample| sample.calls.iter().map(|(call, _)| call.index()).collect::<Vec<_>>();
        assert_eq!(of(&sample(0..SAMPLED)), (0..SAMPLED).collect::<Vec<_>>());
        let many = sample(0..100_000);
        assert!((SAMPLED / 2..=SAMPLED).contains(&many.calls.len()));
        let distances: Vec<usize> = of(&many).windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(distances.iter().all(|distance| *distance == distances[0]), "{distances:?}");
        let (part, all) = (SAMPLED - 28, 2 * SAMPLED - 56);
        let mut both = sample(0..part);
        both.absorb(sample(part..all));
        assert_eq!(of(&both), (1..all).step_by(2).collect::<Vec<_>>());
    }
}
