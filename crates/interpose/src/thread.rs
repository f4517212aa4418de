//! A thread of the process that acquired a watched lock or made a wrapped call: the call that it is in, and its locks.

use crate::lock_kind::LockMode;
use crate::process_state::{CALLING, CHECKED, PROCESS_STATE};
use crate::thread_variable;
use crate::ticks::{Ticks, counter};
use std::cell::UnsafeCell;
use std::ptr::{null, null_mut};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, compiler_fence,
};

/// Most threads that are known at once. Miri looks at all of a table whenever one is borrowed.
pub const MOST: usize = if cfg!(miri) { 16 } else { 4096 };

/// Most locks of a thread that are known at once. The driver holds two or three.
pub(crate) const MOST_HELD: usize = 8;

/// A host thread. Only its own thread writes to it; others read it while they wait for a lock that
/// it holds.
#[repr(C, align(128))]
pub struct Thread {
    /// Where its calls are noted: `own` while it is null, or a place that was given.
    progress: AtomicPtr<Progress>,
    room: UnsafeCell<Room>,
    held: AtomicUsize,
    /// The locks it holds, in the order in which it acquired them: addresses, plus [`SHARED`] where it holds one shared.
    locks: [AtomicUsize; MOST_HELD],
    pub(crate) own: Progress,
    /// It made a wrapped call before it noted its calls where it does now.
    called: AtomicBool,
}

// SAFETY: of what is not atomic, only the thread's own user makes use, on that thread.
unsafe impl Sync for Thread {}

/// Room of a thread's own for the user of its hooks: with what a call looks at, in one cache line. Zeros
/// when the first thread in its place begins; kept for those that get the place later.
pub type Room = [u64; 7];

/// Locks are aligned to four bytes or more.
const SHARED: usize = 1;

/// Current call of a thread, and counts of its calls since this place is used. Zeros are valid.
#[repr(C)]
pub struct Progress {
    /// Wrapped calls begun.
    pub calls: AtomicU64,
    /// The name of the function it is in, as [`crate::Hooks::name`] gave it; 0 for none.
    pub function: AtomicU32,
    /// Of the calls begun, those that launch a kernel.
    pub launches: AtomicU32,
    /// When that call began.
    pub since: AtomicI64,
}

impl OuterCall {
    #[inline]
    fn of(call: CallRef) -> OuterCall {
        OuterCall { call, stack: thread_variable::call_stack() }
    }
}

impl Progress {
    pub(crate) fn call(&self) -> CallRef {
        CallRef { function: self.function.load(Relaxed), since: self.since.load(Relaxed) }
    }
}

/// A call in progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CallRef {
    /// The function's name, as [`crate::Hooks::name`] gave it; 0 for none.
    pub function: u32,
    /// When it began.
    pub since: Ticks,
}

/// The call that another is made in.
#[derive(Clone, Copy)]
pub(crate) struct OuterCall {
    call: CallRef,
    /// Where it is on the stack.
    stack: usize,
}

/// A thread in a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Party {
    /// The kernel's id of the thread; 0 for unknown.
    pub tid: u32,
    /// Its call.
    pub call: CallRef,
}

pub(crate) static THREADS: [Thread; MOST] = [const {
    Thread {
        progress: AtomicPtr::new(null_mut()),
        room: UnsafeCell::new([0; 7]),
        held: AtomicUsize::new(0),
        locks: [const { AtomicUsize::new(0) }; MOST_HELD],
        own: Progress {
            calls: AtomicU64::new(0),
            function: AtomicU32::new(0),
            launches: AtomicU32::new(0),
            since: AtomicI64::new(0),
        },
        called: AtomicBool::new(false),
    }
}; MOST];

/// The kernel's id of the thread in each place; 0 for one that is free. Apart from the threads: who
/// looks one up does not disturb them.
pub(crate) static TIDS: [AtomicU32; MOST] = [const { AtomicU32::new(0) }; MOST];

/// Where the thread in each place notes its calls, as it says itself; null for [`Thread::own`]. Apart from the
/// threads, too: every wait for a lock looks up what its holder does.
pub(crate) static PROGRESS: [AtomicPtr<Progress>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];

/// The process's id.
pub(crate) static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Whether the calling task is none of this process's threads, or none of them is known: a task that has the process's memory
/// may have the thread pointer of one of them, too.
#[cold]
pub(crate) fn is_foreign() -> bool {
    PROCESS_STATE.threads.load(Relaxed) != CHECKED || std::process::id() != PROCESS.load(Relaxed)
}

/// The calling thread is no known one any more.
pub fn leave() {
    thread_variable::set(null());
}

impl Thread {
    /// The calling thread, if it was asked for before.
    #[inline]
    pub(crate) fn known() -> Option<&'static Thread> {
        if PROCESS_STATE.threads.load(Relaxed) != CALLING && is_foreign() {
            return None;
        }
        // SAFETY: null or a place of THREADS.
        unsafe { thread_variable::get().cast::<Thread>().as_ref() }
    }

    /// The kernel's id of it.
    pub fn tid(&self) -> u32 {
        self.id().load(Relaxed)
    }

    /// Its place among all: less than [`MOST`].
    #[inline]
    pub fn place(&self) -> usize {
        const { assert!(MOST.is_power_of_two()) };
        // Less than MOST anyway: so that the compiler knows it, too.
        (std::ptr::from_ref(self).addr() - THREADS.as_ptr().addr()) / size_of::<Thread>() % MOST
    }

    /// Where its id is: at the same place of TIDS as it is of THREADS.
    pub(crate) fn id(&self) -> &'static AtomicU32 {
        &TIDS[self.place()]
    }

    /// Its [`Room`], which nobody else looks at; for the thread itself.
    #[inline]
    pub fn room(&self) -> *mut Room {
        self.room.get()
    }

    /// Where its calls are noted.
    #[inline]
    fn progress(&self) -> &Progress {
        // SAFETY: null or what `note_in` was given, which stays.
        unsafe { self.progress.load(Acquire).as_ref() }.unwrap_or(&self.own)
    }

    /// Notes its calls there from now on; what it is in goes along.
    pub fn note_in(&self, place: &'static Progress) {
        if self.calls() {
            self.called.store(true, Relaxed);
        }
        let call = self.call();
        place.since.store(call.since, Relaxed);
        place.function.store(call.function, Relaxed);
        self.set_call(CallRef::default());
        self.set_progress(std::ptr::from_ref(place).cast_mut());
    }

    pub(crate) fn set_progress(&self, progress: *mut Progress) {
        self.progress.store(progress, Release);
        PROGRESS[self.place()].store(progress, Release);
    }

    /// The wrapped call it is in.
    #[inline]
    pub fn call(&self) -> CallRef {
        self.progress().call()
    }

    /// Whether it ever made a wrapped call.
    #[inline]
    pub(crate) fn calls(&self) -> bool {
        self.called.load(Relaxed) || self.progress().calls.load(Relaxed) > 0
    }

    /// Whether its calls are noted in no place that was given.
    #[inline]
    pub fn is_unplaced(&self) -> bool {
        self.progress.load(Relaxed).is_null()
    }

    /// The function of the call that it is in; 0 for none. A call is over that a jump or an exception left: nobody said so,
    /// but its frame is gone, since the calling function's is further up the stack.
    #[inline(always)]
    pub fn function(&self) -> u32 {
        let function = self.call().function;
        if function != 0
            && thread_variable::stack() >= thread_variable::call_stack()
            && thread_variable::call_stack() != 0
        {
            return self.leave_call();
        }
        function
    }

    #[cold]
    fn leave_call(&self) -> u32 {
        self.set_call(CallRef::default());
        0
    }

    /// A wrapped call begins, with so many `launches` (0 or 1); the call it is made in.
    #[inline(always)]
    pub(crate) fn enter(&self, call: CallRef, launches: u32) -> OuterCall {
        let progress = self.progress();
        let outer = OuterCall::of(progress.call());
        self.enter_in(progress, call, launches);
        outer
    }

    /// A call is over; the thread is in the one that it was made in.
    #[inline]
    pub(crate) fn leave_to(&self, outer: OuterCall) {
        self.set_call(outer.call);
        thread_variable::set_call_stack(outer.stack);
    }

    /// A query begins; the call it is made in. It counts as a call if it takes long: [`Thread::count_call`].
    #[inline(always)]
    pub(crate) fn enter_query(&self, call: CallRef) -> OuterCall {
        self.called.store(true, Relaxed);
        let outer = OuterCall::of(self.call());
        thread_variable::set_call_stack(thread_variable::stack());
        self.set_call(call);
        outer
    }

    /// A query took long.
    pub(crate) fn count_call(&self) {
        let calls = &self.progress().calls;
        calls.store(calls.load(Relaxed) + 1, Relaxed);
    }

    /// A launch begins, now; where it is noted, the call it is part of, and when it began. `None` when it is part of a
    /// call of the same name, or when the thread notes its calls in no place that was given.
    #[inline(always)]
    pub(crate) fn enter_launch(&self, function: u32) -> Option<(&'static Progress, OuterCall, Ticks)> {
        // SAFETY: null or what `note_in` was given, which stays.
        let progress = unsafe { self.progress.load(Acquire).as_ref() }?;
        if progress.function.load(Relaxed) != 0 && self.function() == function {
            return None;
        }
        let outer = OuterCall::of(progress.call());
        let since = counter();
        self.enter_in(progress, CallRef { function, since }, 1);
        Some((progress, outer, since))
    }

    #[inline(always)]
    fn enter_in(&self, progress: &Progress, call: CallRef, launches: u32) {
        progress.calls.store(progress.calls.load(Relaxed) + 1, Relaxed);
        progress.launches.store(progress.launches.load(Relaxed).wrapping_add(launches), Relaxed);
        thread_variable::set_call_stack(thread_variable::stack());
        self.set_call_in(progress, call);
    }

    /// The launch that was noted there is over; the thread is in the call around it.
    #[inline]
    pub(crate) fn leave_launch(&self, progress: &Progress, outer: OuterCall) {
        self.set_call_in(progress, outer.call);
        thread_variable::set_call_stack(outer.stack);
    }

    /// It is in that call now.
    #[inline]
    pub(crate) fn set_call(&self, call: CallRef) {
        self.set_call_in(self.progress(), call);
    }

    #[inline]
    fn set_call_in(&self, progress: &Progress, call: CallRef) {
        progress.since.store(call.since, Relaxed);
        progress.function.store(call.function, Relaxed);
        compiler_fence(SeqCst);
        if !std::ptr::eq(progress, self.progress.load(Acquire)) {
            self.move_call(progress, call);
        }
    }

    /// It is noted in no place that was given, or a signal handler had the thread's calls noted elsewhere from
    /// now on.
    #[cold]
    #[inline(never)]
    fn move_call(&self, before: &Progress, call: CallRef) {
        if !std::ptr::eq(before, self.progress()) {
            before.function.store(0, Relaxed);
            self.set_call(call);
        }
    }

    /// The thread and its call.
    pub(crate) fn party(&self) -> Party {
        Party { tid: self.tid(), call: self.call() }
    }

    /// Notes that it acquired a lock. More than it can note are held unseen.
    #[inline]
    pub(crate) fn hold(&self, lock: usize, mode: LockMode) {
        let held = self.held.load(Relaxed);
        if let Some(place) = self.locks.get(held) {
            place.store(lock | (mode == LockMode::Shared) as usize, Relaxed);
            self.held.store(held + 1, Relaxed);
        }
    }

    /// Notes that it releases a lock, unless it was not seen to acquire it.
    #[inline]
    pub(crate) fn release(&self, lock: usize) {
        let last = self.held.load(Relaxed).wrapping_sub(1);
        match self.locks.get(last).map(|last| last.load(Relaxed)) {
            Some(noted) if noted & !SHARED == lock => self.held.store(last, Relaxed),
            // Mostly it is the last one acquired.
            _ => self.release_inner(lock),
        }
    }

    /// Like [`Thread::release`], but for a lock that was acquired before others.
    #[cold]
    fn release_inner(&self, lock: usize) {
        let Some((at, _)) = self.find(lock) else { return };
        let held = self.held.load(Relaxed).min(MOST_HELD);
        for (to, from) in self.locks[..held].iter().skip(at).zip(self.locks[..held].iter().skip(at + 1)) {
            to.store(from.load(Relaxed), Relaxed);
        }
        self.held.store(held - 1, Relaxed);
    }

    /// Where it noted a lock, and how it holds it.
    fn find(&self, lock: usize) -> Option<(usize, LockMode)> {
        let held = self.held.load(Relaxed).min(MOST_HELD);
        let mut noted = self.locks[..held].iter().map(|noted| noted.load(Relaxed)).enumerate().rev();
        noted.find(|(_, noted)| noted & !SHARED == lock).map(|(at, noted)| (at, mode(noted)))
    }

    /// How it holds a lock.
    pub(crate) fn holds(&self, lock: usize) -> Option<LockMode> {
        self.find(lock).map(|(_, mode)| mode)
    }

    /// The calling thread ends: it is no longer in this place.
    pub(crate) fn leave(&self) {
        leave();
    }

    pub(crate) fn clear(&self) {
        self.held.store(0, Relaxed);
        self.called.store(false, Relaxed);
        self.own.calls.store(0, Relaxed);
        self.set_call(CallRef::default());
        self.set_progress(null_mut());
    }
}

/// How a lock is held that is noted so.
fn mode(noted: usize) -> LockMode {
    if noted & SHARED == 0 { LockMode::Exclusive } else { LockMode::Shared }
}
