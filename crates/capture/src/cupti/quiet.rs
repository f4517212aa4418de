//! Calls that are not recorded: they only read the calling thread's or the library's own state, never
//! wait, and come several times a launch (PyTorch 2.11: eleven records a launch with them, five
//! without).

use super::library::Cupti;
use std::ffi::{CStr, c_char, c_int};

/// `CUpti_CallbackDomain`
const DRIVER: c_int = 1;
const RUNTIME: c_int = 2;

/// Functions as the manuals name them; CUPTI appends versions.
const NAMES: [&str; 16] = [
    "__cudaPopCallConfiguration",
    "__cudaPushCallConfiguration",
    "cudaGetDevice",
    "cudaGetLastError",
    "cudaPeekAtLastError",
    "cudaStreamGetCaptureInfo",
    "cudaStreamIsCapturing",
    "cudaThreadExchangeStreamCaptureMode",
    "cuCtxGetCurrent",
    "cuCtxGetDevice",
    "cuGetErrorString",
    "cuGetProcAddress",
    "cuKernelGetName",
    "cuStreamGetCaptureInfo",
    "cuStreamIsCapturing",
    "cuThreadExchangeStreamCaptureMode",
];

/// CUPTI numbers the functions of a domain from 1, with gaps; beyond this there are none (13.0: 500 of
/// the runtime's, 800 of the driver's).
const LAST: u32 = 1500;

/// Switches their records off. CUPTI before CUDA 12.5 cannot: of what it hands out, those are left out.
pub fn switch_off(cupti: &Cupti) {
    for (domain, switch) in [(DRIVER, cupti.enable_driver), (RUNTIME, cupti.enable_runtime)] {
        let Some(switch) = switch else { continue };
        for number in 1..LAST {
            let mut name: *const c_char = std::ptr::null();
            // SAFETY: CUPTI writes a name that lives as long as it does, or fails.
            let known = unsafe { (cupti.callback_name)(domain, number, &mut name) } == 0 && !name.is_null();
            // SAFETY: as above; names end in a zero byte.
            if known && is_quiet(unsafe { CStr::from_ptr(name) }.to_bytes()) {
                // SAFETY: CUPTI's function, with a number it gave a name to.
                unsafe { switch(number, 0) };
            }
        }
    }
}

/// Whether calls of this function, by CUPTI's name for it, are left out.
pub fn is_quiet(name: &[u8]) -> bool {
    let matches = |quiet: &str| {
        let rest = name.strip_prefix(quiet.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"_v") || rest.starts_with(b"_pts"))
    };
    NAMES.iter().any(|quiet| matches(quiet))
}
