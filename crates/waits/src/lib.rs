//! Waits of the calls and operations of a trace: for whom, for how long, and why.
//!
//! `calls` has the one definition of an outermost call, `class` the kinds of calls, `operations` divides the wait of each operation among
//! causes and names the operation that it waited for. `cause` and `evidence` are the vocabulary of every output.

mod by_call;
mod calls;
mod cause;
mod class;
mod constants;
mod default_stream;
mod engine;
mod evidence;
mod handovers;
mod index;
mod locks;
mod named;
mod operations;
mod sorting;
mod stream_ends;

pub use by_call::ByCall;
pub use calls::CallOrder;
pub use cause::{AwaitedByCall, Cause};
pub use class::{Class, Classes, Communicating, classify, collective, communicates, makes_context};
pub use constants::{HARDWARE_QUEUES, LAUNCH, NEXT_OPERATION};
pub use default_stream::{beside_default, is_default};
pub use engine::{Ability, Engine};
pub use evidence::{Confidence, Evidence};
pub use handovers::{Rounds, Signal, SignalKind, Signals, within_no_call};
pub use index::{Index, lock_waits, ops_by_device};
pub use locks::{CHANCE, Convoys, Mutex, Mutexes};
pub use operations::{
    Capacity, Grounds, OperationWait, OperationWaits, Piece, SharedQueue, WHOLE, Waits, contexts_take_turns,
    done_before_signal, is_asked_after, launch_floor, started_idle,
};
pub use sorting::{sort_by_times, sort_ops_by_times};
pub use stream_ends::StreamEnds;
