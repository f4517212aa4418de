//! The parts of slow calls that causes claimed, in order, with what claimed them.

use super::activity::{Doing, Segment};
use crate::facts::Facts;
use crate::group::Key;
use crate::parts::{Holder, Parts};
use crate::{Cause, Confidence};
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
    pub confidence: Confidence,
    /// What was waited for.
    pub holder: Holder,
    /// The finding that it belongs to.
    pub key: Key,
}

impl CallPart {
    /// Whether the thread waited for a lock.
    pub fn is_lock(&self) -> bool {
        matches!(self.cause, Cause::DriverLock | Cause::ApplicationLock | Cause::PageableOrder)
    }
}

impl CallParts {
    pub(super) fn row(&self, at: u32) -> &CallPart {
        &self.rows[at as usize]
    }

    /// Adds the parts of a slow call, with their causes.
    pub fn add(&mut self, facts: &Facts<'_>, call: CallId, parts: &Parts) {
        let first = self.rows.len();
        for (start, end, claim) in parts.pieces() {
            let reason = &parts.claimed[claim].reason;
            let key = Key::of(facts, crate::stretch::Stretch::Call(call), reason);
            let (cause, confidence, holder) = (reason.cause, reason.confidence, reason.holder);
            self.rows.push(CallPart { start, end, cause, confidence, holder, key });
        }
        self.rows[first..].sort_unstable_by_key(|row| row.start);
        let row = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        self.of.insert(call, (row(first), row(self.rows.len())));
    }

    /// Passes the segments of a call in `[from, to)`, which lies in the call, to `each`: in order, without gaps.
    pub(super) fn walk(&self, call: CallId, from: Ns, to: Ns, each: &mut impl FnMut(Segment)) {
        let (first, last) = self.of.get(&call).copied().unwrap_or_default();
        let rows = &self.rows[first as usize..last as usize];
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
