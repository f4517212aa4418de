//! A slowdown that begins at random, as seed 004 reports it: some runs of a program are fast, then one is slow, and so is every
//! later run.

use super::slowdown::takes_longer;
use crate::experiment::Unit;
use crate::results::Row;
use sim::Chance;

/// The least and the most runs before the first slow one (seed 004: "around 3 or 4").
const BEFORE: (u64, u64) = (3, 4);

/// The time to hand over the GPUs' lock, in percent of the time in the model of the seed's machine: with these, ten workers
/// take 2 to 20 times as long as one, the seed's range.
const PERCENT: (f64, f64) = (56.0, 583.0);

/// The time to hand over the lock in each run, in percent; 0 while GPUs do not share it.
pub(super) fn contentions(seed: u64, runs: u64) -> Vec<u32> {
    let mut chance = Chance::new(seed);
    let before = BEFORE.0 + chance.next() % (BEFORE.1 - BEFORE.0 + 1);
    let amount = |run| match run < before {
        true => 0,
        // On a logarithmic scale: as often between 2 and 4 times as between 5 and 10.
        false => (PERCENT.0 * (PERCENT.1 / PERCENT.0).powf(chance.part())).round() as u32,
    };
    (0..runs).map(amount).collect()
}

/// Returns when the slowdown begins; of a model, that it was drawn. Each pair is, for one run, the row with one worker and the row with
/// the most.
pub(super) fn verdict(pairs: &[(&Row, &Row)], simulated: bool) -> Vec<String> {
    let mut lines: Vec<Vec<(&Row, &Row)>> = Vec::new();
    for pair in pairs {
        match lines.iter_mut().find(|line| line[0].0.is_like(pair.0, &["run"])) {
            Some(line) => line.push(*pair),
            None => lines.push(vec![*pair]),
        }
    }
    let mut sentences: Vec<String> = lines.iter_mut().map(|line| of_line(line)).collect();
    sentences.extend(simulated.then(|| String::from(DRAWN)));
    sentences
}

/// The limit of a model's onset.
const DRAWN: &str = "With which run the slowdown begins, and how long it takes, was drawn from the range that seed 004 reports: nothing in \
                     the model makes it begin.";

fn of_line(runs: &mut [(&Row, &Row)]) -> String {
    runs.sort_by_key(|(one, _)| one.number("run"));
    let all = runs[0].1;
    let sync = if all.is(&[("sync", true.into())]) { ", synchronizing" } else { "" };
    let what =
        format!("{} with {}{sync} on {} GPUs", all.text("variant"), all.text("load"), all.text("gpus"));
    let slow: Vec<bool> = runs.iter().map(|(one, all)| takes_longer(all, one)).collect();
    let Some(first) = slow.iter().position(|slow| *slow) else {
        return format!("{what}: no run of {} takes longer than one worker.", runs.len());
    };
    let slowdowns = || {
        let slow = runs.iter().zip(&slow).filter(|(_, slow)| **slow);
        slow.map(|((_, all), _)| all.value("slowdown"))
    };
    let (least, most) =
        (slowdowns().fold(f64::INFINITY, f64::min), slowdowns().fold(f64::NEG_INFINITY, f64::max));
    let times = format!("{} to {} as long as one worker", Unit::Times.text(least), Unit::Times.text(most));
    let number = runs[first].0.text("run");
    match (first, slow[first..].iter().all(|slow| *slow)) {
        (0, true) => format!("{what}: every run takes {times}."),
        (_, true) => {
            format!(
                "{what}: the slowdown begins with run {number}; that run and every later one take {times}."
            )
        }
        (_, false) => {
            let count = slow.iter().filter(|slow| **slow).count();
            format!("{what}: the slowdown is intermittent: {count} of {} runs take {times}.", runs.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowdown_begins_after_three_or_four_runs_and_stays() {
        let mut befores = Vec::new();
        for seed in 0..100 {
            let all = contentions(seed, 12);
            assert_eq!(all, contentions(seed, 12), "the same seed, the same runs");
            let before = all.iter().take_while(|percent| **percent == 0).count();
            assert!(all[before..].iter().all(|percent| (51..=583).contains(percent)), "{all:?}");
            befores.push(before);
        }
        assert!(befores.iter().all(|before| (3..=4).contains(before)));
        assert!(befores.contains(&3) && befores.contains(&4));
        assert_ne!(contentions(1, 12), contentions(2, 12));
        assert_eq!(contentions(1, 3), [0, 0, 0]);
    }
}
