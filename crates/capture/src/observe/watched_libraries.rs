//! The libraries whose locks are watched: the driver and the listed ones, and in another way the program and all others.

use crate::observe::{jit, listed_libraries, python, stacks};
use crate::write::writer::Writer;
use crate::write::{notes, process, texts};
use interpose::{Library, Loader, Site};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

/// Libraries that had been loaded when they were last looked through.
static SEEN: AtomicU64 = AtomicU64::new(0);
/// How often a library may be found half loaded until it is taken as it is.
const PATIENCE: u32 = 16;
static UNFINISHED: AtomicU32 = AtomicU32::new(0);
/// Most different libraries whose locks are watched.
const MOST_SITES: usize = 32;
/// The names of watched libraries as texts, by site.
static SITES: [AtomicU32; MOST_SITES] = [const { AtomicU32::new(0) }; MOST_SITES];
static SITE_COUNT: AtomicU32 = AtomicU32::new(0);

/// Looks through libraries that were loaded since the last time; whether files of new ones are to be read, once nobody holds
/// the list.
pub fn look_through(loader: &Loader, writer: &mut Writer) -> bool {
    let (loaded, _) = loader.counts();
    if SEEN.load(Relaxed) == loaded {
        return false;
    }
    let are_new = stacks::modules(loader, writer);
    if are_new {
        jit::look(loader);
    }
    let patient = UNFINISHED.load(Relaxed) < PATIENCE;
    let watched = watch_locks(loader, writer, patient);
    let wrapped = interpose::wrap_late_imports(loader, patient);
    if !patient || watched && wrapped {
        UNFINISHED.store(0, Relaxed);
        SEEN.store(loaded, Relaxed);
    } else {
        UNFINISHED.fetch_add(1, Relaxed);
    }
    are_new
}

/// Libraries that stay as they are, by beginnings of their names. The C library and its loader: what they do among
/// themselves is theirs. The unwinder, which is used here. NVIDIA's parts below CUDA, and the runtimes of sanitizers,
/// which have wrappers of their own.
const LEFT: [&[u8]; 16] = [
    b"libc.so",
    b"libc-",
    b"libpthread",
    b"ld-linux",
    b"ld-musl",
    b"linux-vdso",
    b"libdl.",
    b"librt.",
    b"libgcc_s",
    b"libholdup_capture",
    b"libcupti",
    b"libnvperf",
    b"libnvidia-",
    b"libasan",
    b"libtsan",
    b"liblsan",
];

/// A build of Python without a GIL was noted.
static FREE_THREADED: AtomicBool = AtomicBool::new(false);

const NO_GIL: &[u8] = b"this Python is a free-threaded build: it has no GIL, so no wait for one is recorded";

/// Watches the locks of the driver and the listed libraries, then those of the program and all others, as far as they are
/// loaded; false where one is half loaded.
fn watch_locks(loader: &Loader, writer: &mut Writer, patient: bool) -> bool {
    let driver = interpose::watch(loader, patient, &mut |library| {
        let name = library.name();
        is_driver(name).then(|| Site::Driver(site(texts::intern(writer, name))))
    });
    process::driver_watched(driver.changed as u64);
    let listed = interpose::watch(loader, patient, &mut |library| {
        let name = library.name();
        listed_libraries::is_listed(name).then(|| Site::Listed(site(texts::intern(writer, name))))
    });
    let interpreter = python::address(loader);
    let others = interpose::watch(loader, patient, &mut |library| {
        let is_interpreter = interpreter.is_some_and(|address| library.addresses.contains(&address));
        is_other(library).then_some(if is_interpreter { Site::Interpreter } else { Site::Program })
    });
    if interpreter.is_some() {
        python::expect();
        python::look(loader);
        note_free_threaded(loader, writer);
    }
    !driver.unfinished && !listed.unfinished && !others.unfinished
}

fn is_driver(name: &[u8]) -> bool {
    name.starts_with(b"libcuda.so")
}

/// Whether a library is neither the driver nor listed nor left as it is.
fn is_other(library: &Library<'_>) -> bool {
    let (name, own) = (library.name(), watch_locks as *const () as usize);
    let left = LEFT.iter().any(|start| name.starts_with(start));
    !left && !is_driver(name) && !listed_libraries::is_listed(name) && !library.addresses.contains(&own)
}

fn note_free_threaded(loader: &Loader, writer: &mut Writer) {
    if !FREE_THREADED.load(Relaxed) && python::is_free_threaded(loader) {
        FREE_THREADED.store(true, Relaxed);
        notes::note(writer, NO_GIL);
    }
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

/// The name of a watched library, by its site; 0 for none.
pub fn name(site: u32) -> u32 {
    SITES.get(site as usize).map_or(0, |name| name.load(Relaxed))
}

/// In a fork's child: its file holds no text yet.
pub fn forget() {
    SITES.iter().for_each(|site| site.store(0, Relaxed));
    SITE_COUNT.store(0, Relaxed);
    SEEN.store(0, Relaxed);
    FREE_THREADED.store(false, Relaxed);
}
