//! The process that calls the driver. It prints every fact at once on its own line, so that the facts before a call that
//! hangs or crashes are known.

use libc::{c_char, c_int, c_uint, c_void};
use serde::{Deserialize, Serialize};
use std::ffi::CStr;
use std::io::Write;
use std::ptr::null;

/// A line of the probe's output.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// The CUPTI that the loader finds.
    Cupti {
        /// The file.
        path: String,
        /// The result of `cuptiGetVersion`; `None` if there is no such function.
        version: Option<u32>,
    },
    /// The driver's library.
    Library {
        /// The file.
        path: String,
    },
    /// The driver's library cannot be used.
    NoLibrary {
        /// The loader's message.
        reason: String,
    },
    /// The driver's CUDA version.
    Version {
        /// The version's number: 12040 is 12.4.
        cuda: c_int,
    },
    /// `cuInit` succeeded.
    Initialized,
    /// A device, in order.
    Device {
        /// Its name.
        name: String,
        /// Compute capability before the dot.
        major: c_int,
        /// Compute capability after the dot.
        minor: c_int,
        /// Bytes of its memory.
        memory: u64,
    },
    /// A function failed; nothing follows.
    Failed {
        /// Its name.
        function: String,
        /// A `CUresult`.
        code: c_int,
        /// The code's name.
        name: String,
    },
}

/// Writes the loader's CUPTI and the driver's devices to standard output. Needs its own process, which
/// [`Options::probe`](super::Options) starts: it initializes CUDA, and a broken driver can hang or end it.
pub fn probe() {
    // As in the capture library.
    if let Some(library) = [c"libcupti.so.13", c"libcupti.so.12"].into_iter().find_map(Library::open) {
        say(&cupti(&library));
    }
    match Library::open(c"libcuda.so.1") {
        None => say(&Fact::NoLibrary { reason: load_error() }),
        Some(library) => match Driver::of(&library) {
            Err(name) => say(&Fact::NoLibrary { reason: format!("{} has no {name}", library.path()) }),
            Ok(driver) => {
                say(&Fact::Library { path: library.path() });
                if let Err(failure) = driver.describe() {
                    say(&failure);
                }
            }
        },
    }
}

/// Writes a line; ignores a closed pipe.
fn say(fact: &Fact) {
    let mut output = std::io::stdout().lock();
    let line = serde_json::to_string(fact).unwrap_or_default();
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

/// A loaded library, which stays loaded.
struct Library(*mut c_void);

impl Library {
    fn open(name: &CStr) -> Option<Library> {
        // SAFETY: runs the library's constructors, as any program that uses the library.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        (!handle.is_null()).then_some(Library(handle))
    }

    fn function(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the library is loaded.
        let function = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!function.is_null()).then_some(function)
    }

    /// The library's file; empty if the loader does not know it.
    fn path(&self) -> String {
        let mut entry: *const Entry = null();
        // SAFETY: the library is loaded; writes the pointer to its entry, which stays.
        unsafe {
            let failed = libc::dlinfo(self.0, libc::RTLD_DI_LINKMAP, (&raw mut entry).cast()) != 0;
            if failed || entry.is_null() || (*entry).name.is_null() {
                return String::new();
            }
            owned((*entry).name)
        }
    }
}

/// The start of the loader's `struct link_map`.
#[repr(C)]
struct Entry {
    address: usize,
    name: *const c_char,
}

/// # Safety
///
/// The text ends in a zero byte.
unsafe fn owned(text: *const c_char) -> String {
    // SAFETY: the caller guarantees it.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

fn load_error() -> String {
    // SAFETY: the loader's message, or null, is this thread's until its next error.
    unsafe {
        let message = libc::dlerror();
        if message.is_null() { "unknown reason".to_owned() } else { owned(message) }
    }
}

fn cupti(library: &Library) -> Fact {
    const NAME: &CStr = c"cuptiGetVersion";
    let version = library.function(NAME).map(|function| {
        let mut version = 0;
        // SAFETY: CUPTI's function of that name has this type.
        unsafe {
            let ask: unsafe extern "C" fn(*mut u32) -> c_int = std::mem::transmute(function);
            ask(&mut version);
        }
        version
    });
    Fact::Cupti { path: library.path(), version }
}

/// Declares the driver's functions that the probe calls, found by name.
macro_rules! functions {
    ($($field:ident = $name:literal: fn($($argument:ty),*);)*) => {
        struct Driver {
            $($field: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Driver {
            /// Finds the functions in the driver's library.
            ///
            /// # Errors
            /// The name of a missing function.
            fn of(library: &Library) -> Result<Driver, &'static str> {
                Ok(Driver {
                    $($field: {
                        let name = CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes());
                        let function = name.ok().and_then(|name| library.function(name)).ok_or($name)?;
                        // SAFETY: the driver's function of that name has this type in all versions.
                        unsafe {
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> c_int>(function)
                        }
                    },)*
                })
            }
        }
    };
}

functions! {
    init = "cuInit": fn(c_uint);
    version = "cuDriverGetVersion": fn(*mut c_int);
    count = "cuDeviceGetCount": fn(*mut c_int);
    device = "cuDeviceGet": fn(*mut c_int, c_int);
    name = "cuDeviceGetName": fn(*mut c_char, c_int, c_int);
    attribute = "cuDeviceGetAttribute": fn(*mut c_int, c_int, c_int);
    memory = "cuDeviceTotalMem_v2": fn(*mut usize, c_int);
    error_name = "cuGetErrorName": fn(c_int, *mut *const c_char);
}

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`
const CAPABILITY: [c_int; 2] = [75, 76];

impl Driver {
    /// Writes the driver's version and devices, until a function fails.
    fn describe(&self) -> Result<(), Fact> {
        let (mut cuda, mut count) = (0, 0);
        // SAFETY: the driver's functions, with what they write to.
        unsafe {
            self.done("cuDriverGetVersion", (self.version)(&mut cuda))?;
            say(&Fact::Version { cuda });
            self.done("cuInit", (self.init)(0))?;
            say(&Fact::Initialized);
            self.done("cuDeviceGetCount", (self.count)(&mut count))?;
        }
        (0..count).try_for_each(|ordinal| self.device(ordinal).map(|device| say(&device)))
    }

    fn device(&self, ordinal: c_int) -> Result<Fact, Fact> {
        let (mut device, mut name, mut memory, mut capability) = (0, [0u8; 256], 0, [0; 2]);
        let room = name.len() as c_int - 1;
        // SAFETY: the driver's functions, with what they write to; the name's last byte stays zero.
        unsafe {
            self.done("cuDeviceGet", (self.device)(&mut device, ordinal))?;
            self.done("cuDeviceGetName", (self.name)(name.as_mut_ptr().cast(), room, device))?;
            self.done("cuDeviceTotalMem", (self.memory)(&mut memory, device))?;
            for (value, attribute) in capability.iter_mut().zip(CAPABILITY) {
                self.done("cuDeviceGetAttribute", (self.attribute)(value, attribute, device))?;
            }
        }
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy().into_owned();
        Ok(Fact::Device { name, major: capability[0], minor: capability[1], memory: memory as u64 })
    }

    fn done(&self, function: &str, code: c_int) -> Result<(), Fact> {
        if code == 0 {
            return Ok(());
        }
        let mut text = null();
        // SAFETY: the driver's function; the text that it points to is constant.
        let name = unsafe {
            let known = (self.error_name)(code, &mut text) == 0 && !text.is_null();
            if known { owned(text) } else { String::new() }
        };
        Err(Fact::Failed { function: function.to_owned(), code, name })
    }
}
