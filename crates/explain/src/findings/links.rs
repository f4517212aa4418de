//! Which finding a root belongs to, and with it each part of the accounts.

use crate::account::Steps;
use crate::account::{Culprit, PartRoots, Root};
use crate::analysis::group::Key;
use crate::findings::fold::Folded;
use crate::{AccountPart, Accounts, Cause, WaitPart};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use trace::{Ns, ProcessId, Sym};

/// The id of the finding at an index.
pub(crate) fn id(finding: usize) -> String {
    format!("H{}", finding + 1)
}

/// Whether a finding of slow calls may have a root: [`Links::of`] has no others.
pub(crate) fn may_be_of_calls(root: &Root) -> bool {
    matches!(root.culprit, Culprit::Part(_) | Culprit::Call(..))
}

/// The findings of roots, by index.
#[derive(Default)]
pub(crate) struct Links {
    /// Parts of slow calls.
    parts: FxHashMap<(Cause, Key), usize>,
    /// The work of calls of one function, where a finding of slow calls has it.
    calls: FxHashMap<(Cause, Sym), usize>,
    /// The first finding of slow calls that make or destroy objects: it has the other calls of such objects as well.
    objects: Option<usize>,
    /// The other roots that the GPUs waited for.
    roots: FxHashMap<Root, usize>,
    /// Locks, wherever their holders were.
    locks: FxHashMap<(Cause, ProcessId, i64), usize>,
}

impl Links {
    /// Links of findings of slow calls.
    pub fn of(folded: &[Folded]) -> Links {
        let mut links = Links::default();
        for (finding, Folded { key, keys, .. }) in folded.iter().enumerate() {
            if key.cause == Cause::ObjectChurn {
                links.objects = links.objects.or(Some(finding));
            }
            for own in keys {
                links.parts.entry((key.cause, *own)).or_insert(finding);
                if key.holder.is_none() {
                    links.calls.entry((key.cause, own.waiter.name())).or_insert(finding);
                }
            }
        }
        links
    }

    /// Adds a finding of the account alone.
    pub fn add(&mut self, finding: usize, roots: &[Root]) {
        for root in roots {
            self.roots.entry(*root).or_insert(finding);
            if let Culprit::Lock(process, lock, _) = root.culprit {
                self.locks.entry((root.cause, process, lock)).or_insert(finding);
            }
        }
    }

    /// Replaces each index by the finding's final one.
    pub fn renumber(&mut self, to: &[usize]) {
        let all = self.parts.values_mut().chain(self.calls.values_mut()).chain(&mut self.objects);
        all.chain(self.roots.values_mut())
            .chain(self.locks.values_mut())
            .for_each(|finding| *finding = to[*finding]);
    }

    /// The finding of a root: of slow calls those parts, and work of calls of the same function; else the same root, or the same
    /// lock. What is not selected has none.
    pub fn finding(&self, root: &Root) -> Option<usize> {
        if !root.is_selected {
            return None;
        }
        let own = match root.culprit {
            Culprit::Part(key) => self.parts.get(&(root.cause, key)),
            Culprit::Call(_, name, _) => {
                let objects = self.objects.as_ref().filter(|_| root.cause == Cause::ObjectChurn);
                self.calls.get(&(root.cause, name)).or(objects)
            }
            Culprit::Lock(process, lock, _) => self.locks.get(&(root.cause, process, lock)),
            Culprit::Spot(..)
            | Culprit::Before(..)
            | Culprit::Between(_)
            | Culprit::Device(_)
            | Culprit::Site(_)
            | Culprit::Held(..) => None,
        };
        own.or_else(|| self.roots.get(root)).copied()
    }

    /// Gives each part of the accounts, and of the steps, its finding.
    pub fn link(&self, accounts: &mut Accounts, steps: Option<&mut Steps>, roots: &PartRoots) {
        for (gpu, (idle, held)) in accounts.gpus.iter_mut().zip(roots.gpus.iter().zip(&roots.held_back)) {
            self.account(&mut gpu.idle, idle);
            gpu.held_back.iter_mut().for_each(|of| self.wait(&mut of.part, held));
        }
        for (thread, roots) in accounts.threads.iter_mut().zip(&roots.threads) {
            self.account(&mut thread.parts, roots);
        }
        for (stream, roots) in accounts.streams.iter_mut().zip(&roots.streams) {
            stream.waiting.iter_mut().for_each(|part| self.wait(part, roots));
        }
        if let Some(steps) = steps {
            self.account(&mut steps.median.idle, &roots.steps.median);
            self.account(&mut steps.total.idle, &roots.steps.total);
            for (slow, roots) in steps.slow.iter_mut().zip(&roots.steps.slow) {
                self.account(&mut slow.more, roots);
            }
        }
    }

    fn account(&self, parts: &mut [AccountPart], roots: &[(Root, Ns)]) {
        parts.iter_mut().for_each(|part| part.finding = self.most(part.cause, part.ns, roots));
    }

    fn wait(&self, part: &mut WaitPart, roots: &[(Root, Ns)]) {
        part.finding = self.most(part.cause, part.ns, roots);
    }

    /// The finding that has most of a part's time; `None` if most of it is in none. A part of less time than in another step is
    /// negative: then most is the least.
    fn most(&self, cause: Cause, ns: Ns, roots: &[(Root, Ns)]) -> Option<String> {
        let mut sums = BTreeMap::<Option<usize>, Ns>::new();
        for (root, own) in roots.iter().filter(|(root, _)| root.cause == cause) {
            *sums.entry(self.finding(root)).or_default() += own * ns.signum();
        }
        let known = |finding: Option<usize>| (finding.is_some(), Reverse(finding));
        let most = sums.into_iter().max_by_key(|(finding, ns)| (*ns, known(*finding)));
        most.filter(|(_, ns)| *ns > 0).and_then(|(finding, _)| finding).map(id)
    }
}
