//! Sums over the recorded waits for locks that a finding rests on.

use crate::analysis::group::{Group, Key};
use crate::analysis::parts::Fact;
use crate::facts::Facts;
use crate::result::sentence::sentence;
use crate::{Piece, Sentence};
use std::collections::BTreeSet;
use trace::{LockKind, Sym};

/// The sums.
pub(crate) struct RecordedWaits {
    waits: u64,
    time: i128,
    /// Time of the waits that the named calls cover, ns.
    covered: i128,
    locks: BTreeSet<(LockKind, i64)>,
    libraries: BTreeSet<Sym>,
    /// Most threads that held a lock at once.
    holders: u32,
    /// Time of the waits for a lock that several threads held shared, one call after another, ns.
    shared: i128,
}

impl RecordedWaits {
    /// Sums a finding's recorded waits; `None` if it has none.
    pub(crate) fn of(facts: &Facts<'_>, group: &Group) -> Option<RecordedWaits> {
        let (locks, libraries) = (BTreeSet::new(), BTreeSet::new());
        let mut sum =
            RecordedWaits { waits: 0, time: 0, covered: 0, locks, libraries, holders: 0, shared: 0 };
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

    /// Whether most of the time went into waits for threads that held a lock shared, one call after another.
    pub(crate) fn for_sharers(&self) -> bool {
        self.shared > self.time / 2
    }

    /// `3 recorded waits for one rwlock of libcuda.so.1; the holder's calls cover 98 % of that time`
    pub(crate) fn sentence(&self, facts: &Facts<'_>, key: &Key, group: &Group) -> Sentence {
        let waits = sentence![Piece::Count(self.waits, "recorded wait", "recorded waits")];
        // A call may wait several times.
        let waits = match group.count() {
            calls if calls == self.waits => waits,
            calls => waits.then(sentence![" in ", Piece::Count(calls, "call", "calls")]),
        };
        let sentence = waits.then(sentence![" for ", self.lock(), " of "]).then(self.library(facts));
        let sentence =
            sentence.then(if self.for_sharers() { self.sharing() } else { self.holding(key, group) });
        match i128::from(group.in_short) * 100 / i128::from(group.lost.max(1)) {
            ..=0 => sentence,
            _ => {
                let share = group.in_short as f64 / group.lost.max(1) as f64;
                sentence.then(sentence!["; ", Piece::Share(share), " of it in calls below the threshold"])
            }
        }
    }

    /// States how many threads held the lock shared meanwhile.
    fn sharing(&self) -> Sentence {
        match self.holders {
            0 | 1 => sentence!["; it waited for exclusive access while other threads held the lock shared"],
            holders => sentence![
                "; it waited for exclusive access while up to ",
                Piece::Number(holders.into()),
                " other threads held the lock shared"
            ],
        }
    }

    /// States which part of the time the holder's calls held the lock.
    fn holding(&self, key: &Key, group: &Group) -> Sentence {
        let holder = match (key.holder, group.holders.is_empty()) {
            (None, _) => sentence!["; the holder is unknown"],
            (_, true) => sentence!["; the holder was in no call of the trace"],
            (_, false) => {
                let share = self.covered as f64 / self.time.max(1) as f64;
                sentence!["; the holder's calls cover ", Piece::Share(share), " of that time"]
            }
        };
        match self.holders {
            0 | 1 => holder,
            holders => {
                let holders = Piece::Number(holders.into());
                holder.then(sentence!["; up to ", holders, " threads held it at once"])
            }
        }
    }

    fn lock(&self) -> Piece {
        let kind = self.locks.first().map_or(LockKind::Unknown, |(kind, _)| *kind);
        let alike = self.locks.iter().all(|(other, _)| *other == kind);
        let (one, many) = match if alike { kind } else { LockKind::Unknown } {
            LockKind::Mutex => ("mutex", "mutexes"),
            LockKind::RwLock => ("rwlock", "rwlocks"),
            LockKind::Spin => ("spinlock", "spinlocks"),
            LockKind::Condition => ("condition variable", "condition variables"),
            LockKind::Semaphore => ("semaphore", "semaphores"),
            LockKind::Gil => ("interpreter lock", "interpreter locks"),
            LockKind::Barrier => ("barrier", "barriers"),
            LockKind::Join => ("thread", "threads"),
            LockKind::Unknown => ("lock", "locks"),
        };
        Piece::Count(self.locks.len() as u64, one, many)
    }

    fn library(&self, facts: &Facts<'_>) -> Sentence {
        match (self.libraries.len(), self.libraries.first()) {
            (1, Some(library)) => match facts.library(*library) {
                "" => sentence!["an unnamed library"],
                name => sentence![Piece::Name(name.to_owned())],
            },
            _ => sentence!["several libraries"],
        }
    }
}
