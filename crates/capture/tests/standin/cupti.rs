//! Versions of CUPTI and what is read of their records: layouts by made-up buffers, and what is recorded by a stand-in that
//! claims to be of any version.

#[allow(dead_code, reason = "the library itself uses the rest")]
#[path = "../../src/cupti/layout.rs"]
mod layout;

use crate::run::{Program, Recorded};
use layout::{Cut, LAYOUTS, Layout, Misfit, NEWEST, OLDEST, OutsideBuffer, RawRecord, Version, kind};
use spool::Level;
use trace::OpKind;

/// A record of a kind, which has a number in each field that it has room for.
fn record(kind: u32, size: usize) -> Vec<u8> {
    let bytes = kind.to_ne_bytes().into_iter().chain((4..=255).cycle());
    bytes.take(size).collect()
}

/// Every verified version: CUDA 12.0 to 12.9, and 13.0 to 13.5.
const VERSIONS: [u32; 19] = [
    18, 20, 21, 22, 23, 24, 26, 27, 28, 130_000, 130_001, 130_101, 130_202, 130_301, 130_401, 130_500, 19,
    25, 130_201,
];

/// The size of a kind's struct in a version.
fn size(layout: &Layout, version: u32) -> usize {
    let known = layout.sizes.iter().rev().find(|(first, _)| *first <= version);
    known.expect("the oldest version has a size").1
}

#[test]
fn records_of_each_verified_version_are_read() {
    for version in VERSIONS {
        assert_eq!(Version::of(version), Some(Version::Verified), "{version}");
        for layout in &LAYOUTS {
            let bytes = record(layout.kind, size(layout, version));
            assert_eq!(
                RawRecord(&bytes).check(Version::Verified),
                Ok(()),
                "kind {} of {version}",
                layout.kind
            );
        }
    }
}

#[test]
fn structs_grow_from_version_to_version_and_hold_what_is_read() {
    for Layout { kind, needed, sizes } in &LAYOUTS {
        assert!(sizes.is_sorted_by(|one, next| one.0 < next.0 && one.1 < next.1), "kind {kind}: {sizes:?}");
        assert!(
            sizes[0].0 == OLDEST && sizes.iter().all(|(_, size)| size >= needed),
            "kind {kind}: {sizes:?}"
        );
    }
    for kind in kind::WITH_CALLS.iter().chain(kind::WITH_GRAPHS).chain(kind::OPERATIONS) {
        assert_eq!(LAYOUTS.iter().filter(|layout| layout.kind == *kind).count(), 1, "kind {kind}");
    }
}

#[test]
fn a_newer_version_is_read_as_long_as_its_structs_did_not_shrink() {
    assert_eq!(Version::of(NEWEST + 1), Some(Version::Other));
    // The next one after CUDA 12.9.
    assert_eq!(Version::of(29), Some(Version::Other));
    for layout in &LAYOUTS {
        let check = |size| RawRecord(&record(layout.kind, size)).check(Version::Other);
        assert_eq!((check(layout.newest()), check(layout.newest() + 8)), (Ok(()), Ok(())));
        let (kind, size, expected) = (layout.kind, layout.newest() - 8, layout.newest());
        assert_eq!(check(size), Err(Misfit::Shrunk { kind, size, expected }));
    }
    assert_eq!((Version::of(17), Version::of(0)), (None, None));
}

#[test]
fn what_is_cut_off_or_of_another_kind_is_not_read() {
    for version in [Version::Verified, Version::Other] {
        for kind in [0, 3, 52, u32::MAX] {
            assert_eq!(RawRecord(&record(kind, 512)).check(version), Err(Misfit::Kind));
        }
        for size in 0..4 {
            assert_eq!(RawRecord(&[1, 0, 0][..size.min(3)]).check(version), Err(Misfit::Cut));
        }
    }
    for layout in &LAYOUTS {
        for size in 4..layout.needed {
            assert_eq!(RawRecord(&record(layout.kind, size)).check(Version::Verified), Err(Misfit::Cut));
        }
    }
}

#[test]
fn no_field_is_read_beyond_a_record() {
    let bytes = record(kind::CONCURRENT_KERNEL, 12);
    let raw = RawRecord(&bytes);
    let last = u32::from_ne_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
    assert_eq!((raw.kind(), raw.u32(8), raw.u8(11)), (kind::CONCURRENT_KERNEL, last, bytes[11].into()));
    assert_eq!((raw.u8(12), raw.u16(11), raw.u32(9), raw.u64(5)), (0, 0, 0, 0));
    assert_eq!((raw.u8(usize::MAX), raw.u64(usize::MAX), raw.time(usize::MAX - 7)), (0, 0, 0));
}

/// The lengths of the records that begin at these offsets of a buffer.
fn cut(length: usize, offsets: &[usize]) -> Result<Vec<usize>, OutsideBuffer> {
    let buffer = vec![0; length];
    let mut cut = Cut::new(&buffer);
    let mut lengths = Vec::new();
    for at in offsets {
        lengths.extend(cut.begin(*at)?.map(|record| record.0.len()));
    }
    lengths.extend(cut.end().map(|record| record.0.len()));
    Ok(lengths)
}

#[test]
fn a_record_ends_where_the_next_one_begins_and_the_last_one_with_the_buffer() {
    assert_eq!(cut(0, &[]), Ok(vec![]));
    assert_eq!(cut(100, &[0]), Ok(vec![100]));
    assert_eq!(cut(400, &[0, 88, 296]), Ok(vec![88, 208, 104]));
    // One that is cut off.
    assert_eq!(cut(301, &[0, 88, 296]), Ok(vec![88, 208, 5]));
}

#[test]
fn a_walk_that_leaves_its_buffer_or_stands_still_ends() {
    for offsets in [&[0, 88, 88][..], &[88, 0], &[0, 400], &[401], &[0, 0_usize.wrapping_sub(8)]] {
        assert_eq!(cut(400, offsets), Err(OutsideBuffer), "{offsets:?}");
    }
}

/// A program of 306 kernels, fills and graphs, with a CUPTI of that version whose records have that many bytes.
fn recorded(version: u32, bytes: usize) -> Recorded {
    let program =
        Program::looking_up("issue", "alone").at_level("full").with("STANDIN_OPERATIONS", "1").gathered();
    program.with("STANDIN_CUPTI", &version.to_string()).with("STANDIN_RECORD", &bytes.to_string()).both()
}

/// GPU records of a recording.
struct GpuRecords {
    /// The level in the end.
    level: Option<Level>,
    kernels: usize,
    fills: usize,
    /// Notes about them.
    notes: Vec<String>,
}

fn gpu_records(recorded: &Recorded) -> GpuRecords {
    let (process, trace) = (recorded.process(), recorded.trace.as_ref().expect("it was gathered"));
    let notes = process.notes.iter().filter(|note| note.starts_with("no GPU records")).cloned();
    let count = |kind| trace.ops.kind.iter().filter(|found| **found == kind).count();
    let (kernels, fills) = (count(OpKind::Kernel), count(OpKind::Memset));
    GpuRecords { level: process.level, kernels, fills, notes: notes.collect() }
}

fn lost(recorded: &Recorded) -> u64 {
    recorded.trace.as_ref().expect("it was gathered").meta.lost.records
}

/// The calls to record.
const KERNELS: usize = 306;

#[test]
fn layouts_that_are_known_or_grew_are_recorded() {
    for (version, bytes) in
        [(18, 208), (28, 208), (130_000, 216), (NEWEST, 248), (NEWEST + 1, 248), (NEWEST + 100, 264)]
    {
        let GpuRecords { level, kernels, fills, notes } = gpu_records(&recorded(version, bytes));
        assert_eq!((level, kernels, notes), (Some(Level::Full), KERNELS, vec![]), "version {version}");
        assert!(fills > 0);
    }
}

#[test]
fn layouts_that_shrank_are_not_read_and_a_note_names_them() {
    let recorded = recorded(NEWEST + 1, 240);
    let GpuRecords { level, kernels, notes, .. } = gpu_records(&recorded);
    assert_eq!((level, kernels), (Some(Level::Light), 0));
    let expected = "no GPU records from here on: libcupti of version 130501 is newer than this holdup knows, and its \
                    records of kind 10 have 240 bytes instead of 248: update holdup, or use libcupti of CUDA 13.5";
    assert_eq!(notes, [expected]);
    assert!(lost(&recorded) >= KERNELS as u64);
    // What the level still has.
    assert!(recorded.process().calls_of("cuLaunchKernel").len() >= KERNELS);
}

#[test]
fn records_that_are_too_short_are_lost_alone() {
    let recorded = recorded(18, 144);
    let GpuRecords { level, kernels, fills, notes } = gpu_records(&recorded);
    assert_eq!((level, kernels, notes), (Some(Level::Full), 0, vec![]));
    assert!(fills > 0 && lost(&recorded) >= KERNELS as u64);
}

#[test]
fn a_version_that_is_too_old_is_not_used() {
    let GpuRecords { level, kernels, fills, notes } = gpu_records(&recorded(17, 208));
    assert_eq!((level, kernels, fills), (Some(Level::Light), 0, 0));
    let expected =
        "no GPU records: libcupti of version 17 is older than that of CUDA 12.0: install a newer one";
    assert_eq!(notes, [expected]);
}
