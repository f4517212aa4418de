//! A reader must take whatever a dying process left.

use proptest::prelude::*;
use spool::{
    ALIGN, BriefCall, Build, CHUNK_HEADER, Call, Chunk, File, Kind, Level, Life, MOST_TEXT, OuterCall,
    PythonFrame, Stack, Text, call, grid_fact,
};

/// A file of one chunk a thread, each with the given texts.
fn file(chunks: &[&[&[u8]]]) -> Vec<u8> {
    let mut build = Build::new(7, Level::Full);
    for (at, texts) in chunks.iter().enumerate() {
        for (id, text) in texts.iter().enumerate() {
            let head = Text { length: text.len() as u64 };
            build.record(100 + at as u32, Text::KIND, id as u32, &[head.bytes(), text]);
        }
    }
    build.finish()
}

fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
    bytes[at..at + what.len()].copy_from_slice(what);
}

#[test]
fn what_was_written_is_read() {
    let call = Call { start: 1, end: 5, result: -3, flags: 6, bytes: 7, stream: 8, fact: 9, correlation: 10 };
    let native = [4u64.to_ne_bytes(), 5u64.to_ne_bytes()].concat();
    let python = [[1u32.to_ne_bytes(), 2u32.to_ne_bytes()], [33u32.to_ne_bytes(), [0; 4]]].concat().concat();
    let stack = Stack { start: 1, end: 5, last: 8, python: 1 };
    let mut build = Build::new(7, Level::Full);
    assert_eq!((build.text(100, "cuMemcpy"), build.text(100, "cuMemcpy")), (1, 1));
    build.record(100, Call::KIND, 1, &[call.bytes()]);
    build.record(101, Stack::KIND, 2, &[stack.bytes(), &native, &python]);
    let bytes = build.finish();
    let file = File::new(&bytes).unwrap();
    assert_eq!((file.pid(), file.level(), file.finished()), (7, Some(Level::Full), true));
    let (chunks, damage) = file.chunks();
    assert_eq!((chunks.len(), damage.bytes), (2, 0));
    assert_eq!((chunks[0].tid(), chunks[1].tid()), (100, 101));
    let first: Vec<_> = chunks[0].records().map(Result::unwrap).collect();
    assert_eq!(first[0].text(), Some(&b"cuMemcpy"[..]));
    assert_eq!(Call::read(first[1].body), Some(call));
    let second = chunks[1].records().next().unwrap().unwrap();
    let line = PythonFrame { file: 1, function: 2, line: 33, zero: 0 };
    assert_eq!(second.frames(), Some((vec![4, 5], vec![line])));
}

#[test]
fn a_chunk_that_was_only_reserved_is_passed_over() {
    let mut bytes = file(&[&[b"a"], &[b"b"], &[b"c"]]);
    let start = 2 * ALIGN as usize;
    bytes[start..start + ALIGN as usize].fill(0);
    let (chunks, damage) = File::new(&bytes).unwrap().chunks();
    assert_eq!((chunks.len(), damage.bytes), (2, 0));
}

#[test]
fn what_follows_a_broken_record_is_damage() {
    const RECORD: usize = 24;
    let mut bytes = file(&[&[b"whole", b"broken"]]);
    put(&mut bytes, ALIGN as usize + CHUNK_HEADER + RECORD + 2, &u16::MAX.to_ne_bytes());
    let (chunks, _) = File::new(&bytes).unwrap().chunks();
    let read: Vec<_> = chunks[0].records().collect();
    assert!(read[0].is_ok());
    assert_eq!(read[1].unwrap_err().bytes, RECORD as u64);
    assert_eq!(read.len(), 2);
}

proptest! {
    /// No file makes the reader panic, loop, or read outside of it.
    #[test]
    fn survives_anything(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = file(&[&[b"a", &[b'x'; MOST_TEXT]], &[b"b"]]);
        // Headers and the first records matter most.
        for (at, value) in changes {
            let region = at.index(3) * ALIGN as usize;
            bytes[region + at.index(CHUNK_HEADER + 64)] = value;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        if let Some(file) = File::new(&bytes) {
            let (chunks, _) = file.chunks();
            for chunk in chunks {
                let records = chunk.records().count();
                prop_assert!(records <= bytes.len());
                for record in chunk.records().flatten() {
                    record.text();
                    record.frames();
                    Call::read(record.body);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn a_brief_call_is_read_as_it_was_written(
        function in 0u32..1 << 15, gap in -9i64..1 << 25, duration in -9i64..1 << 25, has_stream: bool,
    ) {
        let fits = function < 1 << 14 && (0..1 << 24).contains(&gap) && (0..1 << 24).contains(&duration);
        let word = BriefCall::word(function, gap, duration, has_stream);
        prop_assert_eq!(word.is_some(), fits);
        let flags = if has_stream { call::HAS_STREAM } else { 0 };
        let told = BriefCall { function, gap: gap as u32, duration: duration as u32, flags };
        prop_assert_eq!(word.and_then(BriefCall::read), word.map(|_| told));
    }
}

proptest! {
    #[test]
    fn an_outer_call_is_read_as_it_was_written(
        function in 0u32..1 << 15, back in -9i64..1 << 25, tail in -9i64..1 << 25,
    ) {
        let fits = function < 1 << 14 && (0..1 << 24).contains(&back) && (0..1 << 24).contains(&tail);
        let word = OuterCall::word(function, back, tail);
        prop_assert_eq!(word.is_some(), fits);
        let told = OuterCall { function, back: back as u32, tail: tail as u32 };
        prop_assert_eq!(word.and_then(OuterCall::read), word.map(|_| told));
        prop_assert_eq!(word.and_then(BriefCall::read), None, "no word is both");
    }
}

#[test]
fn grids_that_differ_have_different_facts() {
    let sizes = [1, 2, 3, 32, 128, 1024, 65_535];
    let mut facts = std::collections::HashSet::new();
    let mut count = 0;
    for a in sizes {
        for b in sizes {
            for c in sizes {
                for shape in [[a, b, 1, c, 1, 1], [a, 1, b, c, 2, 1], [a, b, 5, c, 7, 1], [1, a, 1, b, c, 9]]
                {
                    count += usize::from(facts.insert(grid_fact(shape)));
                    assert_ne!(grid_fact(shape), 0);
                }
            }
        }
    }
    assert_eq!(count, 4 * 343, "so few never share a fact");
}

#[test]
fn brief_calls_go_on_from_the_call_before_them() {
    let mut build = Build::new(7, Level::Light);
    let call =
        |start, stream| Call { start, end: start + 50, flags: call::HAS_STREAM, stream, ..Call::default() };
    build.record(100, Call::KIND, 1, &[call(1_000, 8).bytes()]);
    build.brief(100, BriefCall { function: 2, gap: 10, duration: 5, flags: call::HAS_STREAM });
    let text = build.text(100, "between");
    build.brief(100, BriefCall { function: text, gap: 100, duration: 7, flags: 0 });
    build.record(100, Call::KIND, 3, &[Call { stream: 9, flags: 0, ..call(2_000, 0) }.bytes()]);
    build.brief(100, BriefCall { function: 2, gap: 1, duration: 2, flags: call::HAS_STREAM });
    build.brief_with(100, 77, BriefCall { function: 2, gap: 7, duration: 10, flags: call::HAS_STREAM });
    build.outer(100, OuterCall { function: 4, back: 15, tail: 5 });
    build.brief(100, BriefCall { function: 2, gap: 1, duration: 2, flags: call::HAS_STREAM });
    // Another thread's go on from its own.
    build.record(101, Call::KIND, 1, &[call(10, 6).bytes()]);
    build.brief(101, BriefCall { function: 2, gap: 0, duration: 0, flags: call::HAS_STREAM });
    let bytes = build.finish();
    let (chunks, _) = File::new(&bytes).unwrap().chunks();
    let said = |chunk: &Chunk<'_>| -> Vec<_> {
        chunk.calls_made().map(|(name, call)| (name, call.start, call.end, call.stream)).collect()
    };
    assert_eq!(
        said(&chunks[0]),
        [
            (1, 1_000, 1_050, 8),
            (2, 1_060, 1_065, 8),
            (text, 1_165, 1_172, 0),
            (3, 2_000, 2_050, 9),
            (2, 2_051, 2_053, 8),
            (2, 2_060, 2_070, 8),
            (4, 2_055, 2_075, 0),
            (2, 2_076, 2_078, 8)
        ]
    );
    assert_eq!(
        chunks[0].calls_made().map(|(_, call)| call.fact).collect::<Vec<_>>(),
        [0, 0, 0, 0, 0, 77, 0, 0]
    );
    assert_eq!(said(&chunks[1]), [(1, 10, 60, 6), (2, 60, 60, 6)]);
}

#[test]
fn kinds_are_found_by_their_numbers() {
    for kind in Kind::ALL {
        assert_eq!(Kind::of(*kind as u16), Some(*kind));
    }
    // Of words of their own, the lower bits are data.
    for data in [0, 1, 0x1fff, 0x3fff] {
        assert_eq!(Kind::of(BriefCall::KIND | data), Some(Kind::BriefCall));
        assert_eq!(Kind::of(BriefCall::KIND | OuterCall::KIND | data), Some(Kind::BriefCall));
        assert_eq!(Kind::of(OuterCall::KIND | data), Some(Kind::OuterCall));
    }
    assert_eq!([0, 15, 99, OuterCall::KIND - 1].map(Kind::of), [None; 4]);
}

#[test]
fn records_that_others_refer_to_last() {
    let lasting: Vec<_> = Kind::ALL.iter().filter(|kind| kind.life() == Life::Lasts).collect();
    assert!(lasting.iter().all(|kind| spool::lasts(**kind as u16)));
    assert_eq!(Kind::ALL.iter().filter(|kind| spool::lasts(**kind as u16)).count(), lasting.len());
    use Kind::*;
    for kind in [Text, Module, ThreadName, DeviceIdentity, StreamNumber, Made] {
        assert!(lasting.contains(&&kind), "{kind:?}");
    }
    for kind in [Call, Kernel, Wait, Clock] {
        assert!(!lasting.contains(&&kind), "{kind:?}");
    }
    assert!(!spool::lasts(spool::BriefCall::KIND | 1) && !spool::lasts(99));
}
