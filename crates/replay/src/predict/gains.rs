//! Gains of the fixes of an explanation, for the explanation.

use crate::{Change, Error, Fit, Gain, MOST_ERROR, Predictor, Progress, Removed, fixes, recover};
use explain::{Explanation, Gains, Loss, NoGains};
use trace::{Ns, Trace};

/// Time to recover a trace, to replay it and to compare both, by call and operation, ns: 700 of a million calls, rounded up (`cargo
/// bench -p holdup-replay`, on one core of a cloud machine).
const REPLAY_NS: Ns = 1_000;

/// Time to apply one more change and to replay what comes of it, by call and operation, ns: at most 350, rounded up (as above).
const CHANGE_NS: Ns = 500;

/// Time that an explanation may take longer for its gains, ns: a choice.
const QUICK_NS: Ns = 1_000_000_000;

/// Whether the gains of so many changes take at most about a second. The trace's size decides, so that the same trace always has
/// the same explanation.
pub fn is_quick(trace: &Trace, changes: usize) -> bool {
    let rows = (trace.calls.len() + trace.ops.len()) as Ns;
    let each = CHANGE_NS.saturating_mul(changes as Ns).saturating_add(REPLAY_NS);
    rows.saturating_mul(each) <= QUICK_NS
}

/// Gains of the fixes of an explanation, each alone, by [`explain::Fix::prediction`]; those with nothing to change in the trace are not among
/// them. They are parts of the time of what the program repeats, if anything repeats, and else of all. `progress` is called with what is
/// predicted next.
pub fn gains(trace: &Trace, explanation: &Explanation, losses: &[Loss], progress: &Progress<'_>) -> Gains {
    let absent = |why| Gains { absent: Some(why), ..Gains::default() };
    match predict(trace, explanation, losses, progress) {
        Ok(Ok(gains)) => gains,
        Ok(Err(error)) => absent(NoGains::Misfit { error, most: MOST_ERROR }),
        Err(error) => absent(NoGains::Refused(error.to_string())),
    }
}

/// The gains; the error of a replay that does not fit.
fn predict(
    trace: &Trace,
    explanation: &Explanation,
    losses: &[Loss],
    progress: &Progress<'_>,
) -> Result<Result<Gains, f64>, Error> {
    let recovered = recover(trace)?;
    let replayed = recovered.replay()?;
    let fit = Fit::brief(trace, &recovered, &replayed);
    if !fit.fits {
        return Ok(Err(fit.error));
    }
    let predictor = Predictor::new(trace, &recovered, &fit, progress)?;
    let predictor = match explanation.accounts.steady.as_ref() {
        Some(steady) => predictor.in_window((steady.start_ns, steady.end_ns)),
        None => predictor,
    };
    let mut gains = Gains::default();
    for id in explanation.predictions() {
        let removed = Removed::by_fix(id, explanation, losses);
        let changes = match &removed {
            Some(removed) => Some(vec![Change::Removed(removed)]),
            None => fixes(id),
        };
        if let Some(changes) = changes
            && let Some((gain, thread)) = predictor.gain(&changes)?
        {
            let Gain { share, low, high, once } = gain;
            gains.of.insert(id, explain::Gain { share, low, high, once, thread });
        }
    }
    Ok(Ok(gains))
}
