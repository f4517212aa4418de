//! Short texts that are put together without an allocation and without the formatting that could panic.

use std::ffi::CStr;

/// A text of at most `N` bytes.
pub struct FixedText<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> FixedText<N> {
    /// The parts, one behind the other; `None` when they do not fit.
    pub fn of(parts: &[&[u8]]) -> Option<FixedText<N>> {
        let mut line = FixedText { bytes: [0; N], length: 0 };
        for part in parts {
            line.bytes.get_mut(line.length..)?.get_mut(..part.len())?.copy_from_slice(part);
            line.length += part.len();
        }
        Some(line)
    }

    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// As the C library takes it; `None` when there is no zero byte.
    pub fn path(&self) -> Option<&CStr> {
        CStr::from_bytes_until_nul(self.bytes()).ok()
    }
}

/// A number in decimal.
pub struct Decimal {
    /// 20 digits and a sign.
    digits: [u8; 21],
    start: usize,
}

impl Decimal {
    pub fn of(number: i64) -> Decimal {
        let mut decimal = Decimal { digits: [b'0'; 21], start: 21 };
        let mut rest = number.unsigned_abs();
        loop {
            decimal.put(b'0' + (rest % 10) as u8);
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if number < 0 {
            decimal.put(b'-');
        }
        decimal
    }

    fn put(&mut self, byte: u8) {
        self.start = self.start.saturating_sub(1);
        if let Some(place) = self.digits.get_mut(self.start) {
            *place = byte;
        }
    }

    pub fn bytes(&self) -> &[u8] {
        self.digits.get(self.start..).unwrap_or_default()
    }
}
