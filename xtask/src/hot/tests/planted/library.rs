//! One function for each thing that hot code must not do, and one that does nothing of it. `planted.rs` compiles this
//! library for each machine and checks that each is found. Nothing of it runs: that is why its `unsafe` blocks are sound.

#![crate_type = "cdylib"]
#![allow(clippy::missing_safety_doc)]

use std::arch::asm;
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_long, c_void};
use std::hint::black_box;
use std::ptr::{null, null_mut};
use std::sync::Mutex;

unsafe extern "C-unwind" {
    fn malloc(size: usize) -> *mut c_void;
    fn _Unwind_Backtrace(
        step: extern "C-unwind" fn(*mut c_void, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
    fn pthread_mutex_lock(mutex: *mut c_void) -> c_int;
    fn pthread_mutex_trylock(mutex: *mut c_void) -> c_int;
    fn pthread_once(once: *mut c_int, run: extern "C-unwind" fn()) -> c_int;
    fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
    fn sem_wait(semaphore: *mut c_void) -> c_int;
    fn dl_iterate_phdr(step: *const c_void, data: *mut c_void) -> c_int;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn read(file: c_int, into: *mut c_void, room: usize) -> isize;
    fn qsort(base: *mut c_void, count: usize, size: usize, compare: *const c_void);
    fn getpid() -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
}

/// `fsync`
#[cfg(target_arch = "x86_64")]
const FSYNC: c_long = 74;
#[cfg(not(target_arch = "x86_64"))]
const FSYNC: c_long = 82;

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn planted_nothing(mutex: *mut c_void) -> c_int {
    unsafe { getpid() + pthread_mutex_trylock(mutex) }
}

#[unsafe(no_mangle)]
pub extern "C-unwind" fn planted_panic(at: usize) -> u8 {
    black_box([1, 2, 3])[at]
}

#[unsafe(no_mangle)]
pub extern "C-unwind" fn planted_box(value: u64) -> *mut u64 {
    Box::into_raw(Box::new(value))
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn planted_malloc() -> *mut c_void {
    unsafe { malloc(black_box(8)) }
}

extern "C-unwind" fn step(_: *mut c_void, _: *mut c_void) -> c_int {
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn planted_unwinding() -> c_int {
    unsafe { _Unwind_Backtrace(step, null_mut()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn planted_lock(mutex: *mut c_void) -> c_int {
    unsafe { pthread_mutex_lock(mutex) }
}

static MUTEX: Mutex<u32> = Mutex::new(0);

#[unsafe(no_mangle)]
pub extern "C-unwind" fn planted_rust_lock() -> u32 {
    MUTEX.lock().map_or(0, |guard| *guard)
}

extern "C-unwind" fn run() {}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn planted_once(once: *mut c_int) -> c_int {
    unsafe { pthread_once(once, run) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn planted_semaphore(semaphore: *mut c_void) -> c_int {
    unsafe { sem_wait(semaphore) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn planted_key() -> c_int {
    unsafe { pthread_setspecific(1, null()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn planted_objects() -> c_int {
    unsafe { dl_iterate_phdr(null(), null_mut()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn planted_look_up(name: *const c_char) -> *mut c_void {
    unsafe { dlsym(null_mut(), name) }
}

thread_local! {
    static OWN: Cell<usize> = const { Cell::new(0) };
}

#[unsafe(no_mangle)]
pub extern "C-unwind" fn planted_thread_local() -> usize {
    OWN.replace(1)
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn planted_read(room: *mut c_void) -> isize {
    unsafe { read(0, room, 1) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn planted_number(file: c_int) -> c_long {
    unsafe { syscall(FSYNC, file) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn planted_unknown_number(number: c_long) -> c_long {
    unsafe { syscall(number) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn planted_instruction(file: c_long) -> c_long {
    let mut result = file;
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("syscall", inlateout("rax") FSYNC => result, in("rdi") file, out("rcx") _, out("r11") _);
    }
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!("svc #0", in("x8") FSYNC, inlateout("x0") result);
    }
    result
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn planted_unlisted(base: *mut c_void) {
    unsafe { qsort(base, 2, 1, null()) }
}

#[unsafe(no_mangle)]
pub extern "C-unwind" fn planted_pointer(hook: extern "C-unwind" fn() -> c_int) -> c_int {
    hook() + 1
}

extern "C-unwind" fn harmless(_: usize) -> usize {
    0
}

extern "C-unwind" fn allocates(size: usize) -> usize {
    unsafe { malloc(size) as usize }
}

static TABLE: [extern "C-unwind" fn(usize) -> usize; 4] = [harmless, harmless, harmless, allocates];

#[unsafe(no_mangle)]
pub extern "C-unwind" fn planted_in_a_table(which: usize) -> usize {
    TABLE[which & 3](which)
}

#[inline(never)]
fn deeper(at: usize) -> usize {
    black_box(at) + allocates(at)
}

#[unsafe(no_mangle)]
pub extern "C-unwind" fn planted_deeper(at: usize) -> usize {
    deeper(at + 1)
}
