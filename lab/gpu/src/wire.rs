//! Protocol between holdup's process and those that it starts: an order goes one way, messages the other.
//!
//! A message is a letter, its length and as many bytes: `J` JSON, `C` calls of a thread as they lay in memory, for both
//! ends are the same executable.

use crate::{Device, Error};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use trace::{CopyKind, MemoryKind};
use workload::Workload;

/// The first argument of an executable that is started as a process of a workload.
pub const ARGUMENT: &str = "__holdup-gpu-process";

/// The signals that end a run in order, so that holdup's process handles them and the others do not: interrupt (Ctrl-C), a
/// request to end, and the end of the terminal.
pub const SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Order to a process.
#[derive(Serialize, Deserialize)]
pub enum Order {
    /// Be a process of a workload.
    Run(Box<Job>),
    /// Say what devices there are.
    Describe,
}

/// Which process of which workload.
#[derive(Serialize, Deserialize)]
pub struct Job {
    /// All of it.
    pub workload: Workload,
    /// The row of the process.
    pub process: usize,
    /// The number of its first thread, counted through all processes.
    pub first_thread: usize,
    /// Threads of all processes.
    pub threads: usize,
    /// How closely threads are watched.
    pub watch: Watch,
    /// The processor of each of its threads; empty when they may go anywhere.
    pub processors: Vec<usize>,
    /// Whether there are more threads than processors.
    pub crowded: bool,
}

/// How closely threads are watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Watch {
    /// Their bodies are timed.
    Bodies,
    /// Each call of a body, too.
    Calls,
    /// Every call is recorded.
    Trace,
}

/// Message from a process.
#[derive(Serialize, Deserialize)]
pub enum Message {
    /// It did what it was to do, or stopped because the run was to.
    Done(Box<Report>),
    /// It could not.
    Failed(Error),
    /// These devices are there, and the driver is for that CUDA version.
    Devices(Vec<Device>, i32),
}

/// Report of a process of a workload at its end.
#[derive(Default, Serialize, Deserialize)]
pub struct Report {
    /// The CUDA version of the driver.
    pub cuda: i32,
    /// The device of each context.
    pub devices: Vec<Device>,
    /// How long the call took that created each context, ns.
    pub contexts_ns: Vec<u64>,
    /// Its threads.
    pub threads: Vec<ThreadReport>,
    /// Remarks on the figures, one line each.
    pub notes: Vec<String>,
}

/// Measurements of a thread, besides its progress.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct ThreadReport {
    /// The operating system's number.
    pub tid: i64,
    /// The largest difference of a check, as bits: JSON has no infinity.
    pub max_error: Option<u64>,
    /// The mean time between events that it measured, ns.
    pub between_events_ns: Option<u64>,
    /// Calls of its bodies.
    pub times: Vec<Times>,
    /// Notes on its instructions, for recorded calls.
    pub notes: Vec<Note>,
}

/// The time spent in a function.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub struct Times {
    /// A number of [`crate::driver::Function`].
    pub function: u8,
    /// How many calls.
    pub count: u64,
    /// Their sum, ns.
    pub total_ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
    /// The sum of those over 1 ms, ns.
    pub stalled_ns: u64,
}

/// Description of an instruction of a thread.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Note {
    /// A number of [`crate::driver::Function`]; none for what is done on the host.
    pub function: Option<u8>,
    /// As in `step 3.1 of body`.
    pub place: String,
    /// The stream's row.
    pub stream: Option<u32>,
    /// Bytes copied or filled.
    pub bytes: u64,
    /// The memories of a copy, or the one filled as the second, as names of [`MemoryKind`].
    pub memory: Option<(String, String)>,
}

impl Note {
    /// The memories of a copy or a fill.
    pub fn memories(&self) -> Option<(MemoryKind, MemoryKind)> {
        let (from, to) = self.memory.as_ref()?;
        Some((MemoryKind::from_name(from), MemoryKind::from_name(to)))
    }

    /// The direction of a copy.
    pub fn copy(&self) -> CopyKind {
        let is_host = |kind| matches!(kind, MemoryKind::Pageable | MemoryKind::Pinned);
        match self.memories() {
            None | Some((MemoryKind::Unknown, _)) => CopyKind::Unknown,
            Some((from, to)) => match (is_host(from), is_host(to)) {
                (true, true) => CopyKind::HtoH,
                (true, false) => CopyKind::HtoD,
                (false, true) => CopyKind::DtoH,
                (false, false) => CopyKind::DtoD,
            },
        }
    }
}

/// A recorded call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Record {
    /// Entry, ns.
    pub start: i64,
    /// Return, ns.
    pub end: i64,
    /// The row in [`ThreadReport::notes`].
    pub note: u32,
    /// A `CUresult`.
    pub result: i32,
}

impl Record {
    fn to_bytes(self) -> [u8; size_of::<Record>()] {
        let mut bytes = [0; size_of::<Record>()];
        bytes[..8].copy_from_slice(&self.start.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.end.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.note.to_le_bytes());
        bytes[20..].copy_from_slice(&self.result.to_le_bytes());
        bytes
    }

    fn of_bytes(bytes: &[u8; size_of::<Record>()]) -> Record {
        let [a, b, c, d, e, f] = *bytes.as_chunks::<4>().0 else { unreachable!("24 bytes are six fours") };
        let long = |low: [u8; 4], high: [u8; 4]| {
            i64::from(u32::from_le_bytes(low)) | i64::from(i32::from_le_bytes(high)) << 32
        };
        Record {
            start: long(a, b),
            end: long(c, d),
            note: u32::from_le_bytes(e),
            result: i32::from_le_bytes(f),
        }
    }
}

/// Message or calls that arrive.
pub enum Arrival {
    /// A message.
    Message(Message),
    /// Calls of the process's thread of that row.
    Calls(usize, Vec<Record>),
}

/// Sends a message.
pub fn send(to: &mut impl Write, message: &Message) -> io::Result<()> {
    frame(to, b'J', &serde_json::to_vec(message)?)
}

/// Sends a thread's recorded calls.
pub fn send_calls(to: &mut impl Write, thread: usize, calls: &[Record]) -> io::Result<()> {
    let mut bytes = (thread as u64).to_le_bytes().to_vec();
    calls.iter().for_each(|call| bytes.extend(call.to_bytes()));
    frame(to, b'C', &bytes)
}

fn frame(to: &mut impl Write, letter: u8, bytes: &[u8]) -> io::Result<()> {
    to.write_all(&[letter])?;
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(bytes)
}

/// Removes the complete messages from the received bytes and returns them. `None` if the bytes are no message.
pub fn arrivals(bytes: &mut Vec<u8>) -> Option<Vec<Arrival>> {
    let (mut all, mut at) = (Vec::new(), 0);
    while let Some((head, rest)) = bytes[at..].split_first_chunk::<9>() {
        let [letter, length @ ..] = *head;
        let Some(body) = rest.get(..u64::from_le_bytes(length) as usize) else { break };
        all.push(match letter {
            b'J' => Arrival::Message(serde_json::from_slice(body).ok()?),
            b'C' => {
                let (thread, records) = body.split_first_chunk::<8>()?;
                let records = records.as_chunks::<{ size_of::<Record>() }>().0;
                Arrival::Calls(
                    u64::from_le_bytes(*thread) as usize,
                    records.iter().map(Record::of_bytes).collect(),
                )
            }
            _ => return None,
        });
        at += head.len() + body.len();
    }
    bytes.drain(..at);
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_however_they_are_cut() {
        let record = Record { start: -5, end: i64::MAX - 1, note: u32::MAX, result: -7 };
        let mut sent = Vec::new();
        send_calls(&mut sent, 3, &[record, record]).expect("memory takes it");
        send(&mut sent, &Message::Devices(Vec::new(), 13000)).expect("memory takes it");
        let (mut came, mut seen) = (Vec::new(), Vec::new());
        for byte in sent {
            came.push(byte);
            for arrival in arrivals(&mut came).expect("what was sent") {
                seen.push(match arrival {
                    Arrival::Calls(3, calls) => calls == [record, record],
                    Arrival::Message(Message::Devices(devices, 13000)) => devices.is_empty(),
                    _ => false,
                });
            }
        }
        assert_eq!((seen, came.len()), (vec![true, true], 0));
    }
}
