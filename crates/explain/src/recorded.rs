//! The evidence of recorded waits for locks in words.

use crate::facts::Facts;
use crate::group::{Group, Key};
use crate::parts::Fact;
use std::collections::BTreeSet;
use trace::{LockKind, LockMode, Ns, Sym, Wait};

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

/// Whether a thread wanted a lock alone that several shared, and no call known lasted through half of the
/// wait: the C library lets others share a lock past one who wants it alone (its default,
/// `PTHREAD_RWLOCK_PREFER_READER_NP`). Of 16 threads that launch, eleven waited up to 0.99 s for the
/// context's lock in their first launch, until others were done (H200).
fn is_shared(wait: &Wait, covered: Ns) -> bool {
    wait.mode == LockMode::Exclusive && wait.holders > 1 && covered < (wait.end - wait.start) / 2
}

impl Recorded {
    /// `None` where no wait was recorded.
    pub(crate) fn of(facts: &Facts<'_>, group: &Group) -> Option<Recorded> {
        let (locks, libraries) = (BTreeSet::new(), BTreeSet::new());
        let mut sum = Recorded { waits: 0, time: 0, covered: 0, locks, libraries, holders: 0, shared: 0 };
        for fact in &group.facts {
            if let Fact::Waited { wait, covered } = fact {
                let row = facts.trace.waits.row(*wait);
                sum.waits += 1;
                let time = i128::from(row.end - row.start);
                sum.time += time;
                sum.shared += if is_shared(&row, *covered) { time } else { 0 };
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
        match (key.holder, group.holders.is_empty()) {
            (None, _) => words.push_str("; who held it is not known"),
            (_, true) => words.push_str("; its holder was in no call of the trace"),
            (_, false) => {
                let percent = self.covered * 100 / self.time.max(1);
                words.push_str(&format!("; the holder's calls cover {percent} % of that time"));
            }
        }
        match self.holders {
            0 | 1 => {}
            holders if self.for_sharers() => {
                words.push_str(&format!("; it was wanted alone while up to {holders} threads shared it"));
            }
            holders => words.push_str(&format!("; up to {holders} threads held it at once")),
        }
        let percent = i128::from(group.in_short) * 100 / i128::from(group.lost.max(1));
        if percent > 0 {
            words.push_str(&format!("; {percent} % of it in calls too short to be slow"));
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
