//! The loader's list of objects, held while it is read: nothing comes or goes meanwhile.
//!
//! `dl_iterate_phdr` waits for the loader's lock. A thread may hold that one in a callback of its own and wait there for a
//! lock of the program, which the calling thread may hold. So a [`Loader`] waits for nobody: it acquires the lock where it
//! is free, and otherwise there is none. The thread that holds it looks through libraries and waits for nothing.
//!
//! glibc has no name for this lock. It is found by what it does: it is the one mutex of the loader that the calling thread
//! holds in such a callback and at no other time.

use crate::elf::{self, Object};
use crate::library::Library;
use libc::{c_int, c_void, dl_phdr_info};
use std::ffi::CStr;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};

/// The loader's lock; null while it is not known.
static LOCK: AtomicPtr<libc::pthread_mutex_t> = AtomicPtr::new(std::ptr::null_mut());

/// A thread holds the list. Nobody waits for it.
static HELD: AtomicBool = AtomicBool::new(false);

/// Tries to hold the list where recording begins, and pauses between them, ns: a tenth of a second.
const TRIES: u32 = 1_000;
const PAUSE: i64 = 100_000;

/// Words of a `pthread_mutex_t` that glibc keeps its state in: `__lock`, `__count`, `__owner`, `__nusers`, `__kind`.
const WORDS: usize = 5;
/// `PTHREAD_MUTEX_RECURSIVE_NP`
const RECURSIVE: u32 = 1;

/// The list of objects, as long as it lives. No two threads have one.
pub struct Loader {
    /// Whether the loader's lock is held, too.
    has_lock: bool,
    /// The lock is the thread's.
    thread: PhantomData<*const ()>,
}

impl Loader {
    /// Holds the list; `None` where a thread changes or holds it, or the lock is not known.
    pub fn hold() -> Option<Loader> {
        let lock = LOCK.load(Acquire);
        if lock.is_null() || HELD.swap(true, AcqRel) {
            return None;
        }
        // SAFETY: the loader's own lock, which lives as long as the process.
        if unsafe { libc::pthread_mutex_trylock(lock) } != 0 {
            HELD.store(false, Release);
            return None;
        }
        Some(Loader { has_lock: true, thread: PhantomData })
    }

    /// Holds the list as the library is loaded, and as recording begins, within `cuInit`: the driver loads libraries there
    /// itself, so nothing is held that a thread in the loader waits for. `None` where another thread holds it for long.
    pub fn hold_at_start() -> Option<Loader> {
        for _ in 0..TRIES {
            if LOCK.load(Acquire).is_null() {
                find_lock();
            }
            if let Some(loader) = Loader::hold() {
                return Some(loader);
            }
            if LOCK.load(Acquire).is_null() && !HELD.swap(true, AcqRel) {
                return Some(Loader { has_lock: false, thread: PhantomData });
            }
            let pause = libc::timespec { tv_sec: 0, tv_nsec: PAUSE };
            // SAFETY: reads the time it is given.
            unsafe { libc::nanosleep(&pause, std::ptr::null_mut()) };
        }
        None
    }

    /// How many objects were loaded and unloaded since the process began.
    pub fn counts(&self) -> (u64, u64) {
        let mut counts = (0, 0);
        self.each(&mut |object| {
            counts = object.counts();
            ControlFlow::Break(())
        });
        counts
    }

    /// Calls `visit` with each object until it breaks, in the order in which they were loaded.
    pub(crate) fn each(&self, visit: &mut dyn FnMut(Object<'_>) -> ControlFlow<()>) {
        each_object(visit);
    }

    /// A function or variable that a library or the program makes public: the first in the order in which they were
    /// loaded.
    pub fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        self.first_symbol(name, &|_| true)
    }

    /// The same of the libraries that an address does not lie in.
    pub fn symbol_outside(&self, name: &CStr, address: usize) -> Option<*mut c_void> {
        self.first_symbol(name, &|object| !object.contains(address))
    }

    fn first_symbol(&self, name: &CStr, wanted: &dyn Fn(&Object<'_>) -> bool) -> Option<*mut c_void> {
        let hash = elf::gnu_hash(name);
        let mut found = None;
        self.each(&mut |object| {
            found = if wanted(&object) { object.symbol(name, hash) } else { None };
            if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        found.map(|(address, _)| address)
    }

    /// Calls `visit` with the function or variable of that name in each library that makes one public.
    pub fn each_symbol(&self, name: &CStr, visit: &mut dyn FnMut(*mut c_void)) {
        let hash = elf::gnu_hash(name);
        self.each(&mut |object| {
            if let Some((found, _)) = object.symbol(name, hash) {
                visit(found);
            }
            ControlFlow::Continue(())
        });
    }

    /// Whether the library or program that an address lies in is loaded to the end.
    pub fn is_loaded(&self, address: usize) -> bool {
        let mut is_loaded = false;
        self.each(&mut |object| {
            if !object.contains(address) {
                return ControlFlow::Continue(());
            }
            is_loaded = object.is_loaded();
            ControlFlow::Break(())
        });
        is_loaded
    }

    /// Calls `visit` with the program and each library.
    pub fn each_library(&self, visit: &mut dyn FnMut(Library<'_>)) {
        self.each(&mut |object| {
            visit(Library::of(&object));
            ControlFlow::Continue(())
        });
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        if self.has_lock {
            // SAFETY: the lock that `hold` acquired, on this thread.
            unsafe { libc::pthread_mutex_unlock(LOCK.load(Acquire)) };
        }
        HELD.store(false, Release);
    }
}

/// `dl_iterate_phdr`, which a cancellation passes through as it should.
type Iterate = unsafe extern "C-unwind" fn(
    step: unsafe extern "C-unwind" fn(*mut dl_phdr_info, usize, *mut c_void) -> c_int,
    data: *mut c_void,
) -> c_int;

/// The C library's own, once it was looked for: others of that name need their library to have begun (sanitizers).
static ITERATE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Calls `visit` with each object until it breaks, and holds the loader's lock meanwhile: waits for it.
fn each_object(visit: &mut dyn FnMut(Object<'_>) -> ControlFlow<()>) {
    if ITERATE.load(Acquire).is_null() {
        ITERATE.store(c_library_symbol(c"dl_iterate_phdr").unwrap_or(std::ptr::null_mut()), Release);
    }
    let iterate = ITERATE.load(Acquire);
    if iterate.is_null() {
        return;
    }
    let mut visit = visit;
    // SAFETY: the C library's function; `step` gets a pointer to `visit`, which outlives the walk.
    unsafe { std::mem::transmute::<*mut c_void, Iterate>(iterate)(step, (&raw mut visit).cast()) };
}

/// The first names of the C library's files, of old ones in parts.
const C_LIBRARY: [&[u8]; 4] = [b"libc.so", b"libc-", b"libdl.so", b"libdl-"];

/// A function of the C library itself, whatever has the same name: read from its own table of symbols, by nobody's function.
/// Only to be asked as the library is loaded, and while the program's first thread is alone otherwise.
pub fn c_library_symbol(name: &CStr) -> Option<*mut c_void> {
    let hash = elf::gnu_hash(name);
    let mut map = debug::first_map();
    // SAFETY: the loader's list, which nobody changes meanwhile.
    while let Some(link) = unsafe { map.as_ref() } {
        map = link.next;
        let Some(info) = link.described() else { continue };
        let object = Object::of(&info);
        let file = object.path().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        if C_LIBRARY.iter().any(|start| file.starts_with(start))
            && let Some((found, _)) = object.symbol(name, hash)
        {
            return Some(found);
        }
    }
    None
}

/// A function or variable that the program itself makes public, as [`c_library_symbol`].
pub fn program_symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: null, or the first of the loader's list.
    let info = unsafe { debug::first_map().as_ref() }?.described_as_program();
    Object::of(&info).symbol(name, elf::gnu_hash(name)).map(|(found, _)| found)
}

/// The structures that the loader shows debuggers (link.h).
mod debug {
    use libc::{c_char, c_void, dl_phdr_info};

    /// `struct link_map`, as far as it is public.
    #[repr(C)]
    pub struct LinkMap {
        base: usize,
        name: *const c_char,
        dynamic: *const c_void,
        pub next: *const LinkMap,
    }

    /// `struct r_debug`, as far as it is read.
    #[repr(C)]
    struct Debug {
        version: i32,
        first: *const LinkMap,
    }

    impl LinkMap {
        /// A library as `dl_iterate_phdr` describes it: it begins with its header, which says where those of its parts are.
        pub fn described(&self) -> Option<dl_phdr_info> {
            if self.base == 0 || self.name.is_null() {
                return None;
            }
            // SAFETY: a library is mapped from its first byte on.
            let header = unsafe { &*std::ptr::with_exposed_provenance::<libc::Elf64_Ehdr>(self.base) };
            if !header.e_ident.starts_with(b"\x7fELF") {
                return None;
            }
            Some(self.with(self.base.wrapping_add(header.e_phoff as usize), header.e_phnum))
        }

        /// The program, whose parts the kernel describes.
        pub fn described_as_program(&self) -> dl_phdr_info {
            // SAFETY: asks for numbers.
            let [headers, count] =
                [libc::AT_PHDR, libc::AT_PHNUM].map(|what| unsafe { libc::getauxval(what) });
            self.with(headers as usize, count as u16)
        }

        fn with(&self, headers: usize, count: u16) -> dl_phdr_info {
            dl_phdr_info {
                dlpi_addr: self.base as u64,
                dlpi_name: self.name,
                dlpi_phdr: std::ptr::with_exposed_provenance(headers),
                dlpi_phnum: count,
                dlpi_adds: 0,
                dlpi_subs: 0,
                dlpi_tls_modid: 0,
                dlpi_tls_data: std::ptr::null_mut(),
            }
        }
    }

    /// The first object, which is the program; null where the loader shows nothing.
    pub fn first_map() -> *const LinkMap {
        // SAFETY: null, or the loader's structure, which stays.
        unsafe { debug().cast::<Debug>().as_ref() }.map_or(std::ptr::null(), |debug| debug.first)
    }

    // The loader's variable, weak: nothing is linked that has it.
    #[cfg(target_arch = "x86_64")]
    std::arch::global_asm!(
        ".weak _r_debug",
        ".globl holdup_loader_debug",
        ".hidden holdup_loader_debug",
        ".type holdup_loader_debug,@function",
        "holdup_loader_debug:",
        "mov rax, qword ptr [rip + _r_debug@GOTPCREL]",
        "ret",
    );
    #[cfg(target_arch = "aarch64")]
    std::arch::global_asm!(
        ".weak _r_debug",
        ".globl holdup_loader_debug",
        ".hidden holdup_loader_debug",
        ".type holdup_loader_debug,@function",
        "holdup_loader_debug:",
        "adrp x0, :got:_r_debug",
        "ldr x0, [x0, :got_lo12:_r_debug]",
        "ret",
    );

    unsafe extern "C" {
        #[link_name = "holdup_loader_debug"]
        safe fn debug() -> *const c_void;
    }
}

unsafe extern "C-unwind" fn step(info: *mut dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    type Visit<'a> = &'a mut dyn FnMut(Object<'_>) -> ControlFlow<()>;
    // SAFETY: the loader's description is valid during the call; `each_object` passes its `visit`.
    let (info, visit) = unsafe { (&*info, &mut *data.cast::<Visit<'_>>()) };
    visit(Object::of(info)).is_break().into()
}

/// Finds the loader's lock among the words of its state. Waits for it.
fn find_lock() {
    let (mut state, hash) = (None, elf::gnu_hash(c"_rtld_global"));
    each_object(&mut |object| {
        state = object.symbol(c"_rtld_global", hash);
        if state.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let Some((start, size)) = state else { return };
    // SAFETY: asks for a number.
    let tid = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
    let (mut found, mut count) = (std::ptr::null_mut(), 0);
    each_object(&mut |_| {
        for offset in (0..size.saturating_sub(size_of::<libc::pthread_mutex_t>())).step_by(8) {
            let place = start.wrapping_byte_add(offset).cast::<libc::pthread_mutex_t>();
            if words(place) == [1, 1, tid, 1, RECURSIVE] {
                (found, count) = (place, count + 1);
            }
        }
        ControlFlow::Break(())
    });
    if count == 1 && words(found).get(2) != Some(&tid) {
        LOCK.store(found, Release);
    }
}

/// The words of what may be a mutex, in the loader's state.
fn words(mutex: *const libc::pthread_mutex_t) -> [u32; WORDS] {
    let mutex = mutex.cast::<u32>().cast_mut();
    std::array::from_fn(|at| {
        // SAFETY: within the loader's state, whose words it changes as atomic ones.
        unsafe { AtomicU32::from_ptr(mutex.add(at)) }.load(Relaxed)
    })
}

/// In a fork's child: a thread that held the list is not here, and its lock is nobody's.
///
/// # Safety
///
/// The caller is the only thread of a fork's child.
pub(crate) unsafe fn forget_all() {
    if !HELD.swap(false, Relaxed) {
        return;
    }
    let lock = LOCK.load(Relaxed).cast::<u32>();
    if !lock.is_null() {
        for at in 0..WORDS - 1 {
            // SAFETY: the loader's own lock, whose words it changes as atomic ones; no other thread is here to hold it.
            unsafe { AtomicU32::from_ptr(lock.add(at)) }.store(0, Relaxed);
        }
    }
}

#[cfg(all(test, not(miri)))]
mod tests;
