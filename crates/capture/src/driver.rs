//! What the capture library itself asks of the driver, through the real entry points.

use crate::preload::real_dlsym;
use crate::texts;
use crate::writer::Writer;
use libc::{c_char, c_int, c_void};
use spool::Device;
use std::ffi::CStr;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr};

/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE` and `_IS_MANAGED` (cuda.h).
const MEMORY_TYPE: c_int = 2;
const IS_MANAGED: c_int = 8;

static POINTER_ATTRIBUTE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// An entry point of the loaded driver; null when there is none.
pub fn entry(name: &CStr) -> *mut c_void {
    // SAFETY: only finds the driver if it is loaded already; the handle is kept, as the driver is.
    unsafe {
        let flags = libc::RTLD_NOW | libc::RTLD_NOLOAD;
        let library = libc::dlopen(c"libcuda.so.1".as_ptr(), flags);
        if library.is_null() { std::ptr::null_mut() } else { real_dlsym(library, name) }
    }
}

/// The function that a program gets that is linked with the driver: its own, or that of a library
/// that stands before it.
pub fn linked(name: &CStr) -> *mut c_void {
    // SAFETY: a plain look-up.
    let first = unsafe { real_dlsym(libc::RTLD_DEFAULT, name) };
    if first.is_null() { entry(name) } else { first }
}

/// CUPTI's number of the kind of memory at an address. The driver does not know pageable memory.
pub fn memory_kind(address: usize) -> Option<u32> {
    type Get = unsafe extern "C" fn(*mut c_void, c_int, u64) -> c_int;
    let mut get = POINTER_ATTRIBUTE.load(Acquire);
    if get.is_null() {
        get = entry(c"cuPointerGetAttribute");
        POINTER_ATTRIBUTE.store(get, Release);
    }
    if get.is_null() {
        return None;
    }
    // SAFETY: the driver's function of that name has this type (cuda.h).
    let get = unsafe { std::mem::transmute::<*mut c_void, Get>(get) };
    let ask = |what: c_int| {
        let mut answer = 0u32;
        // SAFETY: both attributes are 32 bits wide or less; the address is only looked up.
        let code = unsafe { get((&raw mut answer).cast(), what, address as u64) };
        (code, answer)
    };
    const INVALID_VALUE: c_int = 1;
    match ask(MEMORY_TYPE) {
        (INVALID_VALUE, _) => Some(1),
        (0, _) if matches!(ask(IS_MANAGED), (0, answer) if answer & 0xff != 0) => Some(5),
        (0, 1) => Some(2),
        (0, 2) => Some(3),
        (0, 3) => Some(4),
        _ => None,
    }
}

/// Writes what GPUs there are, and the driver's version, once a process. Only after `cuInit`.
pub fn describe(writer: &mut Writer, cupti: u64) {
    static DONE: AtomicBool = AtomicBool::new(false);
    if DONE.swap(true, Release) {
        return;
    }
    type Version = unsafe extern "C" fn(*mut c_int) -> c_int;
    type Count = unsafe extern "C" fn(*mut c_int) -> c_int;
    let (version, count) = (entry(c"cuDriverGetVersion"), entry(c"cuDeviceGetCount"));
    if version.is_null() || count.is_null() {
        return;
    }
    let (mut number, mut devices) = (0, 0);
    // SAFETY: the driver's functions of those names have these types (cuda.h).
    unsafe {
        std::mem::transmute::<*mut c_void, Version>(version)(&mut number);
        std::mem::transmute::<*mut c_void, Count>(count)(&mut devices);
    }
    writer.append(spool::Driver::KIND, number as u32, &[spool::Driver { cupti }.bytes()]);
    for ordinal in 0..devices.clamp(0, 64) {
        device(writer, ordinal);
    }
}

fn device(writer: &mut Writer, ordinal: c_int) {
    type Get = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
    type Name = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
    type Attribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;
    type Memory = unsafe extern "C" fn(*mut usize, c_int) -> c_int;
    let [get, name, attribute, memory] =
        [c"cuDeviceGet", c"cuDeviceGetName", c"cuDeviceGetAttribute", c"cuDeviceTotalMem_v2"].map(entry);
    if [get, name, attribute, memory].iter().any(|entry| entry.is_null()) {
        return;
    }
    let (mut handle, mut text, mut bytes) = (0, [0 as c_char; 128], 0);
    // SAFETY: the driver's functions of those names have these types (cuda.h), and each writes no
    // more than it is given; the last byte of `text` stays zero.
    let (name, attribute) = unsafe {
        std::mem::transmute::<*mut c_void, Get>(get)(&mut handle, ordinal);
        std::mem::transmute::<*mut c_void, Name>(name)(text.as_mut_ptr(), 127, handle);
        std::mem::transmute::<*mut c_void, Memory>(memory)(&mut bytes, handle);
        (CStr::from_ptr(text.as_ptr()), std::mem::transmute::<*mut c_void, Attribute>(attribute))
    };
    let ask = |what: c_int| {
        let mut answer = 0;
        // SAFETY: as above.
        unsafe { attribute(&mut answer, what, handle) };
        answer as u32
    };
    let record = Device {
        ordinal: ordinal as u32,
        compute_major: ask(75),
        compute_minor: ask(76),
        multiprocessors: ask(16),
        copy_engines: ask(40),
        zero: 0,
        memory: bytes as u64,
    };
    let name = texts::intern(writer, name.to_bytes());
    writer.append(Device::KIND, name, &[record.bytes()]);
}
