//! The evidence of recorded waits for locks in words.

use crate::facts::Facts;
use crate::group::{Group, Key};
use crate::parts::Fact;
use std::collections::BTreeSet;
use trace::{LockKind, Sym};

/// The recorded waits of a finding, summed up.
pub(crate) struct Recorded {
    waits: u64,
    time: i128,
    /// Time of the waits that the named calls cover.
    covered: i128,
    locks: BTreeSet<(LockKind, i64)>,
    libraries: BTreeSet<Sym>,
    /// Most threads that held a lock at once.
    holders: u32,
    /// Time of the waits for a lock that several threads shared, one call after another.
    shared: i128,
}

impl Recorded {
    /// `None` where no wait was recorded.
    pub(crate) fn of(facts: &Facts<'_>, group: &Group) -> Option<Recorded> {
        let (locks, libraries) = (BTreeSet::new(), BTreeSet::new());
        let mut sum = Recorded { waits: 0, time: 0, covered: 0, locks, libraries, holders: 0, shared: 0 };
        for fact in &group.facts {
            if let Fact::Waited { wait, time, covered, shared } = fact {
                let row = facts.trace.waits.row(*wait);
                sum.waits += 1;
                let time = i128::from(*time);
                sum.time += time;
                sum.shared += if *shared { time } else { 0 };
                sum.covered += i128::from(*covered);
                sum.locks.insert((row.kind, row.lock));
                sum.libraries.insert(row.library);
                sum.holders = sum.holders.max(row.holders);
            }
        }
        (sum.waits > 0).then_some(sum)
    }

    /// Whether most of the time went into waits for those who share a lock, one call after another.
    pub(crate) fn for_sharers(&self) -> bool {
        self.shared > self.time / 2
    }

    /// `3 recorded waits for a rwlock of libcuda.so.1; the holder's calls cover 98 % of that time`
    pub(crate) fn words(&self, facts: &Facts<'_>, key: &Key, group: &Group) -> String {
        let waits = match self.waits {
            1 => "a recorded wait".to_owned(),
            count => format!("{count} recorded waits"),
        };
        let mut words = format!("{waits} for {} of {}", self.lock(), self.library(facts));
        words.push_str(&if self.for_sharers() { self.sharing() } else { self.holding(key, group) });
        let percent = i128::from(group.in_short) * 100 / i128::from(group.lost.max(1));
        if percent > 0 {
            words.push_str(&format!("; {percent} % of it in calls too short to be slow"));
        }
        words
    }

    /// Who shared the lock that was wanted alone.
    fn sharing(&self) -> String {
        let others = match self.holders {
            0 | 1 => "others".to_owned(),
            holders => format!("up to {holders} others"),
        };
        format!("; it was wanted alone while {others} shared it, call after call")
    }

    /// For how long the holder's calls had the lock.
    fn holding(&self, key: &Key, group: &Group) -> String {
        let mut words = match (key.holder, group.holders.is_empty()) {
            (None, _) => "; who held it is not known".to_owned(),
            (_, true) => "; its holder was in no call of the trace".to_owned(),
            (_, false) => {
                let percent = self.covered * 100 / self.time.max(1);
                format!("; the holder's calls cover {percent} % of that time")
            }
        };
        if self.holders > 1 {
            words.push_str(&format!("; up to {} threads held it at once", self.holders));
        }
        words
    }

    fn lock(&self) -> String {
        let kind = self.locks.first().map_or(LockKind::Unknown, |(kind, _)| *kind);
        let alike = self.locks.iter().all(|(other, _)| *other == kind);
        let kind = if alike && kind != LockKind::Unknown { kind.name() } else { "lock" };
        match self.locks.len() {
            1 => format!("one {kind}"),
            count if kind == "mutex" => format!("{count} mutexes"),
            count => format!("{count} {kind}s"),
        }
    }

    fn library<'a>(&self, facts: &Facts<'a>) -> &'a str {
        match self.libraries.len() {
            1 => self.libraries.first().map_or("", |library| facts.library(*library)),
            _ => "several libraries",
        }
    }
}
