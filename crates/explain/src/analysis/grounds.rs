//! The facts that one finding rests on, as the rules recorded them, summed up for the finding's words.

use crate::analysis::group::{Group, Key};
use crate::analysis::parts::Fact;
use crate::analysis::recorded_sum::RecordedWaits;
use crate::facts::Facts;
use crate::facts::RATED_BYTES;
use crate::result::sentence::sentence;
use crate::{Class, Evidence, Piece, Sentence};
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{CallId, Ns, OpId, OpKind, Sym};

/// Rate below which the time is not that of the copy, GB/s: a fifteenth of what an H200 reaches into untouched memory.
const TOO_LITTLE: f64 = 0.1;

/// A finding's parts and the facts behind them.
pub(crate) struct Grounds<'a> {
    pub facts: &'a Facts<'a>,
    pub key: &'a Key,
    pub group: &'a Group,
    /// The recorded waits among them.
    pub waits: Option<RecordedWaits>,
}

impl<'a> Grounds<'a> {
    pub fn new(facts: &'a Facts<'a>, key: &'a Key, group: &'a Group) -> Grounds<'a> {
        Grounds { facts, key, group, waits: RecordedWaits::of(facts, group) }
    }

    /// The class of the calls that waited longest together.
    pub fn waiter(&self) -> Class {
        let parts = self.group.parts.iter();
        self.most(parts.filter_map(|(lost, stretch)| Some((stretch.call()?, *lost))))
    }

    /// The class of most calls that were waited for.
    pub fn holder(&self) -> Class {
        self.most(self.group.holders.iter().map(|call| (*call, 1)))
    }

    /// The class of calls whose weights add up to most; of several such the first.
    fn most(&self, calls: impl Iterator<Item = (CallId, i64)>) -> Class {
        let mut classes: Vec<(Class, i64)> = Vec::new();
        for (call, weight) in calls {
            let class = self.facts.class(call);
            match classes.iter_mut().find(|(known, _)| *known == class) {
                Some((_, sum)) => *sum = sum.saturating_add(weight),
                None => classes.push((class, weight)),
            }
        }
        let most = classes.into_iter().rev().max_by_key(|(_, sum)| *sum);
        most.map_or(Class::Other, |(class, _)| class)
    }

    /// The calls that waited.
    pub fn waiting_calls(&self) -> impl Iterator<Item = CallId> {
        self.group.parts.iter().filter_map(|(_, stretch)| stretch.call())
    }

    /// The sentence on recorded waits, if the finding rests on them.
    pub fn recorded(&self) -> Option<Sentence> {
        let waits = self.waits.as_ref().filter(|_| self.group.evidence() == Evidence::Lock)?;
        Some(waits.sentence(self.facts, self.key, self.group))
    }

    /// The sentence on calls that blocked the driver one after another, if the finding rests on when they returned.
    pub fn in_line(&self) -> Option<Sentence> {
        self.group.facts.contains(&Fact::InLine).then(|| {
            sentence![
                "the wait ends with the holder's call, or with another call that began when the holder's ended"
            ]
        })
    }

    /// Whether only the calls' arguments describe the copies.
    pub fn only_arguments(&self) -> bool {
        self.group.facts.iter().any(|fact| matches!(fact, Fact::Asked { .. }))
    }

    /// The launches whose work was waited for, if the GPU's records lack that work.
    pub fn launches(&self) -> impl Iterator<Item = CallId> {
        self.group.facts.iter().filter_map(Fact::launch)
    }

    /// `general`, and the operation that was waited for most.
    pub fn awaited(&self, general: &'static str) -> Sentence {
        let ops = &self.facts.trace.ops;
        let mut counts = FxHashMap::<_, u64>::default();
        for fact in &self.group.facts {
            if let Fact::Awaited(op) = fact {
                let kind = (ops.kind[op.index()], ops.name[op.index()], ops.copy[op.index()]);
                *counts.entry(kind).or_default() += 1;
            }
        }
        let most = counts.into_iter().max_by_key(|(key, count)| (*count, std::cmp::Reverse(*key)));
        let Some(((kind, name, copy), count)) = most else { return sentence![general] };
        let what = match kind {
            OpKind::Kernel | OpKind::Graph => sentence![self.name(name)],
            OpKind::Copy => sentence!["a ", Piece::Copy(copy), " copy"],
            OpKind::Memset | OpKind::Unknown => sentence![kind.name()],
        };
        let all = self.group.facts.len() as u64;
        sentence![general, "; ", Piece::Number(count), " of ", Piece::Number(all), " times that was "]
            .then(what)
    }

    /// `general`, and what the thread that waited for the GPU had launched.
    pub fn launched(&self, general: &'static str) -> Sentence {
        let Some(launch) = self.launches().last() else { return sentence![general] };
        let thread = self.facts.trace.threads.row(self.facts.thread(launch));
        let name = match self.facts.trace.text(thread.name) {
            "" => Piece::Name(thread.tid.to_string()),
            name => Piece::Name(name.to_owned()),
        };
        let before = sentence![general, "; thread ", name, " had launched "];
        before.then(self.a_kernel(std::iter::once(launch))).then(sentence![" before that wait"])
    }

    /// The kernel that some launches put into their streams, or how many there are.
    pub fn a_kernel(&self, launches: impl Iterator<Item = CallId>) -> Sentence {
        let names: FxHashSet<Sym> = launches.flat_map(|launch| self.facts.kernels(launch)).collect();
        match names.len() {
            0 => sentence!["a kernel"],
            1 => names.into_iter().next().map_or_else(Sentence::default, |name| sentence![self.name(name)]),
            count => sentence![Piece::Number(count as u64), " kernels"],
        }
    }

    /// The sums of what was copied.
    pub fn copies(&self) -> Copies {
        Copies::of(self.group)
    }

    /// The name of the first of the tracer's own records that the finding rests on.
    pub fn tracers_record(&self) -> Option<Piece> {
        self.group.facts.iter().find_map(|fact| match fact {
            Fact::Tracer(name) => Some(self.name(*name)),
            _ => None,
        })
    }

    /// A name from the trace.
    pub fn name(&self, name: Sym) -> Piece {
        Piece::Name(self.facts.trace.text(name).to_owned())
    }
}

/// Sums over the copies of a finding's parts.
pub(crate) struct Copies {
    count: u64,
    /// Mean size of a copy, bytes.
    each: i64,
    /// Size of all copies, bytes.
    bytes: i64,
    /// Time of all copies, ns.
    time: Ns,
}

impl Copies {
    fn of(group: &Group) -> Copies {
        let (mut copies, mut bytes, mut time) = (0i64, 0i64, 0i64);
        let mut last = OpId::NONE;
        for fact in &group.facts {
            let (op, size, took) = match fact {
                Fact::Copied { op, bytes, time } => (*op, *bytes, *time),
                Fact::Asked { bytes, time, .. } => (OpId::NONE, *bytes, *time),
                _ => continue,
            };
            // A call whose time was claimed in several parts has its copy in each of them.
            if op.is_none() || op != last {
                (copies, bytes, time) = (copies + 1, bytes.saturating_add(size), time.saturating_add(took));
            }
            last = op;
        }
        Copies { count: group.count(), each: bytes / copies.max(1), bytes, time }
    }

    /// Whether the copies are large enough for a meaningful rate.
    pub fn has_rate(&self) -> bool {
        self.each >= RATED_BYTES
    }

    /// Whether so few bytes were copied that something else took the time.
    pub fn are_far_too_few(&self) -> bool {
        (self.bytes as f64 / self.time.max(1) as f64) < TOO_LITTLE
    }

    /// `25 copies of 64 MiB on average at 1.5 GB/s`
    pub fn sentence(&self) -> Sentence {
        let (bytes, time) = (self.bytes, self.time);
        let rate = match self.has_rate() {
            true => sentence![" at ", Piece::Rate { bytes, time }],
            false => Sentence::default(),
        };
        match self.count {
            1 => sentence!["a copy of ", Piece::Bytes(self.each)].then(rate),
            count => sentence![Piece::Number(count), " copies of ", Piece::Bytes(self.each), " on average"]
                .then(rate),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::stretch::Stretch;

    fn group(calls: usize, fact: Fact) -> Group {
        let part = |at: usize| (1, Stretch::Call(CallId::new(at)));
        let mut group = Group::default();
        group.parts = (0..calls).map(part).collect();
        group.facts = vec![fact; calls];
        group
    }

    #[test]
    fn small_copies_have_no_rate() {
        let has_rate = |bytes| {
            let copies = Copies::of(&group(2, Fact::Copied { op: OpId::NONE, bytes, time: 1 << 20 }));
            copies.sentence().0.iter().any(|piece| matches!(piece, Piece::Rate { .. }))
        };
        assert!(!has_rate(4) && !has_rate(RATED_BYTES / 2));
        assert!(has_rate(RATED_BYTES) && has_rate(16 * RATED_BYTES));
    }
}
