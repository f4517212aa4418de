//! Errors of a replay.

/// Why a trace cannot be replayed.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// No operation of a GPU.
    #[error("it has no GPU records, so it does not say how long the GPU works: record at level full")]
    NoOperations,
    /// GPU operations were recorded, but all of their records are lost.
    #[error(
        "its GPU records are lost, so it does not say how long the GPU works: the program ended before they were written"
    )]
    LostOperations,
    /// The GPU's clock does not fit the host's.
    #[error("the GPU's clock does not fit the host's, so it does not say what waited for what")]
    Clocks,
    /// The simulator refuses it.
    #[error(transparent)]
    Sim(#[from] sim::Error),
}
