//! Folds findings that differ only in their threads into one: sixteen threads that all launch wait for each other in 240
//! pairs.

use crate::analysis::group::{Group, Key};
use crate::facts::Facts;
use crate::result::side::{Doing, Side};
use crate::{Cause, Evidence};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use trace::{ProcessId, ThreadId};

/// A group with its threads. The key names the threads that lost and held most.
pub(crate) struct Folded {
    pub key: Key,
    /// The keys of all groups in it, most time lost first.
    pub keys: Vec<Key>,
    pub group: Group,
    /// The waiting threads, each once.
    pub waiters: Vec<ThreadId>,
    /// The holding threads, each once.
    pub holders: Vec<ThreadId>,
}

/// The properties that groups must share to be folded. If a culprit is known, all that it held up is one finding; otherwise
/// threads that do the same are.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    cause: Cause,
    culprit: Threads,
    has_holder: bool,
    across_gpus: bool,
}

/// Threads of one process in calls of one kind.
type Threads = (ProcessId, Doing);

/// Folds groups of recorded waits, groups without a holder, and groups between threads of different GPUs, which share only
/// the driver. Other groups stay as they are: an inferred statement about one pair of threads is none about the next pair.
pub(crate) fn fold(facts: &Facts<'_>, groups: Vec<(Key, Group)>) -> Vec<Folded> {
    let (alike, rest): (Vec<_>, Vec<_>) = groups.into_iter().partition(|(key, group)| {
        key.holder.is_none() || group.evidence() == Evidence::Lock || key.across_gpus
    });
    let mut kinds = BTreeMap::<Kind, Vec<(Key, Group)>>::new();
    for (key, group) in alike {
        kinds.entry(kind(facts, &key)).or_default().push((key, group));
    }
    let mut folded: Vec<Folded> = kinds.into_values().filter_map(one).collect();
    folded.extend(rest.into_iter().filter_map(|alone| one(vec![alone])));
    folded
}

fn kind(facts: &Facts<'_>, key: &Key) -> Kind {
    let threads = |side: Side| (facts.trace.process_of_thread(side.thread), side.doing);
    Kind {
        cause: key.cause,
        culprit: threads(key.holder.unwrap_or(key.waiter)),
        has_holder: key.holder.is_some(),
        across_gpus: key.across_gpus,
    }
}

/// Merges groups into one; `None` if there are none.
fn one(mut groups: Vec<(Key, Group)>) -> Option<Folded> {
    groups.sort_by_key(|(key, group)| (Reverse(group.lost), *key));
    let each_once = |threads: &mut Vec<ThreadId>| {
        threads.sort();
        threads.dedup();
    };
    let keys = groups.iter().map(|(key, _)| *key).collect();
    let mut waiters: Vec<_> = groups.iter().map(|(key, _)| key.waiter.thread).collect();
    let mut holders: Vec<_> =
        groups.iter().filter_map(|(key, _)| key.holder).map(|side| side.thread).collect();
    each_once(&mut waiters);
    each_once(&mut holders);
    let mut groups = groups.into_iter();
    let (key, mut group) = groups.next()?;
    if groups.len() > 0 {
        groups.for_each(|(_, other)| group.absorb(other));
        group.unite();
    }
    Some(Folded { key, keys, group, waiters, holders })
}
