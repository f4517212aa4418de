//! Details of a party's calls: what they copied or launched.

use crate::facts::Facts;
use crate::facts::stretch::Stretch;
use crate::{Class, Detail, Kernels};
use rustc_hash::FxHashSet;
use trace::{CallId, CopyKind, MemoryKind, StreamId, Sym};

/// The detail of some calls of one name, or of some waits outside calls.
pub(crate) fn detail(facts: &Facts<'_>, stretches: &[Stretch]) -> Detail {
    let calls: Vec<CallId> = stretches.iter().filter_map(|stretch| stretch.call()).collect();
    match stretches.first() {
        None => Detail::None,
        Some(Stretch::Wait(wait)) => {
            let library = facts.trace.waits.library[wait.index()];
            Detail::Lock { library: facts.library(library).to_owned() }
        }
        Some(Stretch::Call(first)) => match facts.class(*first) {
            Class::Copy { .. } => copies(facts, &calls),
            Class::Launch => launches(facts, &calls),
            _ => Detail::None,
        },
    }
}

fn copies(facts: &Facts<'_>, calls: &[CallId]) -> Detail {
    let copies: Vec<_> = calls.iter().filter_map(|call| facts.copied(*call)).collect();
    let Some(first) = copies.first() else { return Detail::None };
    let host = match first.kind {
        CopyKind::DtoH | CopyKind::AtoH => first.dst,
        CopyKind::HtoD | CopyKind::HtoA => first.src,
        _ => MemoryKind::Unknown,
    };
    Detail::Copies {
        kind: first.kind,
        host,
        least: copies.iter().map(|copy| copy.bytes).min().unwrap_or(0),
        most: copies.iter().map(|copy| copy.bytes).max().unwrap_or(0),
        stream: same_stream(facts, calls),
    }
}

fn launches(facts: &Facts<'_>, calls: &[CallId]) -> Detail {
    let names: FxHashSet<Sym> = calls.iter().flat_map(|launch| facts.kernels(*launch)).collect();
    let kernels = match names.len() {
        0 => Kernels::Unknown,
        1 => names
            .into_iter()
            .next()
            .map_or(Kernels::Unknown, |name| Kernels::One(facts.trace.text(name).to_owned())),
        count => Kernels::Several(count as u64),
    };
    Detail::Launches { kernels, stream: same_stream(facts, calls) }
}

/// The number of the stream of some calls; `None` if they use several, or none is known.
fn same_stream(facts: &Facts<'_>, calls: &[CallId]) -> Option<i64> {
    let mut streams = calls.iter().map(|call| facts.stream(*call)).filter(|stream| stream.is_some());
    let first: StreamId = streams.next()?;
    streams.all(|stream| stream == first).then(|| facts.trace.streams.number[first.index()])
}
