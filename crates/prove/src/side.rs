//! The two sides of a comparison.

/// Which of the two commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The baseline.
    Before,
    /// The command that is compared with it.
    After,
}

impl Side {
    /// `before` or `after`.
    pub fn id(self) -> &'static str {
        match self {
            Side::Before => "before",
            Side::After => "after",
        }
    }
}
