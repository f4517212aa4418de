//! CUPTI's correlation ids of calls that issue work, told as each enters the driver: 50 to 100 ns a launch (H200).
//!
//! The order of calls and operations says the same, at no cost, as long as no two threads issue into one stream at the same time.
//! But when they do it is too late: where CUPTI began to tell ids while another thread was in a copy from pageable memory, one
//! process of six was ended by signal 11 (H200, driver 580.159.04). So it tells them from the start, before any call.

use super::client::{CUPTI, ON};
use crate::sys::env;
use crate::write::process::STATE;
use crate::write::thread_writer;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr};

/// `CUPTI_CB_DOMAIN_DRIVER_API`
const DRIVER: c_int = 1;
/// Functions of the driver have lower numbers (CUDA 13.0: 800).
const LAST: u32 = 1500;
/// Beginnings of functions that issue work.
const ISSUING: [&[u8]; 5] =
    [b"cuLaunchKernel", b"cuLaunchCooperativeKernel", b"cuGraphLaunch", b"cuMemcpy", b"cuMemset"];

static ASKED: AtomicBool = AtomicBool::new(false);
static SUBSCRIBER: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Has CUPTI tell ids, if it can; where the join by order is to be compared with them, only for that.
pub fn begin() {
    STATE.checks_join.store(env::text(spool::VAR_CHECK_JOIN) == Some(b"1"), Relaxed);
    tell();
}

/// Has CUPTI tell ids from now on.
fn tell() {
    let (true, Some(cupti)) = (ON.load(Acquire), CUPTI.get()) else { return };
    let (Some(subscribe), Some(enable)) = (cupti.subscribe, cupti.enable_callback) else { return };
    if ASKED.swap(true, AcqRel) {
        return;
    }
    let mut subscriber = null_mut();
    // SAFETY: CUPTI's function; `entered` is a function of this library, which is never unloaded.
    if unsafe { subscribe(&mut subscriber, entered, null_mut()) } != 0 {
        return;
    }
    SUBSCRIBER.store(subscriber, Release);
    for number in 1..LAST {
        let mut name: *const c_char = std::ptr::null();
        // SAFETY: CUPTI writes a name that lives as long as it does, or fails.
        let known = unsafe { (cupti.callback_name)(DRIVER, number, &mut name) } == 0 && !name.is_null();
        // SAFETY: as above; names end in a zero byte.
        let issues = |start: &&[u8]| unsafe { CStr::from_ptr(name) }.to_bytes().starts_with(start);
        if known && ISSUING.iter().any(issues) {
            // SAFETY: CUPTI's function, with a number it gave a name to.
            unsafe { enable(1, subscriber, DRIVER, number) };
        }
    }
    STATE.tells_ids.store(true, Release);
}

/// CUPTI is another client's from now on.
pub fn end() {
    STATE.tells_ids.store(false, Relaxed);
    let subscriber = SUBSCRIBER.swap(null_mut(), AcqRel);
    if let (false, Some(unsubscribe)) =
        (subscriber.is_null(), CUPTI.get().and_then(|cupti| cupti.unsubscribe))
    {
        // SAFETY: CUPTI's function, with what it gave.
        unsafe { unsubscribe(subscriber) };
    }
}

/// In a fork's child: CUPTI does not work there.
pub fn forget() {
    STATE.tells_ids.store(false, Relaxed);
    SUBSCRIBER.store(null_mut(), Relaxed);
    ASKED.store(false, Relaxed);
}

/// `CUpti_CallbackData` (cupti_callbacks.h), as far as it is read.
#[repr(C)]
struct Data {
    /// 0 for the entry, 1 for the return.
    site: c_int,
    pointers: [*const c_void; 5],
    context: u32,
    correlation_data: *const u64,
    correlation: u32,
}

unsafe extern "C-unwind" fn entered(_: *mut c_void, _: c_int, _: u32, data: *const c_void) {
    // SAFETY: of a call of the driver CUPTI passes such data.
    let data = unsafe { &*data.cast::<Data>() };
    if data.site == 0 {
        thread_writer::here(|writer| writer.rest().correlation = data.correlation);
    }
}
