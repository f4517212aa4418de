//! Records of waits outside of the driver and the listed libraries: for Python's GIL, and of threads that call the
//! driver for each other. Their kinds are 30 to 39.

use crate::record::record;

record! {
    /// A wait of a thread: for Python's GIL, for a lock of the program, or for what another thread does. `tag`: a
    /// [`Awaited`].
    ThreadWait = 30 {
        /// When it began, ticks.
        start: i64,
        /// When the thread went on, ticks.
        end: i64,
        /// When the releaser released the lock or ended the wait, ticks; 0 for unknown.
        released: i64,
        /// Address of the lock or of what is waited for; of a thread that ends, its `pthread_t`.
        lock: u64,
        /// Number of the waiter's [`Place`]; 0 for unknown, as of the following.
        place: u64,
        /// Number of the holder's place.
        holder_place: u64,
        /// Number of the releaser's place.
        releaser_place: u64,
        /// When the waiter's call began, ticks.
        since: i64,
        /// When the holder's call began, ticks.
        holder_since: i64,
        /// When the releaser's call began, ticks.
        releaser_since: i64,
        /// Function the waiter was in (id of its name), 0 for none.
        function: u32,
        /// Function the holder was in (id of its name), 0 for none.
        holder_function: u32,
        /// Function the releaser was in (id of its name), 0 for none.
        releaser_function: u32,
        /// Kernel's id of a thread that held the lock at the start; 0 for unknown.
        holder: u32,
        /// Kernel's id of the thread that released the lock last, or ended the wait; 0 for unknown.
        releaser: u32,
        /// Threads that held the lock at the start.
        holders: u32,
        /// A [`crate::Mode`].
        mode: u32,
        /// Zero.
        zero: u32,
    }
}

record! {
    /// Where a thread was in a wait, or when it ended one. `tag`: native frames that follow, an address (u64) each,
    /// innermost first; then Python frames, a [`crate::PythonFrame`] each, innermost first.
    Place = 31 {
        /// Its number, never 0.
        number: u64,
        /// Python frames.
        python: u64,
    }
}

record! {
    /// Waits of a thread that are counted and have no record. What several of them say adds up. `tag`: an [`Awaited`].
    Tally = 32 {
        /// Kernel's id of the thread.
        tid: u64,
        /// How many.
        count: u64,
        /// How long they took together, ticks.
        time: i64,
    }
}

record! {
    /// How often a place was not looked for because more of them would have slowed the program. What several of them say
    /// adds up.
    Unplaced = 33 {
        /// How many.
        count: u64,
    }
}

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Awaited {
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

impl Awaited {
    /// That of a number.
    pub fn from_number(number: u32) -> Option<Awaited> {
        use Awaited::*;
        let all = [Mutex, Rwlock, Spin, Gil, Condition, Semaphore, Barrier, Join];
        all.into_iter().find(|awaited| *awaited as u32 == number)
    }
}
