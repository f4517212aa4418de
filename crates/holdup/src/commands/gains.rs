//! Gains that the fixes of an explanation would bring.

use crate::args::Gains;
use crate::progress::Bar;
use explain::{Explanation, Loss, NoGains};
use std::sync::Mutex;
use trace::{Selection, Trace};

/// Predicts what the fixes of an explanation would gain, each alone, if that is asked for, or quick. A prediction is for what the
/// program repeats, or for all of it: with a selection there is none.
pub fn predict(
    trace: &Trace,
    explanation: &mut Explanation,
    losses: &[Loss],
    selection: &Selection,
    wanted: Gains,
) {
    let predictions = explanation.predictions();
    if predictions.is_empty() || wanted == Gains::Never {
        return;
    }
    let absent = match () {
        () if *selection != Selection::default() => NoGains::Selection,
        () if wanted == Gains::Auto && !replay::is_quick(trace, predictions.len()) => {
            NoGains::Size((trace.calls.len() + trace.ops.len()) as u64)
        }
        () => {
            let bar = Mutex::new(Bar::new("predicting"));
            let progress = |id: &str| {
                if let Ok(mut bar) = bar.lock() {
                    bar.update(id, 0, None);
                }
            };
            explanation.gains = replay::gains(trace, explanation, losses, &progress);
            return;
        }
    };
    explanation.gains.absent = Some(absent);
}
