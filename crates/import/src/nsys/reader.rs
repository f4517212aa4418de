//! State of reading an export of Nsight Systems, and the numbers that its records share.

use super::kinds::Kinds;
use super::machine::Machine;
use crate::sqlite::{Builder, Fault, Value};
use std::ops::Range;
use trace::Ns;

/// Times for which rebasing and subtraction cannot overflow, ns: 18 years on either side of the start.
pub(super) const TIMES: Range<Ns> = -(1 << 59)..1 << 59;

/// The reader's state: the database on one side, the trace being built on the other.
pub(super) struct Nsys<'a> {
    pub(super) rows: Builder<'a>,
    pub(super) kinds: Kinds,
    pub(super) machine: Machine,
}

/// A thread's process and id, from the number into which Nsight Systems packs them.
pub(super) fn thread(global: Value) -> Result<(i64, i64), Fault> {
    let global = global.int().ok_or("no thread")?;
    Ok((global >> 24 & 0xff_ffff, global & 0xff_ffff))
}
