//! Limit of a program, in one word: where most of its GPUs' time goes.

use crate::About;
use crate::Bound;
use crate::account::{Accounts, GpuAccount};
use crate::result::refusal::Refusal;
use serde::Serialize;
use std::collections::BTreeMap;
use trace::Ns;

/// Limit of a program.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Verdict {
    /// Where most of the GPUs' time goes.
    pub bound: Bound,
    /// The part of the GPUs' time, without start-up, in which they had any operation, 0 to 1; `None` without operations.
    pub gpu_busy_share: Option<f64>,
    /// Why nobody can say; `None` if one can.
    pub refused: Option<Refusal>,
}

impl Verdict {
    pub(crate) fn of(accounts: &Accounts) -> Verdict {
        let gpus = &accounts.gpus;
        let all: Ns = gpus.iter().map(GpuAccount::working_ns).sum();
        let busy: Ns = gpus.iter().map(|gpu| gpu.busy_ns).sum();
        Verdict {
            bound: if accounts.refused.is_some() { Bound::Unknown } else { bound(gpus) },
            gpu_busy_share: (all > 0).then(|| busy as f64 / all as f64),
            refused: accounts.refused,
        }
    }
}

/// Bound with most of the time of all GPUs; a GPU that is held back loses that time to what holds it back.
fn bound(gpus: &[GpuAccount]) -> Bound {
    let mut times = BTreeMap::<Bound, Ns>::new();
    let mut add = |bound, ns| *times.entry(bound).or_default() += ns;
    for gpu in gpus {
        let held: Ns = gpu.held_back.iter().map(|held| held.part.ns).sum();
        let copies = gpu.busy.copies_ns;
        let kernels = gpu.busy_ns - copies;
        // What ran meanwhile is not known: kernels, as far as there are any.
        let of_kernels = held.min(kernels);
        add(Bound::Gpu, kernels - of_kernels);
        add(Bound::Copies, copies - (held - of_kernels));
        gpu.idle.iter().for_each(|part| add(About::of(part.cause).bound, part.ns));
        gpu.held_back.iter().for_each(|held| add(About::of(held.part.cause).bound, held.part.ns));
    }
    let most = times
        .into_iter()
        .filter(|(_, ns)| *ns > 0)
        .max_by_key(|(bound, ns)| (*ns, std::cmp::Reverse(*bound)));
    most.map_or(Bound::Unknown, |(bound, _)| bound)
}
