//! Finding CUPTI and its functions.

use crate::sys::c_library::{real_dlopen, real_dlsym};
use crate::sys::fixed_text::FixedText;
use crate::write::notes;
use crate::write::writer::Writer;
use interpose::Loader;
use libc::{c_char, c_int, c_void};
use std::ffi::CStr;
use std::iter;

/// Result of every function; 0 is success.
pub type Code = c_int;
/// `CUpti_BuffersCallbackRequestFunc`
pub type Request = unsafe extern "C-unwind" fn(*mut *mut u8, *mut usize, *mut usize);
/// `CUpti_BuffersCallbackCompleteFunc`
pub type Complete = unsafe extern "C-unwind" fn(*mut c_void, u32, *mut u8, usize, usize);
/// `CUpti_TimestampCallbackFunc`
pub type Timestamp = unsafe extern "C-unwind" fn() -> u64;

/// Switches the records of one function on (1) or off (0).
pub type Switch = unsafe extern "C-unwind" fn(u32, u8) -> Code;

/// `CUpti_CallbackFunc`
pub type Callback = unsafe extern "C-unwind" fn(*mut c_void, c_int, u32, *const c_void);
pub type Subscribe = unsafe extern "C-unwind" fn(*mut *mut c_void, Callback, *mut c_void) -> Code;
pub type Unsubscribe = unsafe extern "C-unwind" fn(*mut c_void) -> Code;
/// On (1) or off (0), the subscriber, the domain, and the function's number.
pub type EnableCallback = unsafe extern "C-unwind" fn(u32, *mut c_void, c_int, u32) -> Code;
/// Counters of unified memory, and how many they are.
pub type Configure = unsafe extern "C-unwind" fn(*mut c_void, u32) -> Code;
/// The attribute, the bytes of its value, and the value.
pub type SetAttribute = unsafe extern "C-unwind" fn(c_int, *mut usize, *mut c_void) -> Code;

/// A library that [`open`] loaded: it stays loaded.
#[derive(Clone, Copy)]
struct Library(*mut c_void);

fn find(library: Library, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the library stays loaded.
    let function = unsafe { real_dlsym(library.0, name) };
    (!function.is_null()).then_some(function)
}

fn switch(library: Library, name: &CStr) -> Option<Switch> {
    // SAFETY: CUPTI's functions of those names have this type in all versions that have them.
    find(library, name).map(|function| unsafe { std::mem::transmute::<*mut c_void, Switch>(function) })
}

/// Declares CUPTI's functions that are used, looked up by name.
macro_rules! functions {
    ($($field:ident = $name:literal: fn($($argument:ty),*);)*) => {
        /// CUPTI's functions (cupti_activity.h, cupti_callbacks.h).
        #[derive(Clone, Copy)]
        pub struct Cupti {
            $(#[doc = $name] pub $field: unsafe extern "C-unwind" fn($($argument),*) -> Code,)*
            /// `cuptiSubscribe`, where there is one.
            pub subscribe: Option<Subscribe>,
            /// `cuptiUnsubscribe`, where there is one.
            pub unsubscribe: Option<Unsubscribe>,
            /// `cuptiEnableCallback`, where there is one.
            pub enable_callback: Option<EnableCallback>,
            /// `cuptiActivityEnableDriverApi`, where there is one.
            pub enable_driver: Option<Switch>,
            /// `cuptiActivityEnableRuntimeApi`, where there is one.
            pub enable_runtime: Option<Switch>,
            /// `cuptiActivitySetAttribute`, where there is one.
            pub set_attribute: Option<SetAttribute>,
            /// `cuptiActivityConfigureUnifiedMemoryCounter`, where there is one.
            pub configure_unified: Option<Configure>,
        }

        impl Cupti {
            /// The functions of a loaded library; the name of one that is missing otherwise.
            fn of(library: Library) -> Result<Cupti, &'static str> {
                Ok(Cupti {
                    $($field: {
                        let Ok(name) = CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) else {
                            return Err($name);
                        };
                        let Some(function) = find(library, name) else { return Err($name) };
                        // SAFETY: CUPTI's function of that name has this type in all versions from CUDA 12.0 on.
                        unsafe {
                            std::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn($($argument),*) -> Code>(function)
                        }
                    },)*
                    subscribe: find(library, c"cuptiSubscribe").map(|function| {
                        // SAFETY: CUPTI's function has this type in all versions.
                        unsafe { std::mem::transmute::<*mut c_void, Subscribe>(function) }
                    }),
                    unsubscribe: find(library, c"cuptiUnsubscribe").map(|function| {
                        // SAFETY: as above.
                        unsafe { std::mem::transmute::<*mut c_void, Unsubscribe>(function) }
                    }),
                    enable_callback: find(library, c"cuptiEnableCallback").map(|function| {
                        // SAFETY: as above.
                        unsafe { std::mem::transmute::<*mut c_void, EnableCallback>(function) }
                    }),
                    enable_driver: switch(library, c"cuptiActivityEnableDriverApi"),
                    enable_runtime: switch(library, c"cuptiActivityEnableRuntimeApi"),
                    set_attribute: find(library, c"cuptiActivitySetAttribute").map(|function| {
                        // SAFETY: as above.
                        unsafe { std::mem::transmute::<*mut c_void, SetAttribute>(function) }
                    }),
                    configure_unified: find(library, c"cuptiActivityConfigureUnifiedMemoryCounter").map(|function| {
                        // SAFETY: as above.
                        unsafe { std::mem::transmute::<*mut c_void, Configure>(function) }
                    }),
                })
            }
        }
    };
}

functions! {
    version = "cuptiGetVersion": fn(*mut u32);
    register = "cuptiActivityRegisterCallbacks": fn(Request, Complete);
    timestamps = "cuptiActivityRegisterTimestampCallback": fn(Timestamp);
    thread_ids = "cuptiSetThreadIdType": fn(c_int);
    enable = "cuptiActivityEnable": fn(c_int);
    disable = "cuptiActivityDisable": fn(c_int);
    flush = "cuptiActivityFlushAll": fn(u32);
    flush_period = "cuptiActivityFlushPeriod": fn(u32);
    next = "cuptiActivityGetNextRecord": fn(*mut u8, usize, *mut *mut u8);
    dropped = "cuptiActivityGetNumDroppedRecords": fn(*mut c_void, u32, *mut usize);
    context_number = "cuptiGetContextId": fn(*mut c_void, *mut u32);
    stream_number = "cuptiGetStreamIdEx": fn(*mut c_void, *mut c_void, u8, *mut u32);
    callback_name = "cuptiGetCallbackName": fn(c_int, u32, *mut *const c_char);
}

/// A path, with or without a zero byte at its end.
type Path = FixedText<4096>;

/// Names of the library, newest first.
const NAMES: [&CStr; 2] = [c"libcupti.so.13", c"libcupti.so.12"];

/// Where toolkits put it, by the name of the library.
const TOOLKITS: [&str; 4] = [
    "/usr/local/cuda/extras/CUPTI/lib64/",
    "/usr/local/cuda/lib64/",
    "/usr/local/cuda/targets/x86_64-linux/lib/",
    "/usr/local/cuda/targets/sbsa-linux/lib/",
];

/// The first copy of CUPTI that starts, of: those that the program uses, those the loader finds, the one
/// beside the CUDA runtime in use (a Python wheel's), the toolkits'. Of several versions in one place the
/// newest comes first, which a driver may be too old for. Why the first did not start, if none does.
pub fn first_that(starts: impl Fn(&Cupti) -> Result<(), Failure>) -> Result<Cupti, Failure> {
    let loaded = NAMES.iter().map(|name| open(name, libc::RTLD_NOLOAD));
    let by_loader = NAMES.iter().map(|name| open(name, 0));
    let of_toolkits = TOOLKITS.iter().map(|directory| within(directory.as_bytes()));
    let places = loaded.chain(by_loader).chain(iter::once_with(beside_runtime)).chain(of_toolkits);
    let mut first = None;
    for library in places.flatten() {
        let cupti = Cupti::of(library).map_err(Failure::Lacks);
        match cupti.and_then(|cupti| starts(&cupti).map(|()| cupti)) {
            Err(failure) if !failure.is_final() => _ = first.get_or_insert(failure),
            done => return done,
        }
    }
    Err(first.unwrap_or(Failure::Missing))
}

/// Why CUPTI cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// No library.
    Missing,
    /// The library lacks a function.
    Lacks(&'static str),
    /// A function failed with a code.
    Failed(&'static str, Code),
    /// Its version is older than those whose records are known.
    Old(u32),
}

/// `CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED`: another profiler uses it.
pub const TAKEN: Code = 39;

impl Failure {
    /// Whether no other copy would do better.
    fn is_final(self) -> bool {
        matches!(self, Failure::Failed(_, TAKEN))
    }
}

fn open(name: &CStr, how: c_int) -> Option<Library> {
    // SAFETY: loading a library runs its constructors, as it would for the program's own use.
    let library = unsafe { real_dlopen(name, libc::RTLD_NOW | how) };
    (!library.is_null()).then_some(Library(library))
}

fn within(directory: &[u8]) -> Option<Library> {
    NAMES.iter().find_map(|name| open(Path::of(&[directory, name.to_bytes_with_nul()])?.path()?, 0))
}

/// CUPTI in the directory of the CUDA runtime in use, or, for older Python wheels, in the
/// neighbouring package `cuda_cupti`.
fn beside_runtime() -> Option<Library> {
    let mut found = None;
    Loader::hold_at_start()?.each_library(&mut |library| {
        let name = library.name();
        if name.starts_with(b"libcudart.so") && found.is_none() {
            found = library.path.strip_suffix(name).and_then(|directory| Path::of(&[directory]));
        }
    });
    let runtime = found?;
    let package = runtime.bytes().strip_suffix(b"cuda_runtime/lib/");
    within(runtime.bytes()).or_else(|| within(Path::of(&[package?, b"cuda_cupti/lib/"])?.bytes()))
}

/// Notes which copy records, for the reader of the trace.
pub fn note_path(writer: &mut Writer, cupti: &Cupti) {
    let function = cupti.version as *const c_void;
    // SAFETY: an all-zero description is valid, and dladdr fills it or leaves it.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: only looks the address up.
    if unsafe { libc::dladdr(function, &mut found) } != 0 && !found.dli_fname.is_null() {
        // SAFETY: the loader's string ends in a zero byte.
        let path = unsafe { CStr::from_ptr(found.dli_fname) }.to_bytes();
        if let Some(line) = FixedText::<4200>::of(&[b"GPU records by ", path]) {
            notes::note(writer, line.bytes());
        }
    }
}
