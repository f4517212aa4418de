//! A thread at work: carries its program out.

use super::blas::Blas;
use super::host;
use super::instruction::{Action, Effect, HostEffect, Instruction, Launch, Rows, RowsEnd, Transfer};
use super::process::{Buffer, Process};
use super::program::Program;
use super::watch::Watcher;
use crate::driver::{self, Code, Event, Function, Stream};
use crate::segment::Segment;
use crate::{Error, clock, kernels};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::time::Duration;

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

    #[inline]
    fn launch(&self, launch: &Launch) -> Result<Code, Trouble> {
        for buffer in &launch.buffers {
            self.address(*buffer)?;
        }
        for (at, offset) in &launch.changing {
            // SAFETY: only this thread has the launch, and the driver has read the numbers of the previous one.
            unsafe { *launch.numbers[*at].get() = offset.value(&self.counters) };
        }
        for (at, buffer) in &launch.on_host {
            // SAFETY: as above.
            unsafe { *launch.arguments[*at].get() = self.address(*buffer)? as *mut c_void };
        }
        let stream = self.stream(launch.stream)?;
        let (grid, block) = (launch.grid, launch.block);
        // The cells are as their contents are.
        let arguments: *mut *mut c_void = launch.arguments.as_ptr().cast_mut().cast();
        // SAFETY: the kernel is of the current context; there are as many arguments as it takes (`kernels::prepare` and
        // its test), each at least as long as it is read: addresses in their slots, numbers of 64 bits, host buffers that
        // are allocated. What the kernel does wrong with them is the device's to tell.
        Ok(unsafe {
            (self.process.driver.table.launch)(
                launch.kernel,
                grid,
                1,
                1,
                block,
                1,
                1,
                0,
                stream,
                arguments,
                null_mut(),
            )
        })
    }

    fn copy(&self, function: Function, copy: &Transfer) -> Result<Code, Trouble> {
        let (source, target) = self.ends(copy)?;
        let stream = copy.stream.map_or(Ok(null_mut()), |stream| self.stream(stream))?;
        let (table, length) = (&self.process.driver.table, copy.bytes as usize);
        let (host_source, host_target) = (source as *const c_void, target as *mut c_void);
        // SAFETY: both ends are allocated, and the workload's check saw that they have so many bytes from the offset on;
        // that they stay until the copy is done is the workload's business, as in any CUDA program.
        Ok(unsafe {
            match function {
                Function::CopyToDeviceAsync => {
                    (table.copy_to_device_async)(target, host_source, length, stream)
                }
                Function::CopyToHostAsync => (table.copy_to_host_async)(host_target, source, length, stream),
                Function::CopyWithinAsync => (table.copy_within_async)(target, source, length, stream),
                Function::CopyAsync => (table.copy_async)(target, source, length, stream),
                Function::CopyToDevice => (table.copy_to_device)(target, host_source, length),
                Function::CopyToHost => (table.copy_to_host)(host_target, source, length),
                Function::CopyWithin => (table.copy_within)(target, source, length),
                // The driver finds what its ends are.
                _ => (table.copy)(target, source, length),
            }
        })
    }

    fn blas_norm(&self, from: usize, to: usize, length: i32, stream: usize) -> Result<Code, Trouble> {
        let Some(blas) = &self.blas else { return Err(Trouble::NoBlas("it was not loaded".to_owned())) };
        let (from, norm, stream) = (self.address(from)?, self.address(to)?, self.stream(stream)?);
        let on_host = self.process.asked.buffers[to].memory.is_host();
        // SAFETY: both are allocated, and the workload's check saw that the one has so many floats and the other one, on the
        // side where it is.
        unsafe { blas.norm(from, norm, on_host, length, stream) }.map_err(Trouble::Impossible)?;
        Ok(driver::SUCCESS)
    }

    fn copy_rows(&self, rows: &Rows) -> Result<Code, Trouble> {
        let (from, to) = (self.address(rows.from.buffer)?, self.address(rows.to.buffer)?);
        let (stream, table) = (self.stream(rows.stream)?, &self.process.driver.table);
        let memory = |is_host| if is_host { driver::HOST_MEMORY } else { driver::DEVICE_MEMORY };
        let Some(depth) = rows.depth else {
            let end = |end: RowsEnd, address: u64| driver::End2d {
                x: 0,
                y: 0,
                memory: memory(end.is_host),
                host: if end.is_host { address as *mut c_void } else { null_mut() },
                device: if end.is_host { 0 } else { address },
                array: null_mut(),
                pitch: end.pitch,
            };
            let (from, to) = (end(rows.from, from), end(rows.to, to));
            let copy = driver::Copy2d { from, to, width: rows.width, height: rows.height };
            // SAFETY: both ends are allocated, and the workload's check saw that all rows lie in them; as for other copies.
            return Ok(unsafe { (table.copy_rows)(&copy, stream) });
        };
        let end = |end: RowsEnd, address: u64| driver::End3d {
            x: 0,
            y: 0,
            z: 0,
            level: 0,
            memory: memory(end.is_host),
            host: if end.is_host { address as *mut c_void } else { null_mut() },
            device: if end.is_host { 0 } else { address },
            array: null_mut(),
            reserved: null_mut(),
            pitch: end.pitch,
            height: rows.height,
        };
        let (from, to) = (end(rows.from, from), end(rows.to, to));
        let copy = driver::Copy3d { from, to, width: rows.width, height: rows.height, depth };
        // SAFETY: as above.
        Ok(unsafe { (table.copy_slices)(&copy, stream) })
    }

    /// The addresses of a copy's ends.
    fn ends(&self, copy: &Transfer) -> Result<(u64, u64), Trouble> {
        let offset = copy.offset.value(&self.counters);
        Ok((self.address(copy.from)? + offset, self.address(copy.to)? + offset))
    }

    /// Makes a call; `None` when there was none to make.
    fn call(&mut self, function: Function, action: &Action) -> Result<Option<Code>, Trouble> {
        let table = &self.process.driver.table;
        // SAFETY: the driver's functions, with handles that it gave and that are in their slots still, and with what they
        // write to.
        let code = unsafe {
            match *action {
                Action::Launch(ref launch) => self.launch(launch)?,
                Action::Copy(ref copy) => self.copy(function, copy)?,
                Action::CopyRows(ref rows) => self.copy_rows(rows)?,
                Action::Elapsed { from, to } => {
                    let mut ms = 0.0;
                    let code = (table.event_elapsed)(&mut ms, self.event(from)?, self.event(to)?);
                    if code == driver::SUCCESS {
                        let (sum, count) = self.between_events;
                        self.between_events = (sum + f64::from(ms), count + 1);
                    }
                    code
                }
                Action::Allocate { buffer, stream } => self.allocate(function, buffer, stream)?,
                Action::Free { buffer, stream } => self.free(function, buffer, stream)?,
                Action::Register { buffer } => {
                    let address = self.address(buffer)? as *mut c_void;
                    (table.host_register)(
                        address,
                        self.process.buffers[buffer].bytes as usize,
                        driver::PORTABLE,
                    )
                }
                Action::Unregister { buffer } => {
                    (table.host_unregister)(self.address(buffer)? as *mut c_void)
                }
                Action::Fill { buffer, word, stream } => {
                    let (address, count) =
                        (self.address(buffer)?, self.process.buffers[buffer].bytes as usize / 4);
                    (table.fill)(address, word, count, self.stream(stream)?)
                }
                Action::BlasNorm { from, to, length, stream } => self.blas_norm(from, to, length, stream)?,
                Action::LaunchGraph { graph, stream } => {
                    let instance = self.process.graphs[graph].get();
                    let instance =
                        instance.ok_or_else(|| missing("graph", &self.process.asked.graphs[graph].name))?;
                    (table.graph_launch)(instance, self.stream(stream)?)
                }
                Action::BeginCapture { stream } => {
                    (table.capture_begin)(self.stream(stream)?, driver::THREAD_LOCAL)
                }
                Action::EndCapture { stream } => {
                    (table.capture_end)(self.stream(stream)?, &mut self.captured)
                }
                Action::Instantiate { graph } => {
                    let mut instance = null_mut();
                    let code =
                        (table.graph_instantiate)(&mut instance, self.captured, null_mut(), null_mut(), 0);
                    if code == driver::SUCCESS {
                        self.process.graphs[graph].put(instance);
                    }
                    code
                }
                Action::DestroyCaptured => {
                    (table.graph_destroy)(std::mem::replace(&mut self.captured, null_mut()))
                }
                Action::DestroyInstance { graph } => match self.process.graphs[graph].take() {
                    Some(instance) => (table.graph_exec_destroy)(instance),
                    None => return Ok(None),
                },
                Action::RecordEvent { event, stream } => {
                    (table.event_record)(self.event(event)?, self.stream(stream)?)
                }
                Action::WaitEvent { event, stream } => {
                    (table.stream_wait)(self.stream(stream)?, self.event(event)?, 0)
                }
                Action::QueryEvent { event } => (table.event_query)(self.event(event)?),
                Action::SynchronizeEvent { event } => (table.event_synchronize)(self.event(event)?),
                Action::QueryStream { stream } => (table.stream_query)(self.stream(stream)?),
                Action::SynchronizeStream { stream } => (table.stream_synchronize)(self.stream(stream)?),
                Action::SynchronizeContext => (table.context_synchronize)(),
                Action::SetContext { context } => {
                    (table.context_set_current)(self.process.contexts[context].context)
                }
                Action::CreateStream { stream, flags } => {
                    let mut handle = null_mut();
                    let code = (table.stream_create)(&mut handle, flags);
                    if code == driver::SUCCESS {
                        self.process.streams[stream].put(handle);
                    }
                    code
                }
                Action::DestroyStream { stream } => {
                    let handle = self.process.streams[stream].take();
                    let name = &self.process.asked.streams[stream].name;
                    (table.stream_destroy)(handle.ok_or_else(|| missing("stream", name))?)
                }
                Action::CreateEvent { event, flags } => {
                    let mut handle = null_mut();
                    let code = (table.event_create)(&mut handle, flags);
                    if code == driver::SUCCESS {
                        self.process.events[event].put(handle);
                    }
                    code
                }
                Action::DestroyEvent { event } => {
                    let handle = self.process.events[event].take();
                    (table.event_destroy)(
                        handle.ok_or_else(|| missing("event", &self.process.asked.events[event].name))?,
                    )
                }
                Action::LoadModule => (table.module_load)(&mut self.module, kernels::image()),
                Action::UnloadModule => {
                    (table.module_unload)(std::mem::replace(&mut self.module, null_mut()))
                }
            }
        };
        Ok(Some(code))
    }

    fn allocate(&self, function: Function, buffer: usize, stream: Option<usize>) -> Result<Code, Trouble> {
        let slot = self.slot_to_fill(buffer)?;
        let (table, bytes, mut address) = (&self.process.driver.table, slot.bytes as usize, 0u64);
        // SAFETY: writes an address, of as many bits on the host as on the device.
        let code = unsafe {
            match (function, table.pool_alloc, stream) {
                (Function::MemAllocManaged, ..) => {
                    (table.mem_alloc_managed)(&mut address, bytes, driver::ATTACH_GLOBAL)
                }
                (Function::HostAlloc, ..) => {
                    (table.host_alloc)((&raw mut address).cast(), bytes, driver::PORTABLE)
                }
                (Function::PoolAlloc, Some(pool_alloc), Some(stream)) => {
                    pool_alloc(&mut address, bytes, self.stream(stream)?)
                }
                _ => (table.mem_alloc)(&mut address, bytes),
            }
        };
        if code == driver::SUCCESS {
            slot.address.store(address, Release);
        }
        Ok(code)
    }

    fn free(&self, function: Function, buffer: usize, stream: Option<usize>) -> Result<Code, Trouble> {
        let (table, address) = (&self.process.driver.table, self.take(buffer)?);
        // SAFETY: what the driver gave; it was removed from its slot, so that nothing frees it again.
        Ok(unsafe {
            match (function, table.pool_free, stream) {
                (Function::HostFree, ..) => (table.host_free)(address as *mut c_void),
                (Function::PoolFree, Some(pool_free), Some(stream)) => {
                    pool_free(address, self.stream(stream)?)
                }
                _ => (table.mem_free)(address),
            }
        })
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
    fn address(&self, buffer: usize) -> Result<u64, Trouble> {
        match self.process.buffers[buffer].address.load(Acquire) {
            0 => Err(missing("buffer", &self.process.asked.buffers[buffer].name)),
            address => Ok(address),
        }
    }

    /// Empties a buffer's slot.
    fn take(&self, buffer: usize) -> Result<u64, Trouble> {
        match self.process.buffers[buffer].address.swap(0, AcqRel) {
            0 => Err(missing("buffer", &self.process.asked.buffers[buffer].name)),
            address => Ok(address),
        }
    }

    fn slot_to_fill(&self, buffer: usize) -> Result<&Buffer, Trouble> {
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
    fn stream(&self, stream: usize) -> Result<Stream, Trouble> {
        let slot = self.process.streams[stream].get();
        slot.ok_or_else(|| missing("stream", &self.process.asked.streams[stream].name))
    }

    fn event(&self, event: usize) -> Result<Event, Trouble> {
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
