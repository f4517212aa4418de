//! Kinds of locks and of other waits, how a lock is held, and whose it is.

/// Layer that a lock belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layer {
    /// Lock of a library that has a [`Site`](crate::Site) of its own.
    Listed,
    /// Lock of any other library, or of the program.
    Program,
    /// The interpreter's own: Python's GIL.
    Interpreter,
}

/// Kinds of locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockKind {
    /// `pthread_mutex_t`
    Mutex,
    /// `pthread_rwlock_t`
    Rwlock,
    /// `pthread_spinlock_t`
    Spin,
    /// Python's GIL
    Gil,
    /// `pthread_cond_t`
    Condition,
    /// `sem_t`
    Semaphore,
    /// `pthread_barrier_t`
    Barrier,
    /// The end of a thread
    Join,
}

impl LockKind {
    /// All of them, in order.
    pub const ALL: [LockKind; 8] = {
        use LockKind::*;
        [Mutex, Rwlock, Spin, Gil, Condition, Semaphore, Barrier, Join]
    };
}

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockMode {
    /// By one thread.
    Exclusive,
    /// By any number of threads at once.
    Shared,
}
