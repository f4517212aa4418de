//! Sentences whose values keep their types.
//!
//! A rule chooses the words for its evidence, and the report formats the numbers: a [`Sentence`] has the words as text and
//! each value with its type. The report adds units, rounding and plurals, and escapes names.

use trace::{CopyKind, Ns};

/// Words and values in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sentence(pub Vec<Piece>);

/// A piece of a sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Words.
    Text(&'static str),
    /// A name from the trace, which may contain any text.
    Name(String),
    /// A number with the noun that it counts, in singular and plural.
    Count(u64, &'static str, &'static str),
    /// A plain number.
    Number(u64),
    /// A duration, ns.
    Time(Ns),
    /// A size in bytes.
    Bytes(i64),
    /// A rate: bytes in a time.
    Rate {
        /// Bytes.
        bytes: i64,
        /// Time, ns.
        time: Ns,
    },
    /// A share of 1.
    Share(f64),
    /// A direction of copies.
    Copy(CopyKind),
}

impl Sentence {
    /// Whether it has no pieces.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// This sentence with `rest` after it.
    pub(crate) fn then(mut self, rest: Sentence) -> Sentence {
        self.0.extend(rest.0);
        self
    }
}

impl From<&'static str> for Piece {
    fn from(text: &'static str) -> Piece {
        Piece::Text(text)
    }
}

/// A [`Sentence`] of these pieces, each a `&'static str` or a [`Piece`].
macro_rules! sentence {
    ($($piece:expr),* $(,)?) => {
        $crate::Sentence(vec![$($crate::Piece::from($piece)),*])
    };
}
pub(crate) use sentence;
