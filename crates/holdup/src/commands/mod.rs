//! One file per command.

pub mod calibrate;
pub mod case;
pub mod causes;
pub mod completions;
pub mod devices;
pub mod diff;
pub mod digest;
#[cfg(target_os = "linux")]
pub mod doctor;
pub mod explain;
mod explanation;
pub mod export;
pub mod fleet;
mod gains;
pub mod import;
pub mod lab;
pub mod listing;
pub mod man;
pub mod places;
#[cfg(unix)]
pub mod prove;
#[cfg(target_os = "linux")]
pub mod record;
pub mod replay;
mod source_lines;
pub mod stats;
pub mod view;
pub mod whatif;
