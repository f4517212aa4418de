//! Waits of calls for CUDA's locks, and which lock each is for.

mod convoy;
mod mutexes;

pub use convoy::{Convoys, Mutex};
pub use mutexes::{CHANCE, Mutexes};
