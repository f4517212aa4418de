//! Replaces the texts of a trace.

use crate::model::tables;
use crate::{Strings, Sym, Trace};

/// A text of a trace, where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Word<'a> {
    /// The table's field in [`Trace`].
    pub table: &'static str,
    /// The column.
    pub column: &'static str,
    /// The row.
    pub row: usize,
    /// Its symbol in the trace as it was.
    pub sym: Sym,
    /// The text.
    pub text: &'a str,
}

impl Trace {
    /// Replaces every text of every table by that which `each` adds to the new texts of the trace, which have no other. Empty texts stay
    /// empty. [`Trace::meta`] stays as it is.
    pub fn reword(&mut self, each: &mut dyn FnMut(Word<'_>, &mut Strings) -> Sym) {
        let old = std::mem::take(&mut self.strings);
        let mut new = Strings::default();
        macro_rules! reword {
            ($($(#[$doc:meta])* $field:ident $columns:ident $id:ident;)*) => {$(
                self.$field.texts(&mut |column, texts| {
                    for (row, sym) in texts.iter_mut().enumerate().filter(|(_, sym)| !sym.is_empty()) {
                        let word = Word { table: stringify!($field), column, row, sym: *sym, text: old.text(*sym) };
                        *sym = each(word, &mut new);
                    }
                });
            )*};
        }
        tables!(reword);
        self.strings = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Op, Range, Thread};
    use std::collections::BTreeSet;

    #[test]
    fn every_text_is_replaced_and_none_is_left() {
        let mut trace = Trace::default();
        let [secret, kernel] = ["secret", "kernel"].map(|name| trace.strings.intern(name));
        trace.threads.push(Thread { name: secret, ..Thread::default() });
        trace.ops.push(Op { name: kernel, ..Op::default() });
        trace.ranges.push(Range { name: secret, ..Range::default() });
        let mut seen = BTreeSet::new();
        trace.reword(&mut |word, strings| {
            seen.insert((word.table, word.column, word.text.to_owned()));
            strings.intern(&format!("{}-{}", word.table, word.row))
        });
        let texts: Vec<&str> = trace.strings.iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["", "threads-0", "ranges-0", "ops-0"]);
        assert_eq!(trace.text(trace.ops.name[0]), "ops-0");
        let expected =
            [("ops", "name", "kernel"), ("ranges", "name", "secret"), ("threads", "name", "secret")];
        assert_eq!(seen, expected.map(|(table, column, text)| (table, column, text.to_owned())).into());
    }

    #[test]
    fn every_column_of_text_is_reached() {
        let mut trace = Trace::default();
        macro_rules! fill {
            ($($(#[$doc:meta])* $field:ident $columns:ident $id:ident;)*) => {$(
                trace.$field.push(Default::default());
            )*};
        }
        tables!(fill);
        let text = trace.strings.intern("private");
        macro_rules! set {
            ($($(#[$doc:meta])* $field:ident $columns:ident $id:ident;)*) => {$(
                trace.$field.texts(&mut |_, texts| texts.fill(text));
            )*};
        }
        tables!(set);
        let mut columns = 0;
        trace.reword(&mut |_, strings| {
            columns += 1;
            strings.intern("public")
        });
        assert!(columns >= 16, "{columns}");
        let texts: Vec<&str> = trace.strings.iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["", "public"]);
        assert_eq!(
            (trace.text(trace.frames.module[0]), trace.text(trace.tallies.name[0])),
            ("public", "public")
        );
    }
}
