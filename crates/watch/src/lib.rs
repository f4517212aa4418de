//! Watches the processes of a recorded program from outside, while they run, without stopping any of their threads:
//! time on a processor, time ready without one, the system calls that threads are blocked in, the limits that the
//! system sets, and stacks.
//!
//! A thread of this process looks at every process that has a file in the spool, at least every 10 ms, and writes a
//! file beside that one (`spool::State` and the other records of kinds 40 to 49). What a killed recorder has written
//! stays readable. Children that run Python and do not record are looked at, too.
//!
//! Linux only; empty on other systems.
#![cfg(target_os = "linux")]

pub mod account;
mod calls;
mod children;
mod clock;
mod file;
mod limits;
mod modules;
mod native;
mod perf;
pub mod proc;
mod process;
mod python;
mod syscalls;
mod task;
mod watcher;

pub use file::spool_file;
pub use watcher::{Options, Permissions, Report, Watcher, permissions};
