//! The writer of each thread, which a signal handler must not use in the middle of a record.

use crate::write::writer::{Fact, Writer};
use crate::write::{process, switch, thread_end};
use interpose::{Room, Span, Thread};
use spool::ThreadEnd;
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, compiler_fence};

#[repr(C)]
struct Slot {
    /// In use: a signal handler that gets here must not write into the middle of a record.
    busy: AtomicBool,
    /// The thread that it is in use by, or was last.
    owner: AtomicU32,
    writer: UnsafeCell<Writer>,
}

const _: () = assert!(size_of::<Slot>() <= size_of::<Room>() && align_of::<Slot>() <= align_of::<Room>());

impl Slot {
    /// The thread's.
    #[inline]
    fn of(thread: &'static Thread) -> &'static Slot {
        // SAFETY: room enough, used for nothing else; the zeros that it begins with are a slot of nobody's.
        unsafe { &*thread.room().cast::<Slot>() }
    }

    /// Runs `write` with its writer, unless that is in use.
    #[inline]
    fn with<R>(&self, write: impl FnOnce(&mut Writer) -> R) -> Option<R> {
        // SAFETY: only its thread uses it, and `take` keeps it from using it twice.
        let result = write(unsafe { &mut *self.take()? });
        self.give_back();
        Some(result)
    }

    /// The writer, unless it is in use; in use until it is given back.
    #[inline(always)]
    fn take(&self) -> Option<*mut Writer> {
        if self.busy.load(Relaxed) {
            return None;
        }
        self.busy.store(true, Relaxed);
        // A signal handler on this thread must see it before anything of the writer changes.
        compiler_fence(SeqCst);
        Some(self.writer.get())
    }

    #[inline(always)]
    fn give_back(&self) {
        compiler_fence(SeqCst);
        self.busy.store(false, Relaxed);
    }

    /// A thread that has no chunk yet comes: one that ended in the middle of a record, by `longjmp` out of a
    /// signal handler, is not in it any more. A signal handler may do this a second time.
    #[cold]
    #[inline(never)]
    fn hand_over(&self, thread: &Thread) {
        if self.owner.load(Relaxed) != thread.tid() {
            self.busy.store(false, Relaxed);
            self.owner.store(thread.tid(), Relaxed);
        }
    }
}

/// A thread ended; its place may be another's from now on.
pub fn ended(thread: &'static Thread) {
    let slot = Slot::of(thread);
    // SAFETY: only its thread uses it, which does nothing else any more: a record in whose middle it ended is not
    // complete.
    let writer = unsafe { &mut *slot.writer.get() };
    if slot.owner.load(Relaxed) != thread.tid() || writer.is_unused() {
        return;
    }
    if !switch::is_off() {
        write_end(writer, thread.tid());
    }
    if process::keeps_last() {
        writer.give_up();
    }
}

/// Writes the end of the calling thread, with what the kernel counted of it.
#[cold]
fn write_end(writer: &mut Writer, tid: u32) {
    if let Some(end) = thread_end::record(tid) {
        writer.append(ThreadEnd::KIND, 0, &[end.bytes()]);
    }
}

/// Runs `write` with the thread's writer, unless recording has not begun, or it is in use further up this
/// thread's stack.
#[inline]
pub fn with<R>(thread: &'static Thread, write: impl FnOnce(&mut Writer) -> R) -> Option<R> {
    // A child that ran no handler of `fork` has its parent's slots, and no file.
    process::header()?;
    let slot = Slot::of(thread);
    let fresh = thread.is_unplaced();
    if fresh {
        slot.hand_over(thread);
    }
    slot.with(|writer| {
        if fresh {
            writer.change_hands(thread);
        }
        write(writer)
    })
}

/// Appends a successful launch of a thread that has a chunk, if the chunk has all else; false when the
/// record needs more than that, or the writer is in use, or a pause came before, or the launch's stack is to be written.
/// Where CUPTI reports ids, that of the launch takes the place of the fact.
#[inline(always)]
pub fn launch(
    thread: &'static Thread,
    function: u32,
    span: Span,
    stream: u64,
    fact: Fact,
    has_id: bool,
) -> bool {
    // As `with`, but a part of the launch's wrapper: the compiler keeps closures apart.
    let slot = Slot::of(thread);
    let Some(writer) = slot.take() else { return false };
    // SAFETY: only its thread uses it, and `take` keeps it from using it twice.
    let writer = unsafe { &mut *writer };
    let fact = if has_id { writer.reported_id().unwrap_or(fact) } else { fact };
    let pause = process::STATE.pause.load(Relaxed);
    let is_written = !writer.rest().is_sample_due()
        && writer.pause(span.start) < pause
        && writer.launch(function, span, stream, fact);
    if is_written && has_id {
        writer.rest().correlation = 0;
    }
    slot.give_back();
    is_written
}

/// Appends a successful call by a function whose arguments say nothing, as [`launch`].
#[inline]
pub fn plain(thread: &'static Thread, function: u32, span: Span) -> bool {
    if thread.is_unplaced() {
        return false;
    }
    let slot = Slot::of(thread);
    let Some(writer) = slot.take() else { return false };
    // SAFETY: as above.
    let writer = unsafe { &mut *writer };
    let is_written = !writer.rest().is_sample_due()
        && writer.pause(span.start) < process::STATE.pause.load(Relaxed)
        && writer.plain(function, span);
    if is_written && process::STATE.tells_ids.load(Relaxed) {
        // That of a function that is not wrapped.
        writer.rest().correlation = 0;
    }
    slot.give_back();
    is_written
}

/// Like [`with`], but for the thread that calls.
pub fn here<R>(write: impl FnOnce(&mut Writer) -> R) -> Option<R> {
    with(Thread::current()?, write)
}
