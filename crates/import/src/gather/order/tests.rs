//! Programs that issue work, as CUPTI and the wrappers see them.

use super::*;
use proptest::prelude::*;

/// Outcome of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Runs,
    /// Its record is lost.
    Dropped,
    /// It becomes a node of a graph: it has a number and no operation.
    Captured,
    /// It fails: it has a number and no operation.
    Failed,
}

/// A call of a program: its thread, the time since the thread's last one, how long it takes, how far in it is numbered (in
/// percent), stream, grid, fate.
type Step = (u32, i64, i64, i64, usize, u32, Fate);

/// A program's calls, each with its number, and the operations that were recorded.
fn run(steps: &[Step]) -> (Vec<Issue>, Vec<i64>, Vec<Group>) {
    let mut clocks = FxHashMap::default();
    let mut issues = Vec::new();
    let mut numbered = Vec::new();
    for (at, &(tid, gap, duration, within, stream, fact, fate)) in steps.iter().enumerate() {
        let clock = clocks.entry(tid).or_insert(1_000_000);
        let start = *clock + gap;
        let end = start + duration;
        *clock = end + 1;
        let can = matches!(fate, Fate::Runs | Fate::Dropped);
        issues.push(Issue {
            call: CallId::new(at),
            tid,
            start,
            end,
            until: Ns::MAX,
            stream: Some(StreamId::new(stream)),
            work: Work::Kernel,
            bytes: 0,
            fact,
            can,
            correlation: 0,
            is_checked: false,
        });
        numbered.push((start + duration * within / 100, at, fate));
    }
    numbered.sort_unstable_by_key(|(time, at, _)| (*time, *at));
    let mut truth = vec![0; steps.len()];
    let mut groups = Vec::new();
    for (number, (time, at, fate)) in (1..).zip(numbered) {
        truth[at] = if fate == Fate::Runs { number } else { 0 };
        if fate == Fate::Runs {
            let (stream, fact) = (issues[at].stream.unwrap_or_default(), issues[at].fact);
            groups.push(Group {
                id: number,
                start: time + 2_000,
                stream,
                work: Work::Kernel,
                bytes: 0,
                fact,
            });
        }
    }
    (issues, truth, groups)
}

fn steps(
    threads: u32,
    streams: usize,
    grids: u32,
    fates: &'static [Fate],
) -> impl Strategy<Value = Vec<Step>> {
    let step = (
        0..threads,
        0..3_000i64,
        100..4_000i64,
        0..100i64,
        0..streams,
        1..=grids,
        prop::sample::select(fates),
    );
    prop::collection::vec(step, 1..120)
}

const MOSTLY_RUN: &[Fate] = &[Fate::Runs, Fate::Runs, Fate::Runs, Fate::Runs, Fate::Captured, Fate::Failed];
const SOME_LOST: &[Fate] = &[Fate::Runs, Fate::Runs, Fate::Runs, Fate::Runs, Fate::Dropped];

proptest! {
    #[test]
    fn one_threads_calls_are_all_joined(steps in steps(1, 3, 2, MOSTLY_RUN)) {
        let (issues, truth, groups) = run(&steps);
        let (found, joined) = join(&issues, &groups);
        prop_assert_eq!(&found, &truth);
        prop_assert_eq!((joined.uncertain, joined.calls as usize), (0, groups.len()));
    }

    #[test]
    fn one_threads_calls_are_joined_although_records_are_lost(steps in steps(1, 3, 2, SOME_LOST)) {
        let (issues, truth, groups) = run(&steps);
        let (found, joined) = join(&issues, &groups);
        prop_assert_eq!(&found, &truth);
        prop_assert_eq!(joined.without as usize, issues.len() - groups.len());
    }

    /// Each thread has streams of its own.
    #[test]
    fn threads_with_own_streams_are_joined(mut steps in steps(4, 2, 3, MOSTLY_RUN)) {
        steps.iter_mut().for_each(|step| step.4 += 2 * step.0 as usize);
        let (issues, truth, groups) = run(&steps);
        let (found, joined) = join(&issues, &groups);
        prop_assert_eq!(&found, &truth);
        prop_assert_eq!(joined.uncertain, 0);
    }

    /// Threads that issue into one stream at the same time: what is not certain is not joined.
    #[test]
    fn no_join_is_wrong(steps in steps(4, 2, 2, &[Fate::Runs])) {
        let (issues, truth, groups) = run(&steps);
        let (found, joined) = join(&issues, &groups);
        for (found, truth) in found.iter().zip(&truth) {
            prop_assert!(*found == 0 || found == truth);
        }
        prop_assert_eq!(joined.calls as usize, groups.len());
        let certain = found.iter().filter(|id| **id != 0).count();
        prop_assert_eq!(certain + joined.uncertain as usize, groups.len());
    }

    #[test]
    fn no_join_is_wrong_although_records_are_lost(mut steps in steps(4, 2, 2, SOME_LOST)) {
        steps.iter_mut().for_each(|step| step.4 += 2 * step.0 as usize);
        let (issues, truth, groups) = run(&steps);
        let (found, _) = join(&issues, &groups);
        for (found, truth) in found.iter().zip(&truth) {
            prop_assert!(*found == 0 || found == truth);
        }
    }

    /// From some time on, CUPTI tells the ids.
    #[test]
    fn told_ids_are_taken(steps in steps(4, 2, 2, &[Fate::Runs]), from in 0..200_000i64) {
        let (mut issues, truth, groups) = run(&steps);
        for (issue, id) in issues.iter_mut().zip(&truth) {
            if issue.start >= 1_000_000 + from {
                issue.correlation = *id as u32;
            }
        }
        let (found, _) = join(&issues, &groups);
        for ((found, truth), issue) in found.iter().zip(&truth).zip(&issues) {
            prop_assert!(*found == 0 || found == truth);
            prop_assert!(issue.correlation == 0 || found == truth);
        }
    }
}

#[test]
fn operations_from_before_the_recording_have_no_call() {
    let step = |gap| (1, gap, 100, 50, 0, 7, Fate::Runs);
    let (issues, _, mut groups) = run(&[step(10_000), step(100), step(100)]);
    groups.iter_mut().for_each(|group| group.id += 1);
    groups.insert(0, Group { id: 1, start: 1_000, ..groups[0] });
    let (found, joined) = join(&issues, &groups);
    assert_eq!(found, [2, 3, 4]);
    assert_eq!(joined, JoinCounts { calls: 3, uncertain: 0, without: 0 });
}

#[test]
fn numbers_of_other_calls_are_no_calls_that_were_lost() {
    let step = |gap| (1, gap, 100, 50, 0, 7, Fate::Runs);
    let (issues, _, mut groups) = run(&[step(10_000), step(100), step(100)]);
    groups.iter_mut().for_each(|group| group.id *= 3);
    assert_eq!(join(&issues, &groups).0, [3, 6, 9]);
}

#[test]
fn a_number_may_be_anything() {
    let step = |gap| (1, gap, 100, 50, 0, 7, Fate::Runs);
    let (issues, _, mut groups) = run(&[step(10_000), step(100)]);
    groups[1].id = i64::from(u32::MAX);
    assert_eq!(join(&issues, &groups).0, [1, i64::from(u32::MAX)]);
}
