//! Small copies that one copy could make together.

use super::Facts;
use rustc_hash::FxHashMap;
use trace::{OpKind, Sym};

/// Largest copy that is a piece of a larger one, bytes: its launch takes longer than it does (3 µs at 20 GB/s).
pub const PIECE: i64 = 64 << 10;

/// Fewest pieces that are worth a copy together: a choice.
const FEWEST: usize = 100;

/// Smallest part of all operations that pieces are where they are what the program does, in percent: a choice.
const MOST: usize = 70;

impl Facts<'_> {
    /// The function that makes most small copies, where nearly all operations are small copies.
    pub fn pieces(&self) -> Option<Sym> {
        *self.habits.pieces.get_or_init(|| {
            let (ops, calls) = (&self.trace.ops, &self.trace.calls);
            let is_piece = |at: &usize| ops.kind[*at] == OpKind::Copy && ops.bytes[*at] <= PIECE;
            let mut functions = FxHashMap::<Sym, usize>::default();
            let mut pieces = 0;
            for at in (0..ops.len()).filter(is_piece) {
                pieces += 1;
                if let Some(call) = self.outermost(ops.call[at]).some() {
                    *functions.entry(calls.name[call.index()]).or_default() += 1;
                }
            }
            let is_most = pieces >= FEWEST && pieces * 100 >= ops.len() * MOST;
            functions
                .into_iter()
                .filter(|_| is_most)
                .max_by_key(|(name, count)| (*count, *name))
                .map(|(name, _)| name)
        })
    }
}
