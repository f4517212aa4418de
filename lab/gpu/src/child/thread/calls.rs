//! Calls of the driver that instructions are.

use super::{Trouble, Worker, missing};
use crate::child::instruction::{
    Action, ContextCall, EventCall, GraphCall, Launch, MemoryCall, Rows, RowsEnd, StreamCall, Transfer,
};
use crate::child::process::Slot;
use crate::driver::{self, Code, Function};
use crate::kernels;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::Release;
use workload::{BufferId, StreamId};

impl Worker<'_> {
    /// Makes a call; `None` when there was none to make.
    pub(super) fn call(&mut self, function: Function, action: &Action) -> Result<Option<Code>, Trouble> {
        let code = match *action {
            Action::Launch(ref launch) => self.launch(launch)?,
            Action::Copy(ref copy) => self.copy(function, copy)?,
            Action::CopyRows(ref rows) => self.copy_rows(rows)?,
            Action::Fill { buffer, word, stream } => self.fill(buffer, word, stream)?,
            Action::BlasNorm { from, to, length, stream } => self.blas_norm(from, to, length, stream)?,
            Action::Memory(call) => self.memory_call(function, call)?,
            Action::Graph(call) => return self.graph_call(call),
            Action::Stream(call) => self.stream_call(call)?,
            Action::Event(call) => self.event_call(call)?,
            Action::Context(call) => self.context_call(call),
        };
        Ok(Some(code))
    }

    fn memory_call(&self, function: Function, call: MemoryCall) -> Result<Code, Trouble> {
        let table = &self.process.driver.table;
        match call {
            MemoryCall::Allocate { buffer, stream } => self.allocate(function, buffer, stream),
            MemoryCall::Free { buffer, stream } => self.free(function, buffer, stream),
            MemoryCall::Register { buffer } => {
                let (address, bytes) = (self.address(buffer)?, self.process.buffers[buffer].bytes);
                // SAFETY: the buffer is allocated and has so many bytes.
                Ok(unsafe { (table.host_register)(address as *mut c_void, bytes as usize, driver::PORTABLE) })
            }
            MemoryCall::Unregister { buffer } => {
                let address = self.address(buffer)? as *mut c_void;
                // SAFETY: the buffer is allocated.
                Ok(unsafe { (table.host_unregister)(address) })
            }
        }
    }

    fn graph_call(&mut self, call: GraphCall) -> Result<Option<Code>, Trouble> {
        let (table, graphs) = (&self.process.driver.table, &self.process.graphs);
        // SAFETY: the driver's functions, with handles that it gave and that are in their slots still, and with what they
        // write to.
        let code = unsafe {
            match call {
                GraphCall::Launch { graph, stream } => {
                    let instance = graphs[graph].get();
                    let instance =
                        instance.ok_or_else(|| missing("graph", &self.process.asked.graphs[graph].name))?;
                    (table.graph_launch)(instance, self.stream(stream)?)
                }
                GraphCall::BeginCapture { stream } => {
                    (table.capture_begin)(self.stream(stream)?, driver::THREAD_LOCAL)
                }
                GraphCall::EndCapture { stream } => {
                    (table.capture_end)(self.stream(stream)?, &mut self.captured)
                }
                GraphCall::Instantiate { graph } => created(&graphs[graph], |instance| {
                    (table.graph_instantiate)(instance, self.captured, null_mut(), null_mut(), 0)
                }),
                GraphCall::DestroyCaptured => {
                    (table.graph_destroy)(std::mem::replace(&mut self.captured, null_mut()))
                }
                GraphCall::DestroyInstance { graph } => match graphs[graph].take() {
                    Some(instance) => (table.graph_exec_destroy)(instance),
                    None => return Ok(None),
                },
            }
        };
        Ok(Some(code))
    }

    fn stream_call(&self, call: StreamCall) -> Result<Code, Trouble> {
        let (table, streams) = (&self.process.driver.table, &self.process.streams);
        // SAFETY: the driver's functions, with handles that it gave and that are in their slots still, and with what they
        // write to.
        Ok(unsafe {
            match call {
                StreamCall::Create { stream, flags } => {
                    created(&streams[stream], |handle| (table.stream_create)(handle, flags))
                }
                StreamCall::Destroy { stream } => {
                    let (handle, name) = (streams[stream].take(), &self.process.asked.streams[stream].name);
                    (table.stream_destroy)(handle.ok_or_else(|| missing("stream", name))?)
                }
                StreamCall::Query { stream } => (table.stream_query)(self.stream(stream)?),
                StreamCall::Synchronize { stream } => (table.stream_synchronize)(self.stream(stream)?),
            }
        })
    }

    fn event_call(&mut self, call: EventCall) -> Result<Code, Trouble> {
        let (table, events) = (&self.process.driver.table, &self.process.events);
        // SAFETY: the driver's functions, with handles that it gave and that are in their slots still, and with what they
        // write to.
        Ok(unsafe {
            match call {
                EventCall::Create { event, flags } => {
                    created(&events[event], |handle| (table.event_create)(handle, flags))
                }
                EventCall::Destroy { event } => {
                    let (handle, name) = (events[event].take(), &self.process.asked.events[event].name);
                    (table.event_destroy)(handle.ok_or_else(|| missing("event", name))?)
                }
                EventCall::Record { event, stream } => {
                    (table.event_record)(self.event(event)?, self.stream(stream)?)
                }
                EventCall::Wait { event, stream } => {
                    (table.stream_wait)(self.stream(stream)?, self.event(event)?, 0)
                }
                EventCall::Query { event } => (table.event_query)(self.event(event)?),
                EventCall::Synchronize { event } => (table.event_synchronize)(self.event(event)?),
                EventCall::Elapsed { from, to } => {
                    let mut ms = 0.0;
                    let code = (table.event_elapsed)(&mut ms, self.event(from)?, self.event(to)?);
                    if code == driver::SUCCESS {
                        let (sum, count) = self.between_events;
                        self.between_events = (sum + f64::from(ms), count + 1);
                    }
                    code
                }
            }
        })
    }

    fn context_call(&mut self, call: ContextCall) -> Code {
        let table = &self.process.driver.table;
        // SAFETY: the driver's functions, with a context and a module that it gave, and an image that ends in a zero byte.
        unsafe {
            match call {
                ContextCall::Synchronize => (table.context_synchronize)(),
                ContextCall::Set { context } => {
                    (table.context_set_current)(self.process.contexts[context].context)
                }
                ContextCall::LoadModule => (table.module_load)(&mut self.module, kernels::image()),
                ContextCall::UnloadModule => {
                    (table.module_unload)(std::mem::replace(&mut self.module, null_mut()))
                }
            }
        }
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

    fn fill(&self, buffer: BufferId, word: u32, stream: StreamId) -> Result<Code, Trouble> {
        let (address, count) = (self.address(buffer)?, self.process.buffers[buffer].bytes as usize / 4);
        let stream = self.stream(stream)?;
        // SAFETY: the buffer is allocated and has so many elements.
        Ok(unsafe { (self.process.driver.table.fill)(address, word, count, stream) })
    }

    fn blas_norm(
        &self,
        from: BufferId,
        to: BufferId,
        length: i32,
        stream: StreamId,
    ) -> Result<Code, Trouble> {
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

    fn allocate(
        &self,
        function: Function,
        buffer: BufferId,
        stream: Option<StreamId>,
    ) -> Result<Code, Trouble> {
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

    fn free(&self, function: Function, buffer: BufferId, stream: Option<StreamId>) -> Result<Code, Trouble> {
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
}

/// Puts a handle into its slot if the call that creates it succeeds.
fn created(slot: &Slot, create: impl FnOnce(&mut *mut c_void) -> Code) -> Code {
    let mut handle = null_mut();
    let code = create(&mut handle);
    if code == driver::SUCCESS {
        slot.put(handle);
    }
    code
}
