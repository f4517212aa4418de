//! Reason why results are incomplete.

/// Why the results are incomplete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    /// Reason for the end of the run.
    pub why: String,
    /// Variants that were not run.
    pub missing: usize,
    /// Variants that lack rounds, the times of their calls or their trace.
    pub incomplete: usize,
    /// Variants that were to be run.
    pub of: usize,
}

impl std::fmt::Display for Partial {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Partial { why, missing, incomplete, of } = self;
        write!(to, "{why}; the results are partial: ")?;
        match (missing, incomplete) {
            (_, 0) => write!(to, "{missing} of {of} variants are missing"),
            (0, _) => write!(to, "{incomplete} of {of} variants are incomplete"),
            _ => write!(to, "{missing} of {of} variants are missing, and {incomplete} more incomplete"),
        }
    }
}
