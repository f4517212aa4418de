//! Rounds that unmake what they make, so that a thread can do them again.

use super::act::{Act, Pause, Thing};
use super::fold::Folded;
use std::collections::BTreeMap;

/// Numbers of what exists, by kind, the oldest first.
type Live = BTreeMap<Thing, Vec<u32>>;

/// Numbers what a round makes, removes ends of what it did not make, and ends at its end what it leaves. Returns how many steps were
/// removed or added.
pub(super) fn balance(body: &mut Vec<Folded>) -> usize {
    within(body, &Live::new())
}

fn within(body: &mut Vec<Folded>, outer: &Live) -> usize {
    let mut live = Live::new();
    let mut changed = 0;
    let steps = std::mem::take(body);
    for mut folded in steps {
        match &mut folded {
            Folded::Step { act: Act::Begin(thing, slot), .. } => {
                *slot = free(*thing, outer, &live);
                live.entry(*thing).or_default().push(*slot);
            }
            Folded::Step { act: Act::End(thing, slot), .. } => match live.get_mut(thing).and_then(Vec::pop) {
                Some(last) => *slot = last,
                None => {
                    changed += 1;
                    continue;
                }
            },
            Folded::Step { .. } => {}
            Folded::Loop { body, .. } => {
                let mut all = outer.clone();
                live.iter().for_each(|(thing, slots)| all.entry(*thing).or_default().extend(slots));
                changed += within(body, &all);
                if body.is_empty() {
                    continue;
                }
            }
        }
        body.push(folded);
    }
    let ends =
        live.into_iter().flat_map(|(thing, slots)| slots.into_iter().rev().map(move |slot| (thing, slot)));
    for (thing, slot) in ends {
        changed += 1;
        let (pauses, kernels, took) = (vec![Pause::default()], vec![0], vec![0]);
        body.push(Folded::Step { act: Act::End(thing, slot), pauses, kernels, took });
    }
    changed
}

/// The lowest number of a kind that nothing has.
fn free(thing: Thing, outer: &Live, live: &Live) -> u32 {
    let is_used =
        |slot: &u32| [outer, live].iter().any(|of| of.get(&thing).is_some_and(|slots| slots.contains(slot)));
    (0..).find(|slot| !is_used(slot)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(act: Act) -> Folded {
        Folded::Step { act, pauses: vec![Pause::default()], kernels: vec![0], took: vec![0] }
    }

    fn acts(body: &[Folded]) -> Vec<Act> {
        body.iter()
            .flat_map(|folded| match folded {
                Folded::Step { act, .. } => vec![act.clone()],
                Folded::Loop { body, .. } => acts(body),
            })
            .collect()
    }

    #[test]
    fn a_round_ends_what_it_begins_and_nothing_else() {
        let begin = || step(Act::Begin(Thing::Device, 0));
        let end = || step(Act::End(Thing::Device, 0));
        let inner = Folded::Loop { times: vec![2], body: vec![begin(), end()] };
        let mut body = vec![end(), begin(), inner, begin(), begin(), end()];
        assert_eq!(balance(&mut body), 3);
        let [first, second, third] = [0, 1, 2];
        let of = |begins: bool, slot| match begins {
            true => Act::Begin(Thing::Device, slot),
            false => Act::End(Thing::Device, slot),
        };
        assert_eq!(
            acts(&body),
            [
                of(true, first),
                of(true, second),
                of(false, second),
                of(true, second),
                of(true, third),
                of(false, third),
                of(false, second),
                of(false, first),
            ]
        );
    }

    #[test]
    fn a_loop_of_ends_alone_goes() {
        let end = step(Act::End(Thing::Event, 0));
        let mut body = vec![Folded::Loop { times: vec![9], body: vec![end] }];
        assert_eq!((balance(&mut body), body.len()), (1, 0));
    }
}
