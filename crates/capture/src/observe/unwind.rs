//! The frames of the calling thread, by nothing that another thread could hold: the table of objects, the unwind tables of
//! those that the thread is in, and its own stack.
//!
//! To read the table of a function anew takes 0.1 µs a frame, and several times that where the program has used the caches
//! meanwhile. So what a table says of a return address is kept: a thread returns to the same ones. In a PyTorch training
//! stacks' part of the processor time fell to a fifth of the C compiler's unwinder's (H200 and H100 hosts).
//!
//! Code that was made while the program ran has no table here. The frame pointer leads to the caller; from there on the
//! tables of libraries do again. There the stack is read through the kernel: the walk ends where the chain of frame pointers
//! does.

use crate::sys::seccomp;
use std::arch::asm;

use interpose::{Base, CallerRule, Place, SequenceLock};

/// Largest frame that is believed: no thread has a larger stack by default.
const LARGEST: usize = 8 << 20;

/// A function at work.
#[derive(Clone, Copy, Default)]
pub struct Frame {
    /// Where it goes on once what it called returns.
    pub address: usize,
    /// The stack pointer then.
    pub stack: usize,
    /// The frame pointer then, if it keeps one.
    pub frame: usize,
}

impl Frame {
    /// The calling function, which walks while it is at work.
    #[inline(always)]
    pub fn here() -> Frame {
        let (address, stack, frame): (usize, usize, usize);
        // SAFETY: copies three registers. The address lies behind the first instruction, as one does to which a call returns;
        // the table has one rule for all three, since nothing here moves the stack pointer.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            asm!("lea {}, [rip]", "mov {}, rsp", "mov {}, rbp", out(reg) address, out(reg) stack, out(reg) frame,
                options(nomem, nostack, preserves_flags));
        }
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            asm!("adr {}, . + 4", "mov {}, sp", "mov {}, x29", out(reg) address, out(reg) stack, out(reg) frame,
                options(nomem, nostack, preserves_flags));
        }
        Frame { address, stack, frame }
    }

    /// Whether it is of code that no library or program contains.
    fn is_made(&self) -> bool {
        interpose::object_around(self.address.wrapping_sub(1)).is_some_and(|object| object.is_empty())
    }

    /// By the chain of frame pointers: the caller's lies where this one points, and the return address
    /// behind it.
    fn by_frame_pointer(&self) -> Option<Frame> {
        let sane = self.frame >= self.stack && self.frame - self.stack < LARGEST;
        let [frame, address] =
            if sane && self.frame.is_multiple_of(8) { words(self.frame)? } else { return None };
        Some(Frame { address, stack: self.frame.wrapping_add(16), frame })
    }
}

/// A walk from function to caller.
struct Walk {
    frame: Frame,
    /// The innermost frame's stack pointer, on the stack that the walk is on.
    innermost: usize,
    /// The code's epoch when the walk began.
    epoch: u64,
    /// The frame's function was interrupted: its address is that of its next instruction, not behind a call.
    is_interrupted: bool,
}

/// Passes a function at work and those that it was called by to `keep`, innermost first, until that returns false or there
/// are no more; false where it loses its way.
pub fn walk(innermost: Frame, mut keep: impl FnMut(Frame) -> bool) -> bool {
    let Some(epoch) = interpose::code_epoch() else { return false };
    let mut walk = Walk { frame: innermost, innermost: innermost.stack, epoch, is_interrupted: false };
    while keep(walk.frame) {
        let address = walk.frame.address.wrapping_sub(usize::from(!walk.is_interrupted));
        let went_on = match known_rule(address, walk.epoch) {
            Some(CallerRule { address: None, .. }) => return true,
            Some(rule) => walk.by(rule),
            None => walk.by_frame_pointer(),
        };
        if went_on.is_none() {
            return false;
        }
    }
    true
}

impl Walk {
    /// Goes to the caller, as the unwind table says.
    fn by(&mut self, rule: CallerRule) -> Option<()> {
        let CallerRule { stack, is_saved, frame, address, is_signal } = rule;
        let at = self.place(stack, 0)?;
        let caller = if is_saved { self.word(at, usize::MAX)? } else { at };
        let saved = |place: Place| self.word(self.place(place, caller)?, caller);
        let outer = frame.map_or(Some(self.frame.frame), saved)?;
        let address = saved(address?)?;
        if is_signal {
            // It may have run on a stack of its own.
            self.innermost = caller;
        } else if caller <= self.frame.stack {
            return None;
        }
        self.frame = Frame { address, stack: caller, frame: outer };
        self.is_interrupted = is_signal;
        Some(())
    }

    /// Where a place is.
    fn place(&self, Place { base, offset }: Place, caller: usize) -> Option<usize> {
        let from = match base {
            Base::Stack => self.frame.stack,
            Base::Frame => self.frame.frame,
            Base::Caller => caller,
        };
        Some(from.wrapping_add_signed(offset as isize)).filter(|at| at.is_multiple_of(8))
    }

    /// The word that the function saved there: in its frame, which the caller's stack pointer ends; a signal's frame and a
    /// function that aligns its stack end somewhere else.
    fn word(&self, at: usize, caller: usize) -> Option<usize> {
        let near = self.frame.stack.saturating_add(LARGEST);
        let is_within = (self.frame.stack..near).contains(&at) && (at < caller || caller < self.frame.stack);
        let is_near = at.wrapping_sub(self.innermost) < LARGEST;
        // SAFETY: the function's table says that it saved a register there, on the calling thread's stack, and it is still
        // at work: an unwinder reads the same word.
        (is_within && is_near).then(|| unsafe { std::ptr::with_exposed_provenance::<usize>(at).read() })
    }

    /// Goes to the caller by the chain of frame pointers, in code that was made at run time.
    fn by_frame_pointer(&mut self) -> Option<()> {
        let caller = (seccomp::allows_calls() && self.frame.is_made())
            .then(|| self.frame.by_frame_pointer())
            .flatten()?;
        if caller.stack <= self.frame.stack || !is_behind_call(caller.address) {
            return None;
        }
        (self.frame, self.is_interrupted) = (caller, false);
        Some(())
    }
}

/// Places for the rules of return addresses. Each address has two; where others have both, it takes the first from one.
const RULES: usize = 4096;

/// Each the address, the epoch of the code in which it was asked about, and the rule in two words.
static KNOWN: [SequenceLock<4>; RULES] = [const { SequenceLock::new() }; RULES];

/// The rule for an address within a function that the calling thread is in.
fn known_rule(address: usize, epoch: u64) -> Option<CallerRule> {
    // Other code may have the addresses of what went.
    let key = [address as u64, epoch];
    let place = (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % RULES;
    let places = [&KNOWN[place], &KNOWN[place ^ 1]];
    let mut free = places[0];
    for known in places {
        match known.read() {
            Some([at, when, one, other]) if [at, when] == key => return unpacked([one, other]),
            Some([0, ..]) => free = known,
            _ => {}
        }
    }
    // SAFETY: the calling thread will return there.
    let rule = unsafe { interpose::caller_rule(address) }?;
    if let Some([one, other]) = packed(rule) {
        free.write([key[0], key[1], one, other]);
    }
    Some(rule)
}

/// Bits of an offset in half a word: the low ones. What it is counted from is above them; zeros where there is no place.
const OFFSET: u32 = 30;

/// A rule as two words: the places of the caller's stack pointer, the return address and the frame pointer, and facts;
/// `None` where an offset is too large.
fn packed(CallerRule { stack, is_saved, frame, address, is_signal }: CallerRule) -> Option<[u64; 2]> {
    let half = |place: Option<Place>| {
        let Some(Place { base, offset }) = place else { return Some(0) };
        let fits = (-(1 << (OFFSET - 1))..1 << (OFFSET - 1)).contains(&offset);
        let base = match base {
            Base::Stack => 1,
            Base::Frame => 2,
            Base::Caller => 3,
        };
        fits.then_some(base << OFFSET | offset as u32 & ((1 << OFFSET) - 1))
    };
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let facts = u32::from(is_saved) | u32::from(is_signal) << 1;
    Some([pair(half(Some(stack))?, half(address)?), pair(half(frame)?, facts)])
}

/// The rule that two words say; `None` where they say none.
fn unpacked([one, other]: [u64; 2]) -> Option<CallerRule> {
    let place = |half: u64| {
        let half = half as u32;
        let base = match half >> OFFSET {
            1 => Base::Stack,
            2 => Base::Frame,
            3 => Base::Caller,
            _ => return None,
        };
        let shift = u32::BITS - OFFSET;
        Some(Place { base, offset: i64::from((half << shift).cast_signed() >> shift) })
    };
    Some(CallerRule {
        stack: place(one >> 32)?,
        is_saved: other & 1 != 0,
        frame: place(other >> 32),
        address: place(one),
        is_signal: other & 2 != 0,
    })
}

/// In a fork's child: a thread that was writing a rule is not here.
pub fn forget() {
    KNOWN.iter().for_each(SequenceLock::forked_whole);
}

/// Whether an instruction that calls lies before an address.
fn is_behind_call(address: usize) -> bool {
    let mut code = [0; 8];
    if !pystack::read(address.wrapping_sub(8), &mut code) {
        return false;
    }
    #[cfg(target_arch = "x86_64")]
    // `call` of an address, or `call` of what a register or memory holds: two to seven bytes.
    return code[3] == 0xe8 || (1..7).any(|at| code[at] == 0xff && matches!(code[at + 1] >> 3 & 7, 2 | 3));
    #[cfg(target_arch = "aarch64")]
    {
        let instruction = u32::from_le_bytes([code[4], code[5], code[6], code[7]]);
        // `bl`, or `blr` and its kin with authentication.
        instruction >> 26 == 0b100101 || instruction & 0xfeff_f000 == 0xd63f_0000
    }
}

fn word(address: usize) -> Option<usize> {
    let mut word = [0; 8];
    pystack::read(address, &mut word).then(|| usize::from_ne_bytes(word))
}

fn words(address: usize) -> Option<[usize; 2]> {
    Some([word(address)?, word(address.wrapping_add(8))?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_kept_as_they_are() {
        let places =
            |offset: i64| [Base::Stack, Base::Frame, Base::Caller].map(|base| Place { base, offset });
        let offsets = [-(1 << 29), -16, -8, 0, 8, 16, 4096, (1 << 29) - 1];
        for stack in offsets.into_iter().flat_map(places) {
            for saved in offsets.into_iter().flat_map(places).map(Some).chain([None]) {
                for fact in [false, true] {
                    let rule =
                        CallerRule { stack, is_saved: fact, frame: saved, address: None, is_signal: !fact };
                    assert_eq!(packed(rule).and_then(unpacked), Some(rule));
                    let rule = CallerRule { frame: None, address: saved, ..rule };
                    assert_eq!(packed(rule).and_then(unpacked), Some(rule));
                }
            }
        }
        let stack = Place { base: Base::Stack, offset: 1 << 29 };
        let large = CallerRule { stack, is_saved: false, frame: None, address: None, is_signal: false };
        assert_eq!(packed(large), None);
        assert_eq!(unpacked([0, 0]), None);
    }
}
