//! Records that nobody can read, or not all of.

use super::state::Process;
use super::state::unread::UnreadCounts;

/// The reason of [`UnreadCounts::invalid`].
const INVALID: &str = "values in records that this holdup does not know";

impl Process<'_, '_> {
    /// Counts records as lost.
    pub(super) fn add_unread(&mut self, unread: UnreadCounts) {
        let UnreadCounts { short, unknown, misplaced, invalid } = unread;
        let lost = &mut self.all.trace.meta.lost;
        lost.records("truncated record", short);
        lost.records("records of a kind that this holdup does not know", unknown);
        lost.records("records that do not belong in their file", misplaced);
        lost.records(INVALID, invalid);
    }

    /// A value, unknown where its number is none that holdup knows: these are counted.
    pub(super) fn valid<T: Default>(&mut self, value: Option<T>) -> T {
        if value.is_none() {
            self.all.trace.meta.lost.record(INVALID);
        }
        value.unwrap_or_default()
    }

    /// The kernel's id of a thread, as [`Process::valid`]: 0 for unknown.
    pub(super) fn valid_tid(&mut self, tid: u64) -> u32 {
        self.valid(u32::try_from(tid).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::super::symbolizer::NoSymbols;
    use super::super::{Contents, Shared, gather};
    use super::*;
    use spool::{
        Awaited, Build, Call, CallTally, FileHeader, Home, Kind, Level, Lock, Look, Mode, Note, Range,
        SETTINGS, Setting, Stack, State, Text, ThreadWait, Wait,
    };
    use std::mem::offset_of;
    use trace::Trace;

    const MAIN: u32 = 100;

    fn build() -> Build {
        let mut build = Build::new(MAIN, Level::Light);
        let name = build.text(MAIN, "cuLaunchKernel");
        build.record(MAIN, Call::KIND, name, &[Call { start: 1_000, end: 2_000, ..Call::default() }.bytes()]);
        build
    }

    fn read(own: Build, beside: Build, shared: Option<&Shared>) -> Trace {
        let (own, beside) = (own.finish(), beside.finish());
        let contents = Contents { name: "100-0.spool".to_owned(), bytes: &own, beside: Some(&beside) };
        gather(&[contents], shared, &mut NoSymbols, &mut |_| {})
    }

    /// The losses of a process that wrote such a record, or of which the recorder did.
    fn lost(file: Home, kind: u16, tag: u32, body: &[u8]) -> Vec<(String, u64)> {
        let (mut own, mut beside) = (build(), Build::new(MAIN, Level::Light));
        let into = if file == Home::Own { &mut own } else { &mut beside };
        into.record(MAIN, kind, tag, &[body]);
        let lost = read(own, beside, None).meta.lost;
        assert_eq!(lost.records, lost.reasons.values().sum::<u64>());
        lost.reasons.into_iter().collect()
    }

    fn one(reason: &str) -> Vec<(String, u64)> {
        vec![(reason.to_owned(), 1)]
    }

    #[test]
    fn records_of_unknown_kinds_are_counted_in_both_files() {
        let unknown = (1..100).chain([spool::OuterCall::KIND - 1]).filter(|kind| Kind::of(*kind).is_none());
        for kind in unknown {
            for file in [Home::Own, Home::Beside] {
                let reason = one("records of a kind that this holdup does not know");
                assert_eq!(lost(file, kind, 1, &[0; 16]), reason, "{kind}");
            }
        }
    }

    #[test]
    fn a_record_of_any_kind_that_is_too_short_or_in_the_wrong_file_is_counted() {
        let words = [Kind::BriefCall, Kind::OuterCall];
        for kind in Kind::ALL.iter().filter(|kind| !words.contains(kind)) {
            for file in [Home::Own, Home::Beside] {
                let is_in = kind.is_in(file);
                let reason =
                    if is_in { "truncated record" } else { "records that do not belong in their file" };
                assert_eq!(lost(file, *kind as u16, 1, &[]), one(reason), "{kind:?}");
            }
        }
    }

    #[test]
    fn every_kind_ends_in_a_table_of_the_trace() {
        for kind in Kind::ALL {
            let table = kind.table();
            assert!(
                ["meta", "strings"].contains(&table) || trace::TABLES.contains(&table),
                "{kind:?}: {table}"
            );
        }
    }

    #[test]
    fn what_follows_a_fixed_part_may_be_too_short_too() {
        for (file, kind, tag, body) in [
            (Home::Own, Text::KIND, 9, Text { length: 9 }.bytes()),
            (Home::Own, Stack::KIND, 1, Stack { start: 1_100, end: 1_900, last: 0, python: 0 }.bytes()),
            (Home::Beside, Look::KIND, 1, Look { at: 5_000 }.bytes()),
        ] {
            assert_eq!(lost(file, kind, tag, body), one("truncated record"));
        }
    }

    #[test]
    fn values_of_no_meaning_are_counted_and_unknown_ones_are_not() {
        let wait = |kind, mode| Wait { start: 1_100, end: 1_900, kind, mode, ..Wait::default() };
        let awaiting = |mode| ThreadWait { start: 1_100, end: 1_900, mode, ..ThreadWait::default() };
        let state = |state| State { start: 1_100, end: 1_900, tid: MAIN, state, ..State::default() };
        let tally = |tid| CallTally { tid, count: 1, timed: 1, time: 5 };
        let (lock, mode, awaited) = (Lock::Rwlock as u32, Mode::Shared as u32, Awaited::Join as u32);
        let counted = one(INVALID);
        for (file, kind, tag, body, expected) in [
            (Home::Own, Wait::KIND, 0, wait(lock, mode).bytes(), &vec![]),
            (Home::Own, Wait::KIND, 0, wait(0, 0).bytes(), &vec![]),
            (Home::Own, Wait::KIND, 0, wait(99, mode).bytes(), &counted),
            (Home::Own, Wait::KIND, 0, wait(lock, 3).bytes(), &counted),
            (Home::Own, ThreadWait::KIND, awaited, awaiting(mode).bytes(), &vec![]),
            (Home::Own, ThreadWait::KIND, awaited + 1, awaiting(mode).bytes(), &counted),
            (Home::Own, ThreadWait::KIND, awaited, awaiting(9).bytes(), &counted),
            (Home::Own, CallTally::KIND, 1, tally(1 << 32).bytes(), &counted),
            (Home::Own, Text::KIND, 0, Text { length: 0 }.bytes(), &counted),
            (Home::Beside, State::KIND, 0, state(spool::Run::Unknown as u32).bytes(), &vec![]),
            (Home::Beside, State::KIND, 0, state(6).bytes(), &counted),
        ] {
            assert_eq!(&lost(file, kind, tag, body), expected, "{kind} {tag} {body:?}");
        }
        let mut own = build();
        own.set(offset_of!(FileHeader, level), &9_u32.to_ne_bytes());
        assert_eq!(read(own, Build::new(MAIN, Level::Light), None).meta.lost.reasons[INVALID], 1);
    }

    #[test]
    fn what_was_never_written_is_counted() {
        let mut own = build();
        own.set(offset_of!(FileHeader, unwritten), &3_u32.to_ne_bytes());
        let shared = Shared {
            requests: Vec::new(),
            unrecorded_children: 2,
            foreign_programs: 4,
            filtered_programs: 5,
        };
        let meta = read(own, Build::new(MAIN, Level::Light), Some(&shared)).meta;
        let reasons: Vec<_> = meta.lost.reasons.iter().map(|(why, count)| (why.as_str(), *count)).collect();
        let expected = [
            ("child processes that were not recorded", 2),
            ("programs executed under a seccomp filter that were not recorded", 5),
            ("programs of another C library (musl) or processor that were not recorded", 4),
            ("waits, counts of waits and handlers' calls that came while their thread wrote a record", 3),
        ];
        assert_eq!(reasons, expected);
        assert!(!meta.locks_watched, "a wait may be among them");
        assert!(meta.notes.iter().any(|note| note.starts_with("2 child processes were not recorded")));
        assert!(meta.notes.iter().any(|note| note.starts_with("4 programs of another C library")));
        assert!(meta.notes.iter().any(|note| note.starts_with("5 programs were executed under a seccomp")));
    }

    #[test]
    fn a_file_beside_that_is_none_is_counted() {
        let own = build().finish();
        let contents = Contents { name: "100-0.spool".to_owned(), bytes: &own, beside: Some(b"nothing") };
        let lost = gather(&[contents], None, &mut NoSymbols, &mut |_| {}).meta.lost;
        assert_eq!(lost.reasons["files of what the recorder saw of a process that are none"], 1);
    }

    #[test]
    fn stacks_of_calls_that_are_missing_are_counted() {
        let mut own = build();
        let stack = Stack { start: 5_000, end: 6_000, last: 0, python: 0 };
        own.record(MAIN, Stack::KIND, 1, &[stack.bytes(), &[9; 8]]);
        let meta = read(own, Build::new(MAIN, Level::Light), None).meta;
        assert_eq!(meta.left_out["stacks of calls that are not in the trace"], 1);
    }

    #[test]
    fn remarks_are_in_the_order_of_time_and_ranges_have_domains() {
        let (mut own, other) = (build(), MAIN + 1);
        for (tid, at, text) in [(MAIN, 30, "third"), (other, 20, "second"), (other, 10, "first")] {
            let text = own.text(tid, text);
            own.record(tid, Note::KIND, text, &[Note { at }.bytes()]);
        }
        for domain in ["CCCL", ""] {
            let (name, domain) = (own.text(MAIN, "sort"), own.text(MAIN, domain));
            let range = Range { start: 1_000, end: 1_500, domain: domain.into() };
            own.record(MAIN, Range::KIND, name, &[range.bytes()]);
        }
        let trace = read(own, Build::new(MAIN, Level::Light), None);
        let order: Vec<_> = trace.meta.notes.iter().filter(|note| note.len() < 7).collect();
        assert_eq!(order, ["first", "second", "third"]);
        let domains = trace.ranges.domain.iter().map(|domain| trace.text(*domain));
        assert_eq!(domains.collect::<Vec<_>>(), ["CCCL", ""]);
    }

    #[test]
    fn a_process_has_the_variables_that_it_had_set() {
        assert_eq!(SETTINGS, [trace::MAX_CONNECTIONS, trace::MODULE_LOADING, trace::LAUNCH_BLOCKING]);
        let mut own = build();
        for (name, value) in [(1, "LAZY"), (0, "32"), (9, "of no name")] {
            let value = own.text(MAIN, value);
            own.record(MAIN, Setting::KIND, value, &[Setting { name }.bytes()]);
        }
        let trace = read(own, Build::new(MAIN, Level::Light), None);
        let set: Vec<_> = trace.settings(trace.threads.process[0]).collect();
        assert_eq!(set, [(trace::MODULE_LOADING, "LAZY"), (trace::MAX_CONNECTIONS, "32")]);
        assert_eq!(trace.meta.lost.reasons[INVALID], 1);
    }
}
