//! Where threads are that wait, and that end the waits of others; what that may cost.
//!
//! A place costs a microsecond or more, which a program that passes its locks around 25,000 times a second would notice.
//! So each process has a budget: a share of the time that passed. What it does not allow is counted.
//!
//! A thread keeps its place before it waits, when it has nothing else to do. It is written once the wait proves long.

use crate::observe::{python, stacks};
use crate::sys::shielded::shielded;
use crate::write::writer::Writer;
use crate::write::{switch, thread_writer};
use interpose::{Layer, MOST_THREADS, Ns, Thread, Ticks, Wait};
use spool::{Place, PythonFrame, Unplaced};
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI64, AtomicU64};

/// Most native frames of a place: the innermost ones.
const MOST_NATIVE: usize = 16;

/// One part of the time that passes may be spent on places: half a hundredth.
const SHARE: i64 = 200;

/// Time whose earnings may be spent at once, and for places of long waits as much ahead of time, ns.
const SAVED: Ns = 3_000_000_000;

/// Every wait reads these, and few write them: they have a cache line of their own.
#[repr(align(64))]
struct Budget {
    /// Until when everything earned is spent, ticks: places are free of charge while that lies in the past.
    spent_until: AtomicI64,
    /// [`SAVED`] in ticks.
    saved: AtomicI64,
    /// Number of the last place.
    last: AtomicU64,
}

static BUDGET: Budget =
    Budget { spent_until: AtomicI64::new(0), saved: AtomicI64::new(SAVED), last: AtomicU64::new(0) };

/// Places that the budget did not allow since they were last written. Of each thread: a program that passes its locks
/// around counts one with each.
#[repr(align(64))]
struct RefusedPlaces(AtomicU64);

/// By [`Thread::place`].
static REFUSED: [RefusedPlaces; MOST_THREADS] = [const { RefusedPlaces(AtomicU64::new(0)) }; MOST_THREADS];

/// A place that is not written yet.
struct PendingPlace {
    /// Its number; 0 for none.
    number: u64,
    native: [u64; MOST_NATIVE],
    native_count: usize,
    python: [PythonFrame; python::MOST],
    python_count: usize,
}

/// By [`Thread::place`].
struct PendingPlaces([UnsafeCell<PendingPlace>; MOST_THREADS]);
// SAFETY: a place is used by the thread that has it, and within its writer, which a signal handler does not get while the
// thread itself has it.
unsafe impl Sync for PendingPlaces {}

static PENDING: PendingPlaces = PendingPlaces([const { UnsafeCell::new(PendingPlace::NONE) }; MOST_THREADS]);

impl PendingPlace {
    const NONE: PendingPlace = PendingPlace {
        number: 0,
        native: [0; MOST_NATIVE],
        native_count: 0,
        python: [const { PythonFrame { file: 0, function: 0, line: 0, zero: 0 } }; python::MOST],
        python_count: 0,
    };

    /// Pending place of a thread, for the code that has its writer.
    fn of(thread: &'static Thread) -> *mut PendingPlace {
        PENDING.0.get(thread.place()).map_or(std::ptr::null_mut(), UnsafeCell::get)
    }

    fn write(&self, writer: &mut Writer) {
        let native = self.native.get(..self.native_count).unwrap_or_default();
        let python = self.python.get(..self.python_count).unwrap_or_default();
        let place = Place { number: self.number, python: python.len() as u64 };
        let parts = [place.bytes(), stacks::bytes_of(native), stacks::bytes_of(python)];
        writer.append(Place::KIND, native.len() as u32, &parts);
    }
}

/// How long a tick is.
pub fn set_scale(saved: impl FnOnce(Ns) -> Ticks) {
    BUDGET.saved.store(saved(SAVED), Relaxed);
}

/// Whether the budget allows the stack of a call that stands for others. One that it does not is nothing lost: the next call is as good.
pub fn may_spend(now: Ticks) -> bool {
    !switch::is_off() && BUDGET.spent_until.load(Relaxed) <= now
}

/// Whether the budget allows the calling thread another place, of a long wait or not; if not, it is counted. While recording
/// is off, nobody asks for one.
pub fn is_allowed(thread: &Thread, now: Ticks, long: bool) -> bool {
    if switch::is_off() {
        return false;
    }
    let ahead = if long { BUDGET.saved.load(Relaxed) } else { 0 };
    let allowed = BUDGET.spent_until.load(Relaxed) <= now + ahead;
    if !allowed && let Some(RefusedPlaces(count)) = REFUSED.get(thread.place()) {
        count.store(count.load(Relaxed) + 1, Relaxed);
    }
    allowed
}

/// Counts what a place cost.
pub fn spend(from: Ticks) {
    let cost = (interpose::now() - from).max(0).saturating_mul(SHARE);
    let least = from - BUDGET.saved.load(Relaxed);
    let spent = |until: i64| Some(until.max(least).saturating_add(cost));
    _ = BUDGET.spent_until.fetch_update(Relaxed, Relaxed, spent);
}

fn next() -> u64 {
    BUDGET.last.fetch_add(1, Relaxed) + 1
}

/// Keeps where the calling thread is: the place's number, 0 for none.
pub fn keep(thread: &'static Thread, long: bool) -> u64 {
    let from = interpose::now();
    if !is_allowed(thread, from, long) {
        return 0;
    }
    let kept = shielded(|| thread_writer::with(thread, |writer| keep_in(writer, thread)));
    spend(from);
    kept.unwrap_or(0)
}

fn keep_in(writer: &mut Writer, thread: &'static Thread) -> u64 {
    // SAFETY: the thread's own, whose writer this is.
    let Some(kept) = (unsafe { PendingPlace::of(thread).as_mut() }) else { return 0 };
    kept.number = 0;
    kept.python_count = python::frames(writer, &mut kept.python);
    // A Python thread is where its Python is: the interpreter's own functions say nothing.
    kept.native_count = if kept.python_count > 0 { 0 } else { stacks::native(&mut kept.native) };
    if kept.python_count + kept.native_count == 0 {
        return 0;
    }
    kept.number = next();
    kept.number
}

/// A number for a place that [`give`] writes soon, 0 for none.
pub fn promise(thread: &'static Thread, long: bool) -> u64 {
    if is_allowed(thread, interpose::now(), long) { next() } else { 0 }
}

/// Writes where the calling thread is, under a number that was promised.
pub fn give(thread: &'static Thread, number: u64) {
    let from = interpose::now();
    shielded(|| {
        thread_writer::with(thread, |writer| {
            if keep_in(writer, thread) == 0 {
                return;
            }
            // SAFETY: the thread's own, whose writer this is.
            if let Some(kept) = unsafe { PendingPlace::of(thread).as_mut() } {
                kept.number = number;
                kept.write(writer);
                kept.number = 0;
            }
        })
    });
    spend(from);
}

/// Writes where the thread `holder` is, which holds Python's GIL at a condition; the place's number, 0 for none.
pub fn of_holder(thread: &'static Thread, condition: usize, holder: u32) -> u64 {
    let from = interpose::now();
    if !is_allowed(thread, from, true) {
        return 0;
    }
    let number = shielded(|| {
        thread_writer::with(thread, |writer| {
            let mut frames = [PythonFrame::default(); python::MOST];
            let count = python::frames_of_holder(writer, condition, holder, &mut frames);
            if count == 0 {
                return 0;
            }
            let place = Place { number: next(), python: count as u64 };
            let frames = frames.get(..count).unwrap_or_default();
            writer.append(Place::KIND, 0, &[place.bytes(), stacks::bytes_of(frames)]);
            place.number
        })
    });
    spend(from);
    number.unwrap_or(0)
}

/// Writes the place that was kept for a wait; false where it is gone, since the thread kept another one.
pub fn write(writer: &mut Writer, thread: &'static Thread, wait: &Wait) -> bool {
    if wait.place == 0 || wait.layer == Layer::Listed {
        return false;
    }
    // SAFETY: the thread's own, whose writer this is.
    let Some(kept) = (unsafe { PendingPlace::of(thread).as_mut() }) else { return false };
    let is_it = kept.number == wait.place;
    if is_it {
        kept.write(writer);
        kept.number = 0;
    }
    is_it
}

/// Writes how many places the budget did not allow: the process ends.
pub fn end(writer: &mut Writer) {
    let count: u64 = REFUSED
        .iter()
        .take(interpose::used_places())
        .map(|RefusedPlaces(count)| count.swap(0, Relaxed))
        .sum();
    if count > 0 {
        writer.append(Unplaced::KIND, 0, &[Unplaced { count }.bytes()]);
    }
}

/// In a fork's child: its file holds no place yet.
pub fn forget() {
    BUDGET.last.store(0, Relaxed);
    BUDGET.spent_until.store(0, Relaxed);
    REFUSED.iter().take(interpose::used_places()).for_each(|RefusedPlaces(count)| count.store(0, Relaxed));
}
