//! Work in the middle of the program's own calls that the program must not see.

use libc::c_int;

unsafe extern "C-unwind" {
    // The C library's. Each may act on a cancellation where the program asked for that at any time.
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    fn pthread_setcanceltype(kind: c_int, before: *mut c_int) -> c_int;
    fn pthread_testcancel();
}

/// `PTHREAD_CANCEL_DISABLE`
const DISABLE: c_int = 1;
/// `PTHREAD_CANCEL_DEFERRED` and `PTHREAD_CANCEL_ASYNCHRONOUS`
const DEFERRED: c_int = 0;
const AT_ONCE: c_int = 1;

/// Does `work` such that the thread's errno stays as it was, and that a cancellation which is pending
/// waits for the program: opening a file would act on it, in a call that never does.
pub fn shielded<R>(work: impl FnOnce() -> R) -> R {
    let (mut state, mut kind) = (0, DEFERRED);
    // SAFETY: writes the state and the type there were; errno is the thread's own.
    let (errno, disabled) = unsafe {
        let disabled = pthread_setcancelstate(DISABLE, &mut state) == 0;
        pthread_setcanceltype(DEFERRED, &mut kind);
        (libc::__errno_location(), disabled)
    };
    // SAFETY: as above.
    let before = unsafe { *errno };
    let result = work();
    if disabled {
        // SAFETY: the state there was.
        unsafe { pthread_setcancelstate(state, std::ptr::null_mut()) };
    }
    // SAFETY: as above.
    unsafe { *errno = before };
    if kind == AT_ONCE {
        // SAFETY: the type there was. What came meanwhile is acted on by the function for that: glibc 2.36 forgets the
        // thread's result if it acts as it enables cancellation.
        unsafe {
            pthread_testcancel();
            pthread_setcanceltype(AT_ONCE, std::ptr::null_mut());
        }
    }
    result
}
