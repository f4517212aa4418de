//! The form of a listing: for people or for programs.

/// The form of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Aligned columns with units; columns that hold nothing are left out. On a page of so many columns those go that matter
    /// least, and a name is cut in the middle; without, lines are as long as they get.
    Text(Option<usize>),
    /// All columns with a header line; nanoseconds and bytes.
    Csv,
    /// One JSON object a line; nanoseconds and bytes.
    Json,
}
