//! Activity of threads, as slices on a track below each thread.

use super::buckets::Buckets;
use super::event::{Category, Detail, Key, Value};
use super::names::{Name, Names};
use rustc_hash::FxHashMap;
use trace::{State, StateId, Sym, ThreadId, ThreadState, Trace};

/// The states of a trace by thread, and the names of their slices.
pub(super) struct States<'a> {
    trace: &'a Trace,
    pub of_threads: Buckets,
    /// In the order of [`Shape`].
    names: [Name; Shape::COUNT],
    /// `blocked in futex`, by system call.
    calls: FxHashMap<Sym, Name>,
}

/// The name of a state: what the thread did all the time of the interval, or most of it.
#[derive(Clone, Copy)]
enum Shape {
    Running,
    Runnable,
    Blocked,
    Uninterruptible,
    Stopped,
    MostlyRunning,
    MostlyRunnable,
    MostlyBlocked,
    Mixed,
}

impl Shape {
    const COUNT: usize = 9;
    const NAMES: [&str; Shape::COUNT] = [
        "running",
        "runnable",
        "blocked",
        "uninterruptible",
        "stopped",
        "mostly running",
        "mostly runnable",
        "mostly blocked",
        "running, runnable and blocked",
    ];

    fn of(row: &State) -> Shape {
        let length = row.end - row.start;
        let blocked = length - row.running - row.runnable;
        let most = |part: i64| part > length / 2;
        match row.state {
            _ if length == 0 => Shape::Mixed,
            _ if row.running == length => Shape::Running,
            _ if row.runnable == length => Shape::Runnable,
            ThreadState::Uninterruptible if blocked == length => Shape::Uninterruptible,
            ThreadState::Stopped if blocked == length => Shape::Stopped,
            _ if blocked == length => Shape::Blocked,
            _ if most(row.running) => Shape::MostlyRunning,
            _ if most(row.runnable) => Shape::MostlyRunnable,
            _ if most(blocked) => Shape::MostlyBlocked,
            _ => Shape::Mixed,
        }
    }
}

impl<'a> States<'a> {
    pub fn new(trace: &'a Trace, names: &mut Names<'a>) -> States<'a> {
        let thread = |thread: &ThreadId| thread.some().map(ThreadId::index);
        let mut calls = FxHashMap::default();
        for call in trace.states.call.iter().filter(|call| !call.is_empty()) {
            calls.entry(*call).or_insert_with(|| names.add(format!("blocked in {}", trace.text(*call))));
        }
        States {
            trace,
            of_threads: Buckets::new(trace.threads.len(), trace.states.thread.iter().map(thread)),
            names: Shape::NAMES.map(|name| names.add(name.to_owned())),
            calls,
        }
    }

    pub fn describe(&self, state: StateId, detail: &mut Detail<'a>) -> (Name, Category) {
        let row = self.trace.states.row(state);
        detail.add_stated(Key::RunningNs, row.running);
        detail.add_stated(Key::RunnableNs, row.runnable);
        detail.add_stated(Key::BlockedNs, row.end - row.start - row.running - row.runnable);
        detail.add_known(Key::State, row.state.name());
        if !row.call.is_empty() {
            detail.add(Key::SystemCall, Value::Name(row.call.into()));
        }
        if row.object != 0 {
            detail.add(Key::Object, Value::Made(format!("{:#x}", row.object)));
        }
        let shape = Shape::of(&row);
        let name = match (shape, self.calls.get(&row.call)) {
            (Shape::Blocked, Some(name)) => *name,
            _ => self.names[shape as usize],
        };
        (name, Category::State)
    }
}
