//! What changes would gain.

use crate::fit::Fit;
use crate::fixes::{FIXES, Fix, Scene};
use crate::{Error, Recovered, retime};
use serde::Serialize;
use trace::{Ns, Trace};

/// The part of a gain that is not certain, whatever the fit: what models assume, and what nobody waited for in the trace.
const UNSURE: f64 = 0.2;

/// What is not certain even of no gain, as a part of the time.
const FLOOR: f64 = 0.01;

/// A smaller gain is none, as a part of the time.
pub const LEAST: f64 = 0.005;

/// Most changes that are combined in a search.
const COMBINED: usize = 3;

/// How many of the best single changes a search combines.
const TRIED: usize = 5;

/// One or several changes and what they would gain.
#[derive(Clone, Debug, Serialize)]
pub struct Prediction {
    /// The changes, as in `own-stream`.
    pub id: String,
    /// How many calls and operations they change.
    pub changes: usize,
    /// The time that the program would take, ns.
    pub predicted_ns: Ns,
    /// What that gains.
    pub gain: Gain,
    /// The cause that would cost GPUs most; `None` if they would be busy.
    pub next: Option<&'static str>,
    /// When it is safe.
    pub safety: String,
}

/// A part of the time before: more is better, a negative one is a loss.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Gain {
    /// The best guess.
    pub share: f64,
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
}

/// Predictions from one trace.
pub struct Predictor<'a> {
    scene: Scene<'a>,
    fit: &'a Fit,
}

impl<'a> Predictor<'a> {
    /// Predicts from a trace whose replay fits.
    pub fn new(trace: &'a Trace, base: &'a Recovered, fit: &'a Fit) -> Predictor<'a> {
        Predictor { scene: Scene::new(trace, base), fit }
    }

    /// Applies changes together and runs what comes of it. `None` if one of them changes nothing.
    ///
    /// # Errors
    /// The simulator refuses it.
    pub fn predict(&self, fixes: &[&Fix]) -> Result<Option<Prediction>, Error> {
        let mut changed = self.scene.base.clone();
        let mut changes = 0;
        for fix in fixes {
            match (fix.apply)(&self.scene, &mut changed) {
                0 => return Ok(None),
                count => changes += count,
            }
        }
        let replayed = changed.replay()?;
        let (before, after) = (self.fit.wall.replayed_ns, replayed.end());
        let share = (before - after) as f64 / before.max(1) as f64;
        let reach = self.fit.error + UNSURE * share.abs() + FLOOR;
        let new = retime(self.scene.trace, &changed, &replayed);
        let safety: Vec<&str> = fixes.iter().map(|fix| fix.safety).collect();
        Ok(Some(Prediction {
            id: fixes.iter().map(|fix| fix.id).collect::<Vec<_>>().join(","),
            changes,
            predicted_ns: after,
            gain: Gain { share, low: share - reach, high: share + reach },
            next: next(&new),
            safety: safety.join("; "),
        }))
    }

    /// Every change that fits the trace, and the best of up to three together, by gain.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub fn search(&self) -> Result<Vec<Prediction>, Error> {
        let mut found: Vec<(Vec<&Fix>, Prediction)> = Vec::new();
        for fix in FIXES {
            found.extend(self.predict(&[fix])?.map(|prediction| (vec![fix], prediction)));
        }
        found.sort_by(|(_, a), (_, b)| b.gain.share.total_cmp(&a.gain.share));
        let single: Vec<&Fix> =
            found.iter().filter(|(_, one)| one.gain.share >= LEAST).map(|(fixes, _)| fixes[0]).collect();
        let single = &single[..single.len().min(TRIED)];
        let mut best: Option<(Vec<&Fix>, Prediction)> = None;
        for _ in 1..COMBINED {
            let start = best
                .as_ref()
                .or(found.first())
                .map(|(fixes, prediction)| (fixes.clone(), prediction.gain.share));
            let Some((fixes, share)) = start.filter(|_| single.len() > 1) else { break };
            let mut step: Option<(Vec<&Fix>, Prediction)> = None;
            for fix in single.iter().filter(|fix| fixes.iter().all(|other| other.id != fix.id)) {
                let with: Vec<&Fix> = fixes.iter().copied().chain([*fix]).collect();
                let Some(prediction) = self.predict(&with)? else { continue };
                let most = step.as_ref().map_or(share + LEAST, |(_, best)| best.gain.share);
                if prediction.gain.share > most {
                    step = Some((with, prediction));
                }
            }
            match step {
                Some(better) => best = Some(better),
                None => break,
            }
        }
        found.extend(best);
        found.sort_by(|(_, a), (_, b)| b.gain.share.total_cmp(&a.gain.share));
        Ok(found.into_iter().map(|(_, prediction)| prediction).collect())
    }
}

/// The cause of the finding that costs most.
fn next(trace: &Trace) -> Option<&'static str> {
    explain::explain(trace, &explain::Options::default()).findings.first().map(|finding| finding.cause.id())
}

/// The change of this name.
pub fn fix(id: &str) -> Option<&'static Fix> {
    FIXES.iter().find(|fix| fix.id == id)
}
