//! The capture library at work, without a GPU: C programs on a stand-in for the driver, each run
//! bare and recorded. Both runs must look the same from outside; what the recorded one left in its
//! spool is compared with what the program did.
//!
//! The programs synchronize by semaphores and by looking at how many threads want a lock, not by
//! sleeping. What differs from run to run (thread ids, addresses) they write into a file.

mod compile;
mod recording;
mod run;
mod runtime;

mod calls;
mod cupti;
mod endings;
mod executes;
mod files;
mod issue;
mod jit;
mod loader;
mod locks;
mod long;
mod meets;
mod nvtx;
mod python;
mod taken;
mod threads;
mod waiting;
mod waits;
mod watching;
