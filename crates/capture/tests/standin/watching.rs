//! Watching libraries of this process.

use crate::compile::{Binding, built};
use interpose::{
    Hooks, LaunchArguments, LaunchThunks, Launches, Library, Loader, Site, Span, Thread, Wait, WatchResult,
    WrappedFunction,
};
use std::ffi::{CStr, CString, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

static WAITS: AtomicUsize = AtomicUsize::new(0);

fn waited(thread: &'static Thread, wait: &Wait) {
    assert_eq!(wait.site, 7);
    assert_ne!(thread.tid(), 0);
    WAITS.fetch_add(1, SeqCst);
}

/// The library with the checks, loaded into this process.
struct Checks(*mut c_void);

impl Checks {
    fn load(binding: Binding) -> Checks {
        let path = built().folder(binding).join("libchecks.so");
        let path = CString::new(path.as_os_str().as_bytes()).expect("no zero byte");
        // SAFETY: a library of these tests, without constructors; it is never unloaded.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        assert!(!library.is_null(), "{path:?} does not load");
        Checks(library)
    }

    fn function(&self, name: &CStr) -> *mut c_void {
        // SAFETY: a handle of `load`.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!found.is_null(), "{name:?} is missing");
        found
    }

    /// All checks; says what is wrong on standard error.
    fn run(&self) -> (c_int, c_int) {
        // SAFETY: the functions have these types (checks.h) and start no thread that stays.
        unsafe {
            let locks: extern "C" fn() -> c_int = std::mem::transmute(self.function(c"check_locks"));
            let stress: extern "C" fn(c_int, c_int) -> c_int =
                std::mem::transmute(self.function(c"check_stress"));
            (locks(), stress(4, 500))
        }
    }
}

/// Records no launch.
struct Untold;

impl Launches for Untold {
    fn short(_: &'static Thread, _: &'static WrappedFunction, _: &LaunchArguments, _: Span) -> bool {
        true
    }

    fn launched(_: &'static Thread, _: &'static WrappedFunction, _: &LaunchArguments, _: Span, _: c_int) {}
}

static LAUNCHES: LaunchThunks = LaunchThunks::of::<Untold>();

#[test]
fn a_watched_library_works_as_before() {
    let hooks = Hooks {
        waited,
        wait_lost: |_| (),
        tallied: |_, _, _| (),
        keep_place: |_, _| 0,
        promise: |_, _| 0,
        give_place: |_, _| (),
        holder_place: |_, _, _| 0,
        recognize: |_| None,
        synchronizes: |_| (),
        called: |_, _, _, _, _| (),
        launches: &LAUNCHES,
        name: |_, _| 0,
        number: |_| interpose::Function::default(),
        thread_unknown: || (),
        ended: |_| (),
        idle: || false,
    };
    assert!(interpose::install(hooks, || ()));
    assert!(!interpose::install(hooks, || ()), "once a process");
    for binding in [Binding::Lazy, Binding::Now] {
        let checks = Checks::load(binding);
        assert_eq!(checks.run(), (0, 0));
        assert_eq!(WAITS.load(SeqCst), 0, "not watched yet");
        let folder = built().folder(binding);
        let own = folder.as_os_str().as_bytes();
        let mut matches = |library: &Library<'_>| library.path.starts_with(own).then_some(Site::Listed(7));
        let loader = Loader::hold_at_start().expect("nobody holds it for long");
        let WatchResult { changed, unfinished } = interpose::watch(&loader, true, &mut matches);
        assert!(changed > 15 && !unfinished, "{changed} slots");
        assert_eq!(interpose::watch(&loader, true, &mut matches), WatchResult::default(), "watched already");
        drop(loader);
        assert_eq!(checks.run(), (0, 0));
        assert!(WAITS.swap(0, SeqCst) > 0);
    }
    look_ups_lead_to_wrapped_functions();
}

/// The driver's own table of symbols: look-ups by name lead to what records calls.
fn look_ups_lead_to_wrapped_functions() {
    let path = built().folder(Binding::Now).join("libcuda.so.1");
    let path = CString::new(path.as_os_str().as_bytes()).expect("no zero byte");
    // SAFETY: the stand-in for the driver, without constructors; it is never unloaded.
    let driver = Checks(unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) });
    let [launch, question] = [c"cuLaunchKernel", c"cuDriverGetVersion"];
    let before = [launch, question].map(|name| driver.function(name));
    let loader = Loader::hold_at_start().expect("nobody holds it for long");
    assert!(interpose::wrap_driver(&loader));
    assert!(!interpose::wrap_driver(&loader), "no library was loaded since");
    drop(loader);
    assert_ne!(driver.function(launch), before[0]);
    assert_eq!(driver.function(question), before[1]);
}
