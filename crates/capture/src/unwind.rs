//! The frames outside of code that was made while the program ran. Where such code was not registered with the
//! unwinder, the unwinder ends there. The frame pointer leads to the caller; from there on the unwind tables of libraries
//! do again.
//!
//! The stack is read through the kernel: the walk ends where the chain of frame pointers does.

use interpose::{Base, CallerRule};

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
        Some(Frame { address: saved(rule.address)?, stack, frame })
    }
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
