//! A lock that threads sleep for, as for Python's GIL.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::Duration;

/// How long a thread sleeps at most before it looks whether it is to stop: as long as a thread in CPython sleeps before it asks for
/// the GIL (`sys.getswitchinterval`).
const NAP: Duration = Duration::from_millis(5);

/// A lock. A release passes it to the thread that has waited longest, as CPython's does if a thread has asked for the GIL.
#[derive(Default)]
pub struct Lock(Mutex<State>);

#[derive(Default)]
struct State {
    is_held: bool,
    waiting: VecDeque<Arc<Waiter>>,
}

struct Waiter {
    thread: Thread,
    has_it: AtomicBool,
}

impl Lock {
    /// Acquires it. An error of `go_on` ends the wait; no thread acquires the lock after that.
    pub fn acquire<E>(&self, go_on: impl Fn() -> Result<(), E>) -> Result<(), E> {
        let Some(waiter) = self.comes() else { return Ok(()) };
        while !waiter.has_it.load(Acquire) {
            go_on()?;
            std::thread::park_timeout(NAP);
        }
        Ok(())
    }

    /// Nothing if the thread has acquired the lock.
    fn comes(&self) -> Option<Arc<Waiter>> {
        let mut state = self.state();
        if !std::mem::replace(&mut state.is_held, true) {
            return None;
        }
        let waiter = Arc::new(Waiter { thread: std::thread::current(), has_it: AtomicBool::new(false) });
        state.waiting.push_back(waiter.clone());
        Some(waiter)
    }

    /// Releases it.
    pub fn release(&self) {
        let mut state = self.state();
        let next = state.waiting.pop_front();
        state.is_held = next.is_some();
        drop(state);
        if let Some(waiter) = next {
            waiter.has_it.store(true, Release);
            waiter.thread.unpark();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn never() -> Result<(), Infallible> {
        Ok(())
    }

    #[test]
    fn one_thread_at_a_time_has_it_in_the_order_in_which_they_came() {
        let (lock, order) = (Lock::default(), Mutex::new(Vec::new()));
        let waiting = || lock.state().waiting.len();
        std::thread::scope(|scope| {
            lock.acquire(never).unwrap();
            for thread in 0..3 {
                let (lock, order) = (&lock, &order);
                scope.spawn(move || {
                    lock.acquire(never).unwrap();
                    order.try_lock().expect("no other thread has the lock").push(thread);
                    lock.release();
                });
                while waiting() <= thread {
                    std::thread::yield_now();
                }
            }
            lock.release();
        });
        assert_eq!(order.into_inner().unwrap(), [0, 1, 2]);
        lock.acquire(|| Err(())).expect("it is free");
        assert_eq!(lock.acquire(|| Err("stop")), Err("stop"));
    }
}
