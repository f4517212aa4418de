//! Charged time by cause, with the places and calls of its culprits.

use super::blame::Blame;
use super::part::{AccountPart, SHOWN, Spent};
use super::roots::{Culprit, Root, Row};
use crate::facts::places::place_of_stack;
use crate::{Cause, Place};
use std::collections::BTreeMap;
use trace::Ns;

/// The time of each root.
pub(super) fn charged<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Vec<(Root, Ns)> {
    rows.into_iter().map(|row| (row.root, row.ns)).collect()
}

/// Charged time by cause, most first.
pub(super) fn by_cause(blame: &Blame<'_>, charges: &[(Root, Ns)]) -> Vec<AccountPart> {
    let mut causes = BTreeMap::<Cause, BTreeMap<Culprit, Ns>>::new();
    for (root, ns) in charges {
        *causes.entry(root.cause).or_default().entry(root.culprit).or_default() += ns;
    }
    let part = |(cause, culprits): (Cause, BTreeMap<Culprit, Ns>)| {
        let ns = culprits.values().sum();
        let mut culprits: Vec<(Ns, Culprit)> =
            culprits.into_iter().map(|(culprit, ns)| (ns, culprit)).collect();
        culprits.sort_by_key(|(ns, culprit)| (std::cmp::Reverse(*ns), *culprit));
        let (mut places, mut calls) = (Vec::new(), Vec::new());
        for (_, culprit) in &culprits {
            name(blame, *culprit, &mut places, &mut calls);
        }
        AccountPart { cause, ns, places, calls, finding: None, spent: spent(blame, &culprits) }
    };
    let mut parts: Vec<AccountPart> = causes.into_iter().map(part).collect();
    parts.sort_by_key(|part| (std::cmp::Reverse(part.ns), part.cause));
    parts
}

/// The times of culprits by place or call, most first.
fn spent(blame: &Blame<'_>, culprits: &[(Ns, Culprit)]) -> Vec<Spent> {
    let mut sums = BTreeMap::<(Option<Place>, String), Ns>::new();
    for (ns, culprit) in culprits {
        let (mut places, mut calls) = (Vec::new(), Vec::new());
        name(blame, *culprit, &mut places, &mut calls);
        *sums.entry((places.pop(), calls.pop().unwrap_or_default())).or_default() += ns;
    }
    let mut spent: Vec<_> = sums
        .into_iter()
        .map(|((place, call), ns)| Spent { place, call, ns })
        .filter(|row| row.ns != 0)
        .collect();
    spent.sort_by_key(|row| std::cmp::Reverse(row.ns));
    spent
}

/// Adds the place or the call of a culprit, as far as there is room.
pub(super) fn name(blame: &Blame<'_>, culprit: Culprit, places: &mut Vec<Place>, calls: &mut Vec<String>) {
    let mut call = |name: &str| {
        if calls.len() < SHOWN && !name.is_empty() && !calls.iter().any(|known| known == name) {
            calls.push(name.to_owned());
        }
    };
    let mut place = |place: &Place| {
        if places.len() < SHOWN && !places.contains(place) {
            places.push(place.clone());
        }
    };
    let trace = blame.facts.trace;
    match culprit {
        Culprit::Part(key) => call(trace.text(key.waiter.name())),
        Culprit::Call(_, name, stack) => {
            call(trace.text(name));
            place_of_stack(trace, stack).iter().for_each(place);
        }
        Culprit::Before(_, name) => call(trace.text(name)),
        Culprit::Spot(_, spot) | Culprit::Lock(_, _, Some(spot)) => place(blame.sites.place(spot)),
        Culprit::Lock(_, _, None) | Culprit::Between(_) | Culprit::Device(_) => {}
        // Settled.
        Culprit::Site(_) | Culprit::Held(..) => {}
    }
}
