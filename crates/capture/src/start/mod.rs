//! Functions that the program, the driver and the loader call, and the beginning, switching and end of a recording.

pub mod api;
pub mod children;
pub mod control;
pub mod driver_lookup;
pub mod executes;
pub mod exits;
pub mod frames;
pub mod hook_table;
pub mod libraries;
pub mod preload;
pub mod recording;
pub mod system_calls;
