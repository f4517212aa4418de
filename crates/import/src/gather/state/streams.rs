//! Streams that calls name, by handle.

use rustc_hash::FxHashMap;
use trace::{Ns, StreamId};

/// CUPTI's numbers of streams.
#[derive(Default)]
pub(crate) struct Numbers {
    /// By handle: from when on, and the stream. Handles of default streams with the thread that has them.
    pub streams: FxHashMap<(u32, u64), Vec<(Ns, StreamId)>>,
}

/// Handles up to this one are default streams', which each thread may have another of (cuda.h).
const LAST_DEFAULT: u64 = 2;

fn key(tid: u32, handle: u64) -> (u32, u64) {
    match handle {
        // The usual default stream and the explicit legacy one.
        0 | 1 => (tid, 0),
        LAST_DEFAULT => (tid, LAST_DEFAULT),
        _ => (0, handle),
    }
}

impl Numbers {
    /// From `at` on, a thread means that stream by a handle.
    pub fn add(&mut self, tid: u32, handle: u64, at: Ns, stream: StreamId) {
        let known = self.streams.entry(key(tid, handle)).or_default();
        let place = known.partition_point(|(from, _)| *from <= at);
        known.insert(place, (at, stream));
    }

    /// The stream that a thread means by a handle in a call that began at `start`. The first number of a stream is written
    /// after its first call.
    pub fn stream(&self, tid: u32, handle: u64, start: Ns) -> StreamId {
        let Some(known) = self.streams.get(&key(tid, handle)) else { return StreamId::NONE };
        let at = known.partition_point(|(from, _)| *from <= start).saturating_sub(1);
        known.get(at).map_or(StreamId::NONE, |(_, stream)| *stream)
    }
}
