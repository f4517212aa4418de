//! Call stacks that share their common frames.

use rustc_hash::FxHashMap;
use trace::{Frame, FrameId, Stack, StackId, Sym, Trace};

/// Adds frames and stacks to a trace, each distinct one once: two stacks with the same outer frames share the rows of
/// these.
#[derive(Default)]
pub(crate) struct Stacks {
    frames: FxHashMap<(Sym, Sym, u32, Sym), FrameId>,
    stacks: FxHashMap<(FrameId, StackId), StackId>,
}

impl Stacks {
    /// The row of a frame.
    pub(crate) fn frame(&mut self, trace: &mut Trace, frame: Frame) -> FrameId {
        let key = (frame.function, frame.file, frame.line, frame.module);
        *self.frames.entry(key).or_insert_with(|| trace.frames.push(frame))
    }

    /// The row of a stack of frames, given from the outermost to the innermost.
    pub(crate) fn stack(&mut self, trace: &mut Trace, outermost_first: &[FrameId]) -> StackId {
        outermost_first.iter().fold(StackId::NONE, |caller, &frame| {
            *self.stacks.entry((frame, caller)).or_insert_with(|| trace.stacks.push(Stack { frame, caller }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_share_their_outer_frames() {
        let (mut trace, mut stacks) = (Trace::default(), Stacks::default());
        let mut frame = |line| stacks.frame(&mut trace, Frame { line, ..Frame::default() });
        let (main, left, right) = (frame(1), frame(2), frame(3));
        assert_eq!(frame(2), left);
        let a = stacks.stack(&mut trace, &[main, left]);
        let b = stacks.stack(&mut trace, &[main, right]);
        assert_eq!(stacks.stack(&mut trace, &[main, left]), a);
        assert_eq!(trace.stacks.row(a).caller, trace.stacks.row(b).caller);
        assert_eq!((trace.frames.len(), trace.stacks.len()), (3, 3));
        assert_eq!(stacks.stack(&mut trace, &[]), StackId::NONE);
    }
}
