//! Numbers in a table, read one after the other.

/// Bytes of a table that are still to be read, and the address of the first of them.
#[derive(Clone, Copy)]
pub struct Bytes<'a> {
    pub bytes: &'a [u8],
    pub address: usize,
}

impl<'a> Bytes<'a> {
    /// Bytes of memory.
    ///
    /// # Safety
    ///
    /// All from `start` to `end` can be read and stays so.
    pub unsafe fn at(start: usize, end: usize) -> Option<Bytes<'a>> {
        let length = end.checked_sub(start).filter(|length| start != 0 && *length <= isize::MAX as usize)?;
        // SAFETY: the caller's promise.
        let bytes = unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(start), length) };
        Some(Bytes { bytes, address: start })
    }

    /// The rest behind so many bytes.
    pub fn skip(self, count: usize) -> Option<Bytes<'a>> {
        Some(Bytes { bytes: self.bytes.get(count..)?, address: self.address.wrapping_add(count) })
    }

    /// From an address within on.
    pub fn from(self, address: usize) -> Option<Bytes<'a>> {
        self.skip(address.checked_sub(self.address)?)
    }

    /// The next so many bytes.
    pub fn part(&mut self, count: usize) -> Option<Bytes<'a>> {
        let part = Bytes { bytes: self.bytes.get(..count)?, address: self.address };
        *self = self.skip(count)?;
        Some(part)
    }

    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let array = *self.bytes.first_chunk()?;
        *self = self.skip(N)?;
        Some(array)
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn i32(&mut self) -> Option<i32> {
        self.array().map(i32::from_le_bytes)
    }

    /// A number of seven bits a byte, the lowest first.
    pub fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).unbounded_shl(shift);
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// Like [`unsigned`](Self::unsigned), but with the sign in the highest bit given.
    pub fn signed(&mut self) -> Option<i64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).unbounded_shl(shift);
            if byte & 0x80 == 0 {
                let unused = 64u32.saturating_sub(shift + 7);
                return Some((value << unused).cast_signed() >> unused);
            }
        }
        None
    }

    /// A pointer, written as `how` says (`DW_EH_PE_…`); `data` is what one relative to data is relative to.
    pub fn pointer(&mut self, how: u8, data: usize) -> Option<usize> {
        let here = self.address;
        let value = match how & 0xf {
            0x0 | 0x4 | 0xc => u64::from_le_bytes(self.array()?),
            0x1 => self.unsigned()?,
            0x2 => u16::from_le_bytes(self.array()?).into(),
            0x3 => self.u32()?.into(),
            0x9 => self.signed()?.cast_unsigned(),
            0xa => i64::from(i16::from_le_bytes(self.array()?)).cast_unsigned(),
            0xb => i64::from(self.i32()?).cast_unsigned(),
            _ => return None,
        };
        let base = match how & 0xf0 {
            0x00 => 0,
            0x10 => here,
            0x30 => data,
            _ => return None,
        };
        Some(base.wrapping_add(value as usize))
    }
}
