//! Analyses that the rules of several causes share.

pub(crate) mod blocking_copy;
pub(crate) mod grounds;
pub(crate) mod group;
mod owners;
pub(crate) mod parts;
pub(crate) mod recorded_sum;
pub(crate) mod recorded_waits;
mod sharers;
pub(crate) mod turns;
