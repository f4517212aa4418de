//! Records of calls and waits, written on the program's threads in the middle of its calls.

use crate::cupti;
use crate::observe::shapes::Shape;
use crate::observe::{driver, functions, places, stacks, streams, watched_libraries};
use crate::sys::shielded::shielded;
use crate::write::clock_records::{self, Scale};
use crate::write::process::{self, STATE};
use crate::write::writer::{Fact, Writer};
use crate::write::{switch, thread_writer};
use interpose::{
    Arguments, LaunchArguments, Layer, LockKind, LockMode, Ns, Span, TallyKind, Thread, Ticks, Wait,
    WrappedFunction,
};
use spool::{Awaited, Call, CallTally, Level, Mode, Tally, ThreadWait, call, grid_fact};
use std::ffi::c_int;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicI64, AtomicU32};

/// Calls at least this long get their stack written, ticks.
static STACKS: AtomicI64 = AtomicI64::new(i64::MAX);
/// A call that begins at least so long after the thread's last one gets its stack written, ns: the program's place after the
/// pause. Such stacks share the budget of places.
const PAUSE: Ns = 1_000_000;
/// Calls at least this long get a closer look, ns.
const CLOSER: Ns = 100_000;
/// [`CLOSER`] in ticks.
static LONG_CALL: AtomicI64 = AtomicI64::new(i64::MAX);
/// Waits for Python's GIL at least this long are recorded, ns; shorter ones are counted.
const GIL: Ns = 5_000;
/// Waits of threads that call the driver for other locks, and for other threads, at least this long are recorded, ns.
const PROGRAM: Ns = 20_000;
/// Queries at least this long are recorded, ns; shorter ones are counted.
const QUERY: Ns = 1_000;
/// The places of waits at least this long come first, ns.
const LONG: Ns = 1_000_000;

/// Sets from which duration on a call gets a stack, ns, and how long a tick is.
pub fn set_thresholds(scale: &Scale, stacks: Ns) {
    STACKS.store(scale.ticks(stacks), Relaxed);
    LONG_CALL.store(scale.ticks(CLOSER), Relaxed);
    STATE.pause.store(if stacks == Ns::MAX { Ns::MAX } else { scale.ticks(PAUSE) }, Relaxed);
    places::set_scale(|ns| scale.ticks(ns));
    interpose::set_wait_thresholds(scale.ticks(GIL), scale.ticks(PROGRAM), scale.ticks(LONG));
    interpose::set_query_threshold(scale.ticks(QUERY));
}

/// The name of a driver function, as the id of its text; 0 while there is no place to write it.
pub fn name(thread: &'static Thread, function: u32) -> u32 {
    let text = |writer: &mut Writer| {
        writer.prepare();
        functions::text(writer, function)
    };
    thread_writer::with(thread, text).unwrap_or(0)
}

/// A thread is about to wait for the GPU.
pub fn synchronizes(thread: &'static Thread) {
    thread_writer::with(thread, Writer::touch_ahead);
}

/// Step that is left after a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum AfterCall {
    /// Nothing.
    Nothing,
    /// It was recorded: recording may have to be switched off.
    LookAtControl,
    /// It initialized the driver, before recording began.
    StartRecording,
}

/// A call is over.
#[inline]
pub fn called(
    thread: &'static Thread,
    wrapped: &'static WrappedFunction,
    args: &Arguments,
    span: Span,
    result: c_int,
) -> AfterCall {
    let is_plain = result == 0 && wrapped.name() != 0 && functions::say_nothing(wrapped);
    if is_plain && is_usual(span) && thread_writer::plain(thread, wrapped.name(), span) {
        return AfterCall::LookAtControl;
    }
    if STATE.level.load(Acquire) == 0 {
        // Another tool has the driver's injection. The program is in the loader's hands within `cuInit` anyway.
        let starts = result == 0 && functions::shape_of(wrapped) == Shape::Initialize;
        return if starts { AfterCall::StartRecording } else { AfterCall::Nothing };
    }
    let shape = functions::shape_of(wrapped);
    let left = over(thread, span, result, |writer, is_joined| {
        // SAFETY: the call is over, and these are its arguments and its result.
        let record = unsafe { functions::record(wrapped, args, span, result) };
        write(writer, wrapped, shape, record, is_joined);
    });
    if shape == Shape::Managed && result == 0 {
        shielded(cupti::has_unified_memory);
    }
    left
}

/// Whether a call is written, and is too short for a closer look.
#[inline]
fn is_usual(span: Span) -> bool {
    let is_written =
        [Level::Light, Level::Full].map(|level| level as u32).contains(&STATE.level.load(Acquire));
    is_written && span.end - span.start < STATE.seldom.load(Relaxed)
}

/// A plain launch is over that was short ([`interpose::Launches::short`]).
#[inline(always)]
pub fn short_launch(
    thread: &'static Thread,
    wrapped: &'static WrappedFunction,
    launch: &LaunchArguments,
    span: Span,
) -> bool {
    let stream = functions::meant(wrapped, launch.stream);
    if !STATE.is_joined.load(Relaxed) {
        return thread_writer::launch(thread, wrapped.name(), span, stream, Fact::None, false);
    }
    if STATE.captures.load(Relaxed) > 0 || STATE.checks_join.load(Relaxed) {
        return false;
    }
    let fact = Fact::Shape(grid_fact(launch.grid.map(|size| size as u32)));
    thread_writer::launch(thread, wrapped.name(), span, stream, fact, STATE.tells_ids.load(Relaxed))
}

/// A plain launch is over that was not short ([`interpose::Launches::launched`]).
#[inline(always)]
pub fn launched(
    thread: &'static Thread,
    wrapped: &'static WrappedFunction,
    launch: &LaunchArguments,
    span: Span,
    result: c_int,
) -> AfterCall {
    let Span { start, end } = span;
    let (flags, stream) = (call::HAS_STREAM, functions::meant(wrapped, launch.stream));
    let fact = grid_fact(launch.grid.map(|size| size as u32));
    over(thread, span, result, |writer, is_joined| {
        let record = Call { start, end, result, flags, stream, fact, ..Call::default() };
        write(writer, wrapped, Shape::Launch, record, is_joined);
    })
}

/// Writes a call.
fn write(writer: &mut Writer, wrapped: &WrappedFunction, shape: Shape, mut record: Call, is_joined: bool) {
    if !is_joined {
        // Nothing is joined with it.
        record.fact = 0;
    } else {
        let told = std::mem::take(&mut writer.rest().correlation);
        record.correlation = if shape.issues() { told } else { 0 };
        record.flags |= streams::look(writer, shape, &record);
    }
    let name = name_of(writer, wrapped);
    writer.call(name, &record);
}

/// The call that recording began in had no name yet.
fn name_of(writer: &mut Writer, wrapped: &WrappedFunction) -> u32 {
    if wrapped.name() == 0 { functions::text(writer, wrapped.number()) } else { wrapped.name() }
}

/// A call is over: has it written unless CUPTI records it, and looks closer at long ones and at those that failed. `write`
/// gets whether the GPU's operations are joined with it.
#[inline]
fn over(
    thread: &'static Thread,
    span: Span,
    result: c_int,
    write: impl FnOnce(&mut Writer, bool),
) -> AfterCall {
    let level = STATE.level.load(Acquire);
    if level == 0 {
        return AfterCall::Nothing;
    }
    let written = thread_writer::with(thread, |writer| {
        let pause = writer.pause(span.start);
        if level != Level::Calls as u32 {
            write(writer, STATE.is_joined.load(Relaxed));
        }
        let is_long = span.end - span.start >= STATE.seldom.load(Relaxed);
        // At level calls they are counted, and no stack has its call.
        let is_sampled = writer.rest().is_sampled() && level != Level::Calls as u32;
        if is_long || result != 0 || is_sampled || pause >= STATE.pause.load(Relaxed) {
            seldom(writer, span, result, pause, is_sampled);
        }
    });
    count_unwritten(written);
    AfterCall::LookAtControl
}

/// Counts a record for which the thread's writer was in use.
#[inline]
fn count_unwritten(written: Option<()>) {
    if written.is_none() {
        process::count_unwritten();
    }
}

/// A call that is long, that failed, that follows a pause, that stands for many others, or the first one after the driver was
/// initialized: has a stack written, and looks for what changed meanwhile.
#[cold]
fn seldom(writer: &mut Writer, span: Span, result: c_int, pause: Ticks, is_sampled: bool) {
    shielded(|| look_closer(writer, span, result, pause, is_sampled));
}

fn look_closer(
    writer: &mut Writer,
    Span { start, end }: Span,
    result: c_int,
    pause: Ticks,
    is_sampled: bool,
) {
    let ends_pause = pause >= STATE.pause.load(Relaxed);
    if writer.rest().stacked >= start || STACKS.load(Relaxed) == i64::MAX {
        // The stack of a call within this one says the same, or none is written at this level.
    } else if end - start >= STACKS.load(Relaxed) || is_failure(result) {
        stacks::record(writer, start, end);
    } else if ends_pause && Thread::current().is_some_and(|thread| places::is_allowed(thread, end, true))
        || is_sampled && places::may_spend(end)
    {
        let from = interpose::now();
        stacks::record(writer, start, end);
        places::spend(from);
    }
    if end - start < STATE.seldom.load(Relaxed) {
        return;
    }
    writer.touch_ahead();
    if clock_records::is_due(end) {
        writer.clock(interpose::moment());
    }
    driver::describe(writer, cupti::version());
    if driver::is_described() {
        STATE.seldom.store(LONG_CALL.load(Relaxed).min(STACKS.load(Relaxed)), Relaxed);
        switch::shorten_launches();
    }
}

/// Stacks of failed calls that may be written yet: a program may fail all the time.
static FAILURES: AtomicU32 = AtomicU32::new(MOST_FAILURES);
const MOST_FAILURES: u32 = 1_000;

/// Whether a call failed and its stack is to be written. That work is not done yet (`CUDA_ERROR_NOT_READY`) is an answer.
fn is_failure(result: c_int) -> bool {
    const NOT_READY: c_int = 600;
    !matches!(result, 0 | NOT_READY)
        && FAILURES.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
}

/// A thread acquired a lock after a wait, or gave up.
pub fn waited(thread: &'static Thread, wait: &Wait) {
    // A call that is noted is recorded.
    if switch::is_off() && wait.call.function == 0 {
        return;
    }
    count_unwritten(thread_writer::with(thread, |writer| match wait.layer {
        Layer::Listed => listed_wait(writer, wait),
        Layer::Program | Layer::Interpreter => thread_wait(writer, thread, wait),
    }));
}

fn listed_wait(writer: &mut Writer, wait: &Wait) {
    let site = watched_libraries::name(wait.site);
    let record = spool::Wait {
        start: wait.start,
        end: wait.end,
        lock: wait.lock as u64,
        // Of these kinds alone there are such waits; the numbers agree.
        kind: number_of(wait.kind),
        mode: number_of_mode(wait.mode),
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
}

/// A wait for Python's GIL, or outside of the listed libraries.
fn thread_wait(writer: &mut Writer, thread: &'static Thread, wait: &Wait) {
    let has_place = places::write(writer, thread, wait);
    let record = ThreadWait {
        start: wait.start,
        end: wait.end,
        released: wait.released,
        lock: wait.lock as u64,
        place: if has_place { wait.place } else { 0 },
        holder_place: wait.holder_place,
        releaser_place: wait.releaser_place,
        since: wait.call.since,
        holder_since: wait.holder.call.since,
        releaser_since: wait.releaser.call.since,
        function: wait.call.function,
        holder_function: wait.holder.call.function,
        releaser_function: wait.releaser.call.function,
        holder: wait.holder.tid,
        releaser: wait.releaser.tid,
        holders: wait.holders,
        mode: number_of_mode(wait.mode),
        zero: 0,
    };
    writer.append(ThreadWait::KIND, number_of(wait.kind), &[record.bytes()]);
}

/// Waits or queries of a thread too short to be recorded.
pub fn tallied(thread: &'static Thread, kind: TallyKind, tally: interpose::Tally) {
    let interpose::Tally { count, timed, time } = tally;
    // The process may end: then the thread that ends it writes for all.
    count_unwritten(thread_writer::here(|writer| {
        let tid = thread.tid().into();
        // Without room the writer counts it.
        _ = match kind {
            TallyKind::Wait(kind) => {
                writer.append(Tally::KIND, number_of(kind), &[Tally { tid, count, time }.bytes()])
            }
            TallyKind::Query(function) => {
                let name = functions::text(writer, function);
                writer.append(CallTally::KIND, name, &[CallTally { tid, count, timed, time }.bytes()])
            }
        };
    }));
}

fn number_of(kind: LockKind) -> u32 {
    (match kind {
        LockKind::Mutex => Awaited::Mutex,
        LockKind::Rwlock => Awaited::Rwlock,
        LockKind::Spin => Awaited::Spin,
        LockKind::Gil => Awaited::Gil,
        LockKind::Condition => Awaited::Condition,
        LockKind::Semaphore => Awaited::Semaphore,
        LockKind::Barrier => Awaited::Barrier,
        LockKind::Join => Awaited::Join,
    }) as u32
}

fn number_of_mode(mode: LockMode) -> u32 {
    (match mode {
        LockMode::Exclusive => Mode::Exclusive,
        LockMode::Shared => Mode::Shared,
    }) as u32
}

const _: () = {
    use spool::Lock;
    assert!(Lock::Mutex as u32 == Awaited::Mutex as u32 && Lock::Rwlock as u32 == Awaited::Rwlock as u32);
    assert!(Lock::Spin as u32 == Awaited::Spin as u32);
};

/// A wait of a thread was lost.
pub fn wait_lost(thread: &'static Thread) {
    count_unwritten(thread_writer::with(thread, Writer::drop_one));
}

/// There are too many threads to know another.
pub fn thread_unknown() {
    if let Some(header) = process::header() {
        header.untracked_threads.fetch_add(1, Relaxed);
    }
}
