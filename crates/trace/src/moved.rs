//! Rows that move: within a trace of which a part is taken, or to the end of another trace. What refers to a row, a text or a
//! moment follows, whatever table it is in.

use crate::model::tables;
use crate::{CallId, Moment, Ns, OpId, Sym, Trace, WaitId};

macro_rules! per_table {
    ($($(#[$doc:meta])* $field:ident $columns:ident $id:ident;)*) => {
        /// A value for each table.
        #[derive(Clone, Default)]
        pub(crate) struct Tables<T> {
            $($(#[$doc])* pub $field: T,)*
        }

        impl<T> Tables<T> {
            /// Values made of these.
            pub fn map<U>(&self, of: impl Fn(&T) -> U) -> Tables<U> {
                Tables { $($field: of(&self.$field),)* }
            }
        }

        impl Trace {
            /// How many rows each table has.
            pub(crate) fn rows(&self) -> Tables<usize> {
                Tables { $($field: self.$field.len(),)* }
            }

            /// Keeps the rows that are marked, of tables that have marks; what refers to one that goes refers to none.
            pub(crate) fn retain(&mut self, stay: &Marks) -> Renumbered {
                let numbers = stay.map(|stay| stay.as_ref().map_or(Rows::Same, |stay| Rows::among(stay)));
                let to = Moved { rows: &numbers, texts: None, shift: 0 };
                $(
                    if let Some(stay) = &stay.$field {
                        self.$field.retain(stay);
                    }
                    self.$field.moved(&to);
                )*
                Renumbered(numbers)
            }

            /// A trace of the rows that are marked, and of the others in tables without marks; like [`Trace::retain`], but without a copy
            /// of what goes.
            pub(crate) fn kept(&self, stay: &Marks) -> Trace {
                let numbers = stay.map(|stay| stay.as_ref().map_or(Rows::Same, |stay| Rows::among(stay)));
                let to = Moved { rows: &numbers, texts: None, shift: 0 };
                let mut kept = Trace { meta: self.meta.clone(), strings: self.strings.clone(), ..Trace::default() };
                $(
                    kept.$field = match &stay.$field {
                        Some(stay) => self.$field.kept(stay),
                        None => self.$field.clone(),
                    };
                    kept.$field.moved(&to);
                )*
                kept
            }

            /// Gives `each` the table, the column, the target and the row numbers of each column that refers to rows.
            #[cfg(test)]
            pub(crate) fn references(
                &mut self,
                each: &mut dyn FnMut(&'static str, &'static str, &'static str, &mut [u32]),
            ) {
                $(self.$field.references(&mut |column, target, rows| {
                    each(stringify!($field), column, target, rows);
                });)*
            }
        }
    };
}
tables!(per_table);

/// The rows of tables that are meant; `None` where all are.
pub(crate) type Marks = Tables<Option<Vec<bool>>>;

/// New numbers of the rows of a table.
#[derive(Clone, Default)]
pub(crate) enum Rows {
    /// As before.
    #[default]
    Same,
    /// Behind so many others.
    Behind(usize),
    /// Each its own, by row; [`GONE`] for one that went.
    Each(Vec<u32>),
}

/// The number of a row that went: that of `NONE`.
pub(crate) const GONE: u32 = u32::MAX;

impl Rows {
    /// The numbers of the rows that stay, which move up.
    pub(crate) fn among(stay: &[bool]) -> Rows {
        let mut next = 0;
        let number = |stay: &bool| {
            let number = if *stay { next } else { GONE };
            next += u32::from(*stay);
            number
        };
        Rows::Each(stay.iter().map(number).collect())
    }

    /// Replaces the numbers of rows; `NONE` stays.
    ///
    /// # Panics
    /// When a table has too many rows.
    pub(crate) fn renumber<'a>(&self, rows: impl Iterator<Item = &'a mut u32>) {
        match self {
            Rows::Same => {}
            Rows::Behind(0) => {}
            Rows::Behind(count) => rows.filter(|row| **row != GONE).for_each(|row| {
                let number = u32::try_from(*count).ok().and_then(|count| row.checked_add(count));
                *row = number.filter(|number| *number != GONE).expect("a table holds at most 2^32 - 1 rows");
            }),
            Rows::Each(numbers) => rows.filter(|row| **row != GONE).for_each(|row| {
                *row = numbers[*row as usize];
            }),
        }
    }
}

/// The place of rows that move.
pub(crate) struct Moved<'a> {
    /// The numbers of rows that others refer to.
    pub rows: &'a Tables<Rows>,
    /// By symbol, the symbols of texts; `None` where they are the same.
    pub texts: Option<&'a [Sym]>,
    /// The old trace's time 0 in the new one's time, ns.
    pub shift: Ns,
}

/// Moves moments.
pub(crate) fn moments(column: &mut [Moment], to: &Moved<'_>) {
    if to.shift != 0 {
        column.iter_mut().for_each(|moment| *moment += to.shift);
    }
}

/// The new row numbers of a part of a trace, by row number in the whole trace.
pub struct Renumbered(pub(crate) Tables<Rows>);

impl Renumbered {
    /// A call; `NONE` where it is not in the part.
    pub fn call(&self, mut call: CallId) -> CallId {
        self.0.calls.renumber(std::iter::once(&mut call.0));
        call
    }

    /// A GPU operation; `NONE` where it is not in the part.
    pub fn op(&self, mut op: OpId) -> OpId {
        self.0.ops.renumber(std::iter::once(&mut op.0));
        op
    }

    /// A wait; `NONE` where it is not in the part.
    pub fn wait(&self, mut wait: WaitId) -> WaitId {
        self.0.waits.renumber(std::iter::once(&mut wait.0));
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DeviceId;
    use probe::{Probe, ProbeId, Probes};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[allow(dead_code, reason = "a table of the tests needs little of what a table can do")]
    mod probe {
        use crate::table::{row_id, table};
        use crate::{CallId, DeviceId, Duration, Moment, Sym};

        row_id! {
            /// A row of [`Probes`].
            ProbeId
        }

        table! {
            /// A table with a column of each type that moves, and of one that does not.
            "probes" Probe Probes ProbeId {
                /// A reference.
                call: CallId,
                /// Another one.
                device: DeviceId,
                /// A text.
                name: Sym,
                /// A moment.
                at: Moment,
                /// A duration.
                time: Duration,
            }
        }
    }

    #[test]
    fn columns_move_by_their_types() {
        let rows =
            Tables { calls: Rows::Behind(10), devices: Rows::Each(vec![7, GONE]), ..Tables::default() };
        let texts = [Sym::EMPTY, Sym::EMPTY];
        let to = Moved { rows: &rows, texts: Some(&texts), shift: 100 };
        let name = crate::Strings::default().intern("text");
        let probe = |call, device| Probe { call, device, name, at: 5, time: 5 };
        let mut probes = Probes::default();
        probes.push(probe(CallId::new(1), DeviceId::new(0)));
        let mut all = probes.clone();
        all.append_moved(&probes, &to);
        let moved = Probe { name: Sym::EMPTY, at: 105, ..probe(CallId::new(11), DeviceId::new(7)) };
        assert_eq!(all.ids().map(|id| all.row(id)).collect::<Vec<_>>(), [probes.row(ProbeId::new(0)), moved]);
        let mut others = Probes::default();
        others.push(probe(CallId::NONE, DeviceId::new(1)));
        others.moved(&to);
        assert_eq!((others.call[0], others.device[0]), (CallId::NONE, DeviceId::NONE));
    }

    /// So many rows of each table, which refer to each other, or to none, as the numbers say.
    fn trace(rows: u32, numbers: &[u32]) -> Trace {
        let mut trace = Trace::default();
        macro_rules! fill {
            ($($(#[$doc:meta])* $field:ident $columns:ident $id:ident;)*) => {$(
                (0..rows).for_each(|_| _ = trace.$field.push(Default::default()));
            )*};
        }
        tables!(fill);
        let mut next = (0..).map(|at| numbers[at % numbers.len()]);
        trace.references(&mut |_, _, _, column| {
            column.iter_mut().zip(&mut next).for_each(|(row, number)| {
                *row = if number % (rows + 1) == rows { GONE } else { number % (rows + 1) };
            });
        });
        trace
    }

    /// Row numbers by table and column, with the table that they are of.
    type References = BTreeMap<(&'static str, &'static str), (&'static str, Vec<u32>)>;

    fn references(trace: &mut Trace) -> References {
        let mut all = References::new();
        trace.references(&mut |table, column, target, rows| {
            all.insert((table, column), (target, rows.to_vec()));
        });
        all
    }

    #[test]
    fn every_column_of_a_row_number_is_a_reference() {
        let all = references(&mut Trace::default());
        for of in
            [("calls", "stack"), ("waits", "releaser_call"), ("stacks", "caller"), ("contexts", "device")]
        {
            assert!(all.contains_key(&of), "{of:?}");
        }
        assert_eq!(all[&("waits", "holder")].0, "threads");
    }

    proptest! {
        /// In a trace that is appended, each reference is to the row that it was to: behind those that were there.
        #[test]
        fn every_reference_moves_with_its_row(
            counts in (1..6_u32, 1..6_u32),
            numbers in proptest::collection::vec(any::<u32>(), 1..200),
            shift in -1000..1000_i64,
        ) {
            let (mut first, mut second) = (trace(counts.0, &numbers), trace(counts.1, &numbers));
            let mut both = first.clone();
            both.append(&second, shift);
            let (before, appended) = (references(&mut first), references(&mut second));
            for (column, (target, rows)) in references(&mut both) {
                let moved = appended[&column].1.iter().map(|row| match *row {
                    GONE => GONE,
                    row => row + counts.0,
                });
                let expected: Vec<u32> = before[&column].1.iter().copied().chain(moved).collect();
                prop_assert_eq!(rows, expected, "{:?} of {}", column, target);
            }
            prop_assert!(both.calls.start[counts.0 as usize..].iter().all(|start| *start == shift));
        }

        /// In a part of a trace, each reference is to the row that it was to, or to none.
        #[test]
        fn references_of_a_part_are_to_rows_that_stay(
            numbers in proptest::collection::vec(any::<u32>(), 1..200),
            stay in proptest::collection::vec(any::<bool>(), 5),
        ) {
            let mut whole = trace(5, &numbers);
            let before = references(&mut whole);
            let mut part = whole.clone();
            let marks = whole.rows().map(|_| Some(stay.clone()));
            part.retain(&marks);
            let kept: Vec<u32> = (0..5).filter(|row| stay[*row as usize]).collect();
            for (column, (_, rows)) in references(&mut part) {
                let of = &before[&column].1;
                let expected = kept.iter().map(|row| {
                    kept.iter().position(|kept| *kept == of[*row as usize]).map_or(GONE, |row| row as u32)
                });
                prop_assert_eq!(rows, expected.collect::<Vec<_>>(), "{:?}", column);
            }
        }
    }

    #[test]
    fn a_reference_to_no_row_is_found_in_every_column() {
        let whole = trace(3, &[GONE]);
        let columns = references(&mut whole.clone());
        assert!(crate::check::check(&whole).is_ok());
        for of in columns.keys() {
            let mut broken = whole.clone();
            broken.references(&mut |table, column, _, rows| {
                if (table, column) == *of {
                    rows[2] = 3;
                }
            });
            assert!(crate::check::check(&broken).is_err(), "{of:?}");
        }
    }
}
