//! A pull scanner for the JSON that profilers write.
//!
//! serde_json does not fit: traces hold `NaN` and `Infinity`; absolute times need every digit (an `f64` of microseconds
//! since 1970 has a resolution of a quarter of a microsecond); a truncated file must be read up to its end; and a block
//! from the middle of a file must be scanned without the rest. The scanner checks only what it needs to find the ends
//! of values, and accepts some invalid JSON.

use memchr::{memchr, memchr2};

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

/// A number written with digits and at most one point.
struct Plain {
    /// Times ten to the asked power, rounded toward zero.
    value: u64,
    /// Bytes of its text.
    length: usize,
}

/// The number that `text` starts with, × 10^`shift`, `shift` at most 8; `None` unless it starts with a digit, has at
/// most 16 before a point and at most 7 after it, and eight bytes follow each of them.
#[inline]
fn plain(text: &[u8], shift: u32) -> Option<Plain> {
    let (digits, mut length) = leading_digits(word(text, 0)?);
    let mut value = number_of(digits, length);
    if length == 0 {
        return None;
    }
    if length == 8 {
        let (digits, more) = leading_digits(word(text, 8)?);
        (value, length) = (value * POWERS[more] + number_of(digits, more), 8 + more);
    }
    let mut kept = 0;
    if *text.get(length)? == b'.' {
        let (digits, places) = leading_digits(word(text, length + 1)?);
        kept = places.min(shift as usize);
        value = value * POWERS[kept] + number_of(digits, kept);
        length += 1 + places;
        if places == 8 {
            return None;
        }
    }
    Some(Plain { value: value * POWERS[shift as usize - kept], length })
}

/// The powers of ten up to the eighth.
const POWERS: [u64; 9] = {
    let mut powers = [1; 9];
    let mut at = 1;
    while at < 9 {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// The values of the digits that a word of text starts with, a byte each, and their number; what follows them is any.
#[inline]
fn leading_digits(word: u64) -> (u64, usize) {
    let digits = word ^ repeat(b'0');
    (digits, first(at_least(digits, 10)).unwrap_or(8))
}

/// The number that the first `count` of `digits` make: pairs of digits, then of pairs, then of fours are joined.
#[inline]
fn number_of(digits: u64, count: usize) -> u64 {
    // Zeros come before the digits: to the low end, where a word has its first bytes.
    let digits = digits.checked_shl(64 - 8 * count as u32).unwrap_or(0);
    let pairs = digits.wrapping_mul((10 << 8) + 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul((100 << 16) + 1) >> 16 & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul((10_000 << 32) + 1) >> 32
}

/// Whether two texts of one length are equal: as `==`, without a call for the few words between two values.
#[inline]
fn equal(text: &[u8], other: &[u8]) -> bool {
    let length = text.len();
    if length < 8 {
        return text == other;
    }
    // The last word overlaps the one before it.
    let same = |at: usize| word(text, at) == word(other, at);
    (0..length / 8).all(|at| same(8 * at)) && same(length - 8)
}

/// The highest bit of each byte of a word.
const HIGH: u64 = repeat(0x80);

/// A word of eight equal bytes.
const fn repeat(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The eight bytes at `at`, the first one lowest; `None` near the end of the text.
#[inline]
fn word(text: &[u8], at: usize) -> Option<u64> {
    let bytes = text.get(at..at + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// Marks each byte that is at least `limit`, which is at most 0x80, by its highest bit. Setting that bit first keeps a
/// byte from borrowing from the next.
#[inline]
fn at_least(word: u64, limit: u8) -> u64 {
    (((word | HIGH) - repeat(limit)) | word) & HIGH
}

/// Marks each byte that is `byte` by its highest bit.
#[inline]
fn equal_to(word: u64, byte: u8) -> u64 {
    !at_least(word ^ repeat(byte), 1) & HIGH
}

/// The position of the lowest marked byte.
#[inline]
fn first(marks: u64) -> Option<usize> {
    (marks != 0).then(|| marks.trailing_zeros() as usize / 8)
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

/// Numbers from here on are refused: sums and differences of two must fit an `i64`.
const LIMIT: i64 = 1 << 61;

/// `text` × 10^`shift` as an integer, rounded toward zero; `None` if it is not a number or too large.
#[inline]
fn decimal(text: &[u8], shift: u32) -> Option<i64> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => digits(rest),
        _ => (&[] as &[u8], rest),
    };
    let kept = fraction.len().min(shift as usize);
    // Nineteen digits fit a `u64` whatever they are.
    if whole.is_empty() || !rest.is_empty() || whole.len() + shift as usize > 19 {
        return unusual_decimal(text, shift);
    }
    let value = |digits: &[u8], start| digits.iter().fold(start, |sum, byte| sum * 10 + (byte - b'0') as u64);
    let value = value(&fraction[..kept], value(whole, 0)) * 10u64.pow(shift - kept as u32);
    (value < LIMIT as u64).then_some(value as i64)
}

/// The digits that a text starts with, and the rest.
#[inline]
fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

/// As [`decimal`], for numbers with signs or exponents and numbers that may be too large.
#[cold]
fn unusual_decimal(text: &[u8], shift: u32) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let mut value: i64 = 0;
    let mut seen = false;
    // Number of digits to read after the point; `None` before the point.
    let mut places: Option<u32> = None;
    for &byte in digits {
        match byte {
            b'0'..=b'9' => {
                seen = true;
                match &mut places {
                    Some(0) => continue,
                    Some(left) => *left -= 1,
                    None => {}
                }
                value = value.checked_mul(10)?.checked_add((byte - b'0') as i64)?;
            }
            b'.' if places.is_none() => places = Some(shift),
            b'e' | b'E' if seen => return scientific(text, shift),
            _ => return None,
        }
    }
    if !seen {
        return None;
    }
    let value = value.checked_mul(10i64.pow(places.unwrap_or(shift)))?;
    (value < LIMIT).then_some(if negative { -value } else { value })
}

fn scientific(text: &[u8], shift: u32) -> Option<i64> {
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let value = value * 10f64.powi(shift as i32);
    (value.abs() < LIMIT as f64).then_some(value as i64)
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
    fn microseconds_keep_every_digit() {
        let ns = |text: &str| decimal(text.as_bytes(), 3);
        assert_eq!(ns("4363758915460.832"), Some(4_363_758_915_460_832));
        assert_eq!(ns("1661938466265032"), Some(1_661_938_466_265_032_000));
        assert_eq!(ns("40.3949"), Some(40_394));
        assert_eq!(ns("-0.5"), Some(-500));
        assert_eq!(ns("1e3"), Some(1_000_000));
        assert_eq!(ns("7."), Some(7_000));
        for bad in ["NaN", "", "-", ".", "1.2.3", "99999999999999999999", "1e99", "null"] {
            assert_eq!(ns(bad), None, "{bad}");
        }
    }

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
        /// Numbers are read in one way, whether or not they are plain, and whatever follows them.
        #[test]
        fn a_number_is_what_its_digits_are(
            text in r"-?[0-9]{0,22}(\.[0-9]{0,12})?(e[0-9])?",
            after in r"[,}\] :x.]{1,10}",
            shift in 0u32..4,
        ) {
            let whole = format!("{text}{after}");
            let (mut scanner, mut scalars) = (Scanner::new(whole.as_bytes()), Scanner::new(whole.as_bytes()));
            let scalar = scalars.scalar_or_skip();
            let value = scalar.map(|scalar| scalar.and_then(|scalar| decimal(scalar.digits(), shift)));
            prop_assert_eq!(scanner.number(shift), value);
            prop_assert_eq!(scanner.at(), scalars.at());
        }

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
