//! Digests of traces. A digest has what a comparison of thousands of ranks needs of one of them: account, verdict, findings,
//! steps, and each collective with what the rank did before it. It is a group of rows of a Parquet file, of at most
//! [`LIMIT`] bytes, and all digests have one schema ([`COLUMNS`]), so that SQL can read thousands of them at once.
//!
//! - [`Identity`]: the run and the rank of a trace, and how they are known.
//! - [`digest()`]: the rows of a trace, in several levels of detail.
//! - [`Files`]: rows of several traces as Parquet files, whose names follow from what is in them.

mod cells;
mod collectives;
mod digest;
mod encode;
mod identity;
mod text;

pub use cells::{COLUMNS, Column, Kind, Row};
pub use digest::{Digest, digest, unreadable};
pub use encode::{EncodeError, Files, LIMIT};
pub use identity::{From, Given, Identity};
