//! Long arrays in huge pages: a trace of a million calls is copied for each prediction, and a page fault for every 4 KiB of it takes a tenth of
//! the time.

use std::alloc::{GlobalAlloc, Layout, System};

/// Shorter ones are not worth a system call, bytes.
const LONG: usize = 1 << 20;

/// The system's allocator, which is asked for huge pages (`madvise`) wherever an array is long.
pub struct HugePages;

// SAFETY: all memory is the system allocator's, which keeps the promises; advice changes neither addresses nor contents.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        advised(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        advised(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, array: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        advised(unsafe { System.realloc(array, layout, size) }, size)
    }

    unsafe fn dealloc(&self, array: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(array, layout) }
    }
}

/// The same array, null if there was no memory for it.
#[inline]
fn advised(array: *mut u8, size: usize) -> *mut u8 {
    if size >= LONG && !array.is_null() {
        advise(array, size);
    }
    array
}

#[cold]
fn advise(array: *mut u8, size: usize) {
    const PAGE: usize = 4096;
    let start = array.addr().next_multiple_of(PAGE);
    let length = (array.addr() + size).saturating_sub(start) / PAGE * PAGE;
    // SAFETY: pages that lie in the array as a whole. The kernel may refuse: then they are pages as before.
    unsafe { libc::madvise(array.with_addr(start).cast(), length, libc::MADV_HUGEPAGE) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_keeps_its_contents_as_it_grows() {
        let allocator = HugePages;
        let layout = |size| Layout::from_size_align(size, 16).unwrap();
        // SAFETY: layouts of some size, and only bytes that were allocated are used.
        unsafe {
            let mut array = allocator.alloc_zeroed(layout(LONG));
            assert!((0..LONG).step_by(4099).all(|at| *array.add(at) == 0));
            (0..LONG).step_by(4099).for_each(|at| *array.add(at) = at as u8);
            array = allocator.realloc(array, layout(LONG), 4 * LONG);
            assert!((0..LONG).step_by(4099).all(|at| *array.add(at) == at as u8));
            allocator.dealloc(array, layout(4 * LONG));
            let short = allocator.alloc(layout(64));
            short.write_bytes(7, 64);
            allocator.dealloc(short, layout(64));
        }
    }
}
