//! Objects that threads wait for outside of the driver and the listed libraries.

use crate::declare::numbers;

numbers! {
    /// Kind of object that a thread waits for.
    Awaited {
        /// `pthread_mutex_t`
        Mutex = 1,
        /// `pthread_rwlock_t`
        Rwlock = 2,
        /// `pthread_spinlock_t`
        Spin = 3,
        /// Python's global interpreter lock
        Gil = 4,
        /// `pthread_cond_t`
        Condition = 5,
        /// `sem_t`
        Semaphore = 6,
        /// `pthread_barrier_t`
        Barrier = 7,
        /// The end of a thread
        Join = 8,
    }
}
