//! `libholdup_capture.so`: records a CUDA program from inside.
//!
//! The life of a recording, in the order of time:
//!
//! 1. The loader maps the library before all others (`LD_PRELOAD`) and runs `loaded`: it puts wrappers in front of
//!    the driver's functions (`interpose`) and of `dlsym` (`preload`). A process without CUDA gets no further.
//! 2. The driver calls [`InitializeInjection`] within `cuInit`: `CUDA_INJECTION64_PATH` names the library.
//!    `recording` makes the spool file (`process`), starts CUPTI (`cupti`) and watches locks (`watched`).
//! 3. Wrapped calls and waits for locks call `hooks`, which append records to a chunk of the thread (`writer`,
//!    which gets chunks from `process`, `file` and `windows`), with texts as numbers (`texts`) and arguments
//!    (`functions`). Slow calls get a stack (`stacks`, `python`, `unwind`, `made`).
//!    It may be switched off and on meanwhile (`control`). With the last records kept, chunks are used again, except
//!    those with records that others refer to (`lasting`).
//! 4. The program exits: `recording::end` finishes the file, also before `_exit` (`exits`). It may be killed instead: the file is a shared
//!    mapping.
//!
//! A fork's child starts again from 1 (`forked`).
//!
//! Everything here runs in a program that did not ask for it. What runs within its calls does not panic, allocate or
//! lock (`cargo xtask hot` checks the machine code, by `hot.toml`), and the program cannot see it (`unseen`).

mod asked;
mod c_library;
mod clock_records;
mod control;
mod cupti;
mod driver;
mod early;
mod ending;
mod env;
mod exits;
mod file;
mod functions;
mod hooks;
mod lasting;
mod line;
mod listed;
mod made;
mod nvtx;
mod places;
mod preload;
mod process;
mod python;
mod recording;
mod refused;
mod shapes;
mod stacks;
mod streams;
mod texts;
mod unseen;
mod unwind;
mod watched;
mod windows;
mod writer;

use std::ffi::{c_char, c_int};

/// Runs when the library is loaded, before the program.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C-unwind" fn(c_int, *const *const c_char, *const *const c_char) = loaded;

/// The loader passes on what the program's `main` gets. It runs this before the C library's own constructors, which set
/// `environ`.
extern "C-unwind" fn loaded(_: c_int, _: *const *const c_char, environment: *const *const c_char) {
    c_library::prepare();
    // SAFETY: the program's environment, which has not begun to run.
    recording::choose_functions(unsafe { env::text_in(environment, spool::VAR_LEVEL) });
    if interpose::install(hooks::HOOKS) {
        clock_records::loaded();
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
    recording::start();
    1
}

/// First thing in a fork's child: nothing of the parent's recording is its own. CUDA does not work in the child of a
/// process that used it, so there is nothing to record unless the child starts CUDA anew.
extern "C" fn forked() {
    interpose::set_recording(false);
    // It goes by the threads that are known.
    places::forget();
    // SAFETY: registered for children of forks alone: the only thread of one.
    unsafe {
        interpose::forked();
        python::forget();
        driver::forget();
        listed::forget();
        cupti::forget();
    }
    let had_started = recording::forget();
    process::forget();
    lasting::forget();
    control::forget();
    texts::forget();
    functions::forget();
    stacks::forget();
    streams::forget();
    made::forget();
    early::forget();
    exits::forget();
    watched::forget();
    if !had_started {
        interpose::set_recording(true);
    }
}
