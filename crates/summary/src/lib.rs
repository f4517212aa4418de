//! Reads the summary tables that profilers print, as people paste them, and judges what their sums prove: the tables of
//! PyTorch's `key_averages()`, of nvprof, of `nsys stats`, and of Julia's `CUDA.@profile`.
//!
//! A table has sums of calls and of work, without order, threads, streams or places in the source. [`read`] returns a
//! [`Summary`] of each profile in a text; [`judge()`] makes a [`Judgement`] of it: the [`Verdict`], one [`Reading`] for
//! each share of the time, and the [`Limit`]s of the table. Where the sums allow several reasons, the verdict is
//! [`Verdict::CannotTell`].
//!
//! ```
//! use summary::{Cause, Verdict};
//!
//! let text = "\
//! Profiler ran for 5.03 ms, capturing 29 events.
//!
//! Host-side activity: calling CUDA APIs took 4.95 ms (98.41% of the trace)
//! │ Time (%) │ Total time │ Calls │ Name            │
//! │   98.41% │    4.95 ms │     2 │ cudaMemcpyAsync │
//!
//! Device-side activity: GPU was busy for 4.94 ms (98.21% of the trace)
//! │ Time (%) │ Total time │ Calls │ Name                             │
//! │   98.21% │    4.94 ms │     2 │ sum_kernel                       │
//! │    0.04% │    1.91 µs │     1 │ [copy device to pageable memory] │
//! ";
//! let summaries = summary::read(text.as_bytes())?;
//! assert_eq!(summary::judge(&summaries[0]).verdict, Verdict::Cause(Cause::HiddenSync));
//! # Ok::<(), summary::Malformed>(())
//! ```

mod judge;
mod judgement;
mod model;
mod text;

pub use explain::{Bound, Cause, Confidence, Fix};
pub use judge::judge;
pub use judgement::{Judgement, Limit, Reading, Sight, Step, Verdict};
pub use model::{Memory, Operator, Row, Summary, Tool, Work, WorkKind};
pub use text::{Malformed, read};
