//! The accounts of GPUs and threads, row by row: a row is a cause at a place, or in calls of one name.

use super::amount::{Amount, Change};
use super::sides::{Run, Sides};
use crate::steps::without_numbers;
use crate::{AccountPart, Accounts, Cause, GpuAccount, Place, Spent, ThreadAccount};
use serde::{Serialize, Serializer};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use trace::Ns;

/// Work or cause that a time was spent with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Subject {
    /// The GPU worked.
    Busy,
    /// A cause.
    Cause(Cause),
    /// The GPU was idle, and why is unknown: the account of a trace is refused.
    Idle,
}

impl Subject {
    /// The name in every output.
    pub fn id(self) -> &'static str {
        match self {
            Subject::Busy => "busy",
            Subject::Cause(cause) => cause.id(),
            Subject::Idle => "idle",
        }
    }
}

impl Serialize for Subject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

/// A row of an account.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The cause, or that the GPU was busy.
    #[serde(rename = "cause")]
    pub what: Subject,
    /// The place, as it is after the change if it is there; `None` if unknown.
    #[serde(rename = "where")]
    pub place: Option<Place>,
    /// The call, where the place is unknown; empty if that is, too.
    pub call: String,
    /// Its time.
    #[serde(flatten)]
    pub change: Change,
    /// Whether the change is within the spread, or less than a hundredth of the account's time.
    pub noise: bool,
}

/// An account of both sides.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AccountChange {
    /// Its whole time.
    pub span: Change,
    /// Its rows, the largest change first.
    pub rows: Vec<Row>,
}

/// A GPU of both sides.
#[derive(Clone, Debug, Serialize)]
pub struct GpuChange {
    /// CUDA device index.
    pub device: i64,
    /// Its marketing name after the change, or before it where it is not there any more.
    pub name: String,
    /// Its account.
    #[serde(flatten)]
    pub account: AccountChange,
}

/// The threads of a name and role of both sides.
#[derive(Clone, Debug, Serialize)]
pub struct ThreadsChange {
    /// Their name, `#` for each number; empty for threads without a name.
    pub name: String,
    /// The call in which threads without a name spent most time; empty for others.
    pub call: String,
    /// Whether they make CUDA calls.
    pub calls_cuda: bool,
    /// Number of such threads before, the most of all traces.
    pub before_count: u64,
    /// Number of such threads after, the most of all traces.
    pub after_count: u64,
    /// Launches that one of them makes in a second.
    pub launches: Rates,
    /// Their accounts together.
    #[serde(flatten)]
    pub account: AccountChange,
}

/// A rate of both sides, each the median of its traces, in 1/s.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Rates {
    /// Before.
    pub before_per_s: f64,
    /// After.
    pub after_per_s: f64,
}

/// Smallest ratio of two rates that is no noise: a choice.
const OTHER_RATE: f64 = 1.05;

impl Rates {
    /// Whether there are two rates that differ.
    pub fn differ(&self) -> bool {
        let (less, more) = (self.before_per_s.min(self.after_per_s), self.before_per_s.max(self.after_per_s));
        less > 0.0 && more >= less * OTHER_RATE
    }
}

/// Properties that rows of both sides have in common.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    what: Subject,
    place: Option<Place>,
    call: String,
}

/// The rows of one account of one trace.
pub(super) type Rows = Vec<(Subject, Option<Place>, String, Ns)>;

/// The rows of the parts of an account.
pub(super) fn rows(parts: &[AccountPart]) -> Rows {
    let of = |part: &AccountPart| -> Rows {
        let row = |spent: &Spent| {
            let place = spent.place.as_ref().map(without_number);
            (Subject::Cause(part.cause), place, spent.call.clone(), spent.ns)
        };
        part.spent.iter().map(row).collect()
    };
    parts.iter().flat_map(of).collect()
}

/// A place; a range without its numbers, if it is one: the ranges of steps have their numbers. A number behind a letter belongs
/// to the name: `aten::conv2d`.
fn without_number(place: &Place) -> Place {
    if !place.file.is_empty() {
        return place.clone();
    }
    let words = place.function.split_inclusive([' ', '#', '_', ':', '=', '/']);
    let word = |word: &str| match word.starts_with(|c: char| c.is_ascii_digit()) {
        true => without_numbers(word),
        false => word.to_owned(),
    };
    Place { function: words.map(word).collect(), ..place.clone() }
}

/// An account of the rows of each trace of each side; the rows of a trace add up to its span. Changes up to `noise` ns are
/// noise.
pub(super) fn account(traces: [Vec<Rows>; 2], noise: Ns) -> AccountChange {
    let span = |rows: &Rows| rows.iter().map(|row| row.3).sum::<Ns>();
    let spans = traces.each_ref().map(|traces| Amount::of(traces.iter().map(span).collect()));
    let span = Change::new(spans[0], spans[1]);
    let sums = traces.map(|traces| traces.into_iter().map(sums).collect::<Vec<_>>());
    let sums = follow_lines(without_lone_places(sums));
    let keys: BTreeSet<&Key> = sums.iter().flatten().flat_map(BTreeMap::keys).collect();
    let row = |key: &Key| {
        let amount = |traces: &Vec<BTreeMap<Key, Ns>>| {
            Amount::of(traces.iter().map(|rows| rows.get(key).copied().unwrap_or_default()).collect())
        };
        let change = Change::new(amount(&sums[0]), amount(&sums[1]));
        let noise = change.is_noise(span.larger_ns()) || change.change_ns.abs() <= noise;
        Row { what: key.what, place: key.place.clone(), call: key.call.clone(), change, noise }
    };
    let mut rows: Vec<Row> = keys.into_iter().map(row).collect();
    rows.sort_by_key(|row| Reverse(row.change.change_ns.abs()));
    AccountChange { span, rows }
}

fn sums(rows: Rows) -> BTreeMap<Key, Ns> {
    let mut sums = BTreeMap::new();
    for (what, place, call, ns) in rows {
        *sums.entry(Key { what, place, call }).or_default() += ns;
    }
    sums
}

/// Compares a cause as a whole if both sides have it and only one knows places of it: the other one's tool records none.
fn without_lone_places(mut sides: [Vec<BTreeMap<Key, Ns>>; 2]) -> [Vec<BTreeMap<Key, Ns>>; 2] {
    let causes = |side: &[BTreeMap<Key, Ns>], with_place: bool| -> BTreeSet<Subject> {
        let keys = side.iter().flat_map(BTreeMap::keys);
        keys.filter(|key| !with_place || key.place.is_some()).map(|key| key.what).collect()
    };
    let of = |with_place| [&sides[0], &sides[1]].map(|side| causes(side, with_place));
    let ([before, after], [named_before, named_after]) = (of(false), of(true));
    let lone: BTreeSet<Subject> = named_before.symmetric_difference(&named_after).copied().collect();
    let lone: Vec<Subject> =
        lone.into_iter().filter(|what| before.contains(what) && after.contains(what)).collect();
    for rows in sides.iter_mut().flatten() {
        let of_lone = |key: &Key| lone.contains(&key.what);
        for (key, ns) in std::mem::take(rows) {
            let key = if of_lone(&key) { Key { place: None, call: String::new(), ..key } } else { key };
            *rows.entry(key).or_default() += ns;
        }
    }
    sides
}

/// Gives a place the line that it has after the change: an edit above it moves it. A function with several places of a cause
/// that only one side has is left as it is.
fn follow_lines(mut sides: [Vec<BTreeMap<Key, Ns>>; 2]) -> [Vec<BTreeMap<Key, Ns>>; 2] {
    let keys = |side: &[BTreeMap<Key, Ns>]| -> BTreeSet<Key> {
        side.iter().flat_map(BTreeMap::keys).filter(|key| key.place.is_some()).cloned().collect()
    };
    let (before, after) = (keys(&sides[0]), keys(&sides[1]));
    let function = |key: &Key| {
        let place = key.place.as_ref().filter(|place| !place.function.is_empty());
        place.map(|place| (key.what, place.file.clone(), place.function.clone()))
    };
    let only = |side: &BTreeSet<Key>, other: &BTreeSet<Key>| {
        let mut functions = BTreeMap::<_, Vec<Key>>::new();
        for key in side.difference(other) {
            if let Some(function) = function(key) {
                functions.entry(function).or_default().push(key.clone());
            }
        }
        functions
    };
    let (gone, new) = (only(&before, &after), only(&after, &before));
    for (function, old) in gone {
        let ([old], Some([new])) = (old.as_slice(), new.get(&function).map(Vec::as_slice)) else { continue };
        for rows in &mut sides[0] {
            if let Some(ns) = rows.remove(old) {
                *rows.entry(new.clone()).or_default() += ns;
            }
        }
    }
    sides
}

/// The accounts of GPUs.
pub(super) fn gpus(sides: &Sides<'_>, noise: Ns) -> Vec<GpuChange> {
    let refused = sides.all().any(|run| run.explanation.accounts.refused.is_some());
    let of = |run: &'_ Run| run.explanation.accounts.gpus.clone();
    let devices: BTreeSet<i64> = sides.all().flat_map(of).map(|gpu| gpu.device).collect();
    let gpu = |device: i64| {
        let names = sides.after.iter().chain(sides.before).flat_map(of).filter(|gpu| gpu.device == device);
        let name = names.map(|gpu| gpu.name).find(|name| !name.is_empty()).unwrap_or_default();
        GpuChange { device, name, account: account(sides.map(|run| of_gpu(run, device, refused)), noise) }
    };
    devices.into_iter().map(gpu).collect()
}

fn of_gpu(run: &Run, device: i64, refused: bool) -> Rows {
    let gpus = &run.explanation.accounts.gpus;
    let Some(gpu) = gpus.iter().find(|gpu| gpu.device == device) else { return Rows::new() };
    let GpuAccount { busy_ns, span_ns, idle, .. } = gpu;
    let mut rows = match refused {
        true => vec![(Subject::Idle, None, String::new(), span_ns - busy_ns)],
        false => rows(idle),
    };
    rows.push((Subject::Busy, None, String::new(), *busy_ns));
    rows
}

/// Launches of a thread of a role in a second, the median of the traces with such threads; 0 without any.
fn launches(side: &[BTreeMap<Role, Vec<&ThreadAccount>>], role: &Role) -> f64 {
    let rate = |threads: &Vec<&ThreadAccount>| {
        let (launches, ns) = threads
            .iter()
            .fold((0, 0), |(launches, ns), thread| (launches + thread.launches, ns + thread.span_ns));
        launches as f64 * 1e9 / ns.max(1) as f64
    };
    let mut rates: Vec<f64> = side.iter().filter_map(|groups| groups.get(role)).map(rate).collect();
    rates.sort_unstable_by(f64::total_cmp);
    let middle = |at: usize| rates.get(at).copied().unwrap_or_default();
    (middle(rates.len().saturating_sub(1) / 2) + middle(rates.len() / 2)) / 2.0
}

/// Properties that threads of both sides have in common: whether they call CUDA, their name, else the call with most time.
type Role = (bool, String, String);

/// The accounts of threads.
pub(super) fn threads(sides: &Sides<'_>, noise: Ns) -> Vec<ThreadsChange> {
    let traces = sides.map(|run| groups(&run.explanation.accounts));
    let roles: BTreeSet<&Role> = traces.iter().flatten().flat_map(BTreeMap::keys).collect();
    let threads = |role: &Role| {
        let (no_calls, name, call) = role.clone();
        let count = |side: &Vec<BTreeMap<Role, Vec<&ThreadAccount>>>| {
            side.iter().map(|groups| groups.get(role).map_or(0, Vec::len)).max().unwrap_or(0) as u64
        };
        let of = |groups: &BTreeMap<Role, Vec<&ThreadAccount>>| -> Rows {
            groups.get(role).into_iter().flatten().flat_map(|thread| rows(&thread.parts)).collect()
        };
        ThreadsChange {
            name,
            call,
            calls_cuda: !no_calls,
            before_count: count(&traces[0]),
            after_count: count(&traces[1]),
            launches: Rates {
                before_per_s: launches(&traces[0], role),
                after_per_s: launches(&traces[1], role),
            },
            account: account(traces.each_ref().map(|side| side.iter().map(of).collect()), noise),
        }
    };
    let mut threads: Vec<ThreadsChange> = roles.into_iter().map(threads).collect();
    let largest = |of: &ThreadsChange| of.account.rows.first().map_or(0, |row| row.change.change_ns.abs());
    threads.sort_by_key(|of| (!of.calls_cuda, Reverse(largest(of))));
    threads
}

fn groups(accounts: &Accounts) -> BTreeMap<Role, Vec<&ThreadAccount>> {
    let mut groups = BTreeMap::<Role, Vec<_>>::new();
    for thread in &accounts.threads {
        let call = if thread.name.is_empty() { most_in(thread) } else { String::new() };
        let role = (thread.calls == 0, without_numbers(&thread.name), call);
        groups.entry(role).or_default().push(thread);
    }
    groups
}

/// The call with which a thread spent most time; empty if none is known.
fn most_in(thread: &ThreadAccount) -> String {
    let mut calls = BTreeMap::<&str, Ns>::new();
    for spent in thread.parts.iter().flat_map(|part| &part.spent).filter(|spent| !spent.call.is_empty()) {
        *calls.entry(&spent.call).or_default() += spent.ns;
    }
    calls
        .into_iter()
        .max_by_key(|(name, ns)| (*ns, Reverse(*name)))
        .map_or(String::new(), |(name, _)| name.to_owned())
}
