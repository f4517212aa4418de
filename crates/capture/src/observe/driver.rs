//! The capture library's own calls of the driver, through the real entry points.

use crate::sys::c_library::{real_dlopen, real_dlsym};
use crate::write::texts;
use crate::write::writer::Writer;
use interpose::SetOnce;
use libc::{c_char, c_int, c_void};
use spool::{Device, DeviceIdentity};
use std::ffi::CStr;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};

/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE` and `_IS_MANAGED` (cuda.h).
const MEMORY_TYPE: c_int = 2;
const IS_MANAGED: c_int = 8;

/// Declares the driver's functions that are called, with their types (cuda.h).
macro_rules! functions {
    ($($field:ident = $name:literal: fn($($argument:ty),*);)*) => {
        #[derive(Clone, Copy)]
        struct Driver {
            $($field: unsafe extern "C-unwind" fn($($argument),*) -> c_int,)*
            uuid: Option<Uuid>,
        }

        impl Driver {
            /// The functions of the loaded driver; none if one is missing that every driver has.
            fn find() -> Option<Driver> {
                Some(Driver {
                    $($field: {
                        let function = interpose::unwrapped(entry($name));
                        if function.is_null() {
                            return None;
                        }
                        // SAFETY: the driver's function of that name has this type.
                        unsafe {
                            std::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn($($argument),*) -> c_int>(function)
                        }
                    },)*
                    uuid: uuid_function(),
                })
            }
        }
    };
}

functions! {
    pointer_attribute = c"cuPointerGetAttribute": fn(*mut c_void, c_int, u64);
    is_capturing = c"cuStreamIsCapturing": fn(*mut c_void, *mut c_int);
    stream_context = c"cuStreamGetCtx": fn(*mut c_void, *mut *mut c_void);
    current = c"cuCtxGetCurrent": fn(*mut *mut c_void);
    version = c"cuDriverGetVersion": fn(*mut c_int);
    count = c"cuDeviceGetCount": fn(*mut c_int);
    device = c"cuDeviceGet": fn(*mut c_int, c_int);
    name = c"cuDeviceGetName": fn(*mut c_char, c_int, c_int);
    attribute = c"cuDeviceGetAttribute": fn(*mut c_int, c_int, c_int);
    memory = c"cuDeviceTotalMem_v2": fn(*mut usize, c_int);
}

/// `cuDeviceGetUuid`, which writes 16 bytes.
type Uuid = unsafe extern "C-unwind" fn(*mut [u64; 2], c_int) -> c_int;

/// The function that knows the UUIDs of GPUs. That of CUDA 11.4 and later knows those of MIG's instances, too.
fn uuid_function() -> Option<Uuid> {
    let find = |name| {
        let function = interpose::unwrapped(entry(name));
        // SAFETY: both functions have this type.
        (!function.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, Uuid>(function) })
    };
    find(c"cuDeviceGetUuid_v2").or_else(|| find(c"cuDeviceGetUuid"))
}

static DRIVER: SetOnce<Option<Driver>> = SetOnce::new();

/// GPUs were written down.
static DESCRIBED: AtomicBool = AtomicBool::new(false);

/// Looks the functions up, early: a look-up in the middle of a call would wait for a thread that is
/// loading a library, and that thread may wait for the call.
pub fn prepare() {
    if DRIVER.get().is_none() {
        DRIVER.set(Driver::find());
    }
}

fn driver() -> Option<&'static Driver> {
    DRIVER.get()?.as_ref()
}

/// An entry point of the loaded driver; null when there is none.
pub fn entry(name: &CStr) -> *mut c_void {
    // SAFETY: only finds the driver if it is loaded already; the handle is kept, as the driver is.
    unsafe {
        let flags = libc::RTLD_NOW | libc::RTLD_NOLOAD;
        let library = real_dlopen(c"libcuda.so.1", flags);
        if library.is_null() { std::ptr::null_mut() } else { real_dlsym(library, name) }
    }
}

/// The function that a program gets that is linked with the driver: the driver's own, or one of the same name in a
/// library that the loader searches first.
pub fn linked(name: &CStr) -> *mut c_void {
    // SAFETY: a plain look-up.
    let first = unsafe { real_dlsym(libc::RTLD_DEFAULT, name) };
    if first.is_null() { entry(name) } else { first }
}

/// CUPTI's number of the kind of memory at an address. The driver does not know pageable memory.
pub fn memory_kind(address: usize) -> Option<u32> {
    let driver = driver()?;
    let ask = |what: c_int| {
        let mut answer = 0u32;
        // SAFETY: both attributes are 32 bits wide or less; the address is only looked up.
        let code = unsafe { (driver.pointer_attribute)((&raw mut answer).cast(), what, address as u64) };
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

/// Whether a stream is capturing; not for the legacy default stream, which cannot.
pub fn is_capturing(stream: u64) -> bool {
    const ACTIVE: c_int = 1;
    let mut status = 0;
    // SAFETY: the driver took the same handle in the call that is over, and writes the status.
    let code = driver().map(|driver| unsafe { (driver.is_capturing)(stream as *mut c_void, &mut status) });
    code == Some(0) && status == ACTIVE
}

/// The context of a stream; `None` where the driver does not say.
pub fn stream_context(stream: u64) -> Option<*mut c_void> {
    let mut context = std::ptr::null_mut();
    // SAFETY: as above.
    let code = unsafe { (driver()?.stream_context)(stream as *mut c_void, &mut context) };
    (code == 0 && !context.is_null()).then_some(context)
}

/// The calling thread's context; `None` without one.
pub fn current_context() -> Option<*mut c_void> {
    let mut context = std::ptr::null_mut();
    // SAFETY: the driver writes the context.
    let code = unsafe { (driver()?.current)(&mut context) };
    (code == 0 && !context.is_null()).then_some(context)
}

/// Whether [`describe`] has done its work.
#[inline]
pub fn is_described() -> bool {
    DESCRIBED.load(Relaxed)
}

/// Writes what GPUs there are, and the driver's version, once a process and as soon as the driver is
/// initialized.
pub fn describe(writer: &mut Writer, cupti: u64) {
    let Some(driver) = driver() else {
        // There will be no better moment.
        return DESCRIBED.store(true, Release);
    };
    let (mut number, mut devices) = (0, 0);
    // SAFETY: the driver's functions write what they are given.
    let initialized = unsafe {
        (driver.version)(&mut number);
        (driver.count)(&mut devices) == 0
    };
    if !initialized || DESCRIBED.swap(true, AcqRel) {
        return;
    }
    writer.append(spool::Driver::KIND, number as u32, &[spool::Driver { cupti }.bytes()]);
    for ordinal in 0..devices.clamp(0, 64) {
        device(writer, driver, ordinal);
    }
}

fn device(writer: &mut Writer, driver: &Driver, ordinal: c_int) {
    let (mut handle, mut text, mut bytes) = (0, [0 as c_char; 128], 0);
    // SAFETY: the driver's functions write no more than they are given; the last byte of `text`
    // stays zero.
    let name = unsafe {
        (driver.device)(&mut handle, ordinal);
        (driver.name)(text.as_mut_ptr(), 127, handle);
        (driver.memory)(&mut bytes, handle);
        CStr::from_ptr(text.as_ptr())
    };
    let ask = |what: c_int| {
        let mut answer = 0;
        // SAFETY: as above.
        unsafe { (driver.attribute)(&mut answer, what, handle) };
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
    let mut uuid = [0; 2];
    // SAFETY: the function writes 16 bytes, and nothing where it fails.
    if driver.uuid.is_some_and(|function| unsafe { function(&mut uuid, handle) } == 0) {
        let [uuid_front, uuid_back] = uuid;
        let [pci_domain, bus, slot] = [50, 33, 34].map(ask);
        let pci_place = bus << 8 | slot & 0xff;
        let record = DeviceIdentity { uuid_front, uuid_back, pci_domain, pci_place };
        writer.append(DeviceIdentity::KIND, ordinal as u32, &[record.bytes()]);
    }
}

/// In a fork's child: its file has no GPUs yet, and a thread that was looking functions up is not here.
///
/// # Safety
///
/// No thread of the child is known, as while it begins anew.
pub unsafe fn forget() {
    // SAFETY: the caller's promise.
    unsafe { DRIVER.forked() };
    DESCRIBED.store(false, Release);
}
