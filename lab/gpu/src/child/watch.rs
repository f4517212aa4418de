//! Measurements of a thread while it executes its instructions.

use crate::clock;
use crate::driver::Function;
use crate::wire::{Record, Times};

/// Calls longer than this are stalls, ns: what [`workload::CallTimes`] says.
const STALL: u64 = 1_000_000;

/// Measures calls.
pub trait Watcher {
    /// The bodies begin or end.
    fn in_body(&mut self, is: bool);
    /// Before a call. The result is passed to `after`.
    fn before(&self) -> i64;
    /// After a call, which an instruction made.
    fn after(&mut self, before: i64, function: Function, note: u32, result: i32);
}

/// Measures nothing and costs nothing.
pub struct NoWatch;

impl Watcher for NoWatch {
    fn in_body(&mut self, _: bool) {}

    #[inline]
    fn before(&self) -> i64 {
        0
    }

    #[inline]
    fn after(&mut self, _: i64, _: Function, _: u32, _: i32) {}
}

/// Adds up the time in each function, of calls in bodies.
pub struct Sums {
    in_body: bool,
    times: [Times; Function::ALL.len()],
}

impl Default for Sums {
    fn default() -> Sums {
        Sums { in_body: false, times: [Times::default(); Function::ALL.len()] }
    }
}

impl Sums {
    #[inline]
    fn add(&mut self, function: Function, time: u64) {
        if !self.in_body {
            return;
        }
        let sum = &mut self.times[function as usize];
        sum.count += 1;
        sum.total_ns += time;
        sum.max_ns = sum.max_ns.max(time);
        sum.stalled_ns += if time > STALL { time } else { 0 };
    }

    /// The times of functions that were called.
    pub fn all(&self) -> Vec<Times> {
        let numbered = self.times.iter().zip(0..).map(|(sum, function)| Times { function, ..*sum });
        numbered.filter(|sum| sum.count > 0).collect()
    }
}

impl Watcher for Sums {
    fn in_body(&mut self, is: bool) {
        self.in_body = is;
    }

    #[inline]
    fn before(&self) -> i64 {
        clock::now()
    }

    #[inline]
    fn after(&mut self, before: i64, function: Function, _: u32, _: i32) {
        self.add(function, (clock::now() - before) as u64);
    }
}

/// Records every call, and adds up those of bodies.
#[derive(Default)]
pub struct Recorder {
    pub sums: Sums,
    /// The calls, in pieces, so that no call waits for a reallocation.
    pub pieces: Vec<Vec<Record>>,
}

/// Calls in a piece: 1.5 MiB.
const PIECE: usize = 1 << 16;

impl Recorder {
    fn keep(&mut self, record: Record) {
        match self.pieces.last_mut() {
            Some(piece) if piece.len() < PIECE => piece.push(record),
            _ => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.push(record);
                self.pieces.push(piece);
            }
        }
    }
}

impl Watcher for Recorder {
    fn in_body(&mut self, is: bool) {
        self.sums.in_body(is);
    }

    #[inline]
    fn before(&self) -> i64 {
        clock::now()
    }

    #[inline]
    fn after(&mut self, start: i64, function: Function, note: u32, result: i32) {
        let end = clock::now();
        self.sums.add(function, (end - start) as u64);
        self.keep(Record { start, end, note, result });
    }
}
