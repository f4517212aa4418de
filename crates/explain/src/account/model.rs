//! Accounts as they are reported.

use super::busy::{Busy, MainOperations};
use super::filling::SmallKernels;
use super::idle::Idle;
use super::margin::Margin;
use super::part::{AccountPart, ThreadAccount};
use super::ranks::Ranks;
use super::streams::{HeldBack, StreamAccount};
use crate::Cause;
use crate::result::refusal::Refusal;
use serde::Serialize;
use trace::Ns;

/// The accounts of a trace.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Accounts {
    /// Why the idle time of GPUs has no causes; `None` if it has.
    pub refused: Option<Refusal>,
    /// The part of the time that the accounts cover, if that is not all of the selected time.
    pub steady: Option<Steady>,
    /// The start-up, if the program has one that stands out.
    pub start_up: Option<Margin>,
    /// The time after the GPUs' last work, if it stands out.
    pub ending: Option<Margin>,
    /// The GPUs with operations, by device.
    pub gpus: Vec<GpuAccount>,
    /// The threads, in the trace's order.
    pub threads: Vec<ThreadAccount>,
    /// The streams with operations, by device, in the trace's order.
    pub streams: Vec<StreamAccount>,
    /// Which rank was late at the collectives; `None` where no collective's ranks are all known.
    pub ranks: Option<Ranks>,
    /// The idle time of the GPUs one by one, for outputs that draw it; empty unless [`crate::explain_each`] made it.
    #[serde(skip)]
    pub idle: Idle,
}

/// The part of a program's time that its accounts are of: what it repeats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Steady {
    /// Start, ns from the trace's start.
    pub start_ns: Ns,
    /// End, ns from the trace's start.
    pub end_ns: Ns,
}

/// A GPU's time.
#[derive(Clone, Debug, Serialize)]
pub struct GpuAccount {
    /// CUDA device index.
    pub device: i64,
    /// Marketing name.
    pub name: String,
    /// From the first call of any process that uses it to the end of its last operation, ns.
    pub span_ns: Ns,
    /// Time with any operation of any stream, context and process, ns. A collective's kernel that waits for a later rank is
    /// none.
    pub busy_ns: Ns,
    /// `busy_ns` by what it did.
    pub busy: Busy,
    /// The copies that take a quarter of `busy_ns` or more; else `null`.
    pub main_copies: Option<MainOperations>,
    /// Kernels that do not fill the GPU, if its kernels do not; else `null`.
    pub small_kernels: Option<SmallKernels>,
    /// The busy share of each of some equal parts of its time, 0 to 1.
    #[serde(skip)]
    pub busy_over_time: Vec<f64>,
    /// The part of `busy_ns` in which nothing but communication ran: kernels that exchange data between GPUs, and copies
    /// between them.
    pub exposed_communication_ns: Ns,
    /// Operations that are most of that; `null` if it never communicates.
    pub main_communication: Option<MainOperations>,
    /// Idle time in which a collective's kernel waited for a later rank, ns; `None` if its collectives have no counterpart in
    /// the trace, so that this time is a part of `exposed_communication_ns`.
    pub collective_wait_ns: Option<Ns>,
    /// The rest by root cause, most first; with `busy_ns` it adds up to `span_ns`.
    pub idle: Vec<AccountPart>,
    /// The part of `busy_ns` in which there was room and an operation was ready and waited, or a call that would have asked
    /// for one waited for a lock, by cause, most first. The room is
    /// estimated from the kernels' grids, registers and shared memory.
    pub held_back: Vec<HeldBack>,
}

impl GpuAccount {
    /// Its time before its first operation, ns.
    pub fn start_up_ns(&self) -> Ns {
        self.idle.iter().filter(|part| part.cause == Cause::StartUp).map(|part| part.ns).sum()
    }

    /// Its time from its first operation on, ns: of what shares are parts.
    pub fn working_ns(&self) -> Ns {
        self.span_ns - self.start_up_ns()
    }
}
