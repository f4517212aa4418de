//! Tables as structures of arrays. One declaration gives the columns, the row, and their conversion to and from files.

/// Declares a table: `name` in files, a row type, and a columns type with one `Vec` per column.
///
/// A column's type says what becomes of it where rows move, within a trace or to another one ([`crate::moved`]): typed row
/// numbers follow the rows, a [`Sym`](crate::Sym) the text, and a [`Moment`](crate::Moment) the trace's time. All else stays
/// as it is.
macro_rules! table {
    (
        $(#[$doc:meta])*
        $name:literal $row:ident $columns:ident $id:ident
        { $($(#[$column_doc:meta])* $column:ident: $cell:ident,)+ }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $row { $($(#[$column_doc])* pub $column: $cell,)+ }

        impl Default for $row {
            fn default() -> Self {
                $row { $($column: <$cell as $crate::cell::Cell>::MISSING,)+ }
            }
        }

        #[doc = concat!("The table of [`", stringify!($row), "`] rows, one vector per column.")]
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $columns { $($(#[$column_doc])* pub $column: Vec<$cell>,)+ }

        impl $columns {
            /// The table's name in a `.holdup` file.
            pub const NAME: &'static str = $name;

            /// Number of rows.
            pub fn len(&self) -> usize {
                [$(self.$column.len(),)+][0]
            }

            /// Whether the table has no rows.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Appends a row and returns its number.
            pub fn push(&mut self, row: $row) -> $id {
                let id = $id::new(self.len());
                $(self.$column.push(row.$column);)+
                id
            }

            /// Appends the rows of other tables, columns at the same time.
            pub fn extend(&mut self, tables: &[&$columns]) {
                rayon::scope(|scope| {
                    $(
                        let column = &mut self.$column;
                        scope.spawn(move |_| {
                            tables.iter().for_each(|rows| column.extend_from_slice(&rows.$column));
                        });
                    )+
                });
            }

            /// Removes all rows and keeps the memory for others.
            pub fn clear(&mut self) {
                $(self.$column.clear();)+
            }

            /// Removes the rows whose `keep` is false; the others move up.
            pub(crate) fn retain(&mut self, keep: &[bool]) {
                $({
                    let mut kept = keep.iter();
                    self.$column.retain(|_| *kept.next().unwrap_or(&false));
                })+
            }

            /// The rows whose `keep` is true.
            pub(crate) fn kept(&self, keep: &[bool]) -> $columns {
                let mut rows = $columns::default();
                $({
                    let kept = self.$column.iter().zip(keep).filter(|(_, keep)| **keep);
                    rows.$column.extend(kept.map(|(cell, _)| *cell));
                })+
                rows
            }

            /// Appends the rows of a table of another trace, as they are in this one.
            pub(crate) fn append_moved(&mut self, rows: &$columns, to: &$crate::moved::Moved<'_>) {
                $({
                    let first = self.$column.len();
                    self.$column.extend_from_slice(&rows.$column);
                    $crate::table::moved!($cell, self.$column[first..], to);
                })+
            }

            /// Changes what the rows refer to, as it is now.
            pub(crate) fn moved(&mut self, to: &$crate::moved::Moved<'_>) {
                $($crate::table::moved!($cell, self.$column[..], to);)+
            }

            /// Marks the rows of other tables to which these refer, in tables that have marks.
            pub(crate) fn mark(&self, marks: &mut $crate::moved::Marks) {
                $($crate::cell::Cell::mark(&self.$column, marks);)+
            }

            /// Checks that the rows to which these refer are there, in tables of so many rows.
            pub(crate) fn check_references(
                &self,
                rows: &$crate::moved::Tables<usize>,
            ) -> Result<(), $crate::CellError> {
                $($crate::cell::Cell::check(&self.$column, stringify!($column), rows)?;)+
                Ok(())
            }

            /// Gives `each` the name and the values of each column of text.
            pub(crate) fn texts(&mut self, each: &mut dyn FnMut(&'static str, &mut [$crate::Sym])) {
                $($crate::cell::Cell::texts(&mut self.$column, &mut |texts| {
                    each(stringify!($column), texts);
                });)+
            }

            /// Gives `each` the name, the target and the row numbers of each column that refers to rows.
            #[cfg(test)]
            pub(crate) fn references(
                &mut self,
                each: &mut dyn FnMut(&'static str, &'static str, &mut [u32]),
            ) {
                $($crate::cell::Cell::references(&mut self.$column, &mut |target, rows| {
                    each(stringify!($column), target, rows);
                });)+
            }

            /// The row of that number.
            ///
            /// # Panics
            /// When there is no such row.
            pub fn row(&self, id: $id) -> $row {
                let at = id.index();
                $row { $($column: self.$column[at],)+ }
            }

            /// All row numbers, in order.
            pub fn ids(&self) -> impl DoubleEndedIterator<Item = $id> + ExactSizeIterator + use<> {
                (0..self.len() as u32).map($id)
            }

            /// The columns by name, as in a file.
            pub(crate) fn values(&self, strings: &$crate::Strings) -> Vec<(&'static str, $crate::Values<'_>)> {
                vec![$((stringify!($column), $crate::cell::Cell::values(&self.$column, strings)),)+]
            }

            /// Appends rows of a file.
            pub(crate) fn append(
                &mut self,
                rows: &$crate::columns::Group<'_>,
                strings: &mut $crate::Strings,
            ) -> Result<(), $crate::error::ColumnError> {
                $($crate::cell::append(rows, stringify!($column), &mut self.$column, strings)?;)+
                Ok(())
            }
        }
    };
}

/// Changes a part of a column whose rows are moved.
macro_rules! moved {
    (Moment, $part:expr, $to:expr) => {
        $crate::moved::moments(&mut $part, $to)
    };
    (Ns, $part:expr, $to:expr) => {
        compile_error!("say whether the column has moments or durations")
    };
    ($cell:ident, $part:expr, $to:expr) => {
        <$cell as $crate::cell::Cell>::moved(&mut $part, $to)
    };
}

/// Declares a typed row number; `NONE` means "no row" and is null in files.
macro_rules! row_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// No row.
            pub const NONE: $name = $name(u32::MAX);

            /// The row at `index`.
            ///
            /// # Panics
            /// Past 2³² − 2 rows.
            pub fn new(index: usize) -> $name {
                match u32::try_from(index) {
                    Ok(index) if index != u32::MAX => $name(index),
                    _ => panic!("a table holds at most 2^32 - 1 rows"),
                }
            }

            /// Position of the row in its table's columns.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// Whether this is a row.
            pub fn is_some(self) -> bool {
                self != $name::NONE
            }

            /// Whether this is `NONE`.
            pub fn is_none(self) -> bool {
                self == $name::NONE
            }

            /// The row number, or `None` for [`Self::NONE`].
            pub fn some(self) -> Option<$name> {
                self.is_some().then_some(self)
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $name::NONE
            }
        }

        $crate::table::indexes!($name);
    };
}

/// Lets a number of rows index columns: vectors and slices with a value per row.
macro_rules! indexes {
    ($name:ident) => {
        $crate::table::indexes!($name, Vec<T>);
        $crate::table::indexes!($name, [T]);
    };
    ($name:ident, $column:ty) => {
        impl<T> std::ops::Index<$name> for $column {
            type Output = T;

            #[inline]
            fn index(&self, row: $name) -> &T {
                &self[row.index()]
            }
        }

        impl<T> std::ops::IndexMut<$name> for $column {
            #[inline]
            fn index_mut(&mut self, row: $name) -> &mut T {
                &mut self[row.index()]
            }
        }
    };
}
pub(crate) use {indexes, moved, row_id, table};
