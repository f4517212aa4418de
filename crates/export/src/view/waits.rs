//! Waits for locks that are not CUDA's, and the moments at which other threads held or released them. Waits for CUDA's
//! locks are drawn as losses.

use super::buckets::Buckets;
use super::event::{Category, Detail, Flow, Key, Value};
use super::names::{Name, Names};
use trace::{LockKind, Ns, ThreadId, Trace, Wait, WaitId};

/// The other waits of a trace by thread, and the marks on the threads that they waited for.
pub(super) struct Waits<'a> {
    trace: &'a Trace,
    rows: Vec<WaitId>,
    by_thread: Buckets,
    marks: Vec<Mark>,
    marks_by_thread: Buckets,
    /// By [`LockKind`]: of a wait, of its holder, of its releaser.
    names: Vec<[Name; 3]>,
}

/// A moment on the thread that a wait was for, from which an arrow leads to the wait.
#[derive(Clone, Copy)]
struct Mark {
    wait: WaitId,
    thread: ThreadId,
    at: Ns,
    releases: bool,
}

impl<'a> Waits<'a> {
    pub fn new(trace: &'a Trace, names: &mut Names<'a>) -> Waits<'a> {
        let rows: Vec<WaitId> =
            trace.waits.ids().filter(|wait| !trace.waits.layer[wait.index()].is_cuda()).collect();
        let marks: Vec<Mark> = rows.iter().flat_map(|wait| marks(*wait, &trace.waits.row(*wait))).collect();
        let thread = |thread: ThreadId| thread.some().map(ThreadId::index);
        let threads = trace.threads.len();
        Waits {
            trace,
            by_thread: Buckets::new(
                threads,
                rows.iter().map(|wait| thread(trace.waits.thread[wait.index()])),
            ),
            marks_by_thread: Buckets::new(threads, marks.iter().map(|mark| thread(mark.thread))),
            rows,
            marks,
            names: LockKind::ALL
                .iter()
                .map(|kind| words(*kind).map(|word| names.add(word.to_owned())))
                .collect(),
        }
    }

    /// The number of waits and marks.
    pub fn len(&self) -> usize {
        self.rows.len() + self.marks.len()
    }

    /// A thread's waits.
    pub fn of_thread(&self, thread: Option<usize>) -> impl Iterator<Item = WaitId> + '_ {
        self.by_thread.of_some(thread).map(|at| self.rows[at])
    }

    /// The marks on a thread, each with its moment.
    pub fn marks_of_thread(&self, thread: Option<usize>) -> impl Iterator<Item = (Ns, u32)> + '_ {
        self.marks_by_thread.of_some(thread).map(|at| (self.marks[at].at, at as u32))
    }

    /// Describes a wait, except its parties; arrows of it have the number `first_flow` and the next ones.
    pub fn describe(&self, wait: WaitId, first_flow: u64, detail: &mut Detail<'a>) -> (Name, Category) {
        let row = self.trace.waits.row(wait);
        detail.add_known(Key::Layer, row.layer.name());
        for mark in marks(wait, &row) {
            detail.flows.push(self.flow(&mark, first_flow, row.end, false));
        }
        (self.names[row.kind as usize][0], Category::Wait)
    }

    pub fn describe_mark(&self, at: u32, first_flow: u64, detail: &mut Detail<'a>) -> (Name, Category) {
        let mark = &self.marks[at as usize];
        let row = self.trace.waits.row(mark.wait);
        if row.lock != 0 {
            detail.add(Key::Lock, Value::Made(format!("{:#x}", row.lock)));
        }
        detail.flows.push(self.flow(mark, first_flow, mark.at, true));
        (self.names[row.kind as usize][1 + usize::from(mark.releases)], Category::Release)
    }

    fn flow(&self, mark: &Mark, first: u64, at: Ns, is_start: bool) -> Flow {
        let id = first + 2 * mark.wait.index() as u64 + u64::from(mark.releases);
        let kind = self.trace.waits.kind[mark.wait.index()];
        Flow { id, name: self.names[kind as usize][0], category: Category::Wait, at, is_start }
    }
}

/// The marks of a wait: its holder when it began, and its releaser, if that is another thread. A wait without length has
/// none: an arrow must end after it begins.
fn marks(wait: WaitId, row: &Wait) -> impl Iterator<Item = Mark> + use<> {
    let drawn = row.end > row.start;
    let other = |thread: ThreadId| thread.some().filter(|thread| drawn && *thread != row.thread);
    // An unknown hand-off is drawn as the shortest.
    let released = (row.end - row.handoff.max(1)).max(row.start);
    let releaser = other(row.releaser).map(|thread| Mark { wait, thread, at: released, releases: true });
    let holder = other(row.holder).filter(|holder| *holder != row.releaser);
    let holder = holder.map(|thread| Mark { wait, thread, at: row.start, releases: false });
    holder.into_iter().chain(releaser)
}

/// The names of a wait for a kind of lock, of its holder's mark and of its releaser's.
fn words(kind: LockKind) -> [&'static str; 3] {
    match kind {
        LockKind::Mutex => ["wait for a mutex", "holds the mutex", "releases the mutex"],
        LockKind::RwLock => ["wait for a rwlock", "holds the rwlock", "releases the rwlock"],
        LockKind::Spin => ["wait for a spinlock", "holds the spinlock", "releases the spinlock"],
        LockKind::Condition => {
            ["wait for a condition", "holds the condition's mutex", "signals the condition"]
        }
        LockKind::Semaphore => ["wait for a semaphore", "holds the semaphore", "posts the semaphore"],
        LockKind::Gil => ["wait for the GIL", "holds the GIL", "releases the GIL"],
        LockKind::Barrier => ["wait at a barrier", "is awaited at the barrier", "arrives at the barrier"],
        LockKind::Join => ["wait for a thread", "is awaited", "ends"],
        LockKind::Unknown => ["wait for a lock", "holds the lock", "releases the lock"],
    }
}
