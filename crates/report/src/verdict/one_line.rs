//! Work and waits of threads at one line of the program as one cause: that of the known work there.

use super::named::Named;
use explain::Cause;

/// The smallest part of the time at a line whose cause stands for all of it: a choice.
const TELLS: f64 = 0.2;

/// Lets the time for which threads only ran or slept at a line be of the known work at that line.
pub(super) fn united(named: &mut Vec<Named>) {
    for known in 0..named.len() {
        if !is_known_work(named[known].cause) || !named[known].has_line() {
            continue;
        }
        let at = named[known].at.clone();
        let joins = |one: &Named| one.at == at && is_general(one);
        let others: f64 = named.iter().filter(|one| joins(one)).map(|one| one.share).sum();
        let share = named[known].share;
        if share >= (share + others) * TELLS {
            named[known].share += others;
            named.iter_mut().filter(|one| joins(one)).for_each(|one| one.share = 0.0);
        }
    }
    named.retain(|one| one.share > 0.0 || !is_general(one));
}

/// Whether a cause says only that threads ran or slept.
fn is_general(cause: &Named) -> bool {
    cause.cause == Cause::Blocked || cause.cause == Cause::HostCode && cause.fixes.is_empty()
}

/// Whether a cause says what threads do outside calls.
fn is_known_work(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::NoDemand
            | Cause::DataLoading
            | Cause::Feeding
            | Cause::FileWriting
            | Cause::FileReading
            | Cause::GarbageCollection
            | Cause::KernelBuild
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The causes of a line and of another one, with their shares, after those of one line are united.
    fn of(shares: [(Cause, f64, &str); 3]) -> Vec<(Cause, i64)> {
        let named = |(cause, share, at): (Cause, f64, &str)| Named {
            id: "H1".to_owned(),
            at: at.to_owned(),
            ..Named::plain(cause, share, String::new())
        };
        let mut all: Vec<Named> = shares.into_iter().map(named).collect();
        united(&mut all);
        all.into_iter().map(|one| (one.cause, (one.share * 100.0).round() as i64)).collect()
    }

    #[test]
    fn a_line_has_the_cause_of_its_known_work() {
        use Cause::{Blocked, Feeding, HostCode, Lock};
        let at = "run.py:7";
        let all = of([(Blocked, 0.25, at), (Feeding, 0.22, at), (HostCode, 0.05, "run.py:8")]);
        assert_eq!(all, [(Feeding, 47), (HostCode, 5)]);
        let little = of([(Blocked, 0.45, at), (Feeding, 0.1, at), (HostCode, 0.05, at)]);
        assert_eq!(little, [(Blocked, 45), (Feeding, 10), (HostCode, 5)], "near miss: little of it");
        let lock = of([(HostCode, 0.2, at), (Lock, 0.2, at), (Blocked, 0.1, at)]);
        assert_eq!(lock.len(), 3, "control: no known work");
        let call = "after cudaFree";
        let calls = of([(Blocked, 0.25, call), (Feeding, 0.22, call), (HostCode, 0.05, call)]);
        assert_eq!(calls.len(), 3, "control: no line");
    }
}
