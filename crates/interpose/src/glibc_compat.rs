//! Functions that the C library has since glibc 2.30 or 2.31, while the capture library runs with 2.28.
//!
//! Their symbols are weak: with an older C library they are null, and nobody calls them, because no program that runs
//! there imports them. Rust declares no weak symbols, so each is reached by a jump in assembly.

use libc::{
    c_int, c_void, clockid_t, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, pthread_t, sem_t, timespec,
};

macro_rules! weak {
    ($($name:ident as $link:literal ($($argument:ident: $type:ty),*);)*) => {
        $(
            #[cfg(target_arch = "x86_64")]
            std::arch::global_asm!(
                concat!(".weak ", stringify!($name)),
                concat!(".globl ", $link),
                concat!(".hidden ", $link),
                concat!(".type ", $link, ",@function"),
                concat!($link, ":"),
                concat!("jmp qword ptr [rip + ", stringify!($name), "@GOTPCREL]"),
            );
            #[cfg(target_arch = "aarch64")]
            std::arch::global_asm!(
                concat!(".weak ", stringify!($name)),
                concat!(".globl ", $link),
                concat!(".hidden ", $link),
                concat!(".type ", $link, ",@function"),
                concat!($link, ":"),
                concat!("adrp x16, :got:", stringify!($name)),
                concat!("ldr x16, [x16, :got_lo12:", stringify!($name), "]"),
                "br x16",
            );
        )*
        unsafe extern "C-unwind" {
            $(
                #[link_name = $link]
                pub fn $name($($argument: $type),*) -> c_int;
            )*
        }
    };
}

weak! {
    pthread_mutex_clocklock as "holdup_glibc_mutex_clocklock"
        (mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec);
    pthread_rwlock_clockrdlock as "holdup_glibc_rwlock_clockrdlock"
        (lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec);
    pthread_rwlock_clockwrlock as "holdup_glibc_rwlock_clockwrlock"
        (lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec);
    pthread_cond_clockwait as "holdup_glibc_cond_clockwait"
        (condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec);
    sem_clockwait as "holdup_glibc_sem_clockwait"
        (semaphore: *mut sem_t, clock: clockid_t, until: *const timespec);
    pthread_clockjoin_np as "holdup_glibc_clockjoin"
        (thread: pthread_t, result: *mut *mut c_void, clock: clockid_t, until: *const timespec);
}
