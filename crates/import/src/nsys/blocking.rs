//! Functions of the operating system's runtime library in which threads wait: what for, and in which system call.

use trace::{LockKind, LockMode};

/// Target of a thread's wait in a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Awaited {
    /// A lock, or another thread.
    Lock(LockKind, LockMode),
    /// An event or a time: the function does nothing but wait.
    Event(&'static str),
    /// Data: the function waits and copies.
    Data(&'static str),
}

impl Awaited {
    /// The system call in which the thread is blocked.
    pub(super) fn system_call(self) -> &'static str {
        match self {
            Awaited::Lock(..) => "futex",
            Awaited::Event(call) | Awaited::Data(call) => call,
        }
    }
}

/// Target of a thread's wait in the function of that name; `None` if it does not wait there, or not only there.
pub(super) fn awaited(function: &str) -> Option<Awaited> {
    use LockMode::{Exclusive, Shared, Unknown};
    let lock = |kind, mode| Some(Awaited::Lock(kind, mode));
    match function.trim_start_matches('_').trim_end_matches("64") {
        "pthread_mutex_lock" | "pthread_mutex_timedlock" | "pthread_mutex_clocklock" => {
            lock(LockKind::Mutex, Exclusive)
        }
        "pthread_rwlock_rdlock" | "pthread_rwlock_timedrdlock" | "pthread_rwlock_clockrdlock" => {
            lock(LockKind::RwLock, Shared)
        }
        "pthread_rwlock_wrlock" | "pthread_rwlock_timedwrlock" | "pthread_rwlock_clockwrlock" => {
            lock(LockKind::RwLock, Exclusive)
        }
        "pthread_spin_lock" => lock(LockKind::Spin, Exclusive),
        "pthread_cond_wait" | "pthread_cond_timedwait" | "pthread_cond_clockwait" => {
            lock(LockKind::Condition, Unknown)
        }
        "sem_wait" | "sem_timedwait" | "sem_clockwait" => lock(LockKind::Semaphore, Unknown),
        "pthread_barrier_wait" => lock(LockKind::Barrier, Unknown),
        "pthread_join" | "pthread_timedjoin_np" | "pthread_clockjoin_np" => lock(LockKind::Join, Unknown),
        "poll" | "poll_chk" => Some(Awaited::Event("poll")),
        "ppoll" | "ppoll_chk" => Some(Awaited::Event("ppoll")),
        "select" => Some(Awaited::Event("select")),
        "pselect" => Some(Awaited::Event("pselect6")),
        "epoll_wait" => Some(Awaited::Event("epoll_wait")),
        "epoll_pwait" | "epoll_pwait2" => Some(Awaited::Event("epoll_pwait")),
        "sleep" | "usleep" | "nanosleep" | "clock_nanosleep" => Some(Awaited::Event("clock_nanosleep")),
        "pause" => Some(Awaited::Event("pause")),
        "sigwait" | "sigwaitinfo" | "sigtimedwait" => Some(Awaited::Event("rt_sigtimedwait")),
        "sigsuspend" => Some(Awaited::Event("rt_sigsuspend")),
        "wait" | "waitpid" | "wait3" | "wait4" => Some(Awaited::Event("wait4")),
        "waitid" => Some(Awaited::Event("waitid")),
        "accept" | "accept4" => Some(Awaited::Event("accept")),
        "read" | "fread" | "fgets" | "getline" => Some(Awaited::Data("read")),
        "readv" | "preadv" => Some(Awaited::Data("readv")),
        "pread" => Some(Awaited::Data("pread64")),
        "write" | "fwrite" | "fputs" | "fflush" => Some(Awaited::Data("write")),
        "writev" | "pwritev" => Some(Awaited::Data("writev")),
        "pwrite" => Some(Awaited::Data("pwrite64")),
        "recv" | "recvfrom" | "recv_chk" | "recvfrom_chk" => Some(Awaited::Data("recvfrom")),
        "recvmsg" => Some(Awaited::Data("recvmsg")),
        "send" | "sendto" => Some(Awaited::Data("sendto")),
        "sendmsg" => Some(Awaited::Data("sendmsg")),
        "connect" => Some(Awaited::Data("connect")),
        "fsync" => Some(Awaited::Data("fsync")),
        "fdatasync" => Some(Awaited::Data("fdatasync")),
        "flock" => Some(Awaited::Data("flock")),
        "ioctl" => Some(Awaited::Data("ioctl")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_wait_for_locks_events_or_data() {
        let lock = Awaited::Lock(LockKind::RwLock, LockMode::Shared);
        assert_eq!(awaited("pthread_rwlock_rdlock"), Some(lock));
        assert_eq!(lock.system_call(), "futex");
        assert_eq!(awaited("usleep"), Some(Awaited::Event("clock_nanosleep")));
        assert_eq!(awaited("__poll_chk"), Some(Awaited::Event("poll")));
        assert_eq!(awaited("pread64"), Some(Awaited::Data("pread64")));
        assert_eq!((awaited("pthread_create"), awaited("mmap64")), (None, None));
    }
}
