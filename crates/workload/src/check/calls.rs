//! Each call by itself: kinds of memory, contexts, sizes.

use super::kernels;
use super::surroundings::{Surroundings, memory_words};
use super::walk::At;
use crate::error::Checked;
use crate::model::*;

/// The most blocks a grid has in x (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
const MOST_BLOCKS: u32 = i32::MAX as u32;

/// The most threads a block has (the same table).
const MOST_BLOCK: u32 = 1024;

/// The most threads of a launch: the kernels count theirs in 32 bits.
const MOST_THREADS_OF_GRID: u64 = u32::MAX as u64;

/// Checks one step, without those inside it.
pub fn check(step: &Step, at: &At<'_>) -> Checked {
    let here = Surroundings { at };
    match step {
        Step::Call(call) => here.call(call),
        Step::Loop { .. } => Ok(()),
        Step::Capture { stream, .. } => {
            here.no_default(*stream, "be captured")?;
            here.stream(*stream)
        }
    }
}

impl Surroundings<'_, '_> {
    fn call(&self, call: &Call) -> Checked {
        match *call {
            Call::Allocate { buffer, stream } => {
                self.pool_stream(buffer, stream)?;
                self.allocated_here(buffer)
            }
            Call::Free { buffer, stream } => self.pool_stream(buffer, stream),
            Call::Register { buffer } | Call::Unregister { buffer } => self.registered(buffer),
            Call::Copy { from, to, offset, bytes, stream } => self.copy(from, to, offset, bytes, stream),
            Call::CopyRows { from, to, width, height, depth, from_pitch, to_pitch, stream } => {
                self.stream(stream)?;
                self.rows(from, to, (width, height, depth.unwrap_or(1)), [from_pitch, to_pitch])
            }
            Call::Elapsed { from, to } => self.elapsed(from, to),
            Call::Fill { buffer, value, stream } => self.fill(buffer, value, stream),
            Call::Check { buffer, bytes, value } => self.compare(buffer, bytes, value),
            Call::Launch { ref kernel, grid, block, stream } => {
                self.stream(stream)?;
                self.shape(grid, block)?;
                kernels::check(self, kernel, grid, block)
            }
            Call::BlasNorm { from, to, length, stream } => {
                self.stream(stream)?;
                kernels::blas_norm(self, from, to, length)
            }
            Call::LaunchGraph { stream, .. } => self.stream(stream),
            Call::RecordEvent { event, stream } => self.record(event, stream),
            Call::CreateStream { stream } => {
                self.no_default(stream, "be created")?;
                self.stream(stream)
            }
            Call::DestroyStream { stream } => self.no_default(stream, "be destroyed"),
            Call::CreateEvent { event } => {
                let row = &self.at.process().events[event];
                self.context(row.context, || format!("event {:?}", row.name))
            }
            Call::WaitEvent { stream, .. }
            | Call::QueryStream { stream }
            | Call::SynchronizeStream { stream } => self.default_stream(stream),
            Call::QueryEvent { .. }
            | Call::SynchronizeEvent { .. }
            | Call::SynchronizeContext
            | Call::DestroyEvent { .. }
            | Call::LoadModule
            | Call::Sleep { .. }
            | Call::Work { .. }
            | Call::Hold { .. }
            | Call::Meet { .. } => Ok(()),
        }
    }

    /// Checks that work for a stream is asked for in the stream's context.
    fn stream(&self, id: StreamId) -> Checked {
        let stream = &self.at.process().streams[id];
        self.context(stream.context, || format!("stream {:?}", stream.name))
    }

    /// Checks that the default stream is the thread's context's: its handle means whichever context is current.
    fn default_stream(&self, id: StreamId) -> Checked {
        match self.at.process().streams[id].kind {
            StreamKind::Default => self.stream(id),
            StreamKind::Blocking | StreamKind::NonBlocking => Ok(()),
        }
    }

    fn no_default(&self, id: StreamId, what: &str) -> Checked {
        let stream = &self.at.process().streams[id];
        match stream.kind {
            StreamKind::Default => self.fail(format!(
                "stream {:?} is the default stream, which cannot {what}: use another",
                stream.name
            )),
            StreamKind::Blocking | StreamKind::NonBlocking => Ok(()),
        }
    }

    /// Checks that pool memory comes and goes with a stream of the thread's context, other memory without one.
    fn pool_stream(&self, id: BufferId, stream: Option<StreamId>) -> Checked {
        let Buffer { name, memory, .. } = self.buffer(id);
        match (memory, stream) {
            (Memory::Pool, Some(stream)) => self.stream(stream),
            (Memory::Pool, None) => self.fail(format!(
                "buffer {name:?} is pool memory, which is allocated and freed in the order of a stream: name the stream"
            )),
            (_, Some(_)) => self.fail(format!(
                "buffer {name:?} is {}, not pool memory: only pool memory has a stream, so remove the stream",
                memory_words(*memory)
            )),
            (_, None) => Ok(()),
        }
    }

    /// Checks that memory of a context is allocated in it.
    fn allocated_here(&self, id: BufferId) -> Checked {
        let buffer = self.buffer(id);
        match buffer.memory {
            Memory::Pageable | Memory::Fresh => Ok(()),
            Memory::Device | Memory::Pool | Memory::Managed | Memory::Pinned => {
                self.context(buffer.context, || format!("buffer {:?}", buffer.name))
            }
        }
    }

    fn registered(&self, id: BufferId) -> Checked {
        let Buffer { name, memory, .. } = self.buffer(id);
        match memory {
            Memory::Pageable | Memory::Fresh => Ok(()),
            Memory::Pinned => {
                self.fail(format!("buffer {name:?} is pinned already: register pageable memory"))
            }
            Memory::Device | Memory::Pool | Memory::Managed => self.fail(format!(
                "buffer {name:?} is {}, which cannot be registered: register pageable memory",
                memory_words(*memory)
            )),
        }
    }

    fn copy(
        &self,
        from: BufferId,
        to: BufferId,
        offset: Number,
        bytes: u64,
        stream: Option<StreamId>,
    ) -> Checked {
        if from == to {
            return self
                .fail(format!("copies buffer {:?} onto itself: name two buffers", self.buffer(from).name));
        }
        if bytes == 0 {
            return self.fail("copies 0 bytes: use a number of bytes");
        }
        stream.map_or(Ok(()), |stream| self.stream(stream))?;
        self.reached(from, to, stream)?;
        let end = self.last(offset)? + u128::from(bytes);
        for id in [from, to] {
            let buffer = self.buffer(id);
            if end > u128::from(buffer.bytes) {
                return self.fail(format!(
                    "copies up to byte {end}{}, but buffer {:?} has {}: copy less or make it larger",
                    self.in_round(offset),
                    buffer.name,
                    buffer.bytes
                ));
            }
        }
        Ok(())
    }

    /// Checks that rows and slices lie in both buffers, one of which is of the thread's context.
    fn rows(&self, from: BufferId, to: BufferId, size: (u64, u64, u64), pitches: [u64; 2]) -> Checked {
        let (width, height, depth) = size;
        if from == to {
            return self
                .fail(format!("copies buffer {:?} onto itself: name two buffers", self.buffer(from).name));
        }
        if width == 0 || height == 0 || depth == 0 {
            return self.fail("copies 0 bytes: say how wide, how high and how deep");
        }
        let ends = [self.buffer(from), self.buffer(to)];
        if ends.iter().all(|end| end.memory.is_host()) {
            return self.fail("both buffers are the host's: use \"copy\" without a stream");
        }
        for (end, pitch) in ends.into_iter().zip(pitches) {
            if !end.memory.is_host() {
                self.context(end.context, || format!("buffer {:?}", end.name))?;
            }
            if pitch < width {
                return self.fail(format!(
                    "rows of {width} bytes, {pitch} from one to the next: make the pitch at least the width"
                ));
            }
            let rows = u128::from(height) * u128::from(depth);
            let last = (rows - 1).saturating_mul(pitch.into()).saturating_add(width.into());
            if last > u128::from(end.bytes) {
                return self.fail(format!(
                    "copies up to byte {last}, but buffer {:?} has {}: copy less or make it larger",
                    end.name, end.bytes
                ));
            }
        }
        Ok(())
    }

    /// Checks that both events are of one context and keep the time.
    fn elapsed(&self, from: EventId, to: EventId) -> Checked {
        let [from, to] = [from, to].map(|event| &self.at.process().events[event]);
        for event in [from, to] {
            if !event.timing {
                return self
                    .fail(format!("event {:?} keeps no time: make it a \"timing\" event", event.name));
            }
        }
        if from.context != to.context {
            return self.fail(format!(
                "events {:?} and {:?} belong to different contexts: use two of the same context",
                from.name, to.name
            ));
        }
        Ok(())
    }

    /// Checks that the thread's context can copy between the two. What a device holds for another context is reached from
    /// one that holds the other end; pool memory is only for its own device.
    fn reached(&self, from: BufferId, to: BufferId, stream: Option<StreamId>) -> Checked {
        let ends = [self.buffer(from), self.buffer(to)];
        if ends.iter().all(|end| end.memory.is_host()) && stream.is_some() {
            return self.fail("both buffers are the host's, which the thread copies: leave the stream out");
        }
        let mine = self.at.thread().context;
        let held = |end: &Buffer| matches!(end.memory, Memory::Device | Memory::Pool);
        let peers = held(ends[0]) && held(ends[1]) && ends.iter().any(|end| end.context == mine);
        for end in ends {
            if held(end) && !(peers && end.memory == Memory::Device) {
                self.context(end.context, || format!("buffer {:?}", end.name))?;
            }
        }
        Ok(())
    }

    fn fill(&self, id: BufferId, value: Value, stream: Option<StreamId>) -> Checked {
        let buffer = self.buffer(id);
        let Buffer { name, memory, bytes, .. } = buffer;
        self.finite(value)?;
        self.whole_elements(*bytes)?;
        match stream {
            Some(_) if memory.is_host() => self.fail(format!(
                "buffer {name:?} is {}, which the thread fills: leave the stream out",
                memory_words(*memory)
            )),
            None if !memory.is_host() => self.fail(format!(
                "buffer {name:?} is {}, which is filled in a stream: name the stream",
                memory_words(*memory)
            )),
            None => Ok(()),
            Some(stream) => {
                self.stream(stream)?;
                self.on_device(id)
            }
        }
    }

    fn compare(&self, id: BufferId, bytes: u64, value: Value) -> Checked {
        let buffer = self.buffer(id);
        let Buffer { name, memory, .. } = buffer;
        self.finite(value)?;
        self.whole_elements(bytes)?;
        if matches!(memory, Memory::Device | Memory::Pool) {
            return self.fail(format!(
                "buffer {name:?} is {}, which the thread cannot read: copy it to a host buffer and check that",
                memory_words(*memory)
            ));
        }
        if bytes > buffer.bytes {
            return self.fail(format!(
                "checks {bytes} bytes, but buffer {name:?} has {}: check fewer or make it larger",
                buffer.bytes
            ));
        }
        Ok(())
    }

    fn finite(&self, value: Value) -> Checked {
        match value {
            Value::Float(float) if !float.is_finite() => {
                self.fail(format!("the value is {float}: use a finite number"))
            }
            _ => Ok(()),
        }
    }

    fn whole_elements(&self, bytes: u64) -> Checked {
        if bytes == 0 || !bytes.is_multiple_of(4) {
            return self
                .fail(format!("{bytes} bytes are not a number of 32-bit elements: use a multiple of 4"));
        }
        Ok(())
    }

    fn shape(&self, grid: u32, block: u32) -> Checked {
        if !(1..=MOST_BLOCKS).contains(&grid) {
            return self.fail(format!("a grid of {grid} blocks: use 1 to {MOST_BLOCKS}"));
        }
        if !(1..=MOST_BLOCK).contains(&block) {
            return self.fail(format!("blocks of {block} threads: use 1 to {MOST_BLOCK}"));
        }
        let threads = u64::from(grid) * u64::from(block);
        if threads > MOST_THREADS_OF_GRID {
            return self.fail(format!(
                "{grid} blocks of {block} threads are {threads} threads: use at most {MOST_THREADS_OF_GRID}, the kernels' \
                 own limit"
            ));
        }
        Ok(())
    }

    /// Checks that event and stream belong to one context, as `cuEventRecord` requires.
    fn record(&self, event: EventId, stream: StreamId) -> Checked {
        self.default_stream(stream)?;
        let event = &self.at.process().events[event];
        let stream = &self.at.process().streams[stream];
        if event.context != stream.context {
            return self.fail(format!(
                "event {:?} and stream {:?} belong to different contexts: use two of the same context",
                event.name, stream.name
            ));
        }
        Ok(())
    }
}
