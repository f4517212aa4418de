//! `libholdup_capture.so`: records a CUDA program from inside.
//!
//! It is preloaded, so that the driver's functions, which every program gets through `dlsym`, can be
//! wrapped; and named in `CUDA_INJECTION64_PATH`, so that the driver calls [`InitializeInjection`]
//! when it is initialized, which is when recording starts. A process that never uses CUDA pays for
//! a library with nothing to do.
//!
//! Everything here runs in a stranger's process: no panic, no allocation and no lock where calls
//! pass, and nothing that the program could see.

mod clock;
mod cupti;
mod driver;
mod early;
mod env;
mod file;
mod functions;
mod line;
mod listed;
mod made;
mod nvtx;
mod preload;
mod process;
mod python;
mod real;
mod stacks;
mod texts;
mod unseen;
mod unwind;
mod windows;
mod writer;

use clock::Scale;
use interpose::{
    Arguments, Hooks, LaunchThunks, Launches, LockKind, LockMode, Ns, Span, Thread, Ticks, Wait, Wrapped,
};
use process::STATE;
use spool::{Call, Level, Lock, Mode, Program, call};
use std::ffi::c_int;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64};
use unseen::unseen;
use writer::Writer;

/// Calls at least this long get their stack written unless `HOLDUP_STACKS` says otherwise, ns.
const SLOW: Ns = 100_000;
/// Calls at least this long get their stack written, ticks.
static STACKS: AtomicI64 = AtomicI64::new(i64::MAX);
/// A library that was loaded meanwhile brings modules, whose loading takes longer than this, ns.
const LOADING: Ns = 100_000;
/// [`LOADING`] in ticks.
static LOADED_LATE: AtomicI64 = AtomicI64::new(i64::MAX);
static STARTED: AtomicBool = AtomicBool::new(false);
/// Libraries that had been loaded when they were last looked through.
static WATCHED: AtomicU64 = AtomicU64::new(0);
/// How often a library may be found half loaded until it is taken as it is.
const PATIENCE: u32 = 16;
static UNFINISHED: AtomicU32 = AtomicU32::new(0);
/// Most different libraries whose locks are watched.
const MOST_SITES: usize = 32;
/// The names of watched libraries as texts, by site.
static SITES: [AtomicU32; MOST_SITES] = [const { AtomicU32::new(0) }; MOST_SITES];
static SITE_COUNT: AtomicU32 = AtomicU32::new(0);

/// What is said where the driver alone loaded the library: nothing was seen of what came before.
const LATE: &[u8] =
    b"holdup's library was not preloaded (LD_PRELOAD): calls through addresses of the driver's \
    functions that the program took before cuInit are not recorded";

/// Runs when the library is loaded, before the program.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C-unwind" fn() = loaded;

extern "C-unwind" fn loaded() {
    real::prepare();
    let (launches, number) = (&LAUNCH_THUNKS, functions::number);
    let hooks = Hooks { waited, wait_lost, synchronizes, called, launches, name, number, thread_unknown };
    if interpose::install(hooks) {
        clock::loaded();
        // First of all handlers to be registered, so first to run in a child.
        // SAFETY: `forked` is a function of this library, which is never unloaded.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
        // The program may be linked with it, and take its functions' addresses from now on.
        preload::look_for_driver();
    }
}

/// Called by the driver within `cuInit`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn InitializeInjection() -> c_int {
    start();
    1
}

/// A function of the driver was looked up: it is about to be initialized.
fn driver_seen() {
    // When another tool has the driver's injection, the first wrapped call starts recording.
    if !STARTED.load(Relaxed) {
        interpose::set_recording(true);
    }
}

/// Starts recording in this process, once.
fn start() {
    unseen(|| {
        if !STARTED.swap(true, AcqRel) && process::open() {
            begin();
        }
    });
}

/// Starts recording into the file that was just made.
fn begin() {
    driver::prepare();
    python::expect();
    python::look();
    let scale = Scale::measured();
    set_thresholds(&scale);
    listed::choose();
    writer::here(|writer| clock::begin(writer, &scale));
    let light = env::text(spool::VAR_LEVEL) == Some(b"light");
    let full = !light && writer::here(start_cupti).unwrap_or(false);
    set_level(if full { Level::Full } else { Level::Light });
    writer::here(|writer| {
        program(writer);
        nvtx::begin(writer);
        watch_locks(writer, true);
        if !preload::is_early() {
            cupti::note(writer, LATE);
        }
    });
    preload::look_for_driver();
    interpose::wrap_imports(&driver::linked);
    interpose::set_recording(true);
    // SAFETY: `ended` is a function of this library, which is never unloaded.
    unsafe { atexit(ended) };
}

unsafe extern "C" {
    /// The C library's: a cancellation may pass through what it calls.
    fn atexit(function: extern "C-unwind" fn()) -> c_int;
}

/// How long a call must take to be worth what.
fn set_thresholds(scale: &Scale) {
    let stacks = match env::text(spool::VAR_STACKS) {
        Some(b"off") => Ns::MAX,
        _ => env::number(spool::VAR_STACKS).map_or(SLOW, |ns| ns.try_into().unwrap_or(Ns::MAX)),
    };
    STACKS.store(scale.ticks(stacks), Relaxed);
    LOADED_LATE.store(scale.ticks(LOADING), Relaxed);
    functions::set_threshold(scale);
}

fn start_cupti(writer: &mut Writer) -> bool {
    match cupti::start(writer) {
        Ok(()) => true,
        Err(failure) => {
            cupti::explain(writer, failure);
            false
        }
    }
}

fn set_level(level: Level) {
    STATE.level.store(level as u32, Release);
    process::set_level(level);
    shorten_launches();
}

/// Launches that are not worth a closer look go the short way: to a record where calls are what is recorded,
/// else to none.
fn shorten_launches() {
    let light = STATE.level.load(Relaxed) == Level::Light as u32;
    interpose::set_short_launch(STATE.seldom.load(Relaxed), light);
}

/// The program makes itself CUPTI's client.
fn yield_cupti(was_used: bool) {
    if was_used {
        set_level(Level::Light);
        writer::here(|writer| {
            let line =
                b"the program uses CUPTI itself (a profiler): from then on driver calls and lock waits only";
            cupti::note(writer, line);
        });
    }
}

fn program(writer: &mut Writer) {
    let mut room = [0; 4096];
    let name = texts::intern(writer, stacks::program(&mut room));
    let mut line = [0u8; 4096];
    let command = texts::intern(writer, command_line(&mut line));
    writer.append(Program::KIND, name, &[Program { command: command.into() }.bytes()]);
}

/// The command line, with spaces between its words.
fn command_line(room: &mut [u8; 4096]) -> &[u8] {
    // SAFETY: plain system calls; `read` writes at most `room.len()` bytes and says how many.
    let length = unsafe {
        let file = libc::open(c"/proc/self/cmdline".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let length = libc::read(file, room.as_mut_ptr().cast(), room.len());
        libc::close(file);
        usize::try_from(length).unwrap_or(0)
    };
    let line = room.get_mut(..length).unwrap_or_default();
    let end = line.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let words = line.get_mut(..end).unwrap_or_default();
    words.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b' ');
    words
}

/// Looks through libraries that were loaded since the last time.
fn look_through(writer: &mut Writer) {
    let (loaded, _) = interpose::loaded();
    if WATCHED.load(Relaxed) == loaded {
        return;
    }
    let patient = UNFINISHED.load(Relaxed) < PATIENCE;
    let (watched, wrapped) = (watch_locks(writer, patient), interpose::wrap_late_imports(patient));
    if !patient || watched && wrapped {
        UNFINISHED.store(0, Relaxed);
        WATCHED.store(loaded, Relaxed);
    } else {
        UNFINISHED.fetch_add(1, Relaxed);
    }
}

/// Watches the locks of the driver and the listed libraries, as far as they are loaded; false when
/// one is only half so.
fn watch_locks(writer: &mut Writer, patient: bool) -> bool {
    let driver = interpose::watch(patient, &mut |path: &[u8]| {
        let name = file_name(path);
        name.starts_with(b"libcuda.so").then(|| site(texts::intern(writer, name)))
    });
    process::driver_watched(driver.changed as u64);
    let others = interpose::watch(patient, &mut |path: &[u8]| {
        let name = file_name(path);
        listed::is_listed(name).then(|| site(texts::intern(writer, name)))
    });
    !driver.unfinished && !others.unfinished
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// The number of the library with that name: the same when it is loaded again.
fn site(name: u32) -> u32 {
    let count = SITE_COUNT.load(Relaxed).min(MOST_SITES as u32);
    if let Some(known) = SITES.iter().take(count as usize).position(|site| site.load(Relaxed) == name) {
        return known as u32;
    }
    let site = SITE_COUNT.fetch_add(1, Relaxed).min(MOST_SITES as u32 - 1);
    if let Some(place) = SITES.get(site as usize) {
        place.store(name, Relaxed);
    }
    site
}

/// The program ends in an orderly way.
extern "C-unwind" fn ended() {
    cupti::flush();
    writer::here(|writer| {
        cupti::end(writer);
        writer.clock(interpose::moment());
    });
    process::finish();
}

/// First thing in a fork's child: nothing of the parent's recording is its own. CUDA does not work
/// in the child of a process that used it, so there is nothing to record unless it starts anew.
extern "C" fn forked() {
    interpose::set_recording(false);
    interpose::forked();
    let had_started = STARTED.swap(false, AcqRel);
    process::forget();
    texts::forget();
    functions::forget();
    stacks::forget();
    made::forget();
    python::forget();
    driver::forget();
    early::forget();
    listed::forget();
    cupti::forget();
    SITES.iter().for_each(|site| site.store(0, Relaxed));
    SITE_COUNT.store(0, Relaxed);
    WATCHED.store(0, Relaxed);
    STATE.level.store(0, Relaxed);
    STATE.seldom.store(0, Relaxed);
    if !had_started {
        interpose::set_recording(true);
    }
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

/// Has a call written that is over, where the driver's calls are what is recorded, and looks closer at
/// long ones.
#[inline]
fn over(thread: &'static Thread, span: Span, write: impl FnOnce(&mut Writer)) {
    let level = STATE.level.load(Acquire);
    if level == 0 {
        // Another tool has the driver's injection.
        return start();
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

/// What a long call is worth, and the first one after the driver was initialized.
#[cold]
fn seldom(writer: &mut Writer, Span { start, end }: Span) {
    unseen(|| look_closer(writer, start, end));
}

fn look_closer(writer: &mut Writer, start: Ticks, end: Ticks) {
    if end - start >= STACKS.load(Relaxed) {
        stacks::record(writer, start, end);
    }
    writer.touch_ahead();
    if clock::is_due(end) {
        writer.clock(interpose::moment());
    }
    if end - start >= LOADED_LATE.load(Relaxed) {
        look_through(writer);
    }
    driver::describe(writer, cupti::version());
    if driver::is_described() {
        STATE.seldom.store(LOADED_LATE.load(Relaxed).min(STACKS.load(Relaxed)), Relaxed);
        shorten_launches();
    }
}

/// A thread got a lock that it had to wait for.
fn waited(thread: &'static Thread, wait: &Wait) {
    writer::with(thread, |writer| {
        let site = SITES.get(wait.site as usize).map_or(0, |site| site.load(Relaxed));
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

/// `CLOCK_REALTIME` minus `CLOCK_MONOTONIC` as they were when the file was made, ns.
fn unix_offset() -> i64 {
    process::header()
        .map_or(0, |header| header.unix_ns.load(Relaxed).wrapping_sub(header.monotonic_ns.load(Relaxed)))
}
