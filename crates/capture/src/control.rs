//! Recording is switched off and on while the program runs, by `holdup record`: in memory that all processes of the program
//! share. A thread notices when it makes a call: off after a call that did not take the short way, on before any.
//!
//! While it is off, a wrapped call reads two words more than the driver's own, and CUPTI records nothing. A call that began
//! before is recorded, with its waits; one that began while it was off is not.

use crate::process;
use crate::unseen::unseen;
use crate::writer::{self, Writer};
use crate::{cupti, recording, streams};
use interpose::Ns;
use spool::Switched;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, fence};

const ON: u32 = 0;
const OFF: u32 = 1;
/// A thread switches it. Nobody waits for that.
const SWITCHING: u32 = 2;

static STATE: AtomicU32 = AtomicU32::new(ON);

/// Whether recording is to be off.
#[inline]
fn is_wanted_off() -> bool {
    process::shared().is_some_and(|shared| shared.control.is_off())
}

/// Whether recording is on, and nobody switches it.
#[inline]
pub fn is_on() -> bool {
    STATE.load(Relaxed) == ON
}

/// Whether recording is off.
#[inline]
pub fn is_off() -> bool {
    STATE.load(Relaxed) == OFF
}

/// Recording starts: whether it is on.
pub fn begin(writer: &mut Writer) -> bool {
    if !is_wanted_off() {
        return true;
    }
    // Nothing was recorded before.
    let began = process::header().map_or(0, |header| header.monotonic_ns.load(Relaxed));
    write(writer, began, false);
    STATE.store(OFF, Release);
    false
}

fn write(writer: &mut Writer, at: Ns, is_on: bool) {
    writer.append(Switched::KIND, is_on.into(), &[Switched { at }.bytes()]);
}

/// A call is over that was recorded: switches recording off if it is to be.
#[inline]
pub fn look() {
    if is_wanted_off() {
        switch_off();
    }
}

#[cold]
#[inline(never)]
fn switch_off() {
    // A signal handler may have interrupted a record: another call will do.
    if !change(ON, SWITCHING) || writer::here(|writer| write(writer, interpose::monotonic(), false)).is_none()
    {
        return;
    }
    fence(SeqCst);
    interpose::set_recording(false);
    unseen(cupti::pause);
    STATE.store(OFF, Release);
}

/// A call begins while recording is off, or did not begin: whether it is on from now on.
pub fn idle() -> bool {
    process::count_after_stop();
    is_off() && !is_wanted_off() && switch_on()
}

#[cold]
#[inline(never)]
fn switch_on() -> bool {
    if !change(OFF, SWITCHING) {
        return false;
    }
    unseen(|| {
        cupti::resume();
        // Streams may have come and gone, and begun to capture.
        streams::renew();
        interpose::set_recording(true);
        writer::here(|writer| {
            writer.clock(interpose::moment());
            write(writer, interpose::monotonic(), true);
        });
    });
    STATE.store(ON, Release);
    recording::shorten_launches();
    true
}

/// Changes the state on a thread that can write; false where it is another one or the thread cannot.
fn change(from: u32, to: u32) -> bool {
    writer::here(|_| ()).is_some() && STATE.compare_exchange(from, to, AcqRel, Acquire).is_ok()
}

/// In a fork's child: it begins anew.
pub fn forget() {
    STATE.store(ON, Relaxed);
}
