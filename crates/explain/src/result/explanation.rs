//! An explanation: what is found in one trace.

use crate::account::Accounts;
use crate::account::Steps;
use crate::findings::failed::FailedCalls;
use crate::overlap::Overlap;
use crate::result::finding::Finding;
use crate::result::fix::Fix;
use crate::result::gains::Gains;
use crate::result::place::Place;
use crate::result::summary::Summary;
use crate::result::verdict::Verdict;
use std::collections::{BTreeMap, BTreeSet};
use trace::Ns;
use waits::Cause;

/// The findings of one trace.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The trace in numbers.
    pub trace: Summary,
    /// Number of calls that match the selection.
    pub chosen_calls: u64,
    /// Host time in calls longer than the threshold, ns; nested calls count once.
    pub slow_call_ns: Ns,
    /// Number of those calls.
    pub slow_calls: u64,
    /// The part of `slow_call_ns` that findings explain, ns.
    pub explained_ns: Ns,
    /// The part of `slow_call_ns` that is the calls' usual cost, ns: no finding counts it.
    pub own_work_ns: Ns,
    /// Host time in recorded waits for locks in calls up to the threshold, where they add up to findings, ns; not part of
    /// `slow_call_ns`.
    pub short_wait_ns: Ns,
    /// Host time in recorded waits for locks outside the trace's calls that findings count, ns; not part of the sums above.
    pub outside_wait_ns: Ns,
    /// The threshold, ns.
    pub min_wait_ns: Ns,
    /// Selected calls that failed, by function and error, most first.
    pub failed_calls: Vec<FailedCalls>,
    /// How the copies and kernels of each GPU overlapped, by device.
    pub overlap: Vec<Overlap>,
    /// Limit of the program.
    pub verdict: Verdict,
    /// Where all of each GPU's and each thread's time went.
    pub accounts: Accounts,
    /// The steps that the program repeats; `None` if none were found.
    pub steps: Option<Steps>,
    /// Findings, most time lost first; `unexplained` ones last. A wait for a call precedes the call's own loss in about the
    /// same time.
    pub findings: Vec<Finding>,
    /// Costs to the GPUs of what is not selected, most first.
    pub unselected: Vec<Unselected>,
    /// Gains of the findings' fixes; the caller that predicts them fills this in.
    pub gains: Gains,
    /// The program's own lines at [`Explanation::applied_places`]; the caller that reads the source fills this in.
    pub source_lines: BTreeMap<Place, String>,
}

/// Cost to the GPUs of calls and threads that are not selected: no finding.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Unselected {
    /// The cause.
    pub cause: Cause,
    /// GPU time lost to it, ns, as a finding's `cost_ns`.
    pub cost_ns: Ns,
    /// `cost_ns` as a part of the time of all GPUs without start-up, 0 to 1.
    pub cost_share: f64,
}

impl Explanation {
    /// The places where fixes with lines apply, of those that have a file and a line.
    pub fn applied_places(&self) -> impl Iterator<Item = &Place> {
        let fixes =
            self.findings.iter().flat_map(|finding| finding.fixes.iter().map(move |fix| (finding, fix)));
        let with_lines = fixes.filter(|(finding, fix)| finding.form(fix).is_some());
        let places = with_lines.filter_map(|(finding, fix)| finding.place_of(fix));
        places.filter(|place| place.line > 0 && !place.file.is_empty())
    }

    /// The program's own line at a place; `None` if nobody read it.
    pub fn source_line(&self, place: &Place) -> Option<&str> {
        self.source_lines.get(place).map(String::as_str)
    }

    /// The predictions of the findings' fixes, each once.
    pub fn predictions(&self) -> BTreeSet<&'static str> {
        let fixes = self.findings.iter().flat_map(|finding| &finding.fixes);
        fixes.filter_map(Fix::prediction).collect()
    }
}
