//! The threads of the process that acquired a watched lock or made a wrapped call.

use crate::own::{CALLING, CHECKED, OWN};
use crate::{LockMode, Ticks, clock, current};
use libc::c_void;
use std::cell::UnsafeCell;
use std::ptr::{null, null_mut};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, compiler_fence,
};

/// Most threads that are known at once. Miri looks at all of a table whenever one is borrowed.
pub const MOST: usize = if cfg!(miri) { 16 } else { 4096 };

/// Most locks of a thread that are known at once. The driver holds two or three.
const MOST_HELD: usize = 8;

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
    own: Progress,
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

impl Outer {
    #[inline]
    fn of(call: CallRef) -> Outer {
        Outer { call, stack: current::call_stack() }
    }
}

impl Progress {
    fn call(&self) -> CallRef {
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
pub(crate) struct Outer {
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

static THREADS: [Thread; MOST] = [const {
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
static TIDS: [AtomicU32; MOST] = [const { AtomicU32::new(0) }; MOST];

/// Where the thread in each place notes its calls, as it says itself; null for [`Thread::own`]. Apart from the
/// threads, too: every wait for a lock looks up what its holder does.
static PROGRESS: [AtomicPtr<Progress>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];

/// Places used so far; those behind were never touched.
static USED: AtomicUsize = AtomicUsize::new(0);

/// Places whose threads ended and that no other thread has yet.
static FREE: AtomicUsize = AtomicUsize::new(0);

/// The key whose destructor runs when a thread ends; plus one, 0 for none.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Function that an ending thread calls with its [`Thread`], to [`Thread::end`] it. A cancellation may pass through it.
pub type Ended = unsafe extern "C-unwind" fn(*mut c_void);

unsafe extern "C" {
    fn pthread_key_create(key: *mut libc::pthread_key_t, ended: Option<Ended>) -> libc::c_int;
}

/// The process's id.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Whether the calling task is none of this process's threads, or none of them is known: a task that has the process's memory
/// may have the thread pointer of one of them, too.
#[cold]
fn is_foreign() -> bool {
    OWN.threads.load(Relaxed) != CHECKED || std::process::id() != PROCESS.load(Relaxed)
}

/// The calling thread is no known one any more.
pub fn leave() {
    current::set(null());
}

/// Makes the key, early, while keys are few: a thread's first ones cost no memory.
pub fn prepare(ended: Ended) {
    PROCESS.store(std::process::id(), Relaxed);
    let mut key = 0;
    // SAFETY: `ended` stays loaded as long as the process lives, and is called with what `claim` puts there.
    if unsafe { pthread_key_create(&mut key, Some(ended)) } == 0 {
        KEY.store(key + 1, Release);
    }
}

impl Thread {
    /// The calling thread; `None` when too many are known.
    #[inline]
    pub fn current() -> Option<&'static Thread> {
        Thread::known().or_else(claim)
    }

    /// The calling thread, if it was asked for before.
    #[inline]
    pub(crate) fn known() -> Option<&'static Thread> {
        if OWN.threads.load(Relaxed) != CALLING && is_foreign() {
            return None;
        }
        // SAFETY: null or a place of THREADS.
        unsafe { current::get().cast::<Thread>().as_ref() }
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
    fn id(&self) -> &'static AtomicU32 {
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

    fn set_progress(&self, progress: *mut Progress) {
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
        if function != 0 && current::stack() >= current::call_stack() && current::call_stack() != 0 {
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
    pub(crate) fn enter(&self, call: CallRef, launches: u32) -> Outer {
        let progress = self.progress();
        let outer = Outer::of(progress.call());
        self.enter_in(progress, call, launches);
        outer
    }

    /// A call is over; the thread is in the one that it was made in.
    #[inline]
    pub(crate) fn leave_to(&self, outer: Outer) {
        self.set_call(outer.call);
        current::set_call_stack(outer.stack);
    }

    /// A query begins; the call it is made in. It counts as a call if it takes long: [`Thread::count_call`].
    #[inline(always)]
    pub(crate) fn enter_query(&self, call: CallRef) -> Outer {
        self.called.store(true, Relaxed);
        let outer = Outer::of(self.call());
        current::set_call_stack(current::stack());
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
    pub(crate) fn enter_launch(&self, function: u32) -> Option<(&'static Progress, Outer, Ticks)> {
        // SAFETY: null or what `note_in` was given, which stays.
        let progress = unsafe { self.progress.load(Acquire).as_ref() }?;
        if progress.function.load(Relaxed) != 0 && self.function() == function {
            return None;
        }
        let outer = Outer::of(progress.call());
        let since = clock::counter();
        self.enter_in(progress, CallRef { function, since }, 1);
        Some((progress, outer, since))
    }

    #[inline(always)]
    fn enter_in(&self, progress: &Progress, call: CallRef, launches: u32) {
        progress.calls.store(progress.calls.load(Relaxed) + 1, Relaxed);
        progress.launches.store(progress.launches.load(Relaxed).wrapping_add(launches), Relaxed);
        current::set_call_stack(current::stack());
        self.set_call_in(progress, call);
    }

    /// The launch that was noted there is over; the thread is in the call around it.
    #[inline]
    pub(crate) fn leave_launch(&self, progress: &Progress, outer: Outer) {
        self.set_call_in(progress, outer.call);
        current::set_call_stack(outer.stack);
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
    fn holds(&self, lock: usize) -> Option<LockMode> {
        self.find(lock).map(|(_, mode)| mode)
    }

    /// The calling thread ends: it is no longer in this place.
    pub(crate) fn leave(&self) {
        leave();
    }

    /// The place is free for another thread.
    pub(crate) fn end(&'static self) {
        self.clear();
        if let Some(hooks) = crate::hooks() {
            (hooks.ended)(self);
        }
        // Whatever the hook did: who gets the place next notes its calls in no place yet.
        self.set_progress(null_mut());
        self.id().store(0, Release);
        FREE.fetch_add(1, Relaxed);
    }

    fn clear(&self) {
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

/// The program forbade itself system calls.
static NO_CALLS: AtomicBool = AtomicBool::new(false);

/// From now on no system call is made: further threads are not known.
pub fn forbid_system_calls() {
    NO_CALLS.store(true, Relaxed);
}

/// A place for the calling thread: a new one, else one whose thread ended.
#[cold]
fn claim() -> Option<&'static Thread> {
    if current::is_elsewhere() || OWN.threads.load(Relaxed) != CALLING && is_foreign() {
        return None;
    }
    if NO_CALLS.load(Relaxed) {
        return unknown();
    }
    // SAFETY: asks for a number. The C library has a function for it since glibc 2.30.
    let tid = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
    // Those of threads that ended first: who looks through the places looks at few.
    let thread = if FREE.load(Relaxed) > 0 { claim_free(tid) } else { None };
    let Some(thread) = thread.or_else(|| claim_new(tid)).or_else(|| claim_free(tid)) else {
        return unknown();
    };
    current::set((&raw const *thread).cast());
    if let Some(key) = KEY.load(Acquire).checked_sub(1) {
        // SAFETY: a key that was made; the value is only compared and passed to `ended`.
        unsafe { libc::pthread_setspecific(key, (&raw const *thread).cast()) };
    }
    Some(thread)
}

/// A place that no thread had before.
fn claim_new(tid: u32) -> Option<&'static Thread> {
    loop {
        let Some(new) = THREADS.get(USED.fetch_add(1, Relaxed)) else {
            USED.store(MOST, Relaxed);
            return None;
        };
        // Another thread that looks for a free place may have found it.
        if new.id().compare_exchange(0, tid, AcqRel, Relaxed).is_ok() {
            return Some(new);
        }
    }
}

/// The place of a thread that ended.
fn claim_free(tid: u32) -> Option<&'static Thread> {
    let free = |id: &AtomicU32| id.compare_exchange(0, tid, AcqRel, Relaxed).is_ok();
    let found = TIDS[..used()].iter().position(free).and_then(|free| THREADS.get(free))?;
    _ = FREE.fetch_update(Relaxed, Relaxed, |free| free.checked_sub(1));
    Some(found)
}

/// There is no place left; reported once a thread.
fn unknown() -> Option<&'static Thread> {
    if !current::set_unknown()
        && let Some(hooks) = crate::hooks()
    {
        (hooks.thread_unknown)();
    }
    None
}

/// The threads that hold a lock: one of them, one that holds it exclusively if there is one, and how many.
pub fn holders(lock: usize, but: &Thread) -> (Party, u32) {
    let (mut holder, mut count) = (Party::default(), 0);
    for thread in &THREADS[..USED.load(Relaxed).min(MOST)] {
        if thread.tid() == 0 || std::ptr::eq(thread, but) {
            continue;
        }
        if let Some(mode) = thread.holds(lock) {
            count += 1;
            if count == 1 || mode == LockMode::Exclusive {
                holder = thread.party();
            }
        }
    }
    (holder, count)
}

/// How many places of threads were used so far.
pub fn used() -> usize {
    USED.load(Relaxed).min(MOST)
}

/// Calls `visit` with each thread that is known.
pub fn each(visit: &mut dyn FnMut(&'static Thread)) {
    THREADS[..used()].iter().filter(|thread| thread.tid() != 0).for_each(visit);
}

/// Like [`party`], but of a thread that had a place when it was last seen.
pub fn party_at(place: usize, tid: u32) -> Party {
    match THREADS.get(place).filter(|thread| thread.tid() == tid) {
        Some(thread) => {
            // SAFETY: null or what `note_in` was given, which stays.
            let progress = unsafe { PROGRESS[place].load(Acquire).as_ref() }.unwrap_or(&thread.own);
            Party { tid, call: progress.call() }
        }
        None => party(tid),
    }
}

/// The thread with that id, and its current call if that is known.
pub fn party(tid: u32) -> Party {
    let used = ..USED.load(Relaxed).min(MOST);
    let mut known = TIDS[used].iter().zip(&PROGRESS[used]).zip(&THREADS[used]);
    let known = known.find(|((known, _), _)| known.load(Relaxed) == tid);
    let call = known.map(|((_, progress), thread)| {
        // SAFETY: null or what `note_in` was given, which stays.
        unsafe { progress.load(Acquire).as_ref() }.unwrap_or(&thread.own).call()
    });
    Party { tid, call: call.unwrap_or_default() }
}

/// In a fork's child: no thread is known.
///
/// # Safety
///
/// No thread of the child is known, as while it begins anew.
pub unsafe fn forget_all() {
    PROCESS.store(std::process::id(), Relaxed);
    FREE.store(0, Relaxed);
    for thread in &THREADS[..USED.swap(0, Relaxed).min(MOST)] {
        // The place it noted its calls in may be the parent's.
        thread.set_progress(null_mut());
        thread.clear();
        thread.id().store(0, Release);
        // SAFETY: the caller's promise: no other thread looks at it.
        unsafe { *thread.room() = [0; 7] };
    }
    current::set(null());
    if let Some(key) = KEY.load(Acquire).checked_sub(1) {
        // Its place may be another thread's by the time it ends.
        // SAFETY: a key that was made.
        unsafe { libc::pthread_setspecific(key, null()) };
    }
}

#[cfg(test)]
mod tests;
