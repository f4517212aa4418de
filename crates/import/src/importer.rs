//! An importer recognizes its format by content, reads it, and names its forms for people.
//!
//! To add one: a module with a `static IMPORTER`, and its line in `IMPORTERS` (`detect.rs`); a new tool is in `source.rs`.

use crate::error::Problem;
use crate::sqlite;
use std::io::Read;
use std::path::Path;
use trace::Trace;

/// The progress of an import.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Bytes read, or rows of a database.
    pub done: u64,
    /// Bytes or rows in all, when known.
    pub total: Option<u64>,
}

/// A kind of trace that an importer reads, for people.
pub struct Form {
    /// Its name, in Markdown: "output of `nsys stats`".
    pub name: &'static str,
    /// How to get one, in Markdown.
    pub made_by: &'static str,
}

/// A format that holdup reads.
pub(crate) struct Importer {
    /// The forms in which people have it.
    pub forms: &'static [Form],
    /// Whether an input is of this format.
    pub sniff: fn(&Seen<'_>) -> Fit,
    /// Reads an input of this format.
    pub read: Reader,
}

/// Reads an input, and reports how far it is.
pub(crate) type Reader = fn(Input<'_>, &mut dyn FnMut(Progress)) -> Result<Trace, Problem>;

/// The part of an input by which its format is recognized.
pub(crate) enum Seen<'a> {
    /// A directory.
    Folder(&'a Path),
    /// The first [`ENOUGH`] bytes, or all of a shorter input.
    Head(&'a [u8]),
    /// The tables of a SQLite database.
    Database(&'a sqlite::Source<'a>),
}

/// Whether an input is of a format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Fit {
    /// It is not.
    No,
    /// It may be, if no other format fits.
    Maybe,
    /// It is.
    Yes,
}

impl From<bool> for Fit {
    fn from(fits: bool) -> Fit {
        if fits { Fit::Yes } else { Fit::No }
    }
}

/// An input to read.
pub(crate) enum Input<'a> {
    /// A directory.
    Folder(&'a Path),
    /// All bytes, in memory or mapped.
    Bytes(&'a [u8]),
    /// Bytes from a pipe or a decompressor.
    Stream(&'a mut dyn Read),
    /// A SQLite database.
    Database(&'a rusqlite::Connection),
}

/// Number of bytes that recognition needs.
pub(crate) const ENOUGH: usize = 4096;

/// A text whose end may be missing.
pub(crate) struct Whole<'a> {
    pub bytes: std::borrow::Cow<'a, [u8]>,
    /// Whether the stream broke before its end.
    pub truncated: bool,
}

impl<'a> Input<'a> {
    /// All bytes of an input that is neither a directory nor a database; reads a stream to its end.
    pub fn whole(self) -> Whole<'a> {
        match self {
            Input::Bytes(bytes) => Whole { bytes: bytes.into(), truncated: false },
            Input::Stream(stream) => {
                let mut bytes = Vec::new();
                let truncated = stream.read_to_end(&mut bytes).is_err();
                Whole { bytes: bytes.into(), truncated }
            }
            Input::Folder(_) | Input::Database(_) => Whole { bytes: Vec::new().into(), truncated: false },
        }
    }
}
