//! The frames outside of code that was made while the program ran. Where such code was not registered with
//! the unwinder, that ends there; by the frame pointer one comes to the caller, and from there on by the
//! unwind tables of libraries again.
//!
//! What lies on the stack is read through the kernel: where the chain is none, the walk ends.

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, NativeEndian, Pointer, Register, RegisterRule,
    UnwindContext, UnwindContextStorage, UnwindSection, UnwindTableRow,
};
use interpose::UnwindTable;

/// The DWARF numbers of the frame pointer, the stack pointer and the return address.
#[cfg(target_arch = "x86_64")]
const NUMBERS: [u16; 3] = [6, 7, 16];
#[cfg(target_arch = "aarch64")]
const NUMBERS: [u16; 3] = [29, 31, 30];
const FRAME_POINTER: Register = Register(NUMBERS[0]);
const STACK_POINTER: Register = Register(NUMBERS[1]);
const RETURN_ADDRESS: Register = Register(NUMBERS[2]);

/// The number of the frame pointer, as the unwinder takes it.
pub const FRAME_POINTER_NUMBER: i32 = FRAME_POINTER.0 as i32;

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

/// Room for what a row of an unwind table says: on the stack. Tables that need more are passed over.
struct Room;

impl UnwindContextStorage<usize> for Room {
    type Rules = [(Register, RegisterRule<usize>); 32];
    type Stack = [UnwindTableRow<usize, Self>; 3];
}

impl Frame {
    /// Whether it is of code that no library or program contains.
    pub fn is_made(&self) -> bool {
        interpose::object_around(self.address.wrapping_sub(1)).is_empty()
    }

    /// Its caller's, if it can be found.
    pub fn caller(&self) -> Option<Frame> {
        let caller = match interpose::unwind_table(self.address.wrapping_sub(1)) {
            Some(table) => self.by_table(table),
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

    /// By the unwind table of the library it lies in.
    fn by_table(&self, UnwindTable { header, end }: UnwindTable) -> Option<Frame> {
        let at = self.address.wrapping_sub(1) as u64;
        // SAFETY: the loader says that the table lies there, and how long it is.
        let bytes = unsafe { std::slice::from_raw_parts(header.start as *const u8, header.len()) };
        let bases = BaseAddresses::default().set_eh_frame_hdr(header.start as u64);
        let parsed = EhFrameHdr::new(bytes, NativeEndian).parse(&bases, 8).ok()?;
        let Pointer::Direct(start) = parsed.eh_frame_ptr() else { return None };
        let length = (end as u64).checked_sub(start)? as usize;
        // SAFETY: the table's entries lie in the same segment, which ends there.
        let entries = unsafe { std::slice::from_raw_parts(start as *const u8, length) };
        let (bases, entries) = (bases.set_eh_frame(start), EhFrame::new(entries, NativeEndian));
        let found = parsed.table()?.fde_for_address(&entries, &bases, at, EhFrame::cie_from_offset).ok()?;
        let mut room = UnwindContext::<usize, Room>::new_in();
        let row = found.unwind_info_for_address(&entries, &bases, &mut room, at).ok()?;
        let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else { return None };
        let from = match *register {
            STACK_POINTER => self.stack,
            FRAME_POINTER => self.frame,
            _ => return None,
        };
        let stack = from.wrapping_add_signed(*offset as isize);
        let saved = |offset: i64| word(stack.wrapping_add_signed(offset as isize));
        let frame = match row.register(FRAME_POINTER) {
            None | Some(RegisterRule::SameValue) => self.frame,
            Some(RegisterRule::Offset(offset)) => saved(offset)?,
            _ => return None,
        };
        let Some(RegisterRule::Offset(offset)) = row.register(RETURN_ADDRESS) else { return None };
        Some(Frame { address: saved(offset)?, stack, frame })
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
