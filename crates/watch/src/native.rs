//! Native stacks: the kernel shows the stack pointer and program counter of a blocked thread, a copy of the top of its
//! stack and the unwind tables of the files in memory give the rest. Of a running thread, the kernel may write both down
//! ([`crate::perf`]).
//!
//! `framehop` evaluates the tables. No other register of a blocked thread is known. Where the tables give a frame's place by
//! the frame pointer before an inner frame has saved it, as in C libraries that are built with frame pointers (Ubuntu 24.04),
//! it is sought on the stack: where a frame pointer and a return address were pushed, and from where all further frames are
//! found, to the outermost. If there is no such place, the stack ends there.

use crate::modules::{Image, Module, Modules};
use crate::perf::Sample;
use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, MayAllocateDuringUnwind, Unwinder as _,
    UnwinderNative,
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

/// Words of the stack at which a frame pointer is sought: functions that make system calls have small frames.
#[cfg(target_arch = "x86_64")]
const GUESSES: u64 = 64;

/// Bytes of a function in which it checks a buffer's size and jumps to the function that it checks for: 34 are the most (glibc 2.39).
#[cfg(target_arch = "x86_64")]
const CHECKS: usize = 48;

/// The instruction that may stand before the begin of a function: its callers may skip it.
#[cfg(target_arch = "x86_64")]
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

/// The frame pointer, which is not known: an address that cannot be read.
const UNKNOWN: u64 = 0x7ff0_0000_0000_0000;

const _: () = assert!(MOST_FRAMES * 8 < MOST_BYTES);

/// Unwinds the threads of one process.
pub struct Native {
    unwinder: UnwinderNative<crate::modules::Part, MayAllocateDuringUnwind>,
    cache: CacheNative<MayAllocateDuringUnwind>,
    /// The code of each module, and where its functions begin.
    codes: Vec<Code>,
    functions: Vec<Functions>,
    pid: i32,
}

/// A module's code.
struct Code {
    /// Where it lies in the process.
    start: u64,
    bytes: crate::modules::Part,
}

/// The sorted table of a module's functions (`.eh_frame_hdr`, Linux Standard Base).
struct Functions {
    /// Where the section lies in the process.
    start: u64,
    /// The section's bytes.
    bytes: crate::modules::Part,
}

impl Functions {
    /// Bytes before the table, of the one form that linkers write: 4 of encodings, a pointer, and the number of functions.
    const HEADER: usize = 12;
    const ENCODINGS: [u8; 4] = [1, 0x1b, 0x03, 0x3b];

    /// Where the last function begins that does not begin behind an address, in the process.
    fn before(&self, address: u64) -> Option<u64> {
        let entries =
            self.bytes.strip_prefix(&Self::ENCODINGS)?.get(Self::HEADER - Self::ENCODINGS.len()..)?;
        let (entries, _) = entries.as_chunks::<8>();
        let begin = |[a, b, c, d, ..]: &[u8; 8]| {
            self.start.wrapping_add_signed(i32::from_le_bytes([*a, *b, *c, *d]).into())
        };
        let count = entries.partition_point(|entry| begin(entry) <= address);
        count.checked_sub(1).map(|last| begin(&entries[last]))
    }
}

/// A frame from which the next outer one was not found.
struct Stuck {
    frame: FrameAddress,
    registers: Registers,
}

impl Native {
    /// For a process without any module yet.
    pub fn new(pid: i32) -> Native {
        Native {
            unwinder: UnwinderNative::new(),
            cache: CacheNative::new(),
            codes: Vec::new(),
            functions: Vec::new(),
            pid,
        }
    }

    /// Adds a module.
    pub fn add(&mut self, module: &Module) {
        let Some(image) = &module.image else { return };
        let range = module.mapping.start..module.mapping.end;
        let path = module.mapping.path.clone();
        for code in [".text", ".plt", ".plt.sec", ".plt.got"].iter().filter_map(|name| image.section(name)) {
            let start = module.base.wrapping_add(code.addresses.start);
            self.codes.push(Code { start, bytes: code.bytes });
        }
        if let Some(header) = image.section(".eh_frame_hdr") {
            let start = module.base.wrapping_add(header.addresses.start);
            self.functions.push(Functions { start, bytes: header.bytes });
        }
        self.unwinder.add_module(framehop::Module::new(path, range, module.base, sections(image)));
    }

    /// Fills `frames` with the return addresses of a blocked thread, innermost first; the first is behind the
    /// instruction that made the system call. Returns whether the outermost frame was reached.
    pub fn unwind(&mut self, stack: u64, counter: u64, frames: &mut Vec<u64>) -> bool {
        let copy = Copy { pid: self.pid, start: stack, bytes: Vec::new(), ended: false };
        self.follow(counter, registers(stack, counter), copy, frames)
    }

    /// Like [`Native::unwind`], but for a thread that ran at the sample.
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
        frames.push(counter);
        let first = Stuck { frame: FrameAddress::InstructionPointer(counter), registers };
        let Some(stuck) = self.walk(first, &mut copy, frames) else { return frames.len() < MOST_FRAMES };
        let known = frames.len();
        for registers in self.guesses(&stuck, &mut copy) {
            if self.walk(Stuck { registers, ..stuck }, &mut copy, frames).is_none() {
                return frames.len() < MOST_FRAMES;
            }
            frames.truncate(known);
        }
        false
    }

    /// Adds the frames outside one to `frames`, to the outermost or to as many as there may be; otherwise returns the one
    /// from which it cannot go on.
    fn walk(&mut self, mut at: Stuck, copy: &mut Copy, frames: &mut Vec<u64>) -> Option<Stuck> {
        let mut read = |address: u64| copy.word(address).ok_or(());
        while frames.len() < MOST_FRAMES {
            let mut registers = at.registers;
            let outer = self.unwinder.unwind_frame(at.frame, &mut registers, &mut self.cache, &mut read);
            let outer = match outer {
                Ok(Some(address)) => FrameAddress::from_return_address(address),
                Ok(None) => return None,
                Err(_) => None,
            };
            let Some(frame) = outer else { return Some(at) };
            frames.push(frame.address());
            at = Stuck { frame, registers };
        }
        None
    }

    /// The registers with each frame pointer that may be meant, if it is not known: innermost first. Where one was pushed lies
    /// the return address of a call to the frame's function, too; the remains of earlier calls are of others.
    #[cfg(target_arch = "x86_64")]
    fn guesses(&self, stuck: &Stuck, copy: &mut Copy) -> Vec<Registers> {
        let registers = stuck.registers;
        let begin = self.begin(stuck.frame.address_for_lookup());
        let Some(begin) = begin.filter(|_| registers.bp() == UNKNOWN) else { return Vec::new() };
        let places = (0..GUESSES).map(|word| registers.sp().wrapping_add(8 * word));
        let is_pushed = |place: &u64| {
            let called = copy.word(place.wrapping_add(8)).and_then(|address| self.called_before(address));
            called.is_some_and(|called| {
                begin == called
                    || begin == called.wrapping_add(ENDBR64.len() as u64)
                    || self.passes_on(called, begin)
            })
        };
        let with = |place| {
            let mut guess = registers;
            guess.set_bp(place);
            guess
        };
        places.filter(is_pushed).map(with).collect()
    }

    /// Frames that have saved no link register are not followed.
    #[cfg(target_arch = "aarch64")]
    fn guesses(&self, _: &Stuck, _: &mut Copy) -> Vec<Registers> {
        Vec::new()
    }

    /// The code from an address on, and how much is before it.
    #[cfg(target_arch = "x86_64")]
    fn code(&self, address: u64) -> Option<(&[u8], usize)> {
        self.codes.iter().find_map(|code| {
            let at = usize::try_from(address.checked_sub(code.start)?).ok()?;
            (at < code.bytes.len()).then_some((&code.bytes[..], at))
        })
    }

    /// Where the function at an address begins.
    #[cfg(target_arch = "x86_64")]
    fn begin(&self, address: u64) -> Option<u64> {
        self.functions.iter().filter_map(|functions| functions.before(address)).max()
    }

    /// Whether a function may end with a jump to another one, as `__recv_chk` and its like do, which check a buffer's size first.
    #[cfg(target_arch = "x86_64")]
    fn passes_on(&self, function: u64, to: u64) -> bool {
        let Some((code, from)) = self.code(function) else { return false };
        let jumps_there = |at: usize| {
            let Some([0xe9, offset @ ..]) = code.get(at..at + 5) else { return false };
            let Ok(offset) = offset.try_into().map(i32::from_le_bytes) else { return false };
            let next = function.wrapping_add((at - from + 5) as u64);
            next.wrapping_add_signed(offset.into()) == to
        };
        (from..from + CHECKS).any(jumps_there)
    }

    /// The function that the call before an address calls: by itself, or through the table that the loader filled.
    #[cfg(target_arch = "x86_64")]
    fn called_before(&self, address: u64) -> Option<u64> {
        let (code, at) = self.code(address)?;
        let word = |from: usize| code.get(from..from + 4)?.try_into().ok().map(i32::from_le_bytes);
        let (direct, indirect) = (at.checked_sub(5)?, at.checked_sub(6)?);
        if code[indirect..].starts_with(&[0xff, 0x15]) {
            return self.pointer(address.wrapping_add_signed(word(indirect + 2)?.into()));
        }
        let target = address.wrapping_add_signed(word(direct + 1).filter(|_| code[direct] == 0xe8)?.into());
        Some(self.jumps_to(target).unwrap_or(target))
    }

    /// Where the entry of a table for calls to other modules jumps to; `None` if an address has none.
    #[cfg(target_arch = "x86_64")]
    fn jumps_to(&self, entry: u64) -> Option<u64> {
        let (bytes, at) = self.code(entry)?;
        let code = bytes[at..].strip_prefix(&ENDBR64).unwrap_or(&bytes[at..]);
        let code = code.strip_prefix(&[0xf2]).unwrap_or(code).strip_prefix(&[0xff, 0x25])?;
        let after = entry + (bytes.len() - at - code.len() + 4) as u64;
        let offset = i32::from_le_bytes(code.get(..4)?.try_into().ok()?);
        self.pointer(after.wrapping_add_signed(offset.into()))
    }

    /// A word of the process.
    #[cfg(target_arch = "x86_64")]
    fn pointer(&self, address: u64) -> Option<u64> {
        let mut copy = Copy { pid: self.pid, start: address, bytes: Vec::new(), ended: false };
        copy.word(address)
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

/// Registers of a sample: as [`Sample::registers`] has them, or unknown.
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
