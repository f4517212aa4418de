//! The frames of the calling thread.
//!
//! The unwinder of the C compiler reads the tables of each function anew, which takes 0.1 µs a frame, and several times that
//! where the program has used the caches meanwhile. So what a table says of a return address is kept: a thread returns to
//! the same ones. In a PyTorch training the unwinder's part of the processor time fell to a fifth (H200 and H100 hosts).
//! Where a table says something that is not kept, the unwinder walks instead.
//!
//! The unwinder itself ends at code that was made while the program ran and was not registered with it. The frame pointer
//! leads to the caller; from there on the unwind tables of libraries do again.
//!
//! There the stack is read through the kernel: the walk ends where the chain of frame pointers does.

use std::arch::asm;

use interpose::{Base, CallerRule, SequenceLock};

/// The DWARF number of the frame pointer, as the unwinder takes it.
#[cfg(target_arch = "x86_64")]
pub const FRAME_POINTER_NUMBER: i32 = 6;
#[cfg(target_arch = "aarch64")]
pub const FRAME_POINTER_NUMBER: i32 = 29;

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
    pub fn is_made(&self) -> bool {
        interpose::object_around(self.address.wrapping_sub(1)).is_empty()
    }

    /// Its caller's, if it can be found.
    pub fn caller(&self) -> Option<Frame> {
        // SAFETY: the calling thread will return to this address.
        let rule = unsafe { interpose::caller_rule(self.address.wrapping_sub(1)) };
        let caller = match rule {
            Some(rule) => self.by(rule),
            None if self.is_made() => self.by_frame_pointer(),
            None => None,
        }?;
        (caller.stack > self.stack && is_behind_call(caller.address)).then_some(caller)
    }

    /// By the chain of frame pointers: the caller's lies where this one points, and the return address
    /// behind it.
    fn by_frame_pointer(&self) -> Option<Frame> {
        let sane = self.frame >= self.stack && self.frame - self.stack < LARGEST;
        let [frame, address] =
            if sane && self.frame.is_multiple_of(8) { words(self.frame)? } else { return None };
        Some(Frame { address, stack: self.frame.wrapping_add(16), frame })
    }

    /// As the unwind table of its library says.
    fn by(&self, rule: CallerRule) -> Option<Frame> {
        let from = match rule.from {
            Base::Stack => self.stack,
            Base::Frame => self.frame,
        };
        let stack = from.wrapping_add_signed(rule.stack as isize);
        let saved = |offset: i64| word(stack.wrapping_add_signed(offset as isize));
        let frame = rule.frame.map_or(Some(self.frame), saved)?;
        Some(Frame { address: saved(rule.address?)?, stack, frame })
    }
}

/// Passes a function at work and those that it was called by to `keep`, innermost first, until that returns false or there
/// are no more; false where it loses its way.
pub fn walk(innermost: Frame, mut keep: impl FnMut(Frame) -> bool) -> bool {
    let (_, unloaded) = interpose::loaded();
    let mut frame = innermost;
    while keep(frame) {
        let Some(rule) = known_rule(frame.address.wrapping_sub(1), unloaded) else { return false };
        let Some(address) = rule.address else { return true };
        let from = match rule.from {
            Base::Stack => frame.stack,
            Base::Frame => frame.frame,
        };
        let stack = from.wrapping_add_signed(rule.stack as isize);
        let saved = |offset: i64| {
            let at = stack.wrapping_add_signed(offset as isize);
            let is_near = stack.wrapping_sub(innermost.stack) < LARGEST;
            let is_between = is_near && (frame.stack..stack).contains(&at) && at.is_multiple_of(8);
            // SAFETY: the function's table says that it saved a register there, on the calling thread's stack, and it is still
            // at work: the unwinder reads the same word.
            is_between.then(|| unsafe { std::ptr::with_exposed_provenance::<usize>(at).read() })
        };
        let outer = rule.frame.map_or(Some(frame.frame), saved);
        let (Some(address), Some(outer)) = (saved(address), outer) else { return false };
        frame = Frame { address, stack, frame: outer };
    }
    true
}

/// Places for the rules of return addresses. Each address has two; where others have both, it takes the first from one.
const RULES: usize = 4096;

/// Each the address, how many libraries were unloaded before it was asked about, and the rule in two words.
static KNOWN: [SequenceLock<4>; RULES] = [const { SequenceLock::new() }; RULES];

/// The rule for an address within a function that the calling thread is in.
fn known_rule(address: usize, unloaded: u64) -> Option<CallerRule> {
    // Another library may have the addresses of one that was unloaded.
    let key = [address as u64, unloaded];
    let place = (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % RULES;
    let places = [&KNOWN[place], &KNOWN[place ^ 1]];
    let mut free = places[0];
    for known in places {
        match known.read() {
            Some([at, when, one, other]) if [at, when] == key => return Some(unpacked([one, other])),
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

/// Bits of an offset in a word: the low ones of each half.
const OFFSET: u32 = 30;
/// That there is an offset.
const THERE: u32 = 1 << OFFSET;
/// That the caller's stack pointer is counted from the frame pointer.
const BY_FRAME: u32 = 1 << 31;

/// A rule as two words; `None` where an offset is too large.
fn packed(CallerRule { from, stack, frame, address }: CallerRule) -> Option<[u64; 2]> {
    let half = |offset: Option<i64>| {
        let Some(offset) = offset else { return Some(0) };
        let fits = (-(1 << (OFFSET - 1))..1 << (OFFSET - 1)).contains(&offset);
        fits.then_some(offset as u32 & (THERE - 1) | THERE)
    };
    let from = if from == Base::Frame { BY_FRAME } else { 0 };
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    Some([pair(half(Some(stack))? | from, half(address)?), pair(half(frame)?, 0)])
}

fn unpacked([one, other]: [u64; 2]) -> CallerRule {
    let offset = |half: u64| {
        let half = half as u32;
        let shift = u32::BITS - OFFSET;
        (half & THERE != 0).then_some(i64::from((half << shift).cast_signed() >> shift))
    };
    let from = if (one >> 32) as u32 & BY_FRAME != 0 { Base::Frame } else { Base::Stack };
    CallerRule {
        from,
        stack: offset(one >> 32).unwrap_or(0),
        frame: offset(other >> 32),
        address: offset(one),
    }
}

/// In a fork's child: a thread that was writing a rule is not here.
pub fn forget() {
    KNOWN.iter().for_each(SequenceLock::forked);
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
        for from in [Base::Stack, Base::Frame] {
            for stack in [8, 16, 4096, (1 << 29) - 1] {
                for saved in [None, Some(-8), Some(-16), Some(0), Some(-(1 << 29))] {
                    let rule = CallerRule { from, stack, frame: saved, address: Some(-8) };
                    assert_eq!(packed(rule).map(unpacked), Some(rule));
                    let rule = CallerRule { from, stack, frame: None, address: saved };
                    assert_eq!(packed(rule).map(unpacked), Some(rule));
                }
            }
        }
        let large = CallerRule { from: Base::Stack, stack: 1 << 29, frame: None, address: None };
        assert_eq!(packed(large), None);
    }
}
