//! From an offset into bytecode to a source line.
//!
//! Both decoders take the bytes of `co_linetable`, the first line of the code object and an offset in bytes, and
//! give 0 for bytecode that belongs to no line and for tables that make no sense.

/// The table of CPython 3.10 (Objects/lnotab_notes.txt): pairs of how many bytes of bytecode, unsigned, and the
/// step in lines, signed, where -128 means that these bytes have no line.
pub(crate) fn of_pairs(mut table: impl Iterator<Item = u8>, first_line: i32, offset: u32) -> u32 {
    let mut line = i64::from(first_line);
    let mut end = 0u64;
    while let (Some(bytes), Some(step)) = (table.next(), table.next()) {
        end += u64::from(bytes);
        let step = step.cast_signed();
        if step != i8::MIN {
            line += i64::from(step);
        }
        if u64::from(offset) < end {
            return if step == i8::MIN { 0 } else { number(line) };
        }
    }
    0
}

/// The table of CPython 3.11 and later (Objects/locations.md): entries that begin with a byte of the form
/// `1cccclll`, code `c` and `l + 1` code units of two bytes, and go on with bytes whose top bit is clear.
pub(crate) fn of_locations(mut table: impl Iterator<Item = u8>, first_line: i32, offset: u32) -> u32 {
    let mut line = i64::from(first_line);
    let mut end = 0u64;
    let mut next = table.next();
    while let Some(head) = next {
        if head & 0x80 == 0 {
            return 0;
        }
        end += 2 * (u64::from(head & 7) + 1);
        let code = head >> 3 & 15;
        let step = match code {
            10..=12 => i64::from(code - 10),
            13 | 14 => match signed(&mut table) {
                Some(step) => step,
                None => return 0,
            },
            _ => 0,
        };
        line += step;
        if u64::from(offset) < end {
            return if code == 15 { 0 } else { number(line) };
        }
        next = table.find(|byte| byte & 0x80 != 0);
    }
    0
}

/// A signed number: six bits a byte, lowest first, 0x40 for more to come; the lowest bit is the sign.
fn signed(table: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let mut value = 0u64;
    for shift in (0..36).step_by(6) {
        let byte = table.next()?;
        value |= u64::from(byte & 0x3f) << shift;
        if byte & 0x40 == 0 {
            let size = (value >> 1).cast_signed();
            return Some(if value & 1 == 0 { size } else { -size });
        }
    }
    None
}

/// A line that fits, or 0.
fn number(line: i64) -> u32 {
    u32::try_from(line).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The lines of the code units 0, 1, 2 ….
    fn lines(decode: impl Fn(u32) -> u32, units: u32) -> Vec<u32> {
        (0..units).map(|unit| decode(unit * 2)).collect()
    }

    #[test]
    fn pairs_step_forward_and_back_and_skip_lineless_code() {
        let table = [2, 1, 4, 5, 2, 0x80, 2, 0xfe, 0, 10, 2, 0];
        assert_eq!(lines(|at| of_pairs(table.into_iter(), 10, at), 7), [11, 16, 16, 0, 14, 24, 24 - 24]);
    }

    #[test]
    fn locations_step_by_code() {
        let table = [
            0x80 | 15 << 3, // one unit without a line
            0x80 | 11 << 3 | 1,
            3,
            4, // two units, a line further, columns 3 and 4
            0x80 | 2 << 3,
            0x12, // the same line in the short form
            0x80 | 13 << 3,
            0x40 | 1,
            0x02, // (1 + (2 << 6)) is 129: 64 lines back
            0x80 | 14 << 3,
            0x14,
            0,
            1,
            1, // ten lines further, in the long form
        ];
        assert_eq!(lines(|at| of_locations(table.into_iter(), 100, at), 7), [0, 101, 101, 101, 37, 47, 0]);
    }

    proptest! {
        #[test]
        fn no_table_is_too_strange(table in proptest::collection::vec(any::<u8>(), 0..64), first: i32, offset: u32) {
            of_pairs(table.iter().copied(), first, offset);
            of_locations(table.iter().copied(), first, offset);
            of_locations(table.iter().map(|byte| byte | 0x80), first, offset % 99);
        }
    }
}
