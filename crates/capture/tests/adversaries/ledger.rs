//! Compares the calls that a program counts itself with those in a spool.

use crate::adversary::{Adversary, Expected};
use crate::recording::{Process, Recording};
use spool::Level;
use std::path::Path;

/// Bytes of an entry: process id, calls begun, calls ended, whose it is. `programs/adversary.h` has the same.
const ENTRY: usize = 32;
/// Bytes of a ledger.
pub const SIZE: u64 = 1024 * ENTRY as u64;

/// The counts of one process.
#[derive(Debug)]
pub struct Entry {
    pub pid: u32,
    /// Launches that it began.
    pub begun: u64,
    /// And those that returned to it.
    pub ended: u64,
    pub is_child: bool,
}

/// Reads a ledger; empty for a program that made none.
pub fn read(path: &Path) -> Vec<Entry> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let number = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[8 * at..8 * at + 8].try_into().unwrap());
    let entries = bytes.chunks_exact(ENTRY).map(|entry| Entry {
        pid: number(entry, 0) as u32,
        begun: number(entry, 1),
        ended: number(entry, 2),
        is_child: number(entry, 3) != 0,
    });
    entries.filter(|entry| entry.pid != 0).collect()
}

/// Compares what was recorded with what was done; what is wrong.
pub fn compare(adversary: &Adversary, entries: &[Entry], recording: &Recording, level: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for process in recording.processes.iter().filter(|process| !process.calls.is_empty()) {
        if !entries.iter().any(|entry| entry.pid == process.pid) {
            wrong.push(format!("a file of process {}, which made no calls", process.pid));
        }
        let foreign = |tid: &&u32| entries.iter().any(|entry| entry.pid != process.pid && entry.pid == **tid);
        for tid in process.threads.iter().filter(foreign) {
            wrong.push(format!("records of process {tid} in the file of process {}", process.pid));
        }
    }
    for entry in entries {
        let files: Vec<&Process> = recording.processes.iter().filter(|file| file.pid == entry.pid).collect();
        let expected = if entry.is_child {
            adversary.children.expect("it declares children")
        } else {
            adversary.recorded
        };
        let who = if entry.is_child { "child" } else { "program" };
        wrong.extend(of_process(entry, &files, expected, level).map(|what| format!("{who}: {what}")));
    }
    wrong
}

/// Compares one process; several files are several images of it.
fn of_process(entry: &Entry, files: &[&Process], expected: Expected, level: &str) -> Option<String> {
    match (expected, files.is_empty()) {
        (Expected::Nothing, true) | (Expected::Either, true) => return None,
        (Expected::Nothing, false) => return Some("it has a file".to_owned()),
        (_, true) => return (entry.ended > 0).then(|| "it has no file".to_owned()),
        (_, false) => {}
    }
    if let Some(file) = files.iter().find(|file| expected == Expected::Recorded && !is_at(file, level)) {
        return Some(format!("it is recorded at level {:?}", file.level));
    }
    // CUPTI records calls at this level, and its stand-in has none.
    if level == "calls" {
        return None;
    }
    let sum = |count: &dyn Fn(&Process) -> u64| files.iter().map(|file| count(file)).sum::<u64>();
    let launches = sum(&|file| file.calls_of("cuLaunchKernel").len() as u64);
    let dropped = sum(&|file| file.dropped);
    let untracked = sum(&|file| file.untracked_threads);
    let facts = format!(
        "{} calls began, {} ended: {launches} are recorded, {dropped} records dropped",
        entry.begun, entry.ended
    );
    let missing = entry.ended.saturating_sub(launches);
    let is_counted = missing <= dropped || untracked > 0;
    if launches > entry.begun {
        let doubtful: Vec<String> = files.iter().flat_map(|file| overlapping(file)).collect();
        Some(format!("{facts}: some were never made: {doubtful:?}"))
    } else if !is_counted || (expected == Expected::Recorded && missing > 0) {
        Some(format!("{facts}: some are missing"))
    } else {
        None
    }
}

/// Whether it was recorded at that level to its end.
fn is_at(process: &Process, level: &str) -> bool {
    let expected = match level {
        "light" => Level::Light,
        "full" => Level::Full,
        _ => Level::Calls,
    };
    process.level == Some(expected)
}

/// Launches that overlap another one of their thread, which cannot be.
fn overlapping(process: &Process) -> Vec<String> {
    let mut calls = process.calls_of("cuLaunchKernel");
    calls.sort_by_key(|call| (call.tid, call.record.start));
    let pairs = calls
        .windows(2)
        .filter(|pair| pair[0].tid == pair[1].tid && pair[1].record.start < pair[0].record.end);
    pairs.map(|pair| format!("{:?} {:?}", pair[0], pair[1])).collect()
}
