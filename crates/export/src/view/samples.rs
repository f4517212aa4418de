//! Places where threads were at moments, with the numbers that viewers show for the threads.

use super::who::{Owner, Who};
use trace::{FrameId, SampleId, StackId, ThreadId, Trace};

/// The samples of a trace.
pub(super) struct Samples<'a> {
    pub trace: &'a Trace,
    /// Process and thread as shown, by thread; the last is for samples without a thread.
    shown: Vec<(i64, i64)>,
}

/// Frames of a stack that are written, from the innermost: more are a recursion without end.
const FRAMES: usize = 512;

impl<'a> Samples<'a> {
    pub fn new(trace: &'a Trace, who: &Who) -> Samples<'a> {
        let mut shown = vec![(0, 0); trace.threads.len() + 1];
        for track in &who.tracks {
            if let Owner::Thread(thread) = track.what {
                shown[row(trace, thread)] = (who.groups[track.group].pid, track.tid);
            }
        }
        Samples { trace, shown }
    }

    pub fn ids(&self) -> impl Iterator<Item = SampleId> + use<> {
        self.trace.samples.ids()
    }

    /// The process and the thread of a sample, as shown.
    pub fn shown(&self, sample: SampleId) -> (i64, i64) {
        self.shown[row(self.trace, self.trace.samples.thread[sample.index()])]
    }

    /// The frames of a stack from the innermost, each with the stack that it ends.
    pub fn frames(&self, stack: StackId) -> impl Iterator<Item = (StackId, FrameId)> + use<'a> {
        let stacks = &self.trace.stacks;
        let all = std::iter::successors(stack.some(), |stack| stacks.caller[stack.index()].some());
        let framed = all.filter_map(|stack| Some((stack, stacks.frame[stack.index()].some()?)));
        framed.take(FRAMES)
    }
}

fn row(trace: &Trace, thread: ThreadId) -> usize {
    thread.some().map_or(trace.threads.len(), |thread| thread.index())
}
