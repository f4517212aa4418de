//! Replays of recordings, of traces that the simulator made, and of made-up traces.

mod batched_copies;
mod changes;
mod collectives;
mod convoy;
mod delays;
mod device_scalar;
mod examples;
mod exits;
mod frees;
mod full_device;
mod gains;
mod graph;
mod libraries;
mod lines;
mod locks;
mod made_up;
mod more_cpus;
mod no_gil;
mod oracle;
mod own_stream;
mod processes;
mod processors;
mod ranking;
mod removed;
mod staged_copies;
mod support;
mod threads;
mod untraced;
mod warm_up;

#[path = "../../../explain/tests/random/mod.rs"]
mod random;
