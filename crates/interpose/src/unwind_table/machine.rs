//! Instructions of an unwind table.

use super::bytes::Bytes;
use super::rule::{Base, CallerRule, FRAME_POINTER, Place, RETURN_ADDRESS};

/// Most states that a table may remember at once.
const MOST_REMEMBERED: usize = 8;

/// Where a register's value at the call is.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum SavedRegister {
    /// Still in the register.
    #[default]
    SameValue,
    /// On the stack.
    At(Place),
    /// Nowhere.
    Lost,
    /// Elsewhere.
    Other,
}

#[derive(Clone, Copy, Default)]
struct State {
    /// The register that the caller's stack pointer is counted from, how far it is, and whether it was saved there.
    stack: Option<(u64, i64, bool)>,
    frame: SavedRegister,
    address: SavedRegister,
}

impl State {
    fn rule(self) -> Option<CallerRule> {
        let (register, offset, is_saved) = self.stack?;
        let stack = Place { base: Base::of(register)?, offset };
        let frame = match self.frame {
            SavedRegister::SameValue => None,
            SavedRegister::At(place) => Some(place),
            SavedRegister::Lost | SavedRegister::Other => return None,
        };
        let address = match self.address {
            SavedRegister::At(place) => Some(place),
            SavedRegister::Lost => None,
            SavedRegister::SameValue | SavedRegister::Other => return None,
        };
        Some(CallerRule { stack, is_saved, frame, address, is_signal: false })
    }

    fn of(&mut self, register: u64) -> Option<&mut SavedRegister> {
        match register {
            FRAME_POINTER => Some(&mut self.frame),
            RETURN_ADDRESS => Some(&mut self.address),
            _ => None,
        }
    }
}

/// Units of a table's numbers.
#[derive(Clone, Copy)]
pub struct Units {
    /// Bytes of code.
    pub code: u64,
    /// Bytes on the stack.
    pub data: i64,
}

/// Carries out a table's instructions (`DW_CFA_…`) up to those for an address.
pub struct Machine {
    units: Units,
    /// The address that the next instructions are for.
    at: usize,
    wanted: usize,
    state: State,
    /// The state that the function begins with.
    initial: Option<State>,
    /// States that the instructions remember, and how many.
    remembered: [State; MOST_REMEMBERED],
    depth: usize,
}

impl Machine {
    /// Before the instructions for a function that starts at `start`, on the way to the address `wanted`.
    pub fn new(units: Units, start: usize, wanted: usize) -> Machine {
        let (state, remembered) = (State::default(), [State::default(); MOST_REMEMBERED]);
        Machine { units, at: start, wanted, state, initial: None, remembered, depth: 0 }
    }

    /// The instructions that functions have in common are carried out: those of one function follow.
    pub fn begin_function(&mut self, start: usize) {
        self.initial = Some(self.state);
        self.at = start;
    }

    /// The rule where it stopped.
    pub fn rule(&self) -> Option<CallerRule> {
        self.state.rule()
    }

    /// Carries out instructions; `None` where one says what is not understood.
    pub fn run(&mut self, mut code: Bytes<'_>) -> Option<()> {
        self.depth = 0;
        while let Some(byte) = code.byte() {
            let low = byte & 0x3f;
            match byte >> 6 {
                1 => self.advance(low.into()),
                2 => {
                    let offset = code.unsigned()?;
                    self.save(low.into(), offset.cast_signed());
                }
                3 => self.restore(low.into())?,
                _ => self.extended(low, &mut code)?,
            }
            if self.at > self.wanted {
                break;
            }
        }
        Some(())
    }

    /// An instruction that is a byte of its own.
    fn extended(&mut self, instruction: u8, code: &mut Bytes<'_>) -> Option<()> {
        match instruction {
            0x00 | 0x2d => {}
            0x02 => {
                let units = code.byte()?;
                self.advance(units.into());
            }
            0x03 => {
                let units = u16::from_le_bytes(code.array()?);
                self.advance(units.into());
            }
            0x04 => {
                let units = code.u32()?;
                self.advance(units.into());
            }
            0x0a => {
                *self.remembered.get_mut(self.depth)? = self.state;
                self.depth += 1;
            }
            0x0b => {
                self.depth = self.depth.checked_sub(1)?;
                self.state = *self.remembered.get(self.depth)?;
            }
            0x0c..=0x0f | 0x12 | 0x13 => self.count_stack(instruction, code)?,
            // How many bytes of arguments lie on the stack.
            0x2e => _ = code.unsigned()?,
            _ => self.save_register(instruction, code)?,
        }
        Some(())
    }

    /// An instruction that says where the caller's stack pointer is counted from.
    fn count_stack(&mut self, instruction: u8, code: &mut Bytes<'_>) -> Option<()> {
        let data = self.units.data;
        self.state.stack = match instruction {
            0x0c => Some((code.unsigned()?, code.unsigned()?.cast_signed(), false)),
            0x0d => Some((code.unsigned()?, self.state.stack?.1, false)),
            0x0e => Some((self.state.stack?.0, code.unsigned()?.cast_signed(), false)),
            0x0f => expression(block(code)?).filter(|(_, _, is_saved)| *is_saved),
            0x12 => Some((code.unsigned()?, code.signed()?.wrapping_mul(data), false)),
            0x13 => {
                let offset = code.signed()?.wrapping_mul(data);
                Some((self.state.stack?.0, offset, false))
            }
            _ => return None,
        };
        Some(())
    }

    /// An instruction that says where a register is saved.
    fn save_register(&mut self, instruction: u8, code: &mut Bytes<'_>) -> Option<()> {
        let register = code.unsigned()?;
        match instruction {
            0x05 => {
                let offset = code.unsigned()?;
                self.save(register, offset.cast_signed());
            }
            0x06 => self.restore(register)?,
            0x07 => self.set(register, SavedRegister::Lost),
            0x08 => self.set(register, SavedRegister::SameValue),
            0x09 | 0x14 => {
                code.unsigned()?;
                self.set(register, SavedRegister::Other);
            }
            0x10 => {
                let place = match expression(block(code)?) {
                    Some((from, offset, false)) => Base::of(from).map(|base| Place { base, offset }),
                    _ => None,
                };
                self.set(register, place.map_or(SavedRegister::Other, SavedRegister::At));
            }
            0x11 => {
                let offset = code.signed()?;
                self.save(register, offset);
            }
            0x15 => {
                code.signed()?;
                self.set(register, SavedRegister::Other);
            }
            0x16 => {
                block(code)?;
                self.set(register, SavedRegister::Other);
            }
            _ => return None,
        }
        Some(())
    }

    fn advance(&mut self, units: u64) {
        self.at = self.at.saturating_add(units.saturating_mul(self.units.code) as usize);
    }

    fn set(&mut self, register: u64, saved: SavedRegister) {
        if let Some(place) = self.state.of(register) {
            *place = saved;
        }
    }

    fn save(&mut self, register: u64, units: i64) {
        let offset = units.wrapping_mul(self.units.data);
        self.set(register, SavedRegister::At(Place { base: Base::Caller, offset }));
    }

    /// As the function began.
    fn restore(&mut self, register: u64) -> Option<()> {
        if let Some(initial) = self.initial?.of(register) {
            self.set(register, *initial);
        }
        Some(())
    }
}

/// An expression's bytes.
fn block<'a>(code: &mut Bytes<'a>) -> Option<Bytes<'a>> {
    let length = code.unsigned()?;
    code.part(usize::try_from(length).ok()?)
}

/// The parts of an expression as compilers write it: a register, a distance from it, and whether the word there is meant
/// (`DW_OP_breg…`, `DW_OP_deref`).
fn expression(mut code: Bytes<'_>) -> Option<(u64, i64, bool)> {
    const BY_REGISTER: u8 = 0x70;
    const REGISTERS: u8 = 32;
    const WORD: u8 = 0x06;
    let register = code.byte()?.checked_sub(BY_REGISTER).filter(|register| *register < REGISTERS)?;
    let offset = code.signed()?;
    match code.bytes {
        [] => Some((register.into(), offset, false)),
        [WORD] => Some((register.into(), offset, true)),
        _ => None,
    }
}
