//! Analyses that the rules of several causes share.

pub(crate) mod blocking_copy;
mod owners;
pub(crate) mod recorded_sum;
pub(crate) mod recorded_waits;
mod sharers;
pub(crate) mod turns;
