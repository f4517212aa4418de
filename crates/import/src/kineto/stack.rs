//! Kineto's source places: `train.py(12): step`, innermost first in `Call stack`.

use crate::stacks::Stacks;
use rustc_hash::FxHashMap;
use trace::{Frame, FrameId, StackId, Sym, Trace};

/// Turns texts of places into stacks, each distinct text once.
#[derive(Default)]
pub(super) struct Places {
    by_text: FxHashMap<Sym, StackId>,
    stacks: Stacks,
}

impl Places {
    /// The stack that `text` describes; none for an empty text.
    pub fn stack(&mut self, trace: &mut Trace, text: Sym) -> StackId {
        if text.is_empty() {
            return StackId::NONE;
        }
        if let Some(stack) = self.by_text.get(&text) {
            return *stack;
        }
        let places = trace.text(text).to_owned();
        let outermost_first = places.split(';').rev().filter(|place| !place.is_empty());
        let frames: Vec<_> = outermost_first
            .map(|place| {
                let (file, line, function) = split_place(place);
                let (file, function) = (trace.strings.intern(file), trace.strings.intern(function));
                self.stacks.frame(trace, Frame { function, file, line, module: Sym::EMPTY })
            })
            .collect();
        let stack = self.stacks.stack(trace, &frames);
        self.by_text.insert(text, stack);
        stack
    }

    /// The stack of the backward of an operator that was called from `frames`, which are outermost first.
    pub fn backward(&mut self, trace: &mut Trace, frames: &[FrameId]) -> StackId {
        let of_backward = |frame: &FrameId| {
            let frame = trace.frames.row(*frame);
            let function = format!("backward of {}", trace.text(frame.function));
            let function = trace.strings.intern(&function);
            self.stacks.frame(trace, Frame { function, ..frame })
        };
        let frames: Vec<_> = frames.iter().map(of_backward).collect();
        self.stacks.stack(trace, &frames)
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
}
