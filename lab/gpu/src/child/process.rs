//! State that the threads of a process share: the driver, contexts with their kernels, and slots for what steps create.

use super::lock::Lock;
use super::uses::first_users;
use crate::driver::{self, Context, Driver, Function, Kernel, attribute};
use crate::kernels::{self, Code};
use crate::segment::{self, Aborted, Segment};
use crate::{Error, Place, clock};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};
use workload::{Schedule, StreamKind};

/// A process of a workload, as it is while it runs.
pub struct Process {
    pub driver: Driver,
    /// Process as the workload describes it.
    pub asked: workload::Process,
    pub contexts: Vec<ContextState>,
    pub streams: Vec<Slot>,
    pub events: Vec<Slot>,
    /// Instances of graphs.
    pub graphs: Vec<Slot>,
    pub buffers: Vec<Buffer>,
    /// Lock that its threads hold one at a time.
    pub lock: Lock,
    /// The thread that uses each stream first and has to create it; none when a step creates it.
    pub stream_users: Vec<Option<usize>>,
    /// As for streams.
    pub event_users: Vec<Option<usize>>,
    /// Threads that have created what they are to create.
    set_up: AtomicUsize,
}

/// A context and what was loaded into it.
pub struct ContextState {
    pub context: Context,
    /// How long the call took that created it, ns.
    pub created_ns: u64,
    /// By number of [`Code`].
    pub kernels: [Kernel; Code::ALL.len()],
    /// Whether its device has memory pools.
    pub pools: bool,
}

// SAFETY: contexts and kernels may be used from any thread.
unsafe impl Send for ContextState {}
// SAFETY: as above.
unsafe impl Sync for ContextState {}

/// A buffer's slot.
pub struct Buffer {
    /// Where it lies; 0 when it is not allocated. Launches point here.
    pub address: AtomicU64,
    /// Its size.
    pub bytes: u64,
}

/// A slot for a handle of the driver.
pub struct Slot(AtomicPtr<c_void>);

/// Value of an empty slot: nothing that the driver gives, nor null, its legacy default stream.
const EMPTY: *mut c_void = usize::MAX as *mut c_void;

impl Slot {
    fn empty() -> Slot {
        Slot(AtomicPtr::new(EMPTY))
    }

    /// The handle, if there is one.
    #[inline]
    pub fn get(&self) -> Option<*mut c_void> {
        let handle = self.0.load(Acquire);
        (handle != EMPTY).then_some(handle)
    }

    /// Puts a handle in.
    pub fn put(&self, handle: *mut c_void) {
        self.0.store(handle, Release);
    }

    /// Empties it.
    pub fn take(&self) -> Option<*mut c_void> {
        let handle = self.0.swap(EMPTY, AcqRel);
        (handle != EMPTY).then_some(handle)
    }
}

impl Process {
    /// Loads the driver, makes the contexts and loads the kernels into each.
    pub fn new(asked: workload::Process, schedule: Schedule) -> Result<Process, Error> {
        let driver = Driver::load()?;
        let flags = flags(schedule);
        let contexts = asked.contexts.iter().map(|context| contextual(&driver, &asked.name, context, flags));
        let contexts = contexts.collect::<Result<Vec<_>, _>>()?;
        let slots = |count: usize| (0..count).map(|_| Slot::empty()).collect::<Vec<_>>();
        let streams = slots(asked.streams.len());
        for (slot, stream) in streams.iter().zip(&asked.streams) {
            if stream.kind == StreamKind::Default {
                slot.put(null_mut());
            }
        }
        let buffers = asked.buffers.iter();
        let buffers =
            buffers.map(|buffer| Buffer { address: AtomicU64::new(0), bytes: buffer.bytes }).collect();
        let (events, graphs) = (slots(asked.events.len()), slots(asked.graphs.len()));
        let (stream_users, event_users) = first_users(&asked);
        let set_up = AtomicUsize::new(0);
        Ok(Process {
            driver,
            asked,
            contexts,
            streams,
            events,
            graphs,
            buffers,
            lock: Lock::default(),
            stream_users,
            event_users,
            set_up,
        })
    }

    /// Waits until every thread of the process has created what it is to create; asleep, for it takes a while.
    pub fn all_set_up(&self, segment: &Segment) -> Result<(), Aborted> {
        self.set_up.fetch_add(1, AcqRel);
        while self.set_up.load(Acquire) < self.asked.threads.len() {
            segment.go_on()?;
            std::thread::sleep(segment::NAP);
        }
        Ok(())
    }
}

/// How threads of a context wait, as the driver has it.
fn flags(schedule: Schedule) -> u32 {
    match schedule {
        Schedule::Auto => 0,
        Schedule::Spin => driver::SCHEDULE_SPIN,
        Schedule::Yield => driver::SCHEDULE_YIELD,
        Schedule::Blocking => driver::SCHEDULE_BLOCKING,
    }
}

fn contextual(
    driver: &Driver,
    process: &str,
    asked: &workload::Context,
    flags: u32,
) -> Result<ContextState, Error> {
    let count = driver.device_count()?;
    if asked.device as i64 >= i64::from(count) {
        let place = Place { process: process.to_owned(), ..Place::default() };
        return Err(Error::NoSuchDevice { place, device: asked.device, count });
    }
    let device = driver.device(asked.device as i32)?;
    let (table, mut context) = (&driver.table, null_mut());
    if asked.primary && flags != 0 {
        // SAFETY: takes no pointer.
        let code = unsafe { (table.primary_set_flags)(device, flags) };
        driver.done(Function::PrimarySetFlags, code)?;
    }
    let began = clock::now();
    // SAFETY: either writes a handle.
    let (function, code) = unsafe {
        match asked.primary {
            true => (Function::PrimaryRetain, (table.primary_retain)(&mut context, device)),
            false => (Function::ContextCreate, (table.context_create)(&mut context, flags, device)),
        }
    };
    let created_ns = (clock::now() - began).unsigned_abs();
    driver.done(function, code)?;
    // SAFETY: the context was just made.
    driver.done(Function::ContextSetCurrent, unsafe { (table.context_set_current)(context) })?;
    let mut module = null_mut();
    // SAFETY: the image ends in a zero byte.
    driver.done(Function::ModuleLoad, unsafe { (table.module_load)(&mut module, kernels::image()) })?;
    let mut handles = [null_mut(); Code::ALL.len()];
    for (handle, code) in handles.iter_mut().zip(Code::ALL) {
        // SAFETY: writes a handle; the name ends in zero.
        let done = unsafe { (table.module_kernel)(handle, module, code.entry().as_ptr()) };
        driver.done(Function::ModuleKernel, done)?;
    }
    let pools = driver.attribute(device, attribute::MEMORY_POOLS) != 0;
    Ok(ContextState { context, created_ns, kernels: handles, pools })
}
