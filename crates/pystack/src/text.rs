//! Python strings, as UTF-8 in a buffer of fixed size.

/// How many bytes of a string that is not ASCII are read at once: a multiple of every character's width.
pub(crate) const CHUNK: usize = 512;

/// UTF-8 that was cut at a character where it did not fit.
pub(crate) struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

/// Layout of a string object, as it states it itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    /// Bytes a character: 1, 2 or 4.
    pub(crate) width: usize,
    /// All characters are ASCII, and they follow the shorter structure.
    pub(crate) ascii: bool,
}

impl Shape {
    /// From `PyASCIIObject.state`, whose lowest bits are the same in 3.10 to 3.14 (without free threading):
    /// interned (2), kind (3), compact (1), ascii (1). Strings that are not compact have their text elsewhere; code
    /// objects don't have such.
    pub(crate) fn of(state: u32) -> Option<Shape> {
        let (kind, compact, ascii) = (state >> 2 & 7, state >> 5 & 1, state >> 6 & 1);
        let width @ (1 | 2 | 4) = kind as usize else { return None };
        (compact == 1 && (ascii == 0 || width == 1)).then_some(Shape { width, ascii: ascii == 1 })
    }
}

impl<const N: usize> Text<N> {
    pub(crate) const fn new() -> Text<N> {
        Text { bytes: [0; N], length: 0 }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// The room for an ASCII string of so many characters, to be filled by the caller.
    pub(crate) fn room(&mut self, characters: usize) -> &mut [u8] {
        self.length = characters.min(N);
        &mut self.bytes[..self.length]
    }

    /// Appends characters of a width; false when the text is full.
    pub(crate) fn push(&mut self, raw: &[u8], width: usize) -> bool {
        raw.chunks_exact(width.max(1)).all(|unit| {
            let code = match *unit {
                [a] => u32::from(a),
                [a, b] => u32::from(u16::from_ne_bytes([a, b])),
                [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]),
                _ => u32::MAX,
            };
            // Lone surrogates stand for bytes of a file name that were not UTF-8.
            let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            match self.bytes.get_mut(self.length..) {
                Some(rest) if rest.len() >= character.len_utf8() => {
                    self.length += character.encode_utf8(rest).len();
                    true
                }
                _ => false,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shapes() {
        assert_eq!(Shape::of(0b1110_0100), Some(Shape { width: 1, ascii: true }));
        assert_eq!(Shape::of(0b0010_1001), Some(Shape { width: 2, ascii: false }));
        assert_eq!(Shape::of(0b0011_0000), Some(Shape { width: 4, ascii: false }));
        // Not compact, of no width, ASCII of two bytes.
        for state in [0b0000_1000, 0b0010_0000, 0b0010_1100, 0b0110_1000] {
            assert_eq!(Shape::of(state), None, "{state:b}");
        }
    }

    #[test]
    fn widths_and_surrogates() {
        let mut text = Text::<64>::new();
        assert!(text.push(b"a\xe9", 1));
        assert!(text.push(&[0x65e5u16, 0xdc80].map(u16::to_ne_bytes).concat(), 2));
        assert!(text.push(&0x10380u32.to_ne_bytes(), 4));
        assert_eq!(std::str::from_utf8(text.as_bytes()), Ok("aé日\u{fffd}\u{10380}"));
    }

    proptest! {
        #[test]
        fn always_utf8(raw in proptest::collection::vec(any::<u8>(), 0..64), width in prop_oneof![Just(1), Just(2), Just(4)]) {
            let mut text = Text::<31>::new();
            text.push(&raw, width);
            prop_assert!(std::str::from_utf8(text.as_bytes()).is_ok());
        }
    }
}
