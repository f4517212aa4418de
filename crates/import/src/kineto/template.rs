//! Guesses the bytes between two values.
//!
//! A profiler writes its events from templates: from the end of one value to the start of the next (a comma, white
//! space, a key, a colon) the bytes equal those of the last event of its kind. Comparing them costs a fraction of
//! parsing them.

use crate::json::{Scanner, Stop};

/// The keys of the last object of its kind, as they were written. `F` is the meaning of a key.
pub(super) struct Template<'a, F> {
    steps: Vec<Step<'a, F>>,
}

struct Step<'a, F> {
    /// From the previous value to the value of the key, or through the `}`.
    between: &'a [u8],
    /// The key's meaning; `None` for the end of the object.
    field: Option<F>,
}

/// Number of keys of an object that are guessed; later keys are parsed.
const MOST_STEPS: usize = 32;

impl<F> Default for Template<'_, F> {
    fn default() -> Self {
        Template { steps: Vec::new() }
    }
}

impl<'a, F: Copy> Template<'a, F> {
    /// The meaning of the next key of an object of which `read` keys were read, including its `{`; takes the `}` and
    /// returns `None` at its end.
    #[inline]
    pub fn next(
        &mut self,
        scanner: &mut Scanner<'a>,
        read: usize,
        meaning: impl Fn(&[u8]) -> F,
    ) -> Result<Option<F>, Stop> {
        match self.steps.get(read) {
            Some(step) if scanner.take_text(step.between) => Ok(step.field),
            _ => self.learn(scanner, read, meaning),
        }
    }

    fn learn(
        &mut self,
        scanner: &mut Scanner<'a>,
        read: usize,
        meaning: impl Fn(&[u8]) -> F,
    ) -> Result<Option<F>, Stop> {
        let start = scanner.at();
        let field = scanner.key(&mut (read == 0))?.map(meaning);
        if field.is_some() {
            // The white space before the value.
            scanner.peek()?;
        }
        let step = Step { between: scanner.since(start), field };
        if let Some(known) = self.steps.get_mut(read) {
            *known = step;
        } else if read == self.steps.len() && read < MOST_STEPS {
            self.steps.push(step);
        }
        Ok(field)
    }
}
