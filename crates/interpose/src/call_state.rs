//! State that a call reads besides this process's own, in the order in which a launch needs it.

use crate::hooks::Hooks;
use crate::launch_table::LaunchTable;
use crate::set_once::SetOnce;
use std::sync::atomic::AtomicBool;

/// State that a call reads besides [`PROCESS_STATE`](crate::process_state::PROCESS_STATE).
#[repr(C)]
pub struct CallState {
    /// Time is taken from the time-stamp counter.
    pub counter: AtomicBool,
    /// The hooks that were installed.
    pub hooks: SetOnce<Hooks>,
    /// The plain launches that are wrapped.
    pub launches: LaunchTable,
}

/// The state of all threads' calls.
pub static CALL_STATE: CallState =
    CallState { counter: AtomicBool::new(false), hooks: SetOnce::new(), launches: LaunchTable::new() };
