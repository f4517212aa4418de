//! Recording is switched off and on while the program runs, by `holdup record`: in memory that all processes of the program
//! share. A thread notices when it makes a call: off after a call that did not take the short way, on before any.
//!
//! While it is off, a wrapped call reads two words more than the driver's own, and CUPTI records nothing. A call that began
//! before is recorded, with its waits; one that began while it was off is not.

use crate::cupti;
use crate::observe::streams;
use crate::sys::shielded::shielded;
use crate::write::switch::{self, OFF, ON, SWITCHING};
use crate::write::writer::Writer;
use crate::write::{process, thread_writer};
use interpose::Ns;
use spool::Switched;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::fence;

/// Whether recording is to be off.
#[inline]
fn is_wanted_off() -> bool {
    process::shared().is_some_and(|shared| shared.control.is_off())
}

/// Recording starts: whether it is on.
pub fn begin(writer: &mut Writer) -> bool {
    if !is_wanted_off() {
        return true;
    }
    // Nothing was recorded before.
    let began = process::header().map_or(0, |header| header.monotonic_ns.load(Relaxed));
    write(writer, began, false);
    switch::set(OFF);
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
    if !change(ON, SWITCHING)
        || thread_writer::here(|writer| write(writer, interpose::monotonic(), false)).is_none()
    {
        return;
    }
    fence(SeqCst);
    interpose::set_recording(false);
    shielded(cupti::pause);
    switch::set(OFF);
}

/// A call begins while recording is off, or did not begin: whether it is on from now on.
pub fn idle() -> bool {
    process::count_after_stop();
    switch::is_off() && !is_wanted_off() && switch_on()
}

#[cold]
#[inline(never)]
fn switch_on() -> bool {
    if !change(OFF, SWITCHING) {
        return false;
    }
    shielded(|| {
        cupti::resume();
        // Streams may have come and gone, and begun to capture.
        streams::renew();
        interpose::set_recording(true);
        thread_writer::here(|writer| {
            writer.clock(interpose::moment());
            write(writer, interpose::monotonic(), true);
        });
    });
    switch::set(ON);
    switch::shorten_launches();
    true
}

/// Changes the state on a thread that can write; false where it is another one or the thread cannot.
fn change(from: u32, to: u32) -> bool {
    thread_writer::here(|_| ()).is_some() && switch::change(from, to)
}
