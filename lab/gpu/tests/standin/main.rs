//! Workloads on a stand-in for the driver, without a GPU: what it is asked, in what order, and what comes of it.
#![cfg(target_os = "linux")]

#[path = "../support/mod.rs"]
mod support;

mod calls;
mod driver;
mod endings;
mod mps;
mod processes;
mod watching;
