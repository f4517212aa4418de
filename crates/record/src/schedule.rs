//! Schedules of recordings: when a program is recorded.

use std::time::Duration;

/// When recording begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Begin {
    /// With the program.
    #[default]
    AtOnce,
    /// So long after the program was started.
    After(Duration),
    /// When this process gets SIGUSR2.
    AtSignal,
    /// When the program asks for it: while it has windows open (`holdup_window_open` of the capture library).
    AtProgram,
}

/// When a program is recorded. SIGUSR2 switches recording on and off whatever this says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// When it begins.
    pub begin: Begin,
    /// How long it is on each time; `None` for as long as nothing switches it off.
    pub duration: Option<Duration>,
}
