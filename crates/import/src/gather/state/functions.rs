//! Functions whose calls wrappers recorded, and what their calls need of those before them.

use crate::gather::order::Work;
use crate::suffix;
use rustc_hash::FxHashMap;
use trace::{Api, Ns, SyncKind};

/// Properties of a function, by its name.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    pub api: Api,
    /// The work that its calls issue to a GPU.
    pub work: Work,
    /// Kind of synchronization that its calls wait for.
    pub waits: SyncKind,
    pub records_event: bool,
    /// Where its calls name no stream, it is the thread's own default one.
    pub own_default: bool,
}

impl Function {
    /// By its name as the wrapper knows it.
    pub fn of(name: &str) -> Function {
        let own_default = name.ends_with("_ptsz") || name.ends_with("_ptds");
        let api = if name.starts_with("cuda") { Api::Runtime } else { Api::Driver };
        let bare = suffix::bare(name);
        let rest = bare.strip_prefix(if api == Api::Runtime { "cuda" } else { "cu" }).unwrap_or(bare);
        let waits = match rest {
            "StreamSynchronize" => SyncKind::Stream,
            "EventSynchronize" => SyncKind::Event,
            "StreamWaitEvent" => SyncKind::StreamWaitEvent,
            "CtxSynchronize" | "DeviceSynchronize" => SyncKind::Context,
            _ => SyncKind::Unknown,
        };
        let work = if api == Api::Driver { Work::of(rest) } else { Work::None };
        let records_event = rest.starts_with("EventRecord");
        Function { api, work, waits, records_event, own_default }
    }
}

/// State that calls need of those before them.
#[derive(Default)]
pub(crate) struct Wrapped {
    pub functions: FxHashMap<u32, Function>,
    /// The stream in which each event was last recorded: when, and the handle.
    pub events: FxHashMap<u32, (Ns, u64)>,
    /// Streams by handle at level light, numbered as they appear; the default stream is 0.
    pub handles: FxHashMap<u64, i64>,
}
