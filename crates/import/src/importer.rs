//! What an importer is: it recognises its format by content, reads it, and has a name for people.
//!
//! To add one: a module with a `static IMPORTER`, and its line in [`importers!`](crate).

use crate::{Problem, Progress, sqlite};
use std::io::Read;
use std::path::Path;
use trace::{Source, Trace};

/// A format that holdup reads.
pub(crate) struct Importer {
    /// The tool that writes it, and its name for people.
    pub source: Source,
    /// Whether an input is of this format.
    pub sniff: fn(&Seen<'_>) -> Fit,
    /// Reads an input that is.
    pub read: fn(Input<'_>, &mut dyn FnMut(Progress)) -> Result<Trace, Problem>,
}

/// What recognition sees of an input.
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
    /// It may be, if it is of no other.
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
    /// Bytes that come one after another: of a pipe, or unpacked.
    Stream(&'a mut dyn Read),
    /// A SQLite database.
    Database(&'a rusqlite::Connection),
}

/// Bytes that recognition wants to see.
pub(crate) const ENOUGH: usize = 4096;

/// A text whose end may be missing.
pub(crate) struct Whole<'a> {
    pub bytes: std::borrow::Cow<'a, [u8]>,
    /// Whether the stream broke before its end.
    pub truncated: bool,
}

impl<'a> Input<'a> {
    /// All bytes of an input that is no directory and no database; a stream is read to its end.
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
