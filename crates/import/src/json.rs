//! A pull scanner for the JSON that profilers write.
//!
//! serde_json does not fit: traces hold `NaN` and `Infinity`; absolute times need every digit (an `f64` of microseconds
//! since 1970 has a resolution of a quarter of a microsecond); a truncated file must be read up to its end; and a block
//! from the middle of a file must be scanned without the rest. The scanner checks only what it needs to find the ends
//! of values, and accepts some invalid JSON.

mod number;
mod words;

use memchr::{memchr, memchr2};
use number::{LIMIT, decimal, plain};
use words::{at_least, equal, equal_to, first, repeat, word};

/// Why the scanner cannot continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// The text ends inside a value.
    End,
    /// The byte there is not allowed.
    Bad,
}

/// The text of a string between its quotes, with its escapes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Raw<'a> {
    /// Bytes between the quotes.
    pub bytes: &'a [u8],
    /// Whether they hold a backslash.
    pub escaped: bool,
}

/// A value that is neither an object nor an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scalar<'a> {
    /// A string.
    Text(Raw<'a>),
    /// A number, `true`, `false`, `null`, `NaN` …, as written.
    Word(&'a [u8]),
}

/// A position in a text.
#[derive(Clone)]
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Scanner { text, at: 0 }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    /// Continues at byte `at`.
    pub fn jump(&mut self, at: usize) {
        self.at = at;
    }

    /// The next byte that is not white space, without taking it. Control characters count as white space: none of
    /// them has a meaning between values.
    #[inline]
    pub fn peek(&mut self) -> Result<u8, Stop> {
        match self.text.get(self.at) {
            Some(&byte) if byte > b' ' => Ok(byte),
            Some(_) => self.skip_space(),
            None => Err(Stop::End),
        }
    }

    /// Skips white space, eight bytes at a time: profilers indent every line.
    fn skip_space(&mut self) -> Result<u8, Stop> {
        while let Some(word) = word(self.text, self.at) {
            match first(at_least(word, b' ' + 1)) {
                Some(byte) => {
                    self.at += byte;
                    return Ok(self.text[self.at]);
                }
                None => self.at += 8,
            }
        }
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at += rest.iter().position(|byte| *byte > b' ').unwrap_or(rest.len());
        self.text.get(self.at).copied().ok_or(Stop::End)
    }

    /// Takes `byte` if it comes next.
    #[inline]
    pub fn take(&mut self, byte: u8) -> Result<bool, Stop> {
        let found = self.peek()? == byte;
        self.at += found as usize;
        Ok(found)
    }

    #[inline]
    pub fn expect(&mut self, byte: u8) -> Result<(), Stop> {
        if self.take(byte)? { Ok(()) } else { Err(Stop::Bad) }
    }

    /// Takes `text` if exactly its bytes come next.
    #[inline]
    pub fn take_text(&mut self, text: &[u8]) -> bool {
        let end = self.at + text.len();
        let found = self.text.get(self.at..end).is_some_and(|next| equal(next, text));
        self.at += if found { text.len() } else { 0 };
        found
    }

    /// The text from `start` to the current position.
    pub fn since(&self, start: usize) -> &'a [u8] {
        &self.text[start..self.at]
    }

    /// Takes the next key and its `:`, in an object whose `{` was taken; takes the `}` and returns `None` at its end.
    /// `first` is true until a key was read.
    #[inline]
    pub fn key(&mut self, first: &mut bool) -> Result<Option<&'a [u8]>, Stop> {
        match self.peek()? {
            b'}' => {
                self.at += 1;
                return Ok(None);
            }
            b',' if !*first => self.at += 1,
            _ if *first => {}
            _ => return Err(Stop::Bad),
        }
        *first = false;
        // A comma before the closing brace is not JSON, but some tools write it.
        if self.take(b'}')? {
            return Ok(None);
        }
        let key = self.string()?;
        self.expect(b':')?;
        Ok(Some(key.bytes))
    }

    /// Whether an array whose `[` was taken has another element; if not, takes the `]`.
    pub fn element(&mut self, first: &mut bool) -> Result<bool, Stop> {
        match self.peek()? {
            b']' => {
                self.at += 1;
                return Ok(false);
            }
            b',' if !*first => self.at += 1,
            _ if *first => {}
            _ => return Err(Stop::Bad),
        }
        *first = false;
        Ok(!self.take(b']')?)
    }

    /// A string.
    #[inline]
    pub fn string(&mut self) -> Result<Raw<'a>, Stop> {
        self.expect(b'"')?;
        let start = self.at;
        // Most strings are short keys: check a few words before setting up a search.
        for _ in 0..3 {
            let Some(word) = word(self.text, self.at) else { break };
            let Some(found) = first(equal_to(word, b'"') | equal_to(word, b'\\')) else {
                self.at += 8;
                continue;
            };
            self.at += found;
            if self.text[self.at] == b'"' {
                self.at += 1;
                return Ok(Raw { bytes: &self.text[start..self.at - 1], escaped: false });
            }
            break;
        }
        self.long_string(start)
    }

    /// The rest of a string that starts at `start`.
    fn long_string(&mut self, start: usize) -> Result<Raw<'a>, Stop> {
        let mut escaped = false;
        loop {
            let rest = &self.text[self.at..];
            let found = memchr2(b'"', b'\\', rest).ok_or(Stop::End)?;
            self.at += found + 1;
            if rest[found] == b'"' {
                return Ok(Raw { bytes: &self.text[start..self.at - 1], escaped });
            }
            escaped = true;
            if self.at >= self.text.len() {
                return Err(Stop::End);
            }
            self.at += 1;
        }
    }

    /// A string, number or word.
    #[inline]
    pub fn scalar(&mut self) -> Result<Scalar<'a>, Stop> {
        if self.peek()? == b'"' {
            return self.string().map(Scalar::Text);
        }
        let rest = &self.text[self.at..];
        let known = plain(rest, 0).map_or(0, |plain| plain.length);
        let more = rest[known..].iter().position(|byte| !IN_WORDS[*byte as usize]).ok_or(Stop::End)?;
        let length = known + more;
        if length == 0 {
            return Err(Stop::Bad);
        }
        self.at += length;
        Ok(Scalar::Word(&rest[..length]))
    }

    /// A scalar, or `None` after skipping an object or array.
    #[inline]
    pub fn scalar_or_skip(&mut self) -> Result<Option<Scalar<'a>>, Stop> {
        match self.peek()? {
            b'{' | b'[' => self.skip().map(|()| None),
            _ => self.scalar().map(Some),
        }
    }

    /// An integer, even if it is in quotes or has a fraction; `None` after another value.
    #[inline]
    pub fn integer(&mut self) -> Result<Option<i64>, Stop> {
        self.number(0)
    }

    /// Microseconds as nanoseconds, exact to the nanosecond; `None` after a value that is no number.
    #[inline]
    pub fn microseconds(&mut self) -> Result<Option<i64>, Stop> {
        self.number(3)
    }

    #[inline]
    fn number(&mut self, shift: u32) -> Result<Option<i64>, Stop> {
        self.peek()?;
        let rest = &self.text[self.at..];
        if let Some(plain) = plain(rest, shift)
            && rest.get(plain.length).is_some_and(|byte| !IN_WORDS[*byte as usize])
            && plain.value < LIMIT as u64
        {
            self.at += plain.length;
            return Ok(Some(plain.value as i64));
        }
        Ok(self.scalar_or_skip()?.and_then(|value| decimal(value.digits(), shift)))
    }

    /// Skips any value.
    #[inline]
    pub fn skip(&mut self) -> Result<(), Stop> {
        match self.peek()? {
            b'{' | b'[' => {
                self.at += 1;
                self.close()
            }
            _ => self.scalar().map(drop),
        }
    }

    /// Skips the rest of an object or array whose beginning was read, and its closing bracket; reads only brackets
    /// and strings. Depth is a counter, not a recursion: hostile nesting must not overflow the stack.
    fn close(&mut self) -> Result<(), Stop> {
        let mut depth = 1usize;
        while depth > 0 {
            let rest = &self.text[self.at..];
            let found = rest.iter().position(|byte| STRUCTURE[*byte as usize]).ok_or(Stop::End)?;
            self.at += found;
            match rest[found] {
                b'"' => drop(self.string()?),
                b'{' | b'[' => (self.at, depth) = (self.at + 1, depth + 1),
                _ => (self.at, depth) = (self.at + 1, depth - 1),
            }
        }
        Ok(())
    }

    /// Skips the rest of an object, most of which hold neither objects nor arrays.
    pub fn close_object(&mut self) -> Result<(), Stop> {
        match flat(&self.text[self.at..]) {
            Some(length) => self.at += length,
            None => self.close()?,
        }
        Ok(())
    }

    /// Moves to the next `{` that starts a value after a comma, as events do; `false` at the end.
    pub fn resync(&mut self) -> bool {
        while let Some(found) = memchr(b'{', &self.text[self.at..]) {
            let brace = self.at + found;
            if is_event_start(self.text, brace) {
                self.at = brace;
                return true;
            }
            self.at = brace + 1;
        }
        self.at = self.text.len();
        false
    }
}

/// Bytes that numbers and words like `true` or `-Infinity` are made of.
static IN_WORDS: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'+' | b'-' | b'.');
        byte += 1;
    }
    table
};

/// Bytes that begin or end strings, objects and arrays.
static STRUCTURE: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < 5 {
        table[b"\"{}[]"[at] as usize] = true;
        at += 1;
    }
    table
};

/// The length of the rest of an object that holds neither brackets nor escapes, its `}` included; `None` if it may hold
/// some, or ends in the last bytes of the text.
fn flat(rest: &[u8]) -> Option<usize> {
    // The marks of quotes, those of all words joined: an even number of quotes leaves an even number of marks.
    let (mut at, mut quotes) = (0, 0);
    loop {
        let word = word(rest, at)?;
        let here = equal_to(word, b'"');
        // Without their sixth bit `{`, `|` and `}` are `[`, `\\` and `]`.
        let folded = word & !repeat(0x20);
        let brackets = at_least(folded, b'[') & !at_least(folded, b']' + 1);
        let Some(found) = first(brackets) else {
            (at, quotes) = (at + 8, quotes ^ here);
            continue;
        };
        quotes ^= here & ((1 << (8 * found)) - 1);
        let is_end = rest[at + found] == b'}' && quotes.count_ones().is_multiple_of(2);
        return is_end.then_some(at + found + 1);
    }
}

/// Whether the `{` at `brace` looks like the start of another event of an array: it follows `},` and precedes a key.
/// It may still lie inside a string; a caller that cuts there must check.
pub(crate) fn is_event_start(text: &[u8], brace: usize) -> bool {
    let mut before = text[..brace].iter().rev().filter(|byte| !byte.is_ascii_whitespace());
    let mut after = text[brace + 1..].iter().filter(|byte| !byte.is_ascii_whitespace());
    before.next() == Some(&b',') && before.next() == Some(&b'}') && after.next() == Some(&b'"')
}

impl<'a> Scalar<'a> {
    /// The bytes of a word or of a string without escapes: the two ways to write a number.
    fn digits(self) -> &'a [u8] {
        match self {
            Scalar::Text(raw) => raw.bytes,
            Scalar::Word(word) => word,
        }
    }

    /// An integer, even if it is in quotes or has a fraction.
    pub fn integer(self) -> Option<i64> {
        decimal(self.digits(), 0)
    }
}

impl Raw<'_> {
    /// The string's text in `scratch`, escapes resolved, anything invalid as U+FFFD.
    pub fn unescape<'s>(&self, scratch: &'s mut String) -> &'s str {
        scratch.clear();
        let mut rest = self.bytes;
        while let Some(at) = memchr(b'\\', rest) {
            scratch.push_str(&String::from_utf8_lossy(&rest[..at]));
            rest = &rest[at + 1..];
            let Some((&escape, after)) = rest.split_first() else { break };
            rest = after;
            match escape {
                b'n' => scratch.push('\n'),
                b't' => scratch.push('\t'),
                b'r' => scratch.push('\r'),
                b'b' => scratch.push('\u{8}'),
                b'f' => scratch.push('\u{c}'),
                b'u' => rest = unescape_unicode(rest, scratch),
                // Windows paths reach traces unescaped: keep the backslash of an unknown escape.
                b'"' | b'\\' | b'/' => scratch.push(escape as char),
                _ => {
                    scratch.push('\\');
                    rest = &self.bytes[self.bytes.len() - rest.len() - 1..];
                    let next = memchr(b'\\', rest).unwrap_or(rest.len());
                    scratch.push_str(&String::from_utf8_lossy(&rest[..next]));
                    rest = &rest[next..];
                }
            }
        }
        scratch.push_str(&String::from_utf8_lossy(rest));
        scratch
    }
}

/// Appends the character of a `\u` escape, a surrogate pair included; returns what follows it.
fn unescape_unicode<'a>(rest: &'a [u8], to: &mut String) -> &'a [u8] {
    let unit = |text: &[u8]| {
        let digits = std::str::from_utf8(text.get(..4)?).ok()?;
        u16::from_str_radix(digits, 16).ok()
    };
    let Some(first) = unit(rest) else {
        to.push(char::REPLACEMENT_CHARACTER);
        return rest;
    };
    let after = &rest[4..];
    let second = after.strip_prefix(b"\\u").and_then(unit);
    let mut decoded = char::decode_utf16([first].into_iter().chain(second));
    match decoded.next() {
        Some(Ok(character)) => {
            to.push(character);
            if character.len_utf16() == 2 { &after[6..] } else { after }
        }
        _ => {
            to.push(char::REPLACEMENT_CHARACTER);
            after
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn skips_hostile_nesting_without_recursion() {
        let deep = "[".repeat(1 << 20);
        assert_eq!(Scanner::new(deep.as_bytes()).skip(), Err(Stop::End));
    }

    #[test]
    fn words_that_json_lacks_are_scalars() {
        let mut scanner = Scanner::new(b" [NaN, -Infinity, 1] ");
        assert_eq!(scanner.skip(), Ok(()));
        assert_eq!(scanner.at(), 20);
    }

    #[test]
    fn the_rest_of_an_object_ends_at_its_own_brace() {
        let rest = |text: &str| flat(format!("{text}, and so on").as_bytes());
        for (flat, length) in [("}", 1), (r#", "id": 20, "a": 1}"#, 19), (r#""name": "XYZ_^~xyz" }"#, 21)] {
            assert_eq!(rest(flat), Some(length), "{flat}");
        }
        for not in [r#""a brace: }" }"#, r#""a\"b" }"#, "{} }", "[1] }", "]", r#""a": "{" }"#, r#""a|b" }"#] {
            assert_eq!(rest(not), None, "{not}");
        }
        assert_eq!(flat(b"1 }"), None);
    }

    proptest! {
        /// For JSON that serde_json writes, strings are the same and values end at the same places.
        #[test]
        fn agrees_with_serde_json(text in ".*", number in any::<i64>(), pretty in any::<bool>()) {
            let value = serde_json::json!({ "text": text, "list": [number, { "deep": [text] }], "n": null });
            let written = if pretty {
                serde_json::to_string_pretty(&value).unwrap()
            } else {
                value.to_string()
            };
            let padded = format!("{written} ");
            let mut scanner = Scanner::new(padded.as_bytes());
            prop_assert_eq!(scanner.skip(), Ok(()));
            prop_assert_eq!(scanner.at(), written.len());

            let quoted = serde_json::to_string(&text).unwrap();
            let raw = Scanner::new(quoted.as_bytes()).string().unwrap();
            let mut scratch = String::new();
            prop_assert_eq!(raw.unescape(&mut scratch), text);
        }

        /// No input makes the scanner panic or run backwards.
        #[test]
        fn survives_anything(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut scanner = Scanner::new(&bytes);
            let _ = scanner.skip();
            let at = scanner.at();
            scanner.resync();
            prop_assert!(scanner.at() >= at);
            Raw { bytes: &bytes, escaped: true }.unescape(&mut String::new());
        }
    }
}
