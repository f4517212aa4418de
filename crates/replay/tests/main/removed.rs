//! Removal of the cause of a finding: on recordings, whose findings `holdup explain` prints.

use explain::{Cause, Options, explain_each};
use replay::{Change, Fit, Prediction, Predictor, Removed, recover};
use std::path::Path;

/// The prediction without the first finding of a cause, and what that finding lost as a part of the predicted time.
fn without(example: &str, cause: Cause) -> (Prediction, f64) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example);
    let trace = import::open(&file, &mut |_| {}).unwrap();
    let (explanation, losses) = explain_each(&trace, &Options::default());
    let finding = explanation.findings.iter().find(|finding| finding.cause == cause).unwrap();
    let removed = Removed::of(&finding.id, &explanation, &losses).unwrap();
    assert!(Removed::of("H99", &explanation, &losses).is_none(), "there are not so many");
    let base = recover(&trace).unwrap();
    let fit = Fit::of(&trace, &base, &base.replay().unwrap());
    let predictor = Predictor::new(&trace, &base, &fit, &|_| {}).unwrap();
    let prediction = predictor.predict(&[Change::Removed(&removed)]).unwrap().unwrap();
    let lost = finding.lost_ns as f64 / prediction.before_ns as f64;
    (prediction, lost)
}

#[test]
fn first_uses_of_the_thread_that_ends_last_are_gained() {
    let (prediction, lost) = without("recorded-library-first-use.holdup", Cause::FirstUse);
    assert!((prediction.gain.share - lost).abs() < 0.01, "{prediction:?}, of {lost}");
    assert_eq!(prediction.safety, "", "it is only imagined");
}

#[test]
fn a_wait_of_a_thread_that_ends_early_gains_nothing() {
    let (prediction, lost) = without("recorded-library-first-use.holdup", Cause::DriverLock);
    assert!(prediction.gain.share.abs() < 0.01 && lost > 0.3, "{prediction:?}, of {lost}");
}

/// Other launches meet the copy in a replay than did: none of them may wait for its lock.
#[test]
fn launches_that_no_longer_wait_for_a_lock_free_their_thread() {
    let (prediction, _) = without("recorded-d2h-stall.holdup", Cause::DriverLock);
    let thread = prediction.thread.unwrap();
    assert!(thread.tid == 2250 && thread.share > 0.25, "{thread:?}");
    assert_ne!(prediction.next, Some("driver-lock"));
}

#[test]
fn a_hidden_synchronization_that_is_gone_lets_its_thread_run_ahead() {
    let (prediction, _) = without("recorded-norm-hidden-sync.holdup", Cause::HiddenSync);
    assert_ne!(prediction.next, Some("hidden-sync"), "{prediction:?}");
}

/// Every stream then has a queue of its own, as with more connections.
#[test]
fn kernels_whose_queue_is_their_own_wait_for_no_other_stream() {
    let (prediction, lost) = without("recorded-launch-convoy.holdup", Cause::ConnectionAliasing);
    assert!(lost > 0.0, "{prediction:?}");
    assert!(prediction.thread.is_some_and(|thread| thread.share > 0.3), "{prediction:?}");
    assert_ne!(prediction.next, Some("connection-aliasing"), "{prediction:?}");
}
