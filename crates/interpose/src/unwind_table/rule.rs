//! Rules by which a caller is found, and the registers that they are about.

/// The DWARF numbers of the frame pointer, the stack pointer and the return address.
#[cfg(target_arch = "x86_64")]
const NUMBERS: [u64; 3] = [6, 7, 16];
#[cfg(target_arch = "aarch64")]
const NUMBERS: [u64; 3] = [29, 31, 30];
pub const FRAME_POINTER: u64 = NUMBERS[0];
pub const STACK_POINTER: u64 = NUMBERS[1];
pub const RETURN_ADDRESS: u64 = NUMBERS[2];

/// Where a function's caller is found, from the registers at some instruction of the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallerRule {
    /// The caller's stack pointer: this place, or the word that lies there if it `is_saved`.
    pub stack: Place,
    /// Whether the caller's stack pointer was saved at its place.
    pub is_saved: bool,
    /// Where the caller's frame pointer is saved; `None` where it is still in its register.
    pub frame: Option<Place>,
    /// Where the return address is saved; `None` where the function has no caller, as the first one of a thread.
    pub address: Option<Place>,
    /// The function is a signal's frame: its caller was interrupted, and its return address is no place behind a call.
    pub is_signal: bool,
}

/// A place on the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The base that it is counted from.
    pub base: Base,
    /// Bytes from there.
    pub offset: i64,
}

/// Bases of places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    /// The stack pointer.
    Stack,
    /// The frame pointer.
    Frame,
    /// The caller's stack pointer.
    Caller,
}

impl Base {
    /// The base that a register is.
    pub(crate) fn of(register: u64) -> Option<Base> {
        match register {
            STACK_POINTER => Some(Base::Stack),
            FRAME_POINTER => Some(Base::Frame),
            _ => None,
        }
    }
}
