//! Call stacks in Perfetto's interned form: a stack is numbers of frames, a frame has a name and a library.

use super::names::Names;
use super::proto::{Message, intern};
use super::samples::Samples;
use trace::{FrameId, StackId, Trace};

/// Field numbers; field 1 of each entry is its interned number.
mod field {
    /// `InternedData`.
    pub const FUNCTION_NAMES: u32 = 5;
    pub const FRAMES: u32 = 6;
    pub const CALLSTACKS: u32 = 7;
    pub const MAPPING_PATHS: u32 = 17;
    pub const MAPPINGS: u32 = 19;
    /// `Callstack`: the numbers of its frames, the outermost first.
    pub const CALLSTACK_FRAMES: u32 = 2;
    /// `Frame`.
    pub const FRAME_FUNCTION: u32 = 2;
    pub const FRAME_MAPPING: u32 = 3;
    /// `Mapping`.
    pub const MAPPING_PATH: u32 = 7;
}

/// The stacks, frames and libraries that the sequence of samples interned.
pub(super) struct Callstacks {
    stacks: Vec<bool>,
    frames: Vec<bool>,
    /// By text of the trace.
    modules: Vec<bool>,
}

impl Callstacks {
    pub fn new(trace: &Trace) -> Callstacks {
        Callstacks {
            stacks: vec![false; trace.stacks.len()],
            frames: vec![false; trace.frames.len()],
            modules: vec![false; trace.strings.len()],
        }
    }

    /// The number of a stack, interned at its first use; `None` for a stack without frames.
    pub fn intern(
        &mut self,
        samples: &Samples<'_>,
        stack: StackId,
        names: &Names<'_>,
        to: &mut Message,
    ) -> Option<u64> {
        let mut frames: Vec<FrameId> = samples.frames(stack).map(|(_, frame)| frame).collect();
        let iid = stack.some().filter(|_| !frames.is_empty())?.index();
        if std::mem::replace(&mut self.stacks[iid], true) {
            return Some(iid as u64 + 1);
        }
        frames.reverse();
        for frame in &frames {
            self.intern_frame(samples.trace, *frame, names, to);
        }
        to.message(field::CALLSTACKS, |stack| {
            stack.uint(1, iid as u64 + 1);
            frames.iter().for_each(|frame| stack.uint(field::CALLSTACK_FRAMES, frame.index() as u64 + 1));
        });
        Some(iid as u64 + 1)
    }

    /// Interns a frame with its library; the viewer refuses a frame without one.
    fn intern_frame(&mut self, trace: &Trace, frame: FrameId, names: &Names<'_>, to: &mut Message) {
        if std::mem::replace(&mut self.frames[frame.index()], true) {
            return;
        }
        let (iid, module) = (frame.index() as u64 + 1, trace.frames.module[frame.index()]);
        let mapping = module.index() as u64 + 1;
        if !std::mem::replace(&mut self.modules[module.index()], true) {
            intern(to, field::MAPPING_PATHS, mapping, trace.text(module));
            to.message(field::MAPPINGS, |entry| {
                entry.uint(1, mapping);
                entry.uint(field::MAPPING_PATH, mapping);
            });
        }
        intern(to, field::FUNCTION_NAMES, iid, names.text(names.of_frame(frame)));
        to.message(field::FRAMES, |entry| {
            entry.uint(1, iid);
            entry.uint(field::FRAME_FUNCTION, iid);
            entry.uint(field::FRAME_MAPPING, mapping);
        });
    }
}
