//! All names of events, each with a number: the trace's own texts, then its source places and names created here.

use explain::Place;
use rustc_hash::FxHashMap;
use trace::{CopyKind, FrameId, MemoryKind, OpId, OpKind, StackId, Sym, Trace};

/// A name, by its owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Name {
    /// A text of the trace.
    Own(Sym),
    /// A text created here.
    More(u32),
}

impl From<Sym> for Name {
    fn from(sym: Sym) -> Name {
        Name::Own(sym)
    }
}

/// The properties that name a copy or a fill; kernels have their own names.
type Transfer = (OpKind, CopyKind, MemoryKind, MemoryKind);

/// All names of a trace.
pub(crate) struct Names<'a> {
    trace: &'a Trace,
    /// Names after the trace's own; those of its frames first.
    more: Vec<String>,
    transfers: FxHashMap<Transfer, Name>,
    places: FxHashMap<StackId, Option<Name>>,
}

impl<'a> Names<'a> {
    pub fn new(trace: &'a Trace) -> Names<'a> {
        let more = trace.frames.ids().map(|frame| frame_text(trace, frame)).collect();
        let mut names = Names { trace, more, transfers: FxHashMap::default(), places: FxHashMap::default() };
        names.name_transfers();
        names.name_places();
        names
    }

    fn name_transfers(&mut self) {
        let trace = self.trace;
        for op in trace.ops.ids().filter(|op| !has_own_name(trace, *op)) {
            let key = transfer(trace, op);
            if !self.transfers.contains_key(&key) {
                let name = self.add(report::op_name(trace, op));
                self.transfers.insert(key, name);
            }
        }
    }

    fn name_places(&mut self) {
        let Trace { calls, ranges, waits, .. } = self.trace;
        let of_waits = [&waits.stack, &waits.holder_stack, &waits.releaser_stack];
        let others = [&calls.stack, &ranges.stack, &self.trace.samples.stack];
        let all = of_waits.into_iter().chain(others).flatten();
        for stack in all.filter_map(|stack| stack.some()) {
            if !self.places.contains_key(&stack) {
                let place = explain::place_of_stack(self.trace, stack);
                let name = place.map(|place| self.add(place_text(&place)));
                self.places.insert(stack, name);
            }
        }
    }

    /// Adds a name that is not the trace's.
    pub fn add(&mut self, text: String) -> Name {
        self.more.push(text);
        Name::More((self.more.len() - 1) as u32)
    }

    /// The name of an operation: see [`report::op_name`].
    pub fn of_op(&self, op: OpId) -> Name {
        match has_own_name(self.trace, op) {
            true => self.trace.ops.name[op.index()].into(),
            false => self.transfers[&transfer(self.trace, op)],
        }
    }

    /// The most useful place of a stack, `train.py:34 step`; `None` for an empty stack.
    pub fn of_place(&self, stack: StackId) -> Option<Name> {
        self.places.get(&stack).copied().flatten()
    }

    /// A frame, `step (train.py:34)`.
    pub fn of_frame(&self, frame: FrameId) -> Name {
        Name::More(frame.index() as u32)
    }

    pub fn text(&self, name: Name) -> &str {
        match name {
            Name::Own(sym) => self.trace.text(sym),
            Name::More(at) => &self.more[at as usize],
        }
    }

    /// The name's number, dense from 0.
    pub fn index(&self, name: Name) -> usize {
        match name {
            Name::Own(sym) => sym.index(),
            Name::More(at) => self.trace.strings.len() + at as usize,
        }
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.trace.strings.len() + self.more.len()
    }
}

fn has_own_name(trace: &Trace, op: OpId) -> bool {
    let transfers = matches!(trace.ops.kind[op.index()], OpKind::Copy | OpKind::Memset);
    !transfers && !trace.ops.name[op.index()].is_empty()
}

fn transfer(trace: &Trace, op: OpId) -> Transfer {
    let (ops, at) = (&trace.ops, op.index());
    (ops.kind[at], ops.copy[at], ops.src[at], ops.dst[at])
}

/// `train.py:34 step`
pub(crate) fn place_text(place: &Place) -> String {
    let line = if place.line > 0 { format!(":{}", place.line) } else { String::new() };
    let gap = if place.file.is_empty() || place.function.is_empty() { "" } else { " " };
    format!("{}{line}{gap}{}", place.file, place.function)
}

/// `step (train.py:34)`
fn frame_text(trace: &Trace, frame: FrameId) -> String {
    let row = trace.frames.row(frame);
    let file = trace.text(if row.file.is_empty() { row.module } else { row.file });
    let line = if row.line > 0 { format!(":{}", row.line) } else { String::new() };
    match (trace.text(row.function), file) {
        ("", file) => format!("{file}{line}"),
        (function, "") => function.to_owned(),
        (function, file) => format!("{function} ({file}{line})"),
    }
}
