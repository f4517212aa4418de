//! Fixes of a cause that fit what a finding of the account is about.

use crate::facts::marks::Mark;
use crate::rules::dependency::NEEDED_EVENT;
use crate::rules::fixes::{BATCHED_COPIES, FOREACH, GRAPH};
use crate::rules::kernel_build::NATIVE_CODE;
use crate::{Cause, Fix, Place, classify};

/// Properties of a finding by which fixes fit or not.
pub(super) struct Fitting<'a> {
    pub cause: Cause,
    /// The function that costs most; empty if no call does.
    pub call: &'a str,
    /// The place that costs most.
    pub place: Option<&'a Place>,
    /// The known work there.
    pub mark: Option<Mark>,
    /// Whether it is time between calls that follow each other at once.
    pub is_between: bool,
    /// Whether the calls copy piece by piece.
    pub in_pieces: bool,
}

impl Fitting<'_> {
    /// The fixes that fit, in their order.
    pub fn fitting(&self, fixes: Vec<Fix>) -> Vec<Fix> {
        fixes.into_iter().filter(|fix| self.fits(fix)).collect()
    }

    fn fits(&self, fix: &Fix) -> bool {
        match *fix {
            FOREACH => self.is_of_one_tensor(),
            // The account sees no compiler of the driver's: that runs within calls.
            NATIVE_CODE => false,
            NEEDED_EVENT => !["HostFunc", "AddCallback"].iter().any(|name| self.call.contains(name)),
            // What copies piece by piece copies them together first.
            BATCHED_COPIES => self.in_pieces,
            GRAPH => {
                let launches = self.cause != Cause::HostCode || self.is_between;
                launches && !self.in_pieces && (self.call.is_empty() || fits_in_graph(self.call))
            }
            _ => true,
        }
    }

    fn is_of_one_tensor(&self) -> bool {
        let is_optimizer = |place: &Place| place.function.contains("Optimizer.step#");
        self.mark.is_some_and(Mark::is_of_one_tensor) || self.place.is_some_and(is_optimizer)
    }
}

/// Whether a graph spares calls of a function: one that only puts work into a stream, and launches no graph.
fn fits_in_graph(call: &str) -> bool {
    classify(call).enqueues() && !call.contains("GraphLaunch")
}
