//! Registers and the top of the stack of a running thread, which the kernel writes down every so often of the thread's
//! own time on a processor (perf_event_open(2)). It needs `kernel.perf_event_paranoid` at 2 or below, and no filter of
//! system calls that forbids it.

use memmap2::{MmapOptions, MmapRaw};
use std::fs::File;
use std::os::fd::FromRawFd;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Time on a processor between two samples, ns.
const PERIOD: u64 = 10_000_000;

/// How much of the stack is copied, bytes: a multiple of 8.
const STACK: u32 = 12 << 10;

/// Bytes of the ring: room for two samples. A power of two.
const RING: usize = 32 << 10;
const PAGE: usize = 4096;

/// `struct perf_event_attr` as of version 5 (include/uapi/linux/perf_event.h).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample: u64,
    read: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
    config2: u64,
    branches: u64,
    user_registers: u64,
    user_stack: u32,
    clock: i32,
    interrupted_registers: u64,
    watermark: u32,
    most_frames: u16,
    reserved: u16,
}

const _: () = assert!(size_of::<Attributes>() == 112);

/// Constants of the same header.
const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_USER_REGISTERS: u64 = 1 << 12;
const SAMPLE_USER_STACK: u64 = 1 << 13;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const USE_CLOCK: u64 = 1 << 25;
const CLOSE_ON_EXEC: u64 = 1 << 3;
const RECORD_SAMPLE: u32 = 9;
/// Where the first page of the mapping has the ends of the ring.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

/// BP, SP and IP (arch/x86/include/uapi/asm/perf_regs.h), in this order.
#[cfg(target_arch = "x86_64")]
const REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8;
/// X29, LR, SP and PC (arch/arm64/include/uapi/asm/perf_regs.h), in this order.
#[cfg(target_arch = "aarch64")]
const REGISTERS: u64 = 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32;

/// A sample.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sample {
    /// When, ns of `CLOCK_MONOTONIC`.
    pub at: i64,
    /// The registers of [`REGISTERS`]; the frame pointer first, then on Arm the link register, the stack pointer, and
    /// the program counter.
    pub registers: Vec<u64>,
    /// From the stack pointer on.
    pub stack: Vec<u8>,
}

/// The samples of one thread.
pub struct Sampler {
    /// Open for as long as there are samples.
    _event: File,
    map: MmapRaw,
}

impl Sampler {
    /// Begins to sample a thread; `None` where the kernel does not permit it.
    pub fn of(tid: u32) -> Option<Sampler> {
        let attributes = Attributes {
            kind: SOFTWARE,
            size: size_of::<Attributes>() as u32,
            config: CPU_CLOCK,
            period: PERIOD,
            sample: SAMPLE_TIME | SAMPLE_USER_REGISTERS | SAMPLE_USER_STACK,
            flags: EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR | USE_CLOCK,
            user_registers: REGISTERS,
            user_stack: STACK,
            clock: libc::CLOCK_MONOTONIC,
            ..Attributes::default()
        };
        // SAFETY: the kernel reads as much of the struct as it says that it has.
        let event = unsafe {
            libc::syscall(libc::SYS_perf_event_open, &attributes, tid.cast_signed(), -1, -1, CLOSE_ON_EXEC)
        };
        let event = i32::try_from(event).ok().filter(|event| *event >= 0)?;
        // SAFETY: a new descriptor, of nobody else.
        let event = unsafe { File::from_raw_fd(event) };
        let map = MmapOptions::new().len(PAGE + RING).map_raw(&event).ok()?;
        Some(Sampler { _event: event, map })
    }

    /// The ring's ends: what the kernel has written, and what was read.
    fn ends(&self) -> [&AtomicU64; 2] {
        // SAFETY: both lie in the mapping, aligned, for as long as it is there; the kernel writes the first atomically.
        [HEAD, TAIL].map(|at| unsafe { &*self.map.as_ptr().add(at).cast::<AtomicU64>() })
    }

    /// The last sample since the last time that this was asked.
    pub fn last(&mut self) -> Option<Sample> {
        let [head, tail] = self.ends();
        let (end, start) = (head.load(Acquire), tail.load(Acquire));
        let length = usize::try_from(end.wrapping_sub(start)).ok().filter(|length| *length <= RING)?;
        let mut bytes = vec![0; length];
        let from = start as usize % RING;
        let first = length.min(RING - from);
        // SAFETY: both parts lie in the ring behind the first page; the kernel does not write what lies between its ends.
        unsafe {
            let ring = self.map.as_ptr().add(PAGE);
            std::ptr::copy_nonoverlapping(ring.add(from), bytes.as_mut_ptr(), first);
            std::ptr::copy_nonoverlapping(ring, bytes.as_mut_ptr().add(first), length - first);
        }
        tail.store(end, Release);
        last_of(&bytes)
    }
}

/// The last sample among records.
fn last_of(mut bytes: &[u8]) -> Option<Sample> {
    let mut last = None;
    while let Some(&head) = bytes.first_chunk::<8>() {
        let [kind @ .., _, _, low, high] = head;
        let size = usize::from(u16::from_ne_bytes([low, high]));
        let Some(body) = bytes.get(8..size) else { break };
        if u32::from_ne_bytes(kind) == RECORD_SAMPLE {
            last = sample(body).or(last);
        }
        bytes = &bytes[size..];
    }
    last
}

/// Reads a sample's body.
fn sample(body: &[u8]) -> Option<Sample> {
    let word = |at: usize| Some(u64::from_ne_bytes(*body.get(at..)?.first_chunk()?));
    let at = i64::try_from(word(0)?).ok()?;
    // Without registers the thread was in the kernel for itself alone, or was ending.
    let abi = word(8)?;
    let count = if abi == 0 { return None } else { REGISTERS.count_ones() as usize };
    let registers = (0..count).map(|register| word(16 + 8 * register)).collect::<Option<Vec<u64>>>()?;
    let stack = 16 + 8 * count;
    let size = usize::try_from(word(stack)?).ok()?;
    let copied = body.get(stack + 8..)?.get(..size)?;
    let used = if size == 0 { 0 } else { usize::try_from(word(stack + 8 + size)?).ok()? };
    Some(Sample { at, registers, stack: copied.get(..used)?.to_vec() })
}

/// Whether the kernel permits it at all.
pub fn is_permitted() -> bool {
    // SAFETY: asks for a number. The C library has a function for it since glibc 2.30.
    let tid = unsafe { libc::syscall(libc::SYS_gettid) };
    u32::try_from(tid).ok().and_then(Sampler::of).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(kind: u32, body: &[u64]) -> Vec<u8> {
        let size = 8 + 8 * body.len() as u16;
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend([0, 0]);
        bytes.extend(size.to_ne_bytes());
        body.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_last_sample_counts() {
        let first = record(RECORD_SAMPLE, &[5, 2, 1, 2, 3, 16, 8, 9, 8]);
        let lost = record(2, &[0, 0]);
        let second = record(RECORD_SAMPLE, &[6, 2, 4, 5, 6, 0]);
        let kernel = record(RECORD_SAMPLE, &[7, 0, 0]);
        let found = last_of(&[first.clone(), lost, second, kernel].concat());
        assert_eq!(found, Some(Sample { at: 6, registers: vec![4, 5, 6], stack: vec![] }));
        let found = last_of(&first).unwrap();
        assert_eq!((found.registers, found.stack), (vec![1, 2, 3], 8u64.to_ne_bytes().to_vec()));
        assert_eq!(last_of(&first[..40]), None);
    }

    #[test]
    fn a_burning_thread_is_sampled_where_that_is_permitted() {
        // SAFETY: asks for a number.
        let Some(mut sampler) = Sampler::of(unsafe { libc::gettid() }.cast_unsigned()) else {
            return println!("skipped: perf_event_open is not permitted");
        };
        // Not in the kernel, where a sample would say nothing of this program.
        let mut rounds = 0u64;
        while crate::clock::own() < 300_000_000 {
            (0..1_000_000).for_each(|round| rounds = std::hint::black_box(rounds ^ round));
        }
        let found = sampler.last().expect("of 300 ms");
        assert!(found.at > 0 && found.at <= crate::clock::now() && !found.stack.is_empty());
        // The stack pointer is one of this thread's.
        let here = 0u8;
        let stack = found.registers[found.registers.len() - 2];
        assert!(stack.abs_diff(std::ptr::from_ref(&here).addr() as u64) < 1 << 20);
    }

    proptest! {
        #[test]
        fn no_records_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..300), words in proptest::collection::vec(0..40u64, 0..30)) {
            last_of(&bytes);
            last_of(&record(RECORD_SAMPLE, &words));
        }
    }
}
