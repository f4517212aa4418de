//! State of a process that is watched, and of its threads.

use super::stacks::Stacks;
use crate::account::Change;
use crate::calls::Calls;
use crate::clock;
use crate::file::{At, Budget, Watched};
use crate::limits::Limits;
use crate::perf::Sampler;
use crate::syscalls::{self, Usage};
use crate::task::{self, Found, Task};
use rustc_hash::FxHashMap;
use spool::{Glance, Left, Note, State, ThreadName, Unseen};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A thread and what was written of it.
pub(super) struct Entry {
    pub(super) task: Task,
    /// Its last row.
    pub(super) row: Option<At>,
    /// The number of the system call there, and the text of its name.
    pub(super) call: Option<(i64, u32)>,
    /// Last glance at it that was written.
    pub(super) glance: Option<Glance>,
    /// It has run since then.
    pub(super) moved: bool,
    /// Its time on a processor then, ns.
    pub(super) sampled: i64,
    /// Samples that the kernel writes down while it runs.
    pub(super) sampler: Option<Sampler>,
    /// Its name, and whether that was read again: threads are named soon after they begin.
    pub(super) name: Option<String>,
    pub(super) named: bool,
}

/// Texts of the names of system calls.
pub(super) type Names = FxHashMap<(i64, Usage), u32>;

/// Identity of a process, for as long as it runs one program: its id alone may be used again.
#[derive(Clone, Copy)]
pub(super) struct Who {
    pub(super) began: Option<u64>,
    /// Where its code begins; `None` for unknown.
    pub(super) code: Option<u64>,
}

impl Who {
    pub(super) fn is(self, other: Who) -> bool {
        let same_code = self.code.zip(other.code).is_none_or(|(code, other)| code == other);
        self.began == other.began && same_code
    }
}

/// A process.
pub struct Process {
    pub(super) pid: i32,
    pub(super) folder: PathBuf,
    pub(super) who: Who,
    pub(super) file: Watched,
    pub(super) entries: BTreeMap<u32, Entry>,
    pub(super) names: Names,
    pub(super) calls: Calls,
    /// It was said that system calls are unknown.
    pub(super) unknown_calls: bool,
    pub(super) limits: Limits,
    pub(super) limit_row: Option<(At, spool::Limits)>,
    pub(super) throttled: i64,
    /// Links of the folder of its threads: their number and two.
    pub(super) links: u64,
    /// When all threads were known.
    pub(super) complete: i64,
    pub(super) seldom: i64,
    pub(super) stacks: Option<Stacks>,
    /// Processor time of the process and of its threads that ended.
    pub(super) began_with: i64,
    pub(super) ended: i64,
    pub(super) unseen: Unseen,
    pub(super) unseen_row: Option<At>,
    pub(super) next_stack: u32,
}

impl Process {
    /// Writes a remark down.
    pub(super) fn note(&mut self, budget: &Budget, text: &str) {
        let text = self.file.text(budget, &format!("process {}: {text}", self.pid));
        self.file.append(budget, Note::KIND, text, &[Note { at: clock::now() }.bytes()]);
    }
}

impl Entry {
    /// Writes up to where the thread's rows reach: a look at `gone` found it no more, or there is none any more.
    pub(super) fn leave(&self, gone: i64, file: &mut Watched, budget: &Budget) {
        if let Some(end) = self.task.end() {
            let (running, runnable, tid) = (end.running, end.runnable, self.task.tid.into());
            let left = Left { at: end.at, running, runnable, gone, tid };
            file.append(budget, Left::KIND, 0, &[left.bytes()]);
        }
    }

    /// Writes the thread's name down if it has another one now.
    pub(super) fn name(&mut self, pid: i32, file: &mut Watched, budget: &Budget) {
        let tid = self.task.tid;
        if let Some(name) = task::name(pid, tid).filter(|name| self.name.as_ref() != Some(name)) {
            let id = file.text(budget, &name);
            file.append(budget, ThreadName::KIND, id, &[ThreadName { tid: tid.into() }.bytes()]);
            self.name = Some(name);
        }
    }

    pub(super) fn look(
        &mut self,
        pid: i32,
        began_after: Option<i64>,
        file: &mut Watched,
        names: &mut Names,
        budget: &Budget,
    ) -> Found {
        let (tid, at, call) = (self.task.tid, &mut self.row, &mut self.call);
        let found = self.task.look(began_after, &mut |change| {
            let (Change::Last(row) | Change::Next(row)) = change;
            let known =
                call.filter(|known| matches!(change, Change::Last(_)) && Some(known.0) == row.place.call);
            *call = known.or_else(|| {
                let number = row.place.call?;
                let usage = syscalls::usage(pid, number, row.place.object);
                let text = || file.text(budget, &syscalls::name(number, usage));
                Some((number, *names.entry((number, usage)).or_insert_with(text)))
            });
            let name = call.map_or(0, |(_, text)| text);
            let record = State {
                start: row.start,
                end: row.end,
                running: row.running,
                runnable: row.runnable,
                object: row.place.object,
                tid,
                state: row.place.state as u32,
            };
            match (change, *at) {
                (Change::Last(_), Some(at)) => file.rewrite(at, name, record.bytes()),
                // A row that there was no room for stays lost, and counted.
                (Change::Last(_), None) => {}
                (Change::Next(_), _) => *at = file.append(budget, State::KIND, name, &[record.bytes()]),
            }
        });
        self.moved |= found == Found::Moved;
        found
    }
}
