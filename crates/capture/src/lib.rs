//! `libholdup_capture.so`: records a CUDA program from inside.
//!
//! Its rooms, each of which uses only those below it: `start`, where the program enters, `observe` and beside it `cupti`, what is
//! recorded, `write`, the spool file, and `sys`, the kernel and the C library. The life of a recording, in the order of time:
//!
//! 1. The loader maps the library before all others (`LD_PRELOAD`) and runs `loaded`: it puts wrappers in front of
//!    the driver's functions (`interpose`) and of `dlsym` (`start::preload`). A process without CUDA gets no further.
//! 2. The driver calls [`InitializeInjection`] within `cuInit`: `CUDA_INJECTION64_PATH` names the library.
//!    `start::recording` makes the spool file (`write::process`), starts CUPTI (`cupti`) and watches locks
//!    (`observe::watched_libraries`).
//! 3. Wrapped calls and waits for locks call the functions of `start::hook_table`. `observe::hooks` appends records to a chunk of
//!    the thread (`write::writer`, which gets chunks from `process` and `windows`), with texts as numbers (`texts`) and arguments
//!    (`observe::functions`). Slow calls get a stack (`stacks`, `python`, `unwind`, `jit`).
//!    It may be switched off and on meanwhile (`start::control`). With the last records kept, chunks are used again, except
//!    those with records that others refer to (`write::persistent`).
//! 4. The program exits: `recording::end` finishes the file, also before `_exit` (`start::exits`). It may be killed instead: the file
//!    is a shared mapping.
//!
//! A fork's child starts again from 1 (`forked`), and so does a program that it executes, unless that cannot load the library
//! (`start::executes`).
//!
//! Everything here runs in a program that did not ask for it. What runs within its calls does not panic, allocate or
//! lock (`cargo xtask hot` checks the machine code, by `hot.toml`), and the program cannot see it (`sys::shielded`).

mod cupti;
mod observe;
mod start;
mod sys;
mod write;

use interpose::Loader;
use observe::{driver, functions, jit, listed_libraries, places, python, stacks, streams, watched_libraries};
use start::{children, driver_lookup, exits, hook_table, libraries, recording};
use std::ffi::{c_char, c_int};
use sys::{c_library, env, sanitizers};
use write::{before_start, clock_records, persistent, process, switch, texts};

/// Runs when the library is loaded, before the program. Its own tests are no program that it records.
#[used]
#[cfg_attr(not(test), unsafe(link_section = ".init_array"))]
static LOADED: extern "C-unwind" fn(c_int, *const *const c_char, *const *const c_char) = loaded;

/// The loader passes on what the program's `main` gets. It runs this before the C library's own constructors, which set
/// `environ`.
extern "C-unwind" fn loaded(_: c_int, _: *const *const c_char, environment: *const *const c_char) {
    c_library::prepare();
    children::prepare();
    // SAFETY: the program's environment, which has not begun to run.
    let level = unsafe { env::text_in(environment, spool::VAR_LEVEL) };
    if sanitizers::begin() {
        load(level);
    }
}

/// Puts the wrappers in front of the driver's functions.
fn load(level: Option<&[u8]>) {
    recording::choose_functions(level);
    if interpose::install(hook_table::HOOKS, begin_anew) {
        clock_records::loaded();
        // First of all handlers to be registered, so first to run in a child.
        // SAFETY: `forked` is a function of this library, which is never unloaded.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
        if let Some(loader) = Loader::hold_at_start() {
            interpose::renew(&loader);
            libraries::begin();
            // The program may be linked with it, and take its functions' addresses from now on.
            driver_lookup::look_for_driver(&loader);
        }
    }
}

/// Called by the driver within `cuInit`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn InitializeInjection() -> c_int {
    if !libraries::has_begun() {
        // A sanitizer within the program had to begin first.
        load(env::text(spool::VAR_LEVEL));
    }
    recording::start();
    1
}

/// First thing in a fork's child.
extern "C" fn forked() {
    // SAFETY: registered for children of forks alone: the only thread of one.
    unsafe { interpose::forked() };
}

/// A child comes to its first wrapped call, or calls the loader: nothing of the parent's recording is its own. CUDA does not
/// work in the child of a process that used it, so there is nothing to record unless the child starts CUDA anew.
fn begin_anew() {
    // It goes by the threads that are known.
    places::forget();
    // SAFETY: called by `interpose` alone, while no thread of the child is known.
    unsafe {
        interpose::forget();
        python::forget();
        driver::forget();
        listed_libraries::forget();
        cupti::forget();
    }
    let had_started = recording::forget();
    process::forget();
    persistent::forget();
    switch::forget();
    texts::forget();
    functions::forget();
    stacks::forget();
    streams::forget();
    jit::forget();
    before_start::forget();
    exits::forget();
    watched_libraries::forget();
    interpose::set_recording(!had_started);
    interpose::begun();
}
