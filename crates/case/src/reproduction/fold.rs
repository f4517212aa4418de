//! Rounds in the steps of a thread.

use super::act::{Act, Item, Pause};
use rustc_hash::FxHashMap;
use trace::Ns;

/// Most steps of a round that repeats: a step of a training launches some thousand kernels.
const LONGEST: usize = 4_096;

/// A step or a loop, with the times of all rounds.
#[derive(Clone, Debug)]
pub(super) enum Folded {
    /// A step, with its times in each round.
    Step {
        /// The step.
        act: Act,
        /// The times before it.
        pauses: Vec<Pause>,
        /// The kernel's durations, ns.
        kernels: Vec<Ns>,
        /// The call's durations, ns.
        took: Vec<Ns>,
    },
    /// Steps that repeat.
    Loop {
        /// How often, each time.
        times: Vec<u64>,
        /// The steps.
        body: Vec<Folded>,
    },
}

impl Folded {
    fn of(item: Item) -> Folded {
        let Item { pause, act, kernel_ns, took } = item;
        Folded::Step { act, pauses: vec![pause], kernels: vec![kernel_ns], took: vec![took] }
    }

    /// The time of all of it, ns.
    pub fn ns(&self) -> Ns {
        match self {
            Folded::Step { pauses, took, .. } => {
                pauses.iter().map(|pause| pause.all()).sum::<Ns>() + took.iter().sum::<Ns>()
            }
            Folded::Loop { body, .. } => body.iter().map(Folded::ns).sum(),
        }
    }

    /// Number of steps to write.
    pub fn steps(&self) -> usize {
        match self {
            Folded::Step { .. } => 1,
            Folded::Loop { body, .. } => 1 + body.iter().map(Folded::steps).sum::<usize>(),
        }
    }

    /// Adds the times of another one of the same shape.
    fn add(&mut self, other: Folded) {
        match (self, other) {
            (
                Folded::Step { pauses, kernels, took, .. },
                Folded::Step { pauses: more, kernels: ns, took: calls, .. },
            ) => {
                pauses.extend(more);
                kernels.extend(ns);
                took.extend(calls);
            }
            (Folded::Loop { times, body }, Folded::Loop { times: more, body: others }) => {
                times.extend(more);
                body.iter_mut().zip(others).for_each(|(one, other)| one.add(other));
            }
            (Folded::Step { .. }, Folded::Loop { .. }) | (Folded::Loop { .. }, Folded::Step { .. }) => {}
        }
    }
}

/// The median; 0 of none.
pub(super) fn median<T: Copy + Ord + Default>(values: impl Iterator<Item = T>) -> T {
    let mut values: Vec<T> = values.collect();
    if values.is_empty() {
        return T::default();
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable(middle).1
}

/// Numbers of shapes: two steps or loops with the same number are the same but for their times.
#[derive(Default)]
struct Shapes {
    steps: FxHashMap<Act, u32>,
    loops: FxHashMap<Vec<u32>, u32>,
}

impl Shapes {
    fn next(&self) -> u32 {
        (self.steps.len() + self.loops.len()) as u32
    }

    fn of_step(&mut self, act: &Act) -> u32 {
        let next = self.next();
        *self.steps.entry(act.clone()).or_insert(next)
    }

    /// How often a loop runs may differ from round to round.
    fn of_loop(&mut self, body: &[u32]) -> u32 {
        let next = self.next();
        *self.loops.entry(body.to_vec()).or_insert(next)
    }
}

/// Folds what repeats into loops, the shortest first.
pub(super) fn fold(items: Vec<Item>) -> Vec<Folded> {
    let mut shapes = Shapes::default();
    let mut numbers: Vec<u32> = items.iter().map(|item| shapes.of_step(&item.act)).collect();
    let mut list: Vec<Folded> = items.into_iter().map(Folded::of).collect();
    let mut period = 1;
    while period <= (list.len() / 2).min(LONGEST) {
        let before = list.len();
        (list, numbers) = folded(list, numbers, period, &mut shapes);
        // What became shorter may repeat in shorter rounds.
        period = if list.len() < before { 1 } else { period + 1 };
    }
    list
}

/// Folds rounds of so many steps that follow each other.
fn folded(
    list: Vec<Folded>,
    numbers: Vec<u32>,
    period: usize,
    shapes: &mut Shapes,
) -> (Vec<Folded>, Vec<u32>) {
    let mut result = (Vec::with_capacity(list.len()), Vec::with_capacity(list.len()));
    let mut rest = list.into_iter();
    let mut at = 0;
    while at < numbers.len() {
        let rounds = rounds(&numbers[at..], period);
        // A loop of a loop alone is no round.
        if rounds < 2 {
            result.0.extend(rest.next());
            result.1.push(numbers[at]);
            at += 1;
            continue;
        }
        let mut body: Vec<Folded> = rest.by_ref().take(period).collect();
        for _ in 1..rounds {
            body.iter_mut().zip(rest.by_ref().take(period)).for_each(|(one, other)| one.add(other));
        }
        result.1.push(shapes.of_loop(&numbers[at..at + period]));
        result.0.push(Folded::Loop { times: vec![rounds as u64], body });
        at += rounds * period;
    }
    result
}

/// How often the first steps follow each other.
fn rounds(numbers: &[u32], period: usize) -> usize {
    let Some(first) = numbers.get(..period) else { return 0 };
    numbers.chunks_exact(period).take_while(|round| *round == first).count()
}

/// Steps that are a round of a thread, and how long one takes in the trace, ns.
pub(super) struct Round {
    pub body: Vec<Folded>,
    pub ns: Ns,
}

/// Most steps of a body that does not repeat.
const MOST: usize = 2_000;

/// The round in which most of the time goes; all steps if none has half of it. `None` without steps.
pub(super) fn round(list: Vec<Folded>) -> Option<Round> {
    let all: Ns = list.iter().map(Folded::ns).sum();
    let longest = list
        .iter()
        .enumerate()
        .filter(|(_, folded)| matches!(folded, Folded::Loop { .. }))
        .max_by_key(|(_, folded)| folded.ns());
    let found = longest.map(|(at, folded)| (at, folded.ns()));
    let steps: usize = list.iter().map(Folded::steps).sum();
    match found {
        Some((at, ns)) if ns >= all / 2 || steps > MOST => match list.into_iter().nth(at) {
            Some(Folded::Loop { times, body }) => {
                let rounds = times.iter().sum::<u64>().max(1);
                Some(Round { body, ns: ns / i64::try_from(rounds).unwrap_or(i64::MAX) })
            }
            Some(Folded::Step { .. }) | None => None,
        },
        _ if list.is_empty() => None,
        _ => Some(Round { body: list.into_iter().take(MOST).collect(), ns: all }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::StreamId;

    /// Steps by letters, each with a time of its own before it.
    fn items(text: &str) -> Vec<Item> {
        let item = |(at, letter): (usize, char)| Item {
            pause: Pause { work: at as Ns, ..Pause::default() },
            act: Act::Record(letter as u32, StreamId::NONE),
            kernel_ns: 0,
            took: 100,
        };
        text.chars().enumerate().map(item).collect()
    }

    fn shown(list: &[Folded]) -> String {
        list.iter()
            .map(|folded| match folded {
                Folded::Step { act: Act::Record(letter, _), .. } => {
                    char::from_u32(*letter).unwrap_or('?').to_string()
                }
                Folded::Step { .. } => "?".to_owned(),
                Folded::Loop { times, body } => format!("{}({})", median(times.iter().copied()), shown(body)),
            })
            .collect()
    }

    #[test]
    fn rounds_within_rounds_are_found() {
        for (text, expected) in [
            ("", ""),
            ("a", "a"),
            ("aaaa", "4(a)"),
            ("abab", "2(ab)"),
            ("xaabaabaaby", "x3(2(a)b)y"),
            ("aaaaabaaaabaaaaabaaaaaab", "4(5(a)b)"),
            ("abcabd", "abcabd"),
        ] {
            assert_eq!(shown(&fold(items(text))), expected, "{text}");
        }
    }

    #[test]
    fn a_round_has_the_times_of_all() {
        let list = fold(items("abab"));
        let Folded::Loop { body, .. } = &list[0] else { panic!("a loop") };
        let Folded::Step { pauses, took, .. } = &body[1] else { panic!("a step") };
        assert_eq!((pauses.iter().map(|pause| pause.work).collect::<Vec<_>>(), took.len()), (vec![1, 3], 2));
        let round = round(list).expect("there is one");
        assert_eq!((shown(&round.body).as_str(), round.ns), ("ab", (4 * 100 + 6) / 2));
    }

    #[test]
    fn steps_that_do_not_repeat_are_one_round() {
        let round = round(fold(items("abcabd"))).expect("there is one");
        assert_eq!(shown(&round.body), "abcabd");
        assert!(super::round(Vec::new()).is_none());
    }
}
