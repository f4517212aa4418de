//! The parts of slow calls that causes claimed, in order, with what claimed them.

use super::segment::{Doing, Segment};
use crate::analysis::group::Key;
use crate::analysis::parts::{Holder, Parts, Reason};
use crate::facts::Facts;
use crate::facts::stretch::Stretch;
use crate::rules::unexplained;
use crate::{Cause, Confidence, Evidence};
use rustc_hash::FxHashMap;
use trace::{CallId, Ns};

/// Parts of slow calls by call, in order of time.
#[derive(Default)]
pub(crate) struct CallParts {
    rows: Vec<CallPart>,
    /// The rows of each slow call.
    of: FxHashMap<CallId, (u32, u32)>,
}

/// A part of a slow call with a cause.
#[derive(Clone, Copy)]
pub(crate) struct CallPart {
    pub start: Ns,
    pub end: Ns,
    pub cause: Cause,
    /// Whether the thread waited for a lock: it slept.
    pub is_lock: bool,
    pub confidence: Confidence,
    /// Holder that was waited for.
    pub holder: Holder,
    /// The finding that it belongs to, if the call is selected.
    pub key: Key,
    pub is_selected: bool,
}

impl CallParts {
    pub(super) fn row(&self, at: u32) -> &CallPart {
        &self.rows[at as usize]
    }

    /// The parts of a slow call, in order.
    pub(super) fn of_call(&self, call: CallId) -> &[CallPart] {
        let (first, last) = self.of.get(&call).copied().unwrap_or_default();
        &self.rows[first as usize..last as usize]
    }

    /// Adds the parts of a slow call, with their causes. What no cause claims beyond the call's usual cost is unexplained.
    pub fn add(&mut self, facts: &Facts<'_>, call: CallId, parts: &Parts) {
        let first = self.rows.len();
        for (start, end, claim) in parts.pieces() {
            self.push(facts, call, (start, end), &parts.claimed[claim].reason);
        }
        let unexplained = unexplained::rest();
        let mut usual = facts.usual(call);
        for (start, end) in parts.free() {
            let own = usual.min(end - start);
            usual -= own;
            if start + own < end {
                self.push(facts, call, (start + own, end), &unexplained);
            }
        }
        self.rows[first..].sort_unstable_by_key(|row| row.start);
        let row = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        self.of.insert(call, (row(first), row(self.rows.len())));
    }

    fn push(&mut self, facts: &Facts<'_>, call: CallId, (start, end): (Ns, Ns), reason: &Reason) {
        self.rows.push(CallPart {
            start,
            end,
            cause: reason.cause,
            is_lock: reason.evidence == Evidence::Lock || reason.holder != Holder::Nobody,
            confidence: reason.confidence,
            holder: reason.holder,
            key: Key::of(facts, Stretch::Call(call), reason),
            is_selected: facts.is_chosen_at_any_time(Stretch::Call(call)),
        });
    }

    /// Passes the segments of a call in `[from, to)`, which lies in the call, to `each`: in order, without gaps.
    pub(super) fn walk(&self, call: CallId, from: Ns, to: Ns, each: &mut impl FnMut(Segment)) {
        let (first, last) = self.of.get(&call).copied().unwrap_or_default();
        let rows = self.of_call(call);
        let passed = rows.partition_point(|row| row.end <= from);
        let mut now = from;
        let mut pass = |end: Ns, doing: Doing| {
            if now < end {
                each(Segment { start: now, end, doing });
                now = end;
            }
        };
        for (row, part) in (first..last).zip(rows).skip(passed).take_while(|(_, part)| part.start < to) {
            pass(part.start.max(from), Doing::Working(call));
            pass(part.end.min(to), Doing::Lost(row));
        }
        pass(to, Doing::Working(call));
    }
}
