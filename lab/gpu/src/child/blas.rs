//! cuBLAS: the one function that steps use, which seed 003 is about.

use crate::driver::{Stream, open, symbol};
use std::ffi::{OsString, c_int, c_void};
use std::ptr::null_mut;

/// The environment variable that names another library than the loader would find.
pub const VARIABLE: &str = "HOLDUP_LIBCUBLAS";

/// The library as the loader knows it, the latest first, and where CUDA's toolkit has it.
const LIBRARIES: [&str; 5] = [
    "libcublas.so.13",
    "libcublas.so.12",
    "libcublas.so.11",
    "libcublas.so",
    "/usr/local/cuda/lib64/libcublas.so",
];

/// cuBLAS's `CUBLAS_POINTER_MODE_HOST` and `CUBLAS_POINTER_MODE_DEVICE`.
const HOST: c_int = 0;
const DEVICE: c_int = 1;

/// A thread's handle of cuBLAS, for the context that was current when it was loaded; the library is never unloaded.
pub struct Blas {
    handle: *mut c_void,
    functions: Functions,
}

type Status = c_int;

/// Declares the functions that are used, with their symbols.
macro_rules! functions {
    ($($field:ident $symbol:literal ($($argument:ty),*);)*) => {
        struct Functions {
            $($field: unsafe extern "C" fn($($argument),*) -> Status,)*
        }

        impl Functions {
            /// Finds the functions of a library, or the first that it lacks.
            ///
            /// # Safety
            ///
            /// It is cuBLAS, or a stand-in that someone named for it.
            unsafe fn look_up(library: *mut c_void) -> Result<Functions, &'static str> {
                // SAFETY: a pointer and an optional function pointer have one representation, null is None; the types are
                // those of cublas_v2.h.
                unsafe {
                    Ok(Functions {
                        $($field: std::mem::transmute::<
                            *mut c_void,
                            Option<unsafe extern "C" fn($($argument),*) -> Status>,
                        >(symbol(library, $symbol)).ok_or($symbol)?,)*
                    })
                }
            }
        }
    };
}

functions! {
    create "cublasCreate_v2" (*mut *mut c_void);
    destroy "cublasDestroy_v2" (*mut c_void);
    set_stream "cublasSetStream_v2" (*mut c_void, Stream);
    set_pointer_mode "cublasSetPointerMode_v2" (*mut c_void, c_int);
    norm "cublasSnrm2_v2" (*mut c_void, c_int, *const f32, c_int, *mut f32);
}

impl Blas {
    /// Loads the library and makes a handle.
    ///
    /// # Errors
    /// The library is missing or unusable; the line says what to do.
    pub fn load() -> Result<Blas, String> {
        let named = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
        let names: Vec<OsString> =
            named.map_or_else(|| LIBRARIES.map(OsString::from).into(), |name| vec![name]);
        let Some(library) = names.iter().find_map(|name| open(name).ok()) else {
            let looked: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
            return Err(format!(
                "cannot load {}: install the CUDA toolkit, or name the library in {VARIABLE}",
                looked.join(", ")
            ));
        };
        // SAFETY: it goes by the name of cuBLAS.
        let functions = unsafe { Functions::look_up(library) };
        let functions =
            functions.map_err(|symbol| format!("the library has no {symbol}: name another in {VARIABLE}"))?;
        let mut handle = null_mut();
        // SAFETY: writes a handle.
        done("cublasCreate", unsafe { (functions.create)(&mut handle) })?;
        Ok(Blas { handle, functions })
    }

    /// The 2-norm of `length` floats at `from`, written to `norm`; a result on the host is complete when the call returns.
    ///
    /// # Safety
    ///
    /// The device reaches so many floats at `from`; `norm` is a float's address on the side that `on_host` says, and both
    /// stay until the stream is done.
    pub unsafe fn norm(
        &self,
        from: u64,
        norm: u64,
        on_host: bool,
        length: i32,
        stream: Stream,
    ) -> Result<(), String> {
        let Blas { handle, functions } = self;
        let mode = if on_host { HOST } else { DEVICE };
        // SAFETY: the handle is this thread's; the rest is the caller's promise.
        unsafe {
            done("cublasSetStream", (functions.set_stream)(*handle, stream))?;
            done("cublasSetPointerMode", (functions.set_pointer_mode)(*handle, mode))?;
            done("cublasSnrm2", (functions.norm)(*handle, length, from as *const f32, 1, norm as *mut f32))
        }
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: the handle is this thread's, which uses it no more.
        let _ = unsafe { (self.functions.destroy)(self.handle) };
    }
}

fn done(function: &str, status: Status) -> Result<(), String> {
    match status {
        0 => Ok(()),
        3 => Err(format!("{function} is out of memory (status 3): make the buffers smaller")),
        status => Err(format!("{function} fails with status {status} (cublas_api.h lists them)")),
    }
}
