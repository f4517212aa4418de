//! The explanation of a trace that all commands share: the same findings in the same order, under the same ids.

use explain::{Explanation, Loss, Options};
use trace::{Selection, Trace};

/// The explanation of a trace, its findings ranked by what the program would gain without each, and the single losses. Of a selection,
/// and of a trace that is too large to be replayed beside it, findings rank by what they cost.
pub fn each(trace: &Trace, options: &Options) -> (Explanation, Vec<Loss>) {
    let (mut explanation, mut losses) = explain::explain_each(trace, options);
    if options.selection == Selection::default() {
        replay::rank(trace, &mut explanation, &mut losses);
    }
    (explanation, losses)
}

/// The explanation alone.
pub fn alone(trace: &Trace, options: &Options) -> Explanation {
    match options.selection == Selection::default() && replay::is_ranked(trace) {
        true => each(trace, options).0,
        false => explain::explain(trace, options),
    }
}
