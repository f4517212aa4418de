//! Reasons for which each kernel of a collective waited for a later rank, as far as they are known.

use super::collectives::Waiting;
use super::gaps::Gap;
use super::outside::scaled;
use super::roots::{Charges, Culprit, Path, Root};
use crate::Cause;
use crate::facts::Facts;
use trace::{Ns, OpId, StackId, ThreadId};

/// Why each kernel waited for a later rank.
#[derive(Default)]
pub(super) struct Lateness {
    /// Rows in the order of [`super::collectives::Collectives::waiting`].
    rows: Vec<Late>,
}

struct Late {
    waiting: Waiting,
    /// None where it was not looked at: the GPU worked meanwhile.
    shares: Vec<Share>,
}

/// A part of the reason.
pub(super) struct Share {
    pub root: Root,
    pub ns: Ns,
    /// The threads of the chain behind the one that waited, with what each of them was waited for.
    pub chain: Vec<(ThreadId, Root)>,
}

impl Lateness {
    /// Lateness of the kernels that wait, without reasons.
    pub fn new(waiting: &[Waiting]) -> Lateness {
        let late = |waiting: &Waiting| Late { waiting: *waiting, shares: Vec::new() };
        Lateness { rows: waiting.iter().map(late).collect() }
    }

    /// Whether no kernel waited.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Number of kernels that waited.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Lets a kernel have waited for these reasons.
    pub fn explain(&mut self, at: usize, shares: Vec<Share>) {
        self.rows[at].shares = shares;
    }

    /// The kernels of a gap in which one waited for the last rank.
    pub fn waiting(&self, at: usize) -> &Waiting {
        &self.rows[at].waiting
    }

    /// Divides a gap in which a kernel waited for the last rank among the roots of that.
    pub fn charge(&self, charges: &mut Charges, facts: &Facts<'_>, gap: &Gap, at: usize) {
        let Late { waiting, shares } = &self.rows[at];
        let own = thread(facts, waiting.kernel.op).map(Path::of);
        let (mut start, mut left) = (gap.start, shares.iter().map(|share| share.ns).sum::<Ns>());
        for share in shares {
            let ns = scaled(gap.end - start, share.ns, left.max(1));
            match &own {
                Some(path) => along(path, &share.chain, &mut |path| {
                    charges.charge(Some(path), share.root, start, ns);
                }),
                None => drop(charges.charge(None, share.root, start, ns)),
            }
            (start, left) = (start + ns, left - share.ns);
        }
        let ns = gap.end - start;
        let row = charges.charge(own.as_ref(), of_rank(facts, waiting), start, ns);
        let call = facts.trace.ops.call[waiting.kernel.op.index()];
        if let (Some(row), Some(call), None) = (row, call.some(), waiting.last) {
            charges.is_of_call(row, call, ns);
        }
    }
}

/// The thread that asked for an operation.
pub(super) fn thread(facts: &Facts<'_>, op: OpId) -> Option<ThreadId> {
    facts.trace.ops.call[op.index()].some().and_then(|call| facts.thread(call).some())
}

/// Passes a path with a chain's threads to `then`; those that are in it already are left out.
fn along(path: &Path<'_>, chain: &[(ThreadId, Root)], then: &mut dyn FnMut(&Path<'_>)) {
    match chain {
        [] => then(path),
        [(thread, wait), rest @ ..] => match path.to(*thread, *wait) {
            Some(next) => along(&next, rest, then),
            None => along(path, rest, then),
        },
    }
}

/// The root of a wait for a rank that was late for no reason on the host: its GPU worked longer. Of a rank that is not in the trace
/// nothing is known but the kernel that waited for it.
pub(super) fn of_rank(facts: &Facts<'_>, waiting: &Waiting) -> Root {
    let (trace, at) = (facts.trace, waiting.kernel.op.index());
    let of_kernel = || {
        let process = trace.process_of_stream(trace.ops.stream[at]);
        let stack = trace.ops.call[at].some().map_or(StackId::NONE, |call| facts.own_stack(call));
        Culprit::Call(process, trace.ops.name[at], stack)
    };
    let culprit = waiting.last.map_or_else(of_kernel, |last| Culprit::Device(last.kernel.device));
    Root::new(Cause::CollectiveWait, culprit)
}
