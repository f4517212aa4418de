//! `.holdup` files that this version did not write: older, newer, cut short, damaged, hostile.

use crate::support::{archive, one_of_each, parts, written};
use proptest::prelude::*;
use trace::*;

/// A Parquet file of these columns.
fn parquet<const ROWS: usize>(columns: Vec<(&str, Values<'_>)>) -> Vec<u8> {
    to_parquet("test", ROWS, &columns).unwrap()
}

fn numbers<'a, const ROWS: usize>(numbers: [i64; ROWS]) -> Values<'a> {
    Values::int64(move |row| Some(numbers[row]))
}

fn texts<'a, const ROWS: usize>(texts: [Option<&'a str>; ROWS]) -> Values<'a> {
    Values::text(move |row| texts[row])
}

/// The file of [`one_of_each`] with one part replaced by `bytes`, or without it.
fn with_part(name: &str, bytes: Option<Vec<u8>>) -> Vec<u8> {
    let mut parts = parts(&written(&one_of_each()));
    parts.retain(|(part, _)| part != name);
    parts.extend(bytes.map(|bytes| (name.to_owned(), bytes)));
    archive(&parts)
}

fn refused(trace: &Trace) -> String {
    read(written(trace)).err().expect("must be refused").to_string()
}

#[test]
fn an_unknown_table_is_ignored() {
    let unknown = parquet::<1>(vec![("surprise", numbers([1]))]);
    let trace = read(with_part("surprises.parquet", Some(unknown))).unwrap();
    assert_eq!(trace.calls, one_of_each().calls);
}

#[test]
fn an_unknown_column_is_ignored() {
    let processes = parquet::<1>(vec![("pid", numbers([41])), ("surprise", texts([Some("ignored")]))]);
    let trace = read(with_part("processes.parquet", Some(processes))).unwrap();
    assert_eq!(trace.processes.pid, [41]);
}

#[test]
fn a_missing_column_holds_missing_values() {
    let ranges = parquet::<2>(vec![("start", numbers([-8, 2])), ("end", numbers([-7, 3]))]);
    let trace = read(with_part("ranges.parquet", Some(ranges))).unwrap();
    let expected = |start, end| Range { start, end, ..Range::default() };
    assert_eq!(trace.ranges.row(RangeId::new(0)), expected(-8, -7));
    assert_eq!(trace.ranges.row(RangeId::new(1)), expected(2, 3));
}

#[test]
fn a_missing_table_is_empty() {
    let trace = read(with_part("waits.parquet", None)).unwrap();
    assert!(trace.waits.is_empty());
    assert_eq!(trace.calls.len(), 1);
}

#[test]
fn plain_text_columns_and_null_are_read() {
    let processes = parquet::<2>(vec![("name", texts([Some("plain"), None]))]);
    let trace = read(with_part("processes.parquet", Some(processes))).unwrap();
    let names: Vec<&str> = trace.processes.name.iter().map(|&name| trace.text(name)).collect();
    assert_eq!(names, ["plain", ""]);
    assert_eq!(trace.processes.pid, [0, 0]);
}

#[test]
fn a_value_of_a_later_version_is_unknown() {
    let ops = parquet::<1>(vec![("kind", texts([Some("teleport")]))]);
    let trace = read(with_part("ops.parquet", Some(ops))).unwrap();
    assert_eq!(trace.ops.kind, [OpKind::Unknown]);
}

#[test]
fn a_column_of_another_type_is_refused() {
    for (table, column, values, problem) in [
        ("processes", "pid", texts([Some("one")]), "column pid is Utf8, expected Int64"),
        ("processes", "pid", Values::uint32(|_| Some(1)), "column pid is UInt32, expected Int64"),
        ("processes", "pid", Values::double(|_| Some(1.0)), "column pid is DOUBLE, expected Int64"),
        ("processes", "name", numbers([1]), "column name is Int64, expected Utf8"),
        ("calls", "thread", Values::int32(|_| Some(1)), "column thread is Int32, expected UInt32"),
    ] {
        let bytes = with_part(&format!("{table}.parquet"), Some(parquet::<1>(vec![(column, values)])));
        let message = read(bytes).err().unwrap().to_string();
        assert_eq!(message, format!("table {table}: {problem}"));
    }
}

#[test]
fn every_dangling_reference_is_refused() {
    macro_rules! check {
        ($($table:ident . $column:ident = $id:ident),+ $(,)?) => {$(
            let mut trace = one_of_each();
            trace.$table.$column[0] = $id::new(1);
            let message = refused(&trace);
            let expected = concat!("table ", stringify!($table), ": column ", stringify!($column), ", row 0");
            assert!(message.starts_with(expected), "{message}");
        )+};
    }
    check!(
        threads.process = ProcessId,
        contexts.process = ProcessId,
        contexts.device = DeviceId,
        streams.context = ContextId,
        calls.thread = ThreadId,
        calls.stack = StackId,
        calls.range = RangeId,
        ops.stream = StreamId,
        ops.call = CallId,
        syncs.process = ProcessId,
        syncs.stream = StreamId,
        syncs.call = CallId,
        waits.thread = ThreadId,
        waits.call = CallId,
        waits.holder = ThreadId,
        waits.holder_call = CallId,
        waits.releaser = ThreadId,
        waits.releaser_call = CallId,
        waits.stack = StackId,
        waits.holder_stack = StackId,
        waits.releaser_stack = StackId,
        states.thread = ThreadId,
        limits.process = ProcessId,
        samples.thread = ThreadId,
        samples.stack = StackId,
        tallies.thread = ThreadId,
        arguments.call = CallId,
        arguments.stream = StreamId,
        ranges.thread = ThreadId,
        ranges.stack = StackId,
        stacks.frame = FrameId,
        stacks.caller = StackId,
    );
}

#[test]
fn a_stack_that_calls_itself_is_refused() {
    let mut trace = one_of_each();
    trace.stacks.caller[0] = StackId::new(0);
    assert!(refused(&trace).contains("column caller, row 0"));
}

#[test]
fn every_interval_that_ends_before_it_starts_or_is_absurd_is_refused() {
    macro_rules! check {
        ($($table:ident)+) => {$(
            for (start, end) in [(1, 0), (i64::MIN, 0), (0, i64::MAX), (i64::MAX, i64::MIN)] {
                let mut trace = one_of_each();
                (trace.$table.start[0], trace.$table.end[0]) = (start, end);
                let message = refused(&trace);
                assert!(message.starts_with(concat!("table ", stringify!($table), ": row 0")), "{message}");
            }
        )+};
    }
    check!(calls ops syncs waits ranges states limits);
    for at in [i64::MIN, i64::MAX] {
        let mut trace = one_of_each();
        trace.samples.at[0] = at;
        assert!(refused(&trace).starts_with("table samples: row 0"));
    }
}

#[test]
fn a_part_that_is_longer_than_its_interval_or_negative_is_refused() {
    macro_rules! check {
        ($($table:ident . $column:ident: $($value:expr)+),+ $(,)?) => {$($({
            let mut trace = one_of_each();
            trace.$table.$column[0] = $value;
            let message = refused(&trace);
            let expected = concat!("table ", stringify!($table), ": column ", stringify!($column), ", row 0: ");
            assert!(message.starts_with(expected), "{message}");
        })+)+};
    }
    check!(
        waits.handoff: -1 10 i64::MAX i64::MIN,
        states.running: -1 10 i64::MAX i64::MIN,
        states.runnable: -1 6 i64::MAX i64::MIN,
        limits.quota: -1,
        limits.throttled: -1 i64::MAX,
        tallies.count: -1,
        tallies.time: -1 i64::MAX,
    );
}

#[test]
fn states_of_a_thread_that_overlap_are_refused() {
    let mut trace = one_of_each();
    let after = State { start: 9, end: 12, ..trace.states.row(StateId::new(0)) };
    trace.states.push(State { running: 1, runnable: 0, ..after });
    trace.states.push(State { thread: ThreadId::NONE, start: 0, running: 1, runnable: 0, ..after });
    assert_eq!(read(written(&trace)).unwrap().states.len(), 3);
    trace.states.start[1] = 8;
    let message = refused(&trace);
    assert_eq!(message, "table states: row 1: starts at 8 ns, before the thread's last row ends at 9 ns");
}

#[test]
fn a_file_from_before_a_table_and_a_column_existed_is_read() {
    let waits = parquet::<1>(vec![("start", numbers([1])), ("end", numbers([3])), ("lock", numbers([64]))]);
    let mut parts = parts(&written(&one_of_each()));
    let new = ["states.parquet", "limits.parquet", "samples.parquet", "tallies.parquet"];
    parts.retain(|(part, _)| !new.contains(&part.as_str()) && part != "waits.parquet");
    parts.push((String::from("waits.parquet"), waits));
    let trace = read(archive(&parts)).unwrap();
    let wait = trace.waits.row(WaitId::new(0));
    assert_eq!(wait, Wait { start: 1, end: 3, lock: 64, ..Wait::default() });
    assert_eq!((wait.layer, wait.handoff, wait.stack), (LockLayer::Unknown, 0, StackId::NONE));
    assert!(wait.layer.is_cuda());
    assert!(trace.states.is_empty() && trace.limits.is_empty());
    assert!(trace.samples.is_empty() && trace.tallies.is_empty());
}

#[test]
fn a_newer_schema_is_refused() {
    let mut trace = one_of_each();
    trace.meta.schema_version = SCHEMA_VERSION + 1;
    assert!(refused(&trace).contains("use a newer holdup"));
}

#[test]
fn meta_of_another_version_is_read_as_far_as_it_goes() {
    let meta = br#"{"schema_version": 1, "source": "teleporter", "surprise": [1]}"#.to_vec();
    let trace = read(with_part("meta.json", Some(meta))).unwrap();
    assert_eq!((trace.meta.source.as_str(), trace.meta.source_title()), ("teleporter", "teleporter"));
}

#[test]
fn no_meta_is_no_trace() {
    assert!(matches!(read(with_part("meta.json", None)), Err(FileError::NoMeta)));
}

#[test]
fn every_truncation_is_refused() {
    let whole = written(&one_of_each());
    for length in 0..whole.len() {
        assert!(read(&whole[..length]).is_err(), "{length} of {} bytes were accepted", whole.len());
    }
}

/// Offset of the part's entry in the archive's central directory.
fn directory_entry(archive: &[u8], name: &str) -> usize {
    let entry = |at: &usize| {
        archive[*at..].starts_with(b"PK\x01\x02") && archive[at + 46..].starts_with(name.as_bytes())
    };
    (0..archive.len()).find(entry).unwrap()
}

#[test]
fn a_part_that_claims_more_than_it_holds_is_refused() {
    let mut bytes = with_part("calls.parquet", Some(vec![0; 64]));
    let size = directory_entry(&bytes, "calls.parquet") + 24;
    bytes[size..size + 4].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
    assert!(matches!(read(bytes), Err(FileError::Oversized(part, 0x7fff_ffff)) if part == "calls.parquet"));
}

#[test]
fn a_compressed_part_is_refused() {
    let mut bytes = with_part("calls.parquet", Some(vec![0; 64]));
    let method = directory_entry(&bytes, "calls.parquet") + 10;
    bytes[method] = 8;
    let message = read(bytes).err().expect("must be refused").to_string();
    assert!(message.starts_with("part calls.parquet is compressed"), "{message}");
}

/// Found by the fuzz target `holdup_table`: a Parquet reader panicked at these pages.
#[test]
fn pages_made_to_fool_the_parquet_reader_are_refused() {
    let pages = include_bytes!("data/pages-that-panic.parquet").to_vec();
    let error = read(with_part("ops.parquet", Some(pages))).err().expect("must be refused");
    assert!(matches!(error, FileError::Damaged("ops") | FileError::Parquet("ops", _)), "{error:?}");
}

#[test]
fn a_table_that_lost_its_beginning_is_refused() {
    let whole = parquet::<3>(vec![("start", numbers([1, 2, 3]))]);
    // The footer counts offsets from the file's start, so they point past the end of a file that lost bytes there.
    let footer = u32::from_le_bytes(whole[whole.len() - 8..whole.len() - 4].try_into().unwrap()) as usize + 8;
    let headless = [b"PAR1", &whole[whole.len() - footer..]].concat();
    let message =
        read(with_part("ranges.parquet", Some(headless))).err().expect("must be refused").to_string();
    assert!(message.starts_with("table ranges: Parquet"), "{message}");
}

#[test]
fn a_table_of_more_rows_than_its_bytes_can_mean_is_refused() {
    const ROWS: usize = 3_000_000;
    let bomb = parquet::<ROWS>(vec![("thread", Values::uint32(|_| None))]);
    assert!(bomb.len() < ROWS / 100, "{} bytes", bomb.len());
    let message = read(with_part("calls.parquet", Some(bomb))).err().expect("must be refused").to_string();
    assert!(message.starts_with("table calls claims 3000000 rows"), "{message}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Damage gives an error or another valid trace, never a panic.
    #[test]
    fn damage_never_panics(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = written(&one_of_each());
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= value;
        }
        if let Ok(trace) = read(&bytes) {
            prop_assert!(trace.calls.len() <= 2_000_000);
        }
    }
}
