//! A recording: how it starts, what is recorded, and how it ends.

use crate::cupti;
use crate::observe::{
    driver, functions, hooks, jit, listed_libraries, nvtx, places, python, stacks, watched_libraries,
};
use crate::start::{control, driver_lookup, libraries, preload};
use crate::sys::shielded::shielded;
use crate::sys::{env, seccomp};
use crate::write::clock_records::{self, Scale};
use crate::write::process::{self, STATE};
use crate::write::writer::Writer;
use crate::write::{notes, switch, texts, thread_writer};
use interpose::{Loader, Ns};
use spool::{Level, Program, SETTINGS, Setting};
use std::ffi::c_int;
use std::sync::atomic::Ordering::Relaxed;

/// Calls at least this long get their stack written unless `HOLDUP_STACKS` says otherwise, ns.
const SLOW: Ns = 100_000;

/// The note where the driver alone loaded the library: what came before is not recorded.
const LATE: &[u8] =
    b"holdup's library was not preloaded (LD_PRELOAD): calls through addresses of the driver's \
    functions that the program took before cuInit are not recorded";

/// The library was loaded: which functions are wrapped from now on. At level full the runtime's calls are recorded by
/// wrappers, too; at level calls by CUPTI.
pub fn choose_functions(level: Option<&[u8]>) {
    if level_of(level) == Level::Full {
        interpose::wrap_runtime();
    }
}

/// Starts recording in this process, once.
#[inline(never)]
pub fn start() {
    interpose::begin_anew();
    shielded(|| {
        // A program that forbids itself system calls is not recorded: a file of its own takes some.
        if seccomp::allows_calls() && driver_lookup::start() && process::open() {
            begin();
        }
    });
}

/// Starts recording into the file that was just made.
fn begin() {
    // Libraries that are loaded meanwhile are looked through with it.
    listed_libraries::choose();
    driver::prepare();
    stacks::begin();
    python::expect();
    let scale = Scale::measured();
    set_thresholds(&scale);
    thread_writer::here(|writer| clock_records::begin(writer, &scale));
    let wanted = wanted();
    let has_cupti =
        wanted != Level::Light && thread_writer::here(|writer| start_cupti(writer, wanted)).unwrap_or(false);
    switch::set_level(if has_cupti { wanted } else { Level::Light });
    thread_writer::here(|writer| {
        program(writer);
        settings(writer);
        nvtx::begin(writer);
        if !preload::is_preloaded() {
            notes::note(writer, LATE);
        }
    });
    look_through_libraries();
    interpose::wrap_imports(&driver::linked);
    let is_on = thread_writer::here(control::begin).unwrap_or(true);
    if !is_on {
        cupti::pause();
    }
    interpose::set_recording(is_on);
    // SAFETY: `end` is a function of this library, which is never unloaded.
    unsafe { atexit(end) };
}

/// The note where another thread was in the loader for too long.
const UNSEEN: &[u8] =
    b"another thread held the loader as recording began: waits for locks of libraries that were loaded by \
    then are recorded only once the program loads or looks up something more";

/// Looks through the libraries that are there.
fn look_through_libraries() {
    let Some(loader) = Loader::hold_at_start() else {
        // Nobody waits for that thread: the next call of the loader looks.
        thread_writer::here(|writer| notes::note(writer, UNSEEN));
        return;
    };
    interpose::renew(&loader);
    driver_lookup::look_for_driver(&loader);
    thread_writer::here(|writer| watched_libraries::look_through(&loader, writer));
    drop(loader);
    jit::read_files();
}

unsafe extern "C" {
    /// The C library's: a cancellation may pass through what it calls.
    fn atexit(function: extern "C-unwind" fn()) -> c_int;
}

/// Sets from which duration on a call gets a stack, and which questions it is worth.
fn set_thresholds(scale: &Scale) {
    let stacks = match env::text(spool::VAR_STACKS) {
        Some(b"off") => Ns::MAX,
        _ => env::number(spool::VAR_STACKS).map_or(SLOW, |ns| ns.try_into().unwrap_or(Ns::MAX)),
    };
    hooks::set_thresholds(scale, stacks);
    functions::set_threshold(scale);
}

/// Level of recording that the environment asks for.
fn wanted() -> Level {
    level_of(env::text(spool::VAR_LEVEL))
}

fn level_of(name: Option<&[u8]>) -> Level {
    match name {
        Some(b"light") => Level::Light,
        Some(b"calls") => Level::Calls,
        _ => Level::Full,
    }
}

fn start_cupti(writer: &mut Writer, level: Level) -> bool {
    match cupti::start(writer, level) {
        Ok(()) => true,
        Err(failure) => {
            cupti::explain(writer, failure);
            false
        }
    }
}

fn program(writer: &mut Writer) {
    let name = texts::intern(writer, stacks::program());
    let mut line = [0u8; 4096];
    let command = texts::intern(writer, command_line(&mut line));
    writer.append(Program::KIND, name, &[Program { command: command.into() }.bytes()]);
}

/// Writes the variables that the driver reads as it starts, which it does now.
fn settings(writer: &mut Writer) {
    for (at, name) in (0..).zip(SETTINGS) {
        if let Some(value) = env::text(name) {
            let value = texts::intern(writer, value);
            writer.append(Setting::KIND, value, &[Setting { name: at }.bytes()]);
        }
    }
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

/// The program ends in an orderly way.
pub extern "C-unwind" fn end() {
    // A child that ran no handler of `fork` has its parent's.
    if process::header().is_none() {
        return;
    }
    cupti::flush();
    libraries::look();
    interpose::flush();
    thread_writer::here(|writer| {
        cupti::end(writer);
        places::end(writer);
        writer.clock(interpose::moment());
    });
    process::finish();
}

/// In a fork's child: it has not started; whether the parent had.
pub fn forget() -> bool {
    STATE.level.store(0, Relaxed);
    STATE.seldom.store(0, Relaxed);
    driver_lookup::forget()
}
