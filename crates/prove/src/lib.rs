//! Runs two commands by turns and judges whether the new one is faster.
//!
//! [`Arm`] is a command, [`Metric`] what is measured of a run, [`Plan`] the order of runs and when they are enough.
//! [`prove`] runs and returns a [`Proof`]; [`Processes`] runs real commands. The statistics are in [`judge`] and nowhere else.
//!
//! ```
//! use prove::judge::{Block, Sense, judge};
//!
//! let blocks = [0.0, 0.1, -0.1, 0.05].map(|noise| Block { before: [10.0, 10.1 + noise], after: [8.0, 8.1] });
//! let judgement = judge(&blocks, Sense::LessIsBetter).expect("two blocks or more");
//! assert!(judgement.gain.low > 0.19 && judgement.gain.high < 0.21);
//! ```

mod arms;
mod error;
pub mod judge;
mod metric;
mod outputs;
mod plan;
mod proof;
#[cfg(unix)]
mod run;
mod side;
mod student;

pub use arms::{Arm, Variable};
pub use error::{Error, Problem};
pub use metric::Metric;
pub use outputs::{Agreement, Difference};
pub use plan::Plan;
pub use proof::{Progress, Proof, Run, Runner, Tested, prove};
#[cfg(unix)]
pub use run::Processes;
pub use side::Side;
