//! Work in the middle of the program's own calls that the program must not see.

use libc::c_int;

unsafe extern "C-unwind" {
    /// The C library's. It may act on a cancellation where the program asked for that at any time.
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}

/// `PTHREAD_CANCEL_DISABLE`
const DISABLE: c_int = 1;

/// Does `work` such that the thread's errno stays as it was, and that a cancellation which is pending
/// waits for the program: opening a file would act on it, in a call that never does.
pub fn unseen<R>(work: impl FnOnce() -> R) -> R {
    let mut state = 0;
    // SAFETY: writes the state there was; errno is the thread's own.
    let (errno, disabled) =
        unsafe { (libc::__errno_location(), pthread_setcancelstate(DISABLE, &mut state) == 0) };
    // SAFETY: as above.
    let before = unsafe { *errno };
    let result = work();
    if disabled {
        // SAFETY: the state there was.
        unsafe { pthread_setcancelstate(state, std::ptr::null_mut()) };
    }
    // SAFETY: as above.
    unsafe { *errno = before };
    result
}
