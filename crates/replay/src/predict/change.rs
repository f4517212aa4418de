//! Changes to programs.

use crate::predict::faster::{self, Faster};
use crate::predict::fixes::{FIXES, Fix, MOVING, Scene};
use crate::predict::processors::Processors;
use crate::{Recovered, Removed};

/// A change to a program.
#[derive(Clone, Copy)]
pub enum Change<'a> {
    /// A fix.
    Fix(&'a Fix),
    /// Something is faster.
    Faster(&'a Faster),
    /// The cause of a finding is gone.
    Removed(&'a Removed),
}

impl Change<'_> {
    /// Its name, or as it was written.
    pub fn id(&self) -> &str {
        match self {
            Change::Fix(fix) => fix.id,
            Change::Faster(faster) => faster.text(),
            Change::Removed(removed) => removed.text(),
        }
    }

    /// Fixes are applied in the order of [`FIXES`], with what is [`IMAGINED`] between.
    fn order(&self) -> usize {
        match self {
            Change::Fix(fix) => match FIXES.iter().position(|of| of.id == fix.id) {
                Some(at) if at < IMAGINED => at,
                Some(at) => at + 1,
                None => FIXES.len(),
            },
            Change::Faster(_) | Change::Removed(_) => IMAGINED,
        }
    }

    /// The change, if it is one of the program's own code: several of these are applied at once.
    fn host(&self) -> Option<&Faster> {
        match self {
            Change::Faster(faster) => Some(*faster).filter(|faster| faster.is_host()),
            Change::Fix(_) | Change::Removed(_) => None,
        }
    }

    /// When it is safe; nothing of what is only imagined.
    pub(super) fn safety(&self) -> Option<&'static str> {
        match self {
            Change::Fix(fix) => Some(fix.safety),
            Change::Removed(removed) => removed.safety(),
            Change::Faster(_) => None,
        }
    }

    fn apply(&self, scene: &Scene<'_>, to: &mut Recovered) -> usize {
        match self {
            Change::Fix(fix) => (fix.apply)(scene, to),
            Change::Faster(faster) => faster.apply(scene, to),
            Change::Removed(removed) => removed.apply(scene, to),
        }
    }
}

/// Applies changes, and takes off the time in which threads were ready without a processor if they take turns at `processors`. Returns how
/// many calls, operations and pauses the changes changed; `None` if one of them changes nothing.
pub(super) fn apply(
    wanted: &[Change<'_>],
    processors: Option<&Processors>,
    scene: &Scene<'_>,
    to: &mut Recovered,
) -> Option<usize> {
    let some = |changed: usize| (changed > 0).then_some(changed);
    let sum = |changes: &[Change<'_>], to: &mut Recovered| -> Option<usize> {
        changes.iter().map(|change| some(change.apply(scene, to))).sum()
    };
    let hosts: Vec<&Faster> = wanted.iter().filter_map(Change::host).collect();
    let mut others: Vec<_> = wanted.iter().copied().filter(|change| change.host().is_none()).collect();
    others.sort_by_key(Change::order);
    let moving = others.partition_point(|change| change.order() <= IMAGINED);
    let first = sum(&others[..moving], to)?;
    if let Some(processors) = processors {
        processors.take_turns(scene, to);
    }
    let host: usize =
        hosts.chunks(faster::MOST).map(|hosts| some(faster::hosts(hosts, scene, to))).sum::<Option<_>>()?;
    Some(first + host + sum(&others[moving..], to)?)
}

/// Where what is only imagined comes in the order of [`FIXES`]: before the last of them, which move calls.
const IMAGINED: usize = FIXES.len() - MOVING;

/// The names of changes, with commas between them.
pub(super) fn ids(wanted: &[Change<'_>]) -> String {
    wanted.iter().map(Change::id).collect::<Vec<_>>().join(",")
}

/// The fixes of these names, with commas between them; `None` if there is no such fix.
pub fn fixes(ids: &str) -> Option<Vec<Change<'static>>> {
    ids.split(',').map(|id| fix(id).map(Change::Fix)).collect()
}

/// The change of this name.
pub fn fix(id: &str) -> Option<&'static Fix> {
    FIXES.iter().find(|fix| fix.id == id)
}
