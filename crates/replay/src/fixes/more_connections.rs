//! A hardware queue for each stream.

use super::{Fix, Scene};
use crate::Recovered;

pub(super) const FIX: Fix = Fix {
    id: "more-connections",
    text: "set CUDA_DEVICE_MAX_CONNECTIONS to the number of streams, at most 32",
    safety: "safe; read when CUDA starts",
    apply,
};

pub(super) fn apply(_: &Scene<'_>, to: &mut Recovered) -> usize {
    let shared = to.recorded.queues.iter().flatten().count();
    to.recorded.queues.fill(None);
    let aliased = std::mem::take(&mut to.aliased);
    aliased.iter().for_each(|row| to.recorded.works[*row as usize].after = None);
    shared + aliased.len()
}
