//! Native stacks: the kernel shows the stack pointer and program counter of a blocked thread, a copy of the top of its
//! stack and the unwind tables of the files in memory give the rest. Of a running thread, the kernel may write both down
//! ([`crate::perf`]).
//!
//! `framehop` evaluates the tables. No other register of a blocked thread is known: a frame whose place the tables give
//! by the frame pointer, before an inner frame has saved it, ends the stack.

use crate::modules::{Image, Module, Modules};
use crate::perf::Sample;
use framehop::{
    CacheNative, ExplicitModuleSectionInfo, MayAllocateDuringUnwind, Unwinder as _, UnwinderNative,
};
use spool::MOST_BYTES;
use std::ops::Range;
use std::ptr::null_mut;

/// The most frames of a stack.
pub const MOST_FRAMES: usize = 128;

/// How much of a stack is copied at first, and then at once, bytes.
const FIRST: usize = 8 << 10;
const FURTHER: usize = 64 << 10;

/// How much of a stack is copied at most, bytes.
const MOST: usize = 1 << 20;

/// Pages are at least this large.
const PAGE: usize = 4096;
const PIECES: usize = FURTHER / PAGE + 1;

/// The frame pointer, which is not known: an address that cannot be read.
const UNKNOWN: u64 = 0x7ff0_0000_0000_0000;

const _: () = assert!(MOST_FRAMES * 8 < MOST_BYTES);

/// Unwinds the threads of one process.
pub struct Native {
    unwinder: UnwinderNative<crate::modules::Part, MayAllocateDuringUnwind>,
    cache: CacheNative<MayAllocateDuringUnwind>,
    pid: i32,
}

impl Native {
    /// For a process without any module yet.
    pub fn new(pid: i32) -> Native {
        Native { unwinder: UnwinderNative::new(), cache: CacheNative::new(), pid }
    }

    /// Adds a module.
    pub fn add(&mut self, module: &Module) {
        let Some(image) = &module.image else { return };
        let range = module.mapping.start..module.mapping.end;
        let path = module.mapping.path.clone();
        self.unwinder.add_module(framehop::Module::new(path, range, module.base, sections(image)));
    }

    /// Fills `frames` with the return addresses of a blocked thread, innermost first; the first is behind the
    /// instruction that made the system call. Returns whether the outermost frame was reached.
    pub fn unwind(&mut self, stack: u64, counter: u64, frames: &mut Vec<u64>) -> bool {
        let copy = Copy { pid: self.pid, start: stack, bytes: Vec::new(), ended: false };
        self.follow(counter, registers(stack, counter), copy, frames)
    }

    /// As [`Native::unwind`] for a thread that ran at the sample.
    pub fn unwind_sample(&mut self, sample: Sample, frames: &mut Vec<u64>) -> bool {
        frames.clear();
        let [.., stack, counter] = sample.registers[..] else { return false };
        let registers = sampled(&sample.registers);
        let copy = Copy { pid: self.pid, start: stack, bytes: sample.stack, ended: true };
        let whole = self.follow(counter, registers, copy, frames);
        // The place itself, as if it were behind a call.
        if let Some(first) = frames.first_mut() {
            *first = first.wrapping_add(1);
        }
        whole
    }

    fn follow(&mut self, counter: u64, registers: Registers, mut copy: Copy, frames: &mut Vec<u64>) -> bool {
        frames.clear();
        let mut read = |address: u64| copy.word(address).ok_or(());
        let mut iterator = self.unwinder.iter_frames(counter, registers, &mut self.cache, &mut read);
        while frames.len() < MOST_FRAMES {
            match iterator.next() {
                Ok(Some(frame)) => frames.push(frame.address()),
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
        false
    }
}

#[cfg(target_arch = "x86_64")]
type Registers = framehop::x86_64::UnwindRegsX86_64;
#[cfg(target_arch = "aarch64")]
type Registers = framehop::aarch64::UnwindRegsAarch64;

#[cfg(target_arch = "x86_64")]
fn registers(stack: u64, counter: u64) -> Registers {
    Registers::new(counter, stack, UNKNOWN)
}

/// The link register is not known either: only frames that have saved it are followed.
#[cfg(target_arch = "aarch64")]
fn registers(stack: u64, _: u64) -> Registers {
    Registers::new(UNKNOWN, stack, UNKNOWN)
}

/// Those of a sample: as [`Sample::registers`] has them, or unknown.
#[cfg(target_arch = "x86_64")]
fn sampled(all: &[u64]) -> Registers {
    let [frame, stack, counter] = all.try_into().unwrap_or([UNKNOWN; 3]);
    Registers::new(counter, stack, frame)
}

#[cfg(target_arch = "aarch64")]
fn sampled(all: &[u64]) -> Registers {
    let [frame, link, stack, _] = all.try_into().unwrap_or([UNKNOWN; 4]);
    Registers::new(link, stack, frame)
}

/// The unwind tables of a file and the places that they refer to.
fn sections(image: &Image) -> ExplicitModuleSectionInfo<crate::modules::Part> {
    let [text, got, frame, header] =
        [".text", ".got", ".eh_frame", ".eh_frame_hdr"].map(|name| image.section(name));
    let debug = image.section(".debug_frame").map(|section| section.bytes);
    let address =
        |section: &Option<crate::modules::Section>| section.as_ref().map(|section| section.addresses.clone());
    ExplicitModuleSectionInfo {
        base_svma: 0,
        text_svma: address(&text),
        text: text.map(|section| section.bytes),
        got_svma: address(&got),
        eh_frame_svma: address(&frame),
        eh_frame: frame.map(|section| section.bytes),
        eh_frame_hdr_svma: address(&header),
        eh_frame_hdr: header.map(|section| section.bytes),
        debug_frame: debug,
        ..ExplicitModuleSectionInfo::default()
    }
}

/// The top of a thread's stack, copied as far as it was asked for.
struct Copy {
    pid: i32,
    start: u64,
    bytes: Vec<u8>,
    ended: bool,
}

impl Copy {
    fn word(&mut self, address: u64) -> Option<u64> {
        // A stack that lies at the end of all addresses is none.
        self.start.checked_add((MOST + FURTHER) as u64)?;
        let offset =
            usize::try_from(address.checked_sub(self.start)?).ok().filter(|offset| *offset < MOST)?;
        while self.bytes.len() < offset + 8 && !self.ended {
            self.further();
        }
        let word = self.bytes.get(offset..offset + 8)?;
        word.try_into().ok().map(u64::from_ne_bytes)
    }

    fn further(&mut self) {
        let before = self.bytes.len();
        let more = if before == 0 { FIRST } else { FURTHER };
        self.bytes.resize(before + more, 0);
        let local = libc::iovec { iov_base: self.bytes[before..].as_mut_ptr().cast(), iov_len: more };
        // A piece per page: of a piece that is not mapped to its end, nothing may be read.
        let (mut remote, mut pieces) = ([libc::iovec { iov_base: null_mut(), iov_len: 0 }; PIECES], 0);
        let (mut at, end) = (self.start as usize + before, self.start as usize + before + more);
        for piece in &mut remote {
            let length = (PAGE - at % PAGE).min(end - at);
            *piece = libc::iovec { iov_base: std::ptr::without_provenance_mut(at), iov_len: length };
            at += length;
            pieces += usize::from(length > 0);
        }
        // SAFETY: the local piece lies in `bytes`, which is borrowed exclusively and outlives the call; the kernel
        // checks the remote ones.
        let read = unsafe { libc::process_vm_readv(self.pid, &local, 1, remote.as_ptr(), pieces as u64, 0) };
        let read = usize::try_from(read).unwrap_or(0);
        self.bytes.truncate(before + read);
        self.ended = read < more || self.bytes.len() >= MOST;
    }
}

/// The modules of a process that are new, for symbols and unwinding.
pub fn add_all(native: &mut Native, modules: &Modules, fresh: Range<usize>) {
    fresh.filter_map(|index| modules.get(index)).for_each(|module| native.add(module));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The modules of this process.
    fn this() -> (Native, Modules) {
        let pid = std::process::id() as i32;
        let (mut native, mut modules) = (Native::new(pid), Modules::default());
        let all = modules.refresh(pid);
        add_all(&mut native, &modules, all);
        (native, modules)
    }

    proptest! {
        #[test]
        fn no_stack_is_too_strange(
            words in proptest::collection::vec((0..4u8, any::<u64>()), 512),
            start in 0..512usize,
            counter in (0..4u8, any::<u64>()),
        ) {
            let (mut native, modules) = this();
            let mut stack = vec![0u64; words.len()];
            let base = stack.as_ptr().addr() as u64;
            let made = |(kind, value): (u8, u64)| match kind {
                0 => value,
                1 => base + 8 * (value % 512),
                // Most words are addresses of code.
                _ => modules.get(value as usize % modules.len()).map_or(0, |module| {
                    let Range { start, end } = module.mapping.start..module.mapping.end;
                    start + (value >> 16) % (end - start)
                }),
            };
            for (word, of) in stack.iter_mut().zip(words) {
                *word = made(of);
            }
            let mut frames = Vec::new();
            native.unwind(base + 8 * start as u64, made(counter), &mut frames);
            prop_assert!(frames.len() <= MOST_FRAMES);
            native.unwind(made(counter), made((0, counter.1)), &mut frames);
            prop_assert!(frames.len() <= MOST_FRAMES);
        }
    }
}
