//! Workloads on a stand-in for the driver, without a GPU: its calls, their order, and the results.
#![cfg(target_os = "linux")]

#[path = "../support/mod.rs"]
mod support;

mod calls;
mod driver;
mod endings;
#[path = "../../../../crates/record/tests/support/interruptible.rs"]
mod interruptible;
mod mps;
mod processes;
mod watching;
