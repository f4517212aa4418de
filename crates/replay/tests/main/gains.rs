//! The gains of an explanation's fixes are those that are predicted for each alone.

use crate::oracle;
use crate::support::replayed;
use explain::{About, Cause, Effect, Fix, Gains, NoGains, Options};
use replay::{Change, FIXES, Fit, MOST_ERROR, Predictor, Removed};
use std::collections::BTreeSet;
use std::path::Path;
use trace::{Call, Trace};

fn example(file: &str) -> Trace {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    import::open(&examples.join(file), &mut |_| {}).unwrap()
}

fn all() -> BTreeSet<&'static str> {
    FIXES.iter().map(|fix| fix.id).collect()
}

/// The gains of the fixes of its explanation.
fn gains(trace: &Trace) -> Gains {
    let (explanation, losses) = explain::explain_each(trace, &Options::default());
    replay::gains(trace, &explanation, &losses, &|_| {})
}

/// Where memory can be pinned, `pinned-reused` gains more than this, and a trace does not say where it can: no finding offers it.
const OF_WHATIF_ALONE: &str = "staged-copies";

#[test]
fn each_change_predicts_a_fix_and_each_predicted_fix_has_a_change() {
    let fixes = Cause::ALL.iter().flat_map(|cause| About::of(*cause).fixes);
    let change = |fix: &Fix| match fix.effect {
        Effect::Change(change) => Some(change),
        Effect::Removal | Effect::Unknown => None,
    };
    let mut changes: BTreeSet<&'static str> =
        fixes.filter_map(change).flat_map(|change| change.split(',')).collect();
    assert!(changes.insert(OF_WHATIF_ALONE), "a finding offers it");
    assert_eq!(changes, all());
}

#[test]
fn gains_are_those_of_whatif() {
    for file in ["recorded-d2h-stall.holdup", "recorded-norm-hidden-sync.holdup"] {
        let trace = example(file);
        let (explanation, losses) = explain::explain_each(&trace, &Options::default());
        let gains = gains(&trace);
        let (base, replayed) = replayed(&trace);
        let fit = Fit::of(&trace, &base, &replayed);
        let predictor = Predictor::new(&trace, &base, &fit, &|_| {}).unwrap();
        let predictor = match &explanation.accounts.steady {
            Some(steady) => predictor.in_window((steady.start_ns, steady.end_ns)),
            None => predictor,
        };
        let mut compared = 0;
        for id in &explanation.predictions() {
            let removed = Removed::by_fix(id, &explanation, &losses);
            let changes = removed.iter().map(Change::Removed).collect();
            let alone = predictor.predict(&replay::fixes(id).unwrap_or(changes)).unwrap();
            let gain = gains.of.get(id);
            assert_eq!(gain.is_some(), alone.is_some(), "{file} {id}");
            if let (Some(gain), Some(alone)) = (gain, alone) {
                assert_eq!(
                    (gain.share, gain.low, gain.high),
                    (alone.gain.share, alone.gain.low, alone.gain.high)
                );
                assert_eq!(gain.thread, alone.thread, "{file} {id}");
                compared += 1;
            }
        }
        assert!(compared > 0 && gains.absent.is_none(), "{file}");
    }
}

#[test]
fn nothing_is_predicted_without_a_replay_that_fits() {
    let unfit = gains(&oracle::unfit());
    assert!(unfit.of.is_empty());
    assert!(
        matches!(unfit.absent, Some(NoGains::Misfit { error, most }) if error > most && most == MOST_ERROR),
        "{unfit:?}"
    );
    let empty = gains(&Trace::default());
    assert!(empty.of.is_empty() && matches!(empty.absent, Some(NoGains::Refused(_))), "{empty:?}");
}

/// A fix without a change of its own gains the time for which the GPU is idle because of what it mends, and what the replay has besides.
#[test]
fn what_a_fix_removes_is_gained() {
    let of = |file: &str, fix: &str| {
        let trace = example(file);
        let (explanation, losses) = explain::explain_each(&trace, &Options::default());
        let offers = |finding: &&explain::Finding| finding.fixes.iter().any(|of| of.id == fix);
        let cost: f64 = explanation.findings.iter().filter(offers).map(|finding| finding.cost_share).sum();
        let gain = replay::gains(&trace, &explanation, &losses, &|_| {}).of[fix];
        assert!(Removed::by_fix("pool-allocator", &explanation, &losses).is_none(), "it has its own change");
        (cost, gain.share)
    };
    for (file, fix) in [
        ("recorded-graph-churn.holdup", "kept-object"),
        ("recorded-pool-trim.holdup", "release-threshold"),
        ("recorded-blocking-launches.holdup", "async-launches"),
    ] {
        let (cost, gain) = of(file, fix);
        assert!(cost > 0.5 && gain > cost - 1e-6 && gain < cost + 0.15, "{fix}: {cost} {gain}");
    }
}

/// The thread whose first uses move begins with the end of another thread's wait.
#[test]
fn first_uses_that_move_are_not_lost() {
    let gains = gains(&example("recorded-library-first-use.holdup"));
    let share = gains.of["warm-up"].share;
    assert!(share.abs() < 0.02, "{share}");
}

#[test]
fn more_changes_and_larger_traces_are_not_quick() {
    let mut trace = Trace::default();
    let add = |trace: &mut Trace, calls: usize| {
        for _ in 0..calls {
            trace.calls.push(Call::default());
        }
    };
    add(&mut trace, 200_000);
    assert!(replay::is_quick(&trace, 1) && !replay::is_quick(&trace, 10));
    add(&mut trace, 1_000_000);
    assert!(!replay::is_quick(&trace, 1));
}
