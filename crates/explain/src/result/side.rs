//! One side of a wait: the thread that waited or held, and its call.

use crate::Class;
use crate::analysis::parts::Holder;
use crate::facts::Facts;
use crate::facts::stretch::Stretch;
use trace::{CallId, CopyKind, MemoryKind, Sym, ThreadId};

/// A thread and its activity meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Side {
    pub thread: ThreadId,
    pub doing: Doing,
}

/// The activity of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Doing {
    /// In no call of the trace.
    Unseen,
    /// In a call of this name.
    Call(Sym, Work),
    /// In a wait for a lock of this library, in no call of the trace.
    Lock(Sym),
}

/// The kind of a call's copy: calls of one name that copy in different directions are different.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Work {
    pub copy: CopyKind,
    pub src: MemoryKind,
    pub dst: MemoryKind,
}

impl Side {
    pub fn of(facts: &Facts<'_>, stretch: Stretch) -> Side {
        let name = stretch.name(facts.trace);
        let doing = match stretch {
            Stretch::Call(call) => Doing::Call(name, work(facts, call)),
            Stretch::Wait(_) => Doing::Lock(name),
        };
        Side { thread: stretch.thread(facts.trace), doing }
    }

    pub fn holding(facts: &Facts<'_>, holder: Holder) -> Option<Side> {
        match holder {
            Holder::Nobody => None,
            Holder::Call(call) => Some(Side::of(facts, Stretch::Call(call))),
            Holder::Thread(thread) => Some(Side { thread, doing: Doing::Unseen }),
        }
    }

    /// The call's name, or that of the library whose lock was waited for.
    pub fn name(&self) -> Sym {
        match self.doing {
            Doing::Call(name, _) | Doing::Lock(name) => name,
            Doing::Unseen => Sym::default(),
        }
    }

    /// Whether it copied from or to pageable memory.
    pub fn copies_pageable(&self) -> bool {
        matches!(self.doing, Doing::Call(_, work) if [work.src, work.dst].contains(&MemoryKind::Pageable))
    }
}

fn work(facts: &Facts<'_>, call: CallId) -> Work {
    match facts.class(call) {
        Class::Copy { .. } => facts.copied(call).map_or(Work::default(), |copied| Work {
            copy: copied.kind,
            src: copied.src,
            dst: copied.dst,
        }),
        _ => Work::default(),
    }
}
