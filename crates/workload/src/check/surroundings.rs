//! The surroundings of a step: what it may use, and errors at its place.

use super::walk::At;
use crate::error::Checked;
use crate::model::*;

/// The surroundings of a step.
pub struct Surroundings<'a, 'w> {
    pub at: &'a At<'w>,
}

impl<'w> Surroundings<'_, 'w> {
    pub fn fail(&self, what: impl Into<String>) -> Checked {
        Err(self.at.problem(what))
    }

    pub fn buffer(&self, id: BufferId) -> &'w Buffer {
        &self.at.process().buffers[id]
    }

    /// Checks that something belongs to the thread's context.
    pub fn context(&self, of: ContextId, name: impl Fn() -> String) -> Checked {
        let mine = self.at.thread().context;
        if of == mine {
            return Ok(());
        }
        let words = |id: ContextId| match self.at.process().contexts[id] {
            Context { device, primary: true } => format!("device {device}'s primary context"),
            Context { device, primary: false } => format!("context {}, on device {device}", id.0),
        };
        let (of, mine) = (words(of), words(mine));
        self.fail(format!("{} belongs to {of}, the thread to {mine}: use one of the thread's", name()))
    }

    /// Checks that a kernel or fill of this thread reaches the buffer.
    pub fn on_device(&self, id: BufferId) -> Checked {
        let buffer = self.buffer(id);
        match buffer.memory {
            Memory::Device | Memory::Pool => {
                self.context(buffer.context, || format!("buffer {:?}", buffer.name))
            }
            Memory::Managed | Memory::Pinned => Ok(()),
            Memory::Pageable | Memory::Fresh => self.fail(format!(
                "buffer {:?} is {}, which a kernel cannot reach: make it device, managed or pinned memory",
                buffer.name,
                memory_words(buffer.memory)
            )),
        }
    }

    /// The number in the last round.
    pub fn last(&self, number: Number) -> Result<u128, crate::error::Problem> {
        match (number, self.at.rounds) {
            (Number::Is(number), _) => Ok(number.into()),
            (Number::Index { first, each }, Some(rounds)) => {
                let more = u128::from(each) * u128::from(rounds.saturating_sub(1));
                Ok(more + u128::from(first))
            }
            (Number::Index { .. }, None) => Err(self
                .at
                .problem("counts rounds outside of any loop: move it into a loop or use one number")),
        }
    }

    /// ` in round 4` for a number of the last round.
    pub fn in_round(&self, number: Number) -> String {
        match (number, self.at.rounds) {
            (Number::Index { .. }, Some(rounds)) => format!(" in round {rounds}"),
            _ => String::new(),
        }
    }
}

/// The name of a memory in an error.
pub fn memory_words(memory: Memory) -> &'static str {
    match memory {
        Memory::Device => "device memory",
        Memory::Pool => "pool memory",
        Memory::Managed => "managed memory",
        Memory::Pinned => "pinned host memory",
        Memory::Pageable => "pageable host memory",
        Memory::Fresh => "untouched pageable host memory",
    }
}
