//! Source places as Kineto writes them: `train.py(12): step`, innermost first in `Call stack`.

use rustc_hash::FxHashMap;
use trace::{Frame, FrameId, Stack, StackId, Sym, Trace};

/// Turns texts of places into rows of `frames` and `stacks`, each distinct one once.
#[derive(Default)]
pub(super) struct StackBuilder {
    by_text: FxHashMap<Sym, StackId>,
    frames: FxHashMap<String, FrameId>,
    stacks: FxHashMap<(FrameId, StackId), StackId>,
}

impl StackBuilder {
    /// The stack that `text` describes; none for an empty text.
    pub fn stack(&mut self, trace: &mut Trace, text: Sym) -> StackId {
        if text.is_empty() {
            return StackId::NONE;
        }
        if let Some(stack) = self.by_text.get(&text) {
            return *stack;
        }
        let places = trace.text(text).to_owned();
        let mut stack = StackId::NONE;
        for place in places.split(';').rev().filter(|place| !place.is_empty()) {
            let frame = self.frame(trace, place);
            let caller = stack;
            let add = || trace.stacks.push(Stack { frame, caller });
            stack = *self.stacks.entry((frame, caller)).or_insert_with(add);
        }
        self.by_text.insert(text, stack);
        stack
    }

    fn frame(&mut self, trace: &mut Trace, place: &str) -> FrameId {
        if let Some(frame) = self.frames.get(place) {
            return *frame;
        }
        let (file, line, function) = split_place(place);
        let row = Frame {
            function: trace.strings.intern(function),
            file: trace.strings.intern(file),
            line,
            module: Sym::EMPTY,
        };
        let frame = trace.frames.push(row);
        self.frames.insert(place.to_owned(), frame);
        frame
    }
}

/// `file(line): function`; anything else is a function without a place.
fn split_place(place: &str) -> (&str, u32, &str) {
    let split = || {
        let (before, function) = place.split_once("): ")?;
        let (file, line) = before.rsplit_once('(')?;
        Some((file, line.parse().ok()?, function))
    };
    split().unwrap_or(("", 0, place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_split_into_file_line_function() {
        assert_eq!(split_place("a/b.py(12): step"), ("a/b.py", 12, "step"));
        assert_eq!(split_place("<built-in method item>"), ("", 0, "<built-in method item>"));
        assert_eq!(split_place("x (1).py(3): f"), ("x (1).py", 3, "f"));
    }

    #[test]
    fn stacks_share_their_outer_frames() {
        let mut trace = Trace::default();
        let mut builder = StackBuilder::default();
        let one = trace.strings.intern("b.py(2): inner;a.py(1): main");
        let two = trace.strings.intern("c.py(3): other;a.py(1): main");
        let (one, two) = (builder.stack(&mut trace, one), builder.stack(&mut trace, two));
        assert_eq!(trace.stacks.row(one).caller, trace.stacks.row(two).caller);
        assert_eq!((trace.frames.len(), trace.stacks.len()), (3, 3));
    }
}
