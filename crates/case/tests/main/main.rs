//! Cases of recorded and of simulated traces: what the reproduction shows, what the extract has, and what no file has.

mod generated;
mod names;
mod shown;
mod support;
