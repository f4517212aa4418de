//! Workloads as programs of the machine: calls with the costs of a model, and the trace and outcome of a run.

mod allocations;
mod compile;
mod costs;
mod effects;
mod functions;
mod memory;
mod operations;
mod plan;
mod record;
mod rounds;
mod run;
mod state;
mod steps;

pub(crate) use run::run;
