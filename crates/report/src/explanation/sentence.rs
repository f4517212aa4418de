//! Typed sentences and details of findings as text: only here their numbers get units.

use crate::units;
use explain::{Detail, Kernels, Party, Piece, Sentence};
use trace::{CopyKind, MemoryKind};

/// A sentence with its numbers as text; names are not escaped.
pub fn sentence(sentence: &Sentence) -> String {
    sentence.0.iter().map(piece).collect()
}

fn piece(piece: &Piece) -> String {
    match piece {
        Piece::Text(text) => (*text).to_owned(),
        Piece::Name(name) => name.clone(),
        Piece::Count(1, one, _) => format!("one {one}"),
        Piece::Count(number, one, many) => units::counted(*number, one, many),
        Piece::Number(number) => units::count(*number),
        Piece::Time(ns) => units::duration(*ns),
        Piece::Bytes(bytes) => units::bytes(*bytes),
        Piece::Rate { bytes, time } => units::throughput(*bytes, *time),
        Piece::Share(share) => units::percent(*share),
        Piece::Copy(kind) => kind.to_string(),
    }
}

/// The detail of a party for programs: `DtoH pageable 67108864 B, stream 7`; empty if unknown. Names are not escaped.
pub fn detail(party: &Party) -> String {
    match &party.detail {
        Detail::None => String::new(),
        Detail::Copies { kind, host, least, most, stream } => {
            let host = if *host == MemoryKind::Unknown { String::new() } else { format!(" {host}") };
            let bytes = if least == most { least.to_string() } else { format!("{least}–{most}") };
            let stream = stream.map_or(String::new(), |number| format!(", stream {number}"));
            format!("{kind}{host} {bytes} B{stream}")
        }
        Detail::Launches { kernels, stream } => launches(kernels, *stream),
        Detail::Lock { library } => format!("waiting for {}", lock(library)),
    }
}

/// The detail of a party for people: `device to pageable host, 64 MiB, stream 7`.
pub(super) fn spoken(party: &Party) -> String {
    match &party.detail {
        Detail::Copies { kind, host, least, most, stream } => {
            let stream = stream.map_or(String::new(), |number| format!(", stream {number}"));
            format!("{}, {}{stream}", direction(*kind, *host), sizes(*least, *most))
        }
        Detail::None | Detail::Launches { .. } | Detail::Lock { .. } => detail(party),
    }
}

/// `a lock of libc10.so`
pub(super) fn lock(library: &str) -> String {
    match library {
        "" => String::from("a lock of an unnamed library"),
        library => format!("a lock of {library}"),
    }
}

fn direction(kind: CopyKind, host: MemoryKind) -> String {
    let host = if host == MemoryKind::Unknown { String::new() } else { format!("{host} ") };
    match kind {
        CopyKind::DtoH => format!("device to {host}host"),
        CopyKind::HtoD => format!("{host}host to device"),
        CopyKind::DtoD => String::from("device to device"),
        kind => format!("{kind} {host}").trim_end().to_owned(),
    }
}

fn sizes(least: i64, most: i64) -> String {
    match least == most {
        true => units::bytes(most),
        false => format!("{} to {}", units::bytes(least), units::bytes(most)),
    }
}

fn launches(kernels: &Kernels, stream: Option<i64>) -> String {
    let kernels = match kernels {
        Kernels::Unknown => None,
        Kernels::One(name) => Some(name.clone()),
        Kernels::Several(count) => Some(format!("{} kernels", units::count(*count))),
    };
    let stream = stream.map(|number| format!("stream {number}"));
    kernels.into_iter().chain(stream).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copies(kind: CopyKind, host: MemoryKind, least: i64, most: i64) -> Party {
        let detail = Detail::Copies { kind, host, least, most, stream: Some(7) };
        Party {
            pid: 1,
            tid: 1,
            thread: String::new(),
            threads: 1,
            call: String::new(),
            detail,
            places: vec![],
        }
    }

    #[test]
    fn details_have_a_form_for_programs_and_one_for_people() {
        use {CopyKind::*, MemoryKind::*};
        let cases = [
            (DtoH, Pageable, 1 << 26, 1 << 26, "DtoH pageable 67108864 B", "device to pageable host, 64 MiB"),
            (HtoD, Pinned, 4, 4, "HtoD pinned 4 B", "pinned host to device, 4 B"),
            (DtoD, MemoryKind::Unknown, 1536, 1536, "DtoD 1536 B", "device to device, 1.50 KiB"),
            (DtoH, Pageable, 4, 1024, "DtoH pageable 4–1024 B", "device to pageable host, 4 B to 1 KiB"),
            (HtoA, Pinned, 4, 4, "HtoA pinned 4 B", "HtoA pinned, 4 B"),
        ];
        for (kind, host, least, most, for_programs, for_people) in cases {
            let party = copies(kind, host, least, most);
            assert_eq!(detail(&party), format!("{for_programs}, stream 7"));
            assert_eq!(spoken(&party), format!("{for_people}, stream 7"));
        }
    }

    #[test]
    fn numbers_have_units_and_plurals() {
        let pieces = vec![
            Piece::Count(1, "mutex", "mutexes"),
            " of ".into(),
            Piece::Count(1_200, "lock", "locks"),
            ", ".into(),
            Piece::Rate { bytes: 1 << 26, time: 4_000_000 },
            ", ".into(),
            Piece::Share(0.004),
        ];
        assert_eq!(sentence(&Sentence(pieces)), "one mutex of 1,200 locks, 16.8 GB/s, 0.4 %");
    }
}
