//! What `interpose` calls: on the program's threads, in the middle of its calls.

use crate::clock_records::{self, Scale};
use crate::process::{self, STATE};
use crate::unseen::unseen;
use crate::writer::{self, Writer};
use crate::{cupti, driver, functions, recording, stacks, watched};
use interpose::{
    Arguments, Hooks, LaunchThunks, Launches, LockKind, LockMode, Ns, Span, Thread, Ticks, Wait, Wrapped,
};
use spool::{Call, Level, Lock, Mode, call};
use std::ffi::c_int;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Calls at least this long get their stack written, ticks.
static STACKS: AtomicI64 = AtomicI64::new(i64::MAX);
/// A library that was loaded meanwhile brings modules, whose loading takes longer than this, ns.
const LOADING: Ns = 100_000;
/// [`LOADING`] in ticks.
static LOADED_LATE: AtomicI64 = AtomicI64::new(i64::MAX);

/// All of them.
pub const HOOKS: Hooks = Hooks {
    waited,
    wait_lost,
    name,
    synchronizes,
    called,
    launches: &LAUNCH_THUNKS,
    number: functions::number,
    thread_unknown,
};

/// Sets from which duration on a call gets a stack, ns, and how long a tick is.
pub fn set_thresholds(scale: &Scale, stacks: Ns) {
    STACKS.store(scale.ticks(stacks), Relaxed);
    LOADED_LATE.store(scale.ticks(LOADING), Relaxed);
}

/// The name of a driver function, as the id of its text; 0 while there is no place to write it.
fn name(thread: &'static Thread, function: u32) -> u32 {
    let text = |writer: &mut Writer| {
        writer.prepare();
        functions::text(writer, function)
    };
    writer::with(thread, text).unwrap_or(0)
}

/// A thread is about to wait for the GPU.
fn synchronizes(thread: &'static Thread) {
    writer::with(thread, Writer::touch_ahead);
}

/// A driver call is over.
fn called(thread: &'static Thread, wrapped: &'static Wrapped, args: &Arguments, span: Span, result: c_int) {
    over(thread, span, |writer| {
        let name = name_of(writer, wrapped);
        writer.call(name, &functions::record(wrapped, args, span, result));
    });
}

/// Plain launches.
struct Launched;

static LAUNCH_THUNKS: LaunchThunks = LaunchThunks::of::<Launched>();

impl Launches for Launched {
    #[inline(always)]
    fn short(thread: &'static Thread, name: u32, stream: usize, span: Span) -> bool {
        writer::launch(thread, name, span, stream as u64)
    }

    #[cold]
    #[inline(never)]
    fn launched(
        thread: &'static Thread,
        wrapped: &'static Wrapped,
        stream: usize,
        span: Span,
        result: c_int,
    ) {
        let Span { start, end } = span;
        let (flags, stream) = (call::HAS_STREAM, stream as u64);
        over(thread, span, |writer| {
            let name = name_of(writer, wrapped);
            writer.call(name, &Call { start, end, result, flags, stream, ..Call::default() });
        });
    }
}

/// The call that recording began in had no name yet.
fn name_of(writer: &mut Writer, wrapped: &Wrapped) -> u32 {
    if wrapped.name() == 0 { functions::text(writer, wrapped.number()) } else { wrapped.name() }
}

/// A call is over: has it written at level light, and looks closer at long ones.
#[inline]
fn over(thread: &'static Thread, span: Span, write: impl FnOnce(&mut Writer)) {
    let level = STATE.level.load(Acquire);
    if level == 0 {
        // Another tool has the driver's injection.
        return recording::start();
    }
    writer::with(thread, |writer| {
        if level == Level::Light as u32 {
            write(writer);
        }
        if span.end - span.start >= STATE.seldom.load(Relaxed) {
            seldom(writer, span);
        }
    });
}

/// A call that is long, or the first one after the driver was initialized: has a stack written, and looks for what
/// changed meanwhile.
#[cold]
fn seldom(writer: &mut Writer, Span { start, end }: Span) {
    unseen(|| look_closer(writer, start, end));
}

fn look_closer(writer: &mut Writer, start: Ticks, end: Ticks) {
    if end - start >= STACKS.load(Relaxed) {
        stacks::record(writer, start, end);
    }
    writer.touch_ahead();
    if clock_records::is_due(end) {
        writer.clock(interpose::moment());
    }
    if end - start >= LOADED_LATE.load(Relaxed) {
        watched::look_through(writer);
    }
    driver::describe(writer, cupti::version());
    if driver::is_described() {
        STATE.seldom.store(LOADED_LATE.load(Relaxed).min(STACKS.load(Relaxed)), Relaxed);
        recording::shorten_launches();
    }
}

/// A thread acquired a lock after a wait, or gave up.
fn waited(thread: &'static Thread, wait: &Wait) {
    writer::with(thread, |writer| {
        let site = watched::name(wait.site);
        let record = spool::Wait {
            start: wait.start,
            end: wait.end,
            lock: wait.lock as u64,
            kind: match wait.kind {
                LockKind::Mutex => Lock::Mutex as u32,
                LockKind::Rwlock => Lock::Rwlock as u32,
                LockKind::Spin => Lock::Spin as u32,
            },
            mode: match wait.mode {
                LockMode::Exclusive => Mode::Exclusive as u32,
                LockMode::Shared => Mode::Shared as u32,
            },
            holders: wait.holders,
            holder: wait.holder.tid,
            holder_function: wait.holder.call.function,
            releaser: wait.releaser.tid,
            holder_since: wait.holder.call.since,
            releaser_function: wait.releaser.call.function,
            function: wait.call.function,
            releaser_since: wait.releaser.call.since,
            since: wait.call.since,
        };
        writer.append(spool::Wait::KIND, site, &[record.bytes()]);
    });
}

/// A wait of a thread was lost.
fn wait_lost(thread: &'static Thread) {
    writer::with(thread, |writer| writer.drop_one());
}

/// There are too many threads to know another.
fn thread_unknown() {
    if let Some(header) = process::header() {
        header.untracked_threads.fetch_add(1, Relaxed);
    }
}
