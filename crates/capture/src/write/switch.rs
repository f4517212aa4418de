//! Whether recording is on, and at which level: what threads look at as they record.

use crate::write::process::{self, STATE};
use spool::Level;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, fence};

/// Position of the switch: calls are recorded.
pub const ON: u32 = 0;
/// Position of the switch: calls are not recorded.
pub const OFF: u32 = 1;
/// Position of the switch: a thread moves it. Nobody waits for that.
pub const SWITCHING: u32 = 2;

static POSITION: AtomicU32 = AtomicU32::new(ON);

/// Whether recording is on, and nobody switches it.
#[inline]
pub fn is_on() -> bool {
    POSITION.load(Relaxed) == ON
}

/// Whether recording is off.
#[inline]
pub fn is_off() -> bool {
    POSITION.load(Relaxed) == OFF
}

/// Puts the switch there.
pub fn set(position: u32) {
    POSITION.store(position, Release);
}

/// Moves the switch; false where it is in another position than `from`.
pub fn change(from: u32, to: u32) -> bool {
    POSITION.compare_exchange(from, to, AcqRel, Acquire).is_ok()
}

/// Sets what is recorded from now on.
pub fn set_level(level: Level) {
    STATE.is_joined.store(level == Level::Full, Relaxed);
    STATE.level.store(level as u32, Release);
    process::set_level(level);
    shorten_launches();
}

/// Lets launches below all thresholds take the short way, unless recording is off: to a brief record unless CUPTI records
/// calls.
pub fn shorten_launches() {
    if !is_on() {
        return;
    }
    let recorded = STATE.level.load(Relaxed) != Level::Calls as u32;
    interpose::set_short_launch(STATE.seldom.load(Relaxed), recorded);
    // Another thread may have switched it off meanwhile, and have set this before.
    fence(SeqCst);
    if !is_on() {
        interpose::set_short_launch(0, true);
    }
}

/// In a fork's child: it begins anew.
pub fn forget() {
    POSITION.store(ON, Relaxed);
}
