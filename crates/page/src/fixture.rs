//! Accounts for tests.

use explain::{AccountPart, Busy, Cause, GpuAccount, ThreadAccount};
use trace::Ns;

/// A part without a place.
pub(crate) fn part(cause: Cause, ns: Ns) -> AccountPart {
    AccountPart { cause, ns, places: Vec::new(), calls: Vec::new(), finding: None, spent: Vec::new() }
}

/// GPU 0, whose parts are all of its time.
pub(crate) fn gpu(busy_ns: Ns, idle: Vec<AccountPart>) -> GpuAccount {
    GpuAccount {
        device: 0,
        name: String::new(),
        span_ns: busy_ns + idle.iter().map(|part| part.ns).sum::<Ns>(),
        busy_ns,
        busy: Busy::default(),
        main_copies: None,
        small_kernels: None,
        busy_over_time: Vec::new(),
        exposed_communication_ns: 0,
        main_communication: None,
        collective_wait_ns: Some(0),
        idle,
        held_back: Vec::new(),
    }
}

/// A thread of one call, whose parts are all of its time.
pub(crate) fn thread(tid: i64, name: &str, parts: Vec<AccountPart>) -> ThreadAccount {
    let span_ns = parts.iter().map(|part| part.ns).sum();
    ThreadAccount { pid: 1, tid, name: name.to_owned(), span_ns, calls: 1, launches: 0, parts }
}
