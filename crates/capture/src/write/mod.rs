//! The process's spool file and the records that each thread appends to it.

pub mod before_start;
pub mod chunk_end;
pub mod clock_records;
pub mod notes;
pub mod pace;
pub mod persistent;
pub mod process;
pub mod switch;
pub mod texts;
pub mod thread_end;
pub mod thread_writer;
pub mod windows;
pub mod writer;
