//! The catalogue of experiments: each shows one thing that holds up CUDA programs, and how much it costs.
//!
//! An [`Experiment`] is data and functions of data: the variants that its settings make, each a workload and how to read
//! its outcome, the columns of its rows, and the verdict. A [`Session`] runs the variants on a [`Runner`], this machine's
//! GPUs or a model, and gives [`Results`], which [`document`], [`html()`] and [`json()`] show.
//!
//! ```
//! use experiments::{Request, Runner, Session};
//! use std::sync::atomic::AtomicBool;
//!
//! let experiment = experiments::experiment("overlap")?;
//! let runner = Runner::named(Some("sim:c1060"))?;
//! let request = Request { set: vec![String::from("memory=pinned")], ..Request::default() };
//! let session = Session::new(experiment, runner.bench(), &request)?;
//! let quiet = AtomicBool::new(false);
//! let results = session.run(
//!     &mut |workload, want| runner.run(workload, want, &quiet),
//!     &quiet,
//!     &mut |_| {},
//! )?;
//! // Sequential, depth-first and breadth-first.
//! assert_eq!(results.rows.len(), 3);
//! assert!(results.rows[2].value("ms") < results.rows[0].value("ms"));
//! # Ok::<(), String>(())
//! ```

pub mod catalogue;
mod experiment;
mod results;
mod session;
mod show;

pub use catalogue::{CATALOGUE, experiment};
pub use experiment::{
    AUTOMATIC, Bench, Cell, Column, Experiment, Holds, HostMemory, Kind, Layout, Near, Parameter, Place,
    Plan, Reading, Relation, Settings, Submit, Take, Unit, Values, Variant, View, Waiting, Word,
};
pub use results::{Change, Comparison, Figure, Partial, Results, Row, json};
pub use session::{Execute, Failure, Progress, Request, Run, Runner, Session, Want, only};
pub use show::{Fact, Machine, Sheet, describe, document, html, list, list_json, single, single_json};
