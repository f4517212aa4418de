//! A thread at work: carries its program out.

mod calls;

use super::blas::Blas;
use super::host;
use super::instruction::{Effect, HostEffect, Instruction, Transfer};
use super::process::{Buffer, Process};
use super::program::Program;
use super::watch::Watcher;
use crate::driver::{self, Code, Event, Function, Stream};
use crate::segment::Segment;
use crate::{Error, clock};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::time::Duration;
use workload::{BufferId, EventId, StreamId};

/// State of a thread while it executes its program.
pub struct Worker<'a> {
    pub process: &'a Process,
    pub segment: &'a Segment,
    pub counters: Vec<u64>,
    pub crowded: bool,
    /// The largest difference that a check found.
    pub max_error: Option<f64>,
    /// Time measured between events: the sum, ms, and how often.
    pub between_events: (f64, u64),
    /// Graph that the last capture left, until it is instantiated and destroyed.
    captured: driver::Graph,
    /// Module that was loaded last, until it is unloaded.
    module: driver::Module,
    blas: Option<Blas>,
}

/// Why a thread goes on no more.
#[derive(Debug)]
pub enum Stop {
    /// The run is to stop.
    Aborted,
    /// An instruction failed: the row of its note, and why.
    Failed(u32, Trouble),
}

/// Why an instruction failed.
#[derive(Debug)]
pub enum Trouble {
    /// A call gave a code.
    Call(Function, Code),
    /// It could not be made.
    Impossible(String),
    /// There is no cuBLAS.
    NoBlas(String),
    /// The run is to stop.
    Aborted,
}

impl<'a> Worker<'a> {
    pub fn new(process: &'a Process, segment: &'a Segment, program: &Program, crowded: bool) -> Worker<'a> {
        let counters = vec![0; program.counters];
        let (captured, module) = (null_mut(), null_mut());
        Worker {
            process,
            segment,
            counters,
            crowded,
            max_error: None,
            between_events: (0.0, 0),
            captured,
            module,
            blas: None,
        }
    }

    /// Carries instructions out, to the end of the list.
    pub fn run<W: Watcher>(&mut self, list: &[Instruction], watcher: &mut W) -> Result<(), Stop> {
        let mut at = 0;
        while let Some(instruction) = list.get(at) {
            at += 1;
            let stop = |trouble| match trouble {
                Trouble::Aborted => Stop::Aborted,
                trouble => Stop::Failed(instruction.note, trouble),
            };
            match &instruction.what {
                Effect::Call(function, action) => {
                    let before = watcher.before();
                    let Some(code) = self.call(*function, action).map_err(stop)? else { continue };
                    watcher.after(before, *function, instruction.note, code);
                    let is_answer = matches!(function, Function::EventQuery | Function::StreamQuery);
                    if code != driver::SUCCESS && !(is_answer && code == driver::NOT_READY) {
                        return Err(stop(Trouble::Call(*function, code)));
                    }
                }
                Effect::Again { counter, times, first } => {
                    self.counters[*counter] += 1;
                    if self.segment.is_aborted() {
                        return Err(Stop::Aborted);
                    }
                    if self.counters[*counter] < *times {
                        at = *first;
                    }
                }
                Effect::Loop { counter, times, past } => {
                    self.counters[*counter] = 0;
                    if *times == 0 {
                        at = *past;
                    }
                }
                Effect::Host(deed) => self.deed(deed).map_err(stop)?,
            }
        }
        Ok(())
    }

    /// The addresses of a copy's ends.
    fn ends(&self, copy: &Transfer) -> Result<(u64, u64), Trouble> {
        let offset = copy.offset.value(&self.counters);
        Ok((self.address(copy.from)? + offset, self.address(copy.to)? + offset))
    }

    fn deed(&mut self, deed: &HostEffect) -> Result<(), Trouble> {
        match *deed {
            HostEffect::LoadBlas => self.blas = Some(Blas::load().map_err(Trouble::NoBlas)?),
            HostEffect::Map { buffer, touch } => {
                let slot = self.slot_to_fill(buffer)?;
                let address = host::map(slot.bytes, touch);
                let address = address.map_err(|error| {
                    Trouble::Impossible(format!("cannot map {} bytes of memory: {error}", slot.bytes))
                })?;
                slot.address.store(address, Release);
            }
            HostEffect::Unmap { buffer } => {
                let address = self.take(buffer)?;
                // SAFETY: it was mapped for so many bytes, and its slot is empty now.
                unsafe { host::unmap(address, self.process.buffers[buffer].bytes) };
            }
            HostEffect::Copy(ref copy) => {
                let (source, target) = self.ends(copy)?;
                // SAFETY: two buffers, both allocated and with so many bytes from the offset on, as `Workload::check` saw.
                // They are only behind raw pointers. If a workload has other threads write them at the same time, their
                // contents are as undefined as after a GPU's copy at that time; no reference or value depends on them.
                unsafe {
                    std::ptr::copy_nonoverlapping(source as *const u8, target as *mut u8, copy.bytes as usize)
                };
            }
            HostEffect::Fill { buffer, word } => {
                let (address, count) =
                    (self.address(buffer)?, self.process.buffers[buffer].bytes as usize / 4);
                // SAFETY: the buffer is allocated, has so many elements, and starts at an address that the system or the
                // driver chose, a multiple of a page or of 256. Other threads may use it at the same time, and read and
                // write it only through `words`.
                host::fill(unsafe { host::words(address, count) }, word);
            }
            HostEffect::Check { buffer, bytes, value } => {
                let address = self.address(buffer)?;
                // SAFETY: as for a fill; `Workload::check` saw that the buffer has so many bytes.
                let words = unsafe { host::words(address, bytes as usize / 4) };
                let error = host::largest_difference(words, value);
                self.max_error = Some(self.max_error.map_or(error, |max| max.max(error)));
            }
            HostEffect::Sleep { ns } => {
                self.pass(ns, |ns| std::thread::sleep(Duration::from_nanos(ns as u64)))?
            }
            HostEffect::Work { ns } => self.pass(ns, |ns| clock::spin(clock::now() + ns))?,
            HostEffect::Hold { ns } => {
                let lock = &self.process.lock;
                lock.acquire(|| self.segment.go_on()).map_err(|_| Trouble::Aborted)?;
                let held = self.pass(ns, |ns| clock::spin(clock::now() + ns));
                lock.release();
                held?;
            }
            HostEffect::Meet { barrier, parties } => {
                self.segment.meet(barrier, parties, self.crowded).map_err(|_| Trouble::Aborted)?;
            }
        }
        Ok(())
    }

    /// Does `pass` for so long, in pieces: each may be the last, when the run is to stop.
    fn pass(&self, ns: u64, pass: impl Fn(i64)) -> Result<(), Trouble> {
        /// How long it takes at most to see that the run is to stop, ns.
        const PIECE: i64 = 100_000_000;
        let end = clock::now().saturating_add_unsigned(ns);
        loop {
            let left = end - clock::now();
            if left <= 0 {
                return Ok(());
            }
            if self.segment.is_aborted() {
                return Err(Trouble::Aborted);
            }
            pass(left.min(PIECE));
        }
    }

    #[inline]
    fn address(&self, buffer: BufferId) -> Result<u64, Trouble> {
        match self.process.buffers[buffer].address.load(Acquire) {
            0 => Err(missing("buffer", &self.process.asked.buffers[buffer].name)),
            address => Ok(address),
        }
    }

    /// Empties a buffer's slot.
    fn take(&self, buffer: BufferId) -> Result<u64, Trouble> {
        match self.process.buffers[buffer].address.swap(0, AcqRel) {
            0 => Err(missing("buffer", &self.process.asked.buffers[buffer].name)),
            address => Ok(address),
        }
    }

    fn slot_to_fill(&self, buffer: BufferId) -> Result<&Buffer, Trouble> {
        let slot = &self.process.buffers[buffer];
        match slot.address.load(Acquire) {
            0 => Ok(slot),
            _ => {
                let name = &self.process.asked.buffers[buffer].name;
                Err(Trouble::Impossible(format!("buffer \"{name}\" is allocated already: free it first")))
            }
        }
    }

    #[inline]
    fn stream(&self, stream: StreamId) -> Result<Stream, Trouble> {
        let slot = self.process.streams[stream].get();
        slot.ok_or_else(|| missing("stream", &self.process.asked.streams[stream].name))
    }

    fn event(&self, event: EventId) -> Result<Event, Trouble> {
        let slot = self.process.events[event].get();
        slot.ok_or_else(|| missing("event", &self.process.asked.events[event].name))
    }
}

fn missing(what: &str, name: &str) -> Trouble {
    Trouble::Impossible(format!("{what} \"{name}\" does not exist: create it in an earlier step"))
}

impl Trouble {
    /// As an error at a place.
    pub fn into_error(self, driver: &driver::Driver, place: crate::Place) -> Error {
        match self {
            Trouble::Call(function, code) => Error::Call(driver.failure(function, code, Some(place)).into()),
            Trouble::Impossible(problem) => Error::Impossible { place, problem },
            Trouble::NoBlas(problem) => Error::NoBlas { problem },
            Trouble::Aborted => Error::Impossible { place, problem: "stopped".to_owned() },
        }
    }
}
