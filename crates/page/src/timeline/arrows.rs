//! The boxes of each finding's examples: an arrow goes from the holder to the waiter.

use super::lanes::{Lanes, Window};
use explain::{Example, Explanation, Finding, Loss};
use rustc_hash::FxHashMap;
use serde::Serialize;
use trace::{CallId, Ns, OpId, Trace};

/// A finding with its arrows in the timeline.
#[derive(Serialize)]
pub(crate) struct Pointed {
    /// `H1`
    pub id: String,
    /// One per example of the finding; `None` for those outside the timeline.
    pub examples: Vec<Option<Arrow>>,
}

/// An arrow from the holder to the waiter; times in ns from the timeline's start.
#[derive(Serialize)]
pub(crate) struct Arrow {
    /// The waiting call, or the wait outside calls.
    pub waiter: Spot,
    /// The time in it that was lost.
    pub lost: (u64, u64),
    /// The call or the GPU operation it waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<Spot>,
    /// `53.8 ms at 1.024 s`
    pub text: String,
}

/// A box: its row, start and end.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Spot {
    pub row: u32,
    pub start: u64,
    pub end: u64,
}

/// The places of every finding's examples.
pub(crate) fn pointed(
    trace: &Trace,
    explanation: &Explanation,
    losses: &[Loss],
    lanes: &Lanes,
    window: Window,
) -> Vec<Pointed> {
    let finder = Finder { trace, lanes, window, longest: longest(trace, explanation, losses) };
    let of = |(at, finding): (usize, &Finding)| {
        let words = report::explanation::words(finding, &explanation.trace);
        let arrows = finding.examples.iter().zip(words.examples);
        let examples = arrows.map(|(example, text)| finder.arrow(at as u32, example, text)).collect();
        Pointed { id: finding.id.clone(), examples }
    };
    explanation.findings.iter().enumerate().map(of).collect()
}

/// The intervals of the timeline that the arrows cover, with as much time around them.
pub(crate) fn stretches(pointed: &[Pointed]) -> Vec<(u64, u64)> {
    let arrows = pointed.iter().flat_map(|finding| finding.examples.iter().flatten());
    let around = |arrow: &Arrow| {
        let (start, end) = (arrow.waiter.start, arrow.waiter.end);
        (start.saturating_sub(end - start), end.saturating_add(end - start))
    };
    arrows.map(around).collect()
}

/// The loss of every example: the largest of all losses of one call to one finding.
fn longest<'a>(
    trace: &Trace,
    explanation: &Explanation,
    losses: &'a [Loss],
) -> FxHashMap<(u32, Ns), &'a Loss> {
    let mut longest = FxHashMap::<(u32, Ns), &Loss>::default();
    let examples =
        explanation.findings.iter().enumerate().flat_map(|(at, finding)| {
            finding.examples.iter().map(move |example| (at as u32, example.start_ns))
        });
    let wanted: rustc_hash::FxHashSet<(u32, Ns)> = examples.collect();
    for loss in losses {
        let Some(finding) = loss.finding else { continue };
        let key = (finding, span(trace, loss).0);
        if wanted.contains(&key) {
            let known = longest.entry(key).or_insert(loss);
            if loss.lost_ns > known.lost_ns {
                *known = loss;
            }
        }
    }
    longest
}

/// Start and end of the call that lost time, or of the wait outside calls.
fn span(trace: &Trace, loss: &Loss) -> (Ns, Ns) {
    let of = |call: CallId| (trace.calls.start[call.index()], trace.calls.end[call.index()]);
    loss.call.some().map_or((loss.start, loss.end), of)
}

struct Finder<'a> {
    trace: &'a Trace,
    lanes: &'a Lanes,
    window: Window,
    longest: FxHashMap<(u32, Ns), &'a Loss>,
}

impl Finder<'_> {
    fn arrow(&self, finding: u32, example: &Example, text: String) -> Option<Arrow> {
        let loss = *self.longest.get(&(finding, example.start_ns))?;
        let (start, end) = span(self.trace, loss);
        let row = self.lanes.row_of_thread[loss.thread.some()?.index()]?;
        let waiter = self.spot(row, start, end)?;
        let lost = self.window.place(loss.start, loss.end)?;
        Some(Arrow { waiter, lost, holder: self.holder(loss, end), text })
    }

    /// The holder's call if it lasts into the wait; otherwise the GPU operation that was waited for.
    fn holder(&self, loss: &Loss, until: Ns) -> Option<Spot> {
        let Some(thread) = loss.holder.some() else { return self.op(loss.awaited) };
        let row = self.lanes.row_of_thread[thread.index()]?;
        let Some(call) = loss.holder_call.some() else { return self.spot(row, loss.start, loss.end) };
        let calls = &self.trace.calls;
        let (start, end) = (calls.start[call.index()], calls.end[call.index()]);
        let at_work = end > loss.start && start < until;
        let op = || self.op(loss.awaited).or_else(|| self.op(self.op_of(call)));
        if at_work { self.spot(row, start, end) } else { op().or_else(|| self.spot(row, start, end)) }
    }

    fn op(&self, op: OpId) -> Option<Spot> {
        let op = self.trace.ops.row(op.some()?);
        self.spot(self.lanes.row_of_stream[op.stream.some()?.index()]?, op.start, op.end)
    }

    fn op_of(&self, call: CallId) -> OpId {
        self.trace.ops.ids().find(|op| self.trace.ops.call[op.index()] == call).unwrap_or(OpId::NONE)
    }

    fn spot(&self, row: u32, start: Ns, end: Ns) -> Option<Spot> {
        self.window.place(start, end).map(|(start, end)| Spot { row, start, end })
    }
}
