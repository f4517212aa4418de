//! Names of the files of a case.

/// The report.
pub const REPORT: &str = "case.md";
/// The workload.
pub const WORKLOAD: &str = "reproduction.toml";
/// The part of the trace.
pub const TRACE: &str = "trace.holdup";
