//! Gains of the fixes of an explanation, for the explanation.

use crate::{Error, Fit, Gain, MOST_ERROR, Predictor, Progress, fixes, recover};
use explain::{Gains, NoGains};
use std::collections::BTreeSet;
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

/// Gains of some changes, each alone, by their names ([`crate::FIXES`], with commas if several belong together); those with nothing to
/// change in the trace, and unknown ones, are not among them. They are parts of the time of a window, if there is one, and else of the
/// program's. `progress` is called with what is predicted next.
pub fn gains(
    trace: &Trace,
    changes: &BTreeSet<&'static str>,
    window: Option<(Ns, Ns)>,
    progress: &Progress<'_>,
) -> Gains {
    let absent = |why| Gains { absent: Some(why), ..Gains::default() };
    match predict(trace, changes, window, progress) {
        Ok(Ok(gains)) => gains,
        Ok(Err(error)) => absent(NoGains::Misfit { error, most: MOST_ERROR }),
        Err(error) => absent(NoGains::Refused(error.to_string())),
    }
}

/// The gains; the error of a replay that does not fit.
fn predict(
    trace: &Trace,
    changes: &BTreeSet<&'static str>,
    window: Option<(Ns, Ns)>,
    progress: &Progress<'_>,
) -> Result<Result<Gains, f64>, Error> {
    let recovered = recover(trace)?;
    let replayed = recovered.replay()?;
    let fit = Fit::brief(trace, &recovered, &replayed);
    if !fit.fits {
        return Ok(Err(fit.error));
    }
    let predictor = Predictor::new(trace, &recovered, &fit, progress)?;
    let predictor = match window {
        Some(window) => predictor.in_window(window),
        None => predictor,
    };
    let mut gains = Gains::default();
    for id in changes {
        let Some(fixes) = fixes(id) else { continue };
        if let Some((gain, thread)) = predictor.gain(&fixes)? {
            let Gain { share, low, high, once } = gain;
            gains.of.insert(id, explain::Gain { share, low, high, once, thread });
        }
    }
    Ok(Ok(gains))
}
