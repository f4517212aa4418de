//! The search for the best changes.

use super::change::{Change, fix, ids};
use super::{Best, Gain, LEAST, Prediction, Predictor, each};
use crate::Error;
use crate::predict::fixes::{FIXES, Fix};
use std::sync::PoisonError;

/// Most changes that are combined in a search.
const COMBINED: usize = 3;

/// How many of the best single changes a search combines.
const TRIED: usize = 5;

/// Fixes of which one has use for the other: processes without MPS take turns.
const TOGETHER: &[&[&str]] = &[&["process-per-thread", "mps"]];

/// Fixes that are applied together.
type Fixes = Vec<&'static Fix>;

impl Predictor<'_> {
    /// Every change that fits the trace, and the best of up to three together, by gain.
    ///
    /// # Errors
    /// The errors of [`Predictor::predict`].
    pub fn search(&self) -> Result<Vec<Prediction>, Error> {
        let together = TOGETHER.iter().map(|ids| ids.iter().copied().filter_map(fix).collect());
        let sets: Vec<Fixes> = FIXES.iter().map(|fix| vec![fix]).chain(together).collect();
        let predict =
            |fixes: &Fixes| Ok(self.predict(&changes(fixes))?.map(|prediction| (fixes.clone(), prediction)));
        let mut found: Vec<(Fixes, Prediction)> = each(&sets, predict)?.into_iter().flatten().collect();
        drop_needless(&mut found);
        found.sort_by(|(_, a), (_, b)| b.gain.share.total_cmp(&a.gain.share));
        let gains = found.iter().filter(|(_, one)| one.gain.share >= LEAST).take(TRIED);
        let gaining: Vec<Fixes> = gains.map(|(fixes, _)| fixes.clone()).collect();
        let mut best = found.first().map(|(fixes, prediction)| (fixes.clone(), prediction.gain.share));
        let alone = best.as_ref().map_or(0, |(fixes, _)| fixes.len());
        while let Some(better) =
            best.as_ref().map(|best| self.with_another(best, &gaining)).transpose()?.flatten()
        {
            best = Some(better);
        }
        if let Some((fixes, _)) = best.filter(|(fixes, _)| fixes.len() > alone) {
            found.extend(self.predict(&changes(&fixes))?.map(|prediction| (fixes, prediction)));
        }
        found.sort_by(|(_, a), (_, b)| b.gain.share.total_cmp(&a.gain.share));
        Ok(found.into_iter().map(|(_, prediction)| prediction).collect())
    }

    /// The best of some changes with others, and its gain; `None` if none gains anything beside them.
    fn with_another(
        &self,
        (fixes, gain): &(Fixes, f64),
        others: &[Fixes],
    ) -> Result<Option<(Fixes, f64)>, Error> {
        let is_new = |other: &&Fixes| other.iter().all(|other| fixes.iter().all(|fix| fix.id != other.id));
        let fits = |other: &&Fixes| fixes.len() + other.len() <= COMBINED;
        let with = |other: &Fixes| fixes.iter().chain(other).copied().collect();
        let sets: Vec<Fixes> = others.iter().filter(is_new).filter(fits).map(with).collect();
        let gains = each(&sets, |fixes| {
            let (wanted, id) = (changes(fixes), ids(&changes(fixes)));
            let Some(ran) = self.run(&wanted, &id)? else { return Ok(None) };
            let (Gain { share, .. }, _) = self.gain_of(&ran);
            self.keep_best(Best { id, share, ran });
            Ok(Some((fixes.clone(), share)))
        })?;
        let better = gains.into_iter().flatten().filter(|(_, share)| *share > gain + LEAST);
        // Of equal ones the first.
        Ok(better.reduce(|best, one| if one.1 > best.1 { one } else { best }))
    }

    /// Keeps a run if it gains more than the one that is kept.
    fn keep_best(&self, new: Best) {
        let mut best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
        let other = match &*best {
            Some(kept) if kept.share >= new.share => Some(new),
            _ => best.replace(new),
        };
        if let Some(other) = other {
            self.programs.keep(other.ran.changed);
        }
    }
}

/// Drops fixes that belong together but gain no more than one of them.
fn drop_needless(found: &mut Vec<(Fixes, Prediction)>) {
    let gains: Vec<(&str, f64)> = found
        .iter()
        .filter(|(fixes, _)| fixes.len() == 1)
        .map(|(fixes, one)| (fixes[0].id, one.gain.share))
        .collect();
    let most = |fixes: &Fixes| {
        let of = gains.iter().filter(|(id, _)| fixes.iter().any(|fix| fix.id == *id));
        of.map(|(_, share)| *share).reduce(f64::max)
    };
    found.retain(|(fixes, one)| {
        fixes.len() == 1 || most(fixes).is_none_or(|most| one.gain.share > most + LEAST)
    });
}

fn changes(fixes: &Fixes) -> Vec<Change<'static>> {
    fixes.iter().copied().map(Change::Fix).collect()
}
