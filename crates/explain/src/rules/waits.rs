//! `driver-lock` and `application-lock` as recorded: a call found a lock taken, and who held it.

use crate::facts::Facts;
use crate::parts::{Fact, Holder, Part, Parts, Reason};
use crate::{Cause, Confidence, Evidence};
use rustc_hash::FxHashMap;
use trace::{CallId, Ns, ThreadId, Wait, WaitId};

/// The waits recorded within a slow call.
pub(super) fn recorded(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    for id in facts.waits(call) {
        let wait = facts.trace.waits.row(id);
        parts.claim(wait.start, wait.end, reason(facts, call, id));
    }
}

/// Part of a thread's span that its waits in short calls of one name must take for a finding: one
/// in this many. Launch rates of one program differ by more than a hundredth from run to run (H200).
const LEAST_PART: Ns = 100;

/// Waits within calls that are not slow themselves, where they add up: with 16 launching threads
/// 347,288 waits took 4.3 s together on an H200, none of them long.
pub(crate) fn convoys<'a>(
    facts: &'a Facts<'_>,
    chosen: impl Fn(CallId) -> bool + Copy + 'a,
) -> impl Iterator<Item = (CallId, Vec<Part>)> + 'a {
    let short = move || facts.waiting_calls().filter(move |call| !facts.is_slow(*call) && chosen(*call));
    let kind = |call: CallId, part: &Part| {
        (facts.thread(call), facts.trace.calls.name[call.index()], part.reason.cause)
    };
    let mut sums = FxHashMap::<_, Ns>::default();
    for call in short() {
        for part in waits_of(facts, call) {
            let sum = sums.entry(kind(call, &part)).or_default();
            *sum = sum.saturating_add(part.lost);
        }
    }
    // Millions of waits: made again rather than kept.
    short().filter_map(move |call| {
        let least = facts.span(facts.thread(call)) / LEAST_PART;
        let mut parts = waits_of(facts, call);
        parts.retain(|part| sums[&kind(call, part)] >= least);
        (!parts.is_empty()).then_some((call, parts))
    })
}

fn waits_of(facts: &Facts<'_>, call: CallId) -> Vec<Part> {
    let mut parts = Parts::new(facts.start(call), facts.end(call));
    recorded(facts, call, &mut parts);
    parts.claimed
}

/// Why a wait within `call` took long. A holder whose call lasts through less than half of it may have
/// handed the lock on to others whom nobody saw.
fn reason(facts: &Facts<'_>, call: CallId, id: WaitId) -> Reason {
    let wait = facts.trace.waits.row(id);
    let Blamed { holder, covered } = blamed(facts, &wait);
    let confidence = match holder {
        Holder::Nobody => Confidence::Possible,
        Holder::Call(_) if covered < (wait.end - wait.start) / 2 => Confidence::Possible,
        _ => Confidence::Certain,
    };
    let fact = Fact::Waited { wait: id, covered };
    Reason { holder, ..Reason::new(cause(facts, &wait, call, holder), Evidence::Lock, confidence, fact) }
}

/// Whose lock it was: the driver's, or that of a library above it. By one lock of the driver's,
/// pageable copies of different streams go one after another (a mutex held for the 4.03 s
/// of another stream's kernel and copy, H200).
fn cause(facts: &Facts<'_>, wait: &Wait, call: CallId, holder: Holder) -> Cause {
    let path = facts.trace.text(wait.library);
    let file = path.rsplit('/').next().unwrap_or(path);
    if !file.starts_with("libcuda.so") {
        return Cause::ApplicationLock;
    }
    let pageable = |call: CallId| facts.copied(call).is_some_and(|copied| copied.pageable());
    match holder {
        Holder::Call(other) if pageable(call) && pageable(other) => {
            let (stream, others) = (facts.stream(call), facts.stream(other));
            let apart = stream.is_some() && others.is_some() && stream != others;
            if apart { Cause::PageableOrder } else { Cause::DriverLock }
        }
        _ => Cause::DriverLock,
    }
}

/// Who may have kept a lock, and how much of the wait their call covers.
struct Blamed {
    holder: Holder,
    covered: Ns,
}

/// Who held the lock when the wait began; but who let go of it before the waiter got it, if that
/// one's call lasted through more of the wait and the first one's through less than half.
fn blamed(facts: &Facts<'_>, wait: &Wait) -> Blamed {
    let holder = suspect(facts, wait, wait.holder, wait.holder_call);
    let releaser = suspect(facts, wait, wait.releaser, wait.releaser_call);
    // A call that was over before the wait began let go of the lock for an earlier waiter.
    let stale = matches!(releaser.holder, Holder::Call(_)) && releaser.covered == 0;
    let brief = holder.covered < (wait.end - wait.start) / 2 && releaser.covered > holder.covered;
    if !stale && (holder.holder == Holder::Nobody || brief) { releaser } else { holder }
}

fn suspect(facts: &Facts<'_>, wait: &Wait, thread: ThreadId, call: CallId) -> Blamed {
    if thread.is_none() || thread == wait.thread {
        return Blamed { holder: Holder::Nobody, covered: 0 };
    }
    let Some(call) = facts.outermost(call).some() else {
        return Blamed { holder: Holder::Thread(thread), covered: 0 };
    };
    let covered = facts.end(call).min(wait.end) - facts.start(call).max(wait.start);
    Blamed { holder: Holder::Call(call), covered: covered.max(0) }
}
