//! The catalogue of experiments: each shows one thing that holds up CUDA programs, and how much it costs.
//!
//! An [`Experiment`] is data and functions of data: the variants that its settings make, each a workload and how to read
//! its outcome, and what the numbers say. A [`Session`] runs them by whatever executes a workload: a [`Runner`].

mod across;
mod baseline;
mod calls;
pub mod catalogue;
mod cell;
mod charts;
mod columns;
mod devices;
mod experiment;
mod html;
mod json;
mod list;
mod markdown;
mod parameters;
mod read;
#[cfg(target_os = "linux")]
mod recorded;
mod results;
mod run;
mod runner;
mod single;
mod text;
mod timelines;
mod together;
mod words;

pub use baseline::{Change, Comparison};
pub use cell::Cell;
pub use devices::{Fact, Machine, Sheet};
pub use experiment::{Bench, Experiment, Plan, Reading, Relation, Variant, View};
pub use html::html;
pub use json::json;
pub use list::{CATALOGUE, describe_text, experiment, list_json, list_text};
pub use markdown::markdown;
pub use parameters::{AUTOMATIC, Kind, Parameter, Settings};
pub use results::{Figure, Partial, Results, Row, Unit};
pub use run::{Execute, Failure, Progress, Request, Run, Session, Want, only};
pub use runner::Runner;
pub use single::{single_json, single_text};
pub use text::text;
pub use words::{HostMemory, Layout, Near, Place, Submit, Take, Waiting, Word};
