//! The judge's error rates over made-up machines: how often it calls a command different from itself, and how often the gain
//! lies in its interval. Everything is seeded: the counts are the same on every machine.

use prove::judge::{Judgement, Sense, Verdict};
use prove::{Arm, Metric, Plan, Proof, Run, Side, Tested, prove};
use std::time::Duration;

/// Judgements of each kind of machine.
const CASES: usize = 2_000;

/// Numbers that look like chance: SplitMix64 (Steele, Lea and Flood, 2014).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Between 0 and 1, never 0.
    fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    }

    fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// Effect of a machine on a run: the logarithm of the factor by which it takes longer.
type Machine = fn(run: usize, walk: &mut f64, chance: &mut Chance) -> f64;

/// Even noise of 2 %.
fn even(_: usize, _: &mut f64, chance: &mut Chance) -> f64 {
    0.02 * chance.normal()
}

/// Nothing is faster than the fastest run: a long tail above it.
fn skewed(_: usize, _: &mut f64, chance: &mut Chance) -> f64 {
    (0.015 * chance.exponential()).ln_1p()
}

/// Most runs agree within 0.5 %, and one of ten meets another program and takes up to half as long again.
fn disturbed(_: usize, _: &mut f64, chance: &mut Chance) -> f64 {
    let hit = if chance.uniform() < 0.1 { 0.5 * chance.uniform() } else { 0.0 };
    0.005 * chance.normal().abs() + hit
}

/// Skewed noise on a machine that gets slower, with a clock that wanders.
fn drifting(run: usize, walk: &mut f64, chance: &mut Chance) -> f64 {
    *walk += 0.003 * chance.normal();
    skewed(run, walk, chance) + 0.001 * run as f64 + *walk
}

/// The same that speeds up and settles after a few runs.
fn settling(run: usize, walk: &mut f64, chance: &mut Chance) -> f64 {
    skewed(run, walk, chance) + 0.2 * (-(run as f64) / 6.0).exp()
}

const MACHINES: [(&str, Machine); 5] = [
    ("even", even),
    ("skewed", skewed),
    ("disturbed", disturbed),
    ("drifting", drifting),
    ("settling", settling),
];

/// Proves a gain on such a machine, by the stop rule and all else that a user gets.
fn proof(machine: Machine, gain: f64, precision: f64, seed: u64) -> Proof {
    let arm = Arm::parse("program").expect("a command");
    let plan = Plan { rounds: 60, warm_ups: 1, precision };
    let tested = Tested { arms: [arm.clone(), arm], metric: Metric::Wall, plan };
    let (mut chance, mut walk, mut number) = (Chance(seed), 0.0, 0);
    let mut run = |side: Side, _: &Arm| {
        let factor = machine(number, &mut walk, &mut chance).exp();
        number += 1;
        let kept = if side == Side::After { 1.0 - gain } else { 1.0 };
        let wall = Duration::from_nanos((1e9 * factor * kept) as u64);
        Ok(Some(Run { wall, output: String::new(), error: String::new() }))
    };
    prove(&tested, &mut run, &mut |_| ()).expect("runs do not fail")
}

/// How many of the cases are so, and their blocks.
fn count(machine: Machine, gain: f64, precision: f64, is_so: fn(&Judgement, f64) -> bool) -> (usize, usize) {
    let mut found = (0, 0);
    for seed in 0..CASES as u64 {
        let proof = proof(machine, gain, precision, seed.wrapping_mul(0x1234_5678_9abc_def1));
        found.0 += usize::from(is_so(&proof.judgement, gain));
        found.1 += proof.blocks.len();
    }
    found
}

/// Half-widths to ask for: few blocks, some, and all of them.
const PRECISIONS: [f64; 3] = [0.02, 0.01, 0.0];

/// So many of the cases at most, if the rate is `rate`: with three standard deviations, as chance goes.
fn at_most(rate: f64) -> usize {
    let cases = CASES as f64;
    (cases * rate + 3.0 * (cases * rate * (1.0 - rate)).sqrt()).floor() as usize
}

#[test]
fn a_command_is_seldom_called_different_from_itself() {
    for (name, machine) in MACHINES {
        for precision in PRECISIONS {
            let is_different =
                |judged: &Judgement, _| matches!(judged.verdict, Verdict::Faster | Verdict::Slower);
            let (different, blocks) = count(machine, 0.0, precision, is_different);
            println!("{name}, {precision}: {different} of {CASES} called different, {blocks} blocks");
            assert!(different <= at_most(0.05), "{name}, {precision}: {different} of {CASES}");
        }
    }
}

#[test]
fn a_gain_is_in_its_interval() {
    for (name, machine) in MACHINES {
        for (gain, precision) in
            PRECISIONS.map(|precision| (0.1, precision)).into_iter().chain([(0.004, 0.01), (-0.5, 0.01)])
        {
            let is_outside = |judged: &Judgement, gain| !(judged.gain.low..=judged.gain.high).contains(&gain);
            let (outside, blocks) = count(machine, gain, precision, is_outside);
            println!("{name}, {gain} to {precision}: {outside} of {CASES} outside, {blocks} blocks");
            assert!(outside <= CASES * 7 / 100, "{name}, {gain} to {precision}: {outside} of {CASES}");
        }
    }
}

#[test]
fn a_steady_machine_is_seldom_called_unsteady_and_a_drifting_one_is() {
    let is_unsteady = |judged: &Judgement, _| !judged.steady;
    for (name, machine) in &MACHINES[..3] {
        let (unsteady, _) = count(*machine, 0.0, 0.01, is_unsteady);
        println!("{name}: {unsteady} of {CASES} unsteady");
        assert!(unsteady <= at_most(0.05), "{name}: {unsteady} of {CASES}");
    }
    let strongly: Machine = |run, walk, chance| skewed(run, walk, chance) + 0.02 * run as f64;
    let (unsteady, _) = count(strongly, 0.0, 0.01, is_unsteady);
    assert!(unsteady > CASES * 95 / 100, "{unsteady} of {CASES}");
}

#[test]
fn a_large_gain_is_found() {
    for (name, machine) in MACHINES {
        let is_found = |judged: &Judgement, _| judged.verdict == Verdict::Faster;
        let (found, _) = count(machine, 0.1, 0.01, is_found);
        println!("{name}: {found} of {CASES} found");
        assert!(found > CASES * 9 / 10, "{name}: {found} of {CASES}");
    }
    assert_eq!(proof(even, 0.1, 0.01, 1).judgement.verdict, Verdict::Faster);
    let sense = Sense::LessIsBetter;
    assert_eq!(Metric::Wall.sense(), sense);
}
