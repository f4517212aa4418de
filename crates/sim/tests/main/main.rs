//! The simulator against what was measured: each seed and each section of the H200 measurements.

mod cells;
mod contradictions;
mod delays;
mod explained;
mod interference;
mod invariants;
mod launch_stall;
mod lost_overlap;
mod multi_gpu;
mod order;
mod overlap;
mod published;
mod queues;
mod recorded;
mod refused;
mod stagger;
mod support;
