//! Memory that a workload allocates, maps and writes.

use super::costs::transfer_ns;
use super::memory::pages;
use super::plan::Effect;
use super::state::Script;
use crate::Error;
use crate::machine::Machine;
use crate::plan::{Plan, whole};

impl Machine<'_, Script> {
    /// The time to allocate a buffer of a context, ns.
    pub(super) fn allocation_ns(&mut self, plan: &Plan<Effect>, buffer: u32) -> i64 {
        let bytes = self.program.buffers[buffer as usize].bytes;
        let blocks = self.program.blocks[plan.context as usize].take(bytes);
        self.blocks_ns(blocks, self.model.calls.allocate.unit_ns)
    }

    /// The time to free a buffer of a context, ns.
    pub(super) fn free_ns(&mut self, plan: &Plan<Effect>, buffer: u32) -> i64 {
        let bytes = self.program.buffers[buffer as usize].reserved;
        let blocks = self.program.blocks[plan.context as usize].give_back(bytes);
        self.blocks_ns(blocks, self.model.calls.free.unit_ns)
    }

    /// The time of the device to allocate or free so many blocks of memory.
    fn blocks_ns(&self, blocks: u64, unit_ns: f64) -> i64 {
        let any = if blocks > 0 { self.model.calls.blocks_ns } else { 0 };
        any + whole(unit_ns * blocks as f64)
    }

    pub(super) fn reserve(&mut self, row: u32, context: u32, buffer: u32) {
        let device = self.layout.contexts[context as usize].device;
        let bytes = self.program.buffers[buffer as usize].bytes;
        let free = self.model.device.memory_bytes - self.devices[device as usize].used;
        if bytes > free {
            let (thread, process) = self.names_of(row);
            let buffer = self.name_of_buffer(row, buffer);
            self.error = Some(Error::OutOfMemory { process, thread, buffer, bytes, free, device });
            return;
        }
        self.devices[device as usize].used += bytes;
        self.program.buffers[buffer as usize].reserved += bytes;
    }

    fn name_of_buffer(&self, row: u32, buffer: u32) -> String {
        let process = self.threads[row as usize].process as usize;
        let before: usize = self.workload.processes[..process].iter().map(|of| of.buffers.len()).sum();
        self.workload.processes[process].buffers[buffer as usize - before].name.clone()
    }

    pub(super) fn give_back(&mut self, context: u32, buffer: u32) {
        let device = self.layout.contexts[context as usize].device;
        let reserved = std::mem::take(&mut self.program.buffers[buffer as usize].reserved);
        self.devices[device as usize].used -= reserved;
    }

    /// The time to map host memory, ns.
    pub(super) fn map(&mut self, buffer: u32, touched: bool) -> i64 {
        let buffer = &mut self.program.buffers[buffer as usize];
        buffer.touched = touched;
        let pages = if touched { pages(buffer.bytes) } else { 0 };
        self.model.host.map_ns + whole(self.model.host.touch_page_ns as f64 * pages as f64)
    }

    /// The time to unmap host memory, ns.
    pub(super) fn unmap(&mut self, buffer: u32) -> i64 {
        let buffer = &mut self.program.buffers[buffer as usize];
        let touched = std::mem::take(&mut buffer.touched);
        let pages = if touched { pages(buffer.bytes) } else { 0 };
        self.model.host.map_ns + whole(self.model.host.unmap_page_ns as f64 * pages as f64)
    }

    /// The time to write host memory, ns.
    pub(super) fn write(&mut self, buffer: u32, bytes: u64) -> i64 {
        let host = &self.model.host;
        let touched = std::mem::replace(&mut self.program.buffers[buffer as usize].touched, true);
        let faults = if touched { 0 } else { pages(bytes) };
        transfer_ns(bytes, host.mb_s) + whole(host.touch_page_ns as f64 * faults as f64)
    }
}
