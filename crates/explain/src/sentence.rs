//! Sentences whose values keep their types.
//!
//! A rule knows what to say of its evidence, and the report knows how numbers look: a [`Sentence`] has the words
//! as text and each value as what it is. Units, rounding, plurals and harmless names are the report's.

use trace::{CopyKind, Ns};

/// Words and values in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sentence(pub Vec<Piece>);

/// A piece of a sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Words.
    Text(&'static str),
    /// A name from the trace, which may be anything.
    Name(String),
    /// A number with the noun that it counts: one, several.
    Count(u64, &'static str, &'static str),
    /// A plain number.
    Number(u64),
    /// A duration, ns.
    Time(Ns),
    /// A size in bytes.
    Bytes(i64),
    /// So many bytes in so many ns.
    Rate {
        /// Bytes.
        bytes: i64,
        /// ns.
        time: Ns,
    },
    /// A part of 1.
    Share(f64),
    /// A direction of copies.
    Copy(CopyKind),
}

impl Sentence {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// This sentence and what follows it.
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
