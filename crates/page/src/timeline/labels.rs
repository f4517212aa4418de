//! The labels of boxes, each distinct one once.

use crate::html::shown;
use explain::{About, Cause, Class, Family, Nature};
use rustc_hash::FxHashMap;
use serde::Serialize;
use trace::{Api, CopyKind, MemoryKind, Sym, Trace};

/// Most text of all labels together, bytes. A choice: ten thousand long kernel names fit.
const MOST_TEXT: usize = 4 << 20;

/// The look of a box: its color and pattern in the page.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BoxStyle {
    Launch,
    Copy,
    /// A copy from or to pageable memory.
    Pageable,
    Fill,
    Sync,
    /// Calls that allocate, pin or free memory.
    Memory,
    /// Calls that load code or create contexts and streams.
    Setup,
    Other,
    Kernel,
    /// A kernel that exchanges data between GPUs.
    Communication,
    Range,
    Lost,
    /// Time that the program chose to wait.
    Waited,
    /// Time in which a GPU had nothing to do, by the family of its cause.
    IdleLock,
    IdleMemory,
    IdleSync,
    IdleSetup,
    IdleHost,
    IdleCalls,
    IdleAsleep,
    IdleUnknown,
}

impl BoxStyle {
    /// The look of idle time.
    pub fn idle(family: Family) -> BoxStyle {
        match family {
            Family::Lock => BoxStyle::IdleLock,
            Family::Memory => BoxStyle::IdleMemory,
            Family::Sync => BoxStyle::IdleSync,
            Family::Setup => BoxStyle::IdleSetup,
            Family::Host => BoxStyle::IdleHost,
            Family::Calls => BoxStyle::IdleCalls,
            Family::Asleep => BoxStyle::IdleAsleep,
            Family::Unknown => BoxStyle::IdleUnknown,
        }
    }
}

/// One label: text and look; for lost time also the finding (index) and the row that was waited for.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize)]
pub(crate) struct Label {
    #[serde(rename = "t")]
    pub text: String,
    #[serde(rename = "l")]
    pub look: BoxStyle,
    #[serde(rename = "f", skip_serializing_if = "Option::is_none")]
    pub finding: Option<u32>,
    #[serde(rename = "r", skip_serializing_if = "Option::is_none")]
    pub row: Option<u32>,
    /// For idle time: the rows of the chain's threads, first that of the thread whose call ended it, last the root.
    #[serde(rename = "c", skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<u32>,
    /// Number of boxes with it, without those of engines, which are drawn elsewhere too.
    #[serde(rename = "n")]
    pub count: u64,
}

impl Label {
    fn of(text: String, look: BoxStyle) -> Label {
        Label { text, look, finding: None, row: None, chain: Vec::new(), count: 0 }
    }
}

/// The direction and memory kinds of a copy or fill.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Moved {
    pub kind: CopyKind,
    pub src: MemoryKind,
    pub dst: MemoryKind,
}

impl Moved {
    fn is_pageable(self) -> bool {
        [self.src, self.dst].contains(&MemoryKind::Pageable)
    }

    /// `DtoH device → pageable`, as in the table of copies.
    fn text(self) -> String {
        match (self.kind, self.src, self.dst) {
            (CopyKind::Unknown, MemoryKind::Unknown, MemoryKind::Unknown) => String::new(),
            (CopyKind::Unknown, MemoryKind::Unknown, dst) => dst.to_string(),
            (kind, MemoryKind::Unknown, MemoryKind::Unknown) => kind.to_string(),
            (kind, src, dst) => format!("{kind} {src} → {dst}"),
        }
    }
}

/// All labels of a timeline.
pub(crate) struct Labels<'a> {
    trace: &'a Trace,
    all: Vec<Label>,
    by_label: FxHashMap<Label, u32>,
    calls: FxHashMap<(Sym, Api, Moved), u32>,
    ops: FxHashMap<(Sym, BoxStyle, Moved), u32>,
    ranges: FxHashMap<Sym, u32>,
    text: usize,
    /// Number of labels for which there was no room.
    pub nameless: u64,
}

impl<'a> Labels<'a> {
    pub fn new(trace: &'a Trace) -> Labels<'a> {
        Labels {
            trace,
            all: Vec::new(),
            by_label: FxHashMap::default(),
            calls: FxHashMap::default(),
            ops: FxHashMap::default(),
            ranges: FxHashMap::default(),
            text: 0,
            nameless: 0,
        }
    }

    pub fn call(&mut self, name: Sym, api: Api, moved: Moved) -> u32 {
        if let Some(label) = self.calls.get(&(name, api, moved)) {
            return *label;
        }
        let text = self.trace.text(name);
        let look = match explain::classify(text) {
            _ if api == Api::Os => BoxStyle::Other,
            Class::Launch => BoxStyle::Launch,
            Class::Copy { .. } if moved.is_pageable() => BoxStyle::Pageable,
            Class::Copy { .. } => BoxStyle::Copy,
            Class::Fill => BoxStyle::Fill,
            Class::Sync => BoxStyle::Sync,
            Class::Allocate | Class::Release => BoxStyle::Memory,
            Class::Load | Class::Create => BoxStyle::Setup,
            Class::Query | Class::Os | Class::Other => BoxStyle::Other,
        };
        let label = self.add(named(text, &moved.text()), look);
        self.calls.insert((name, api, moved), label);
        label
    }

    /// A GPU operation; `look` is that of a kernel, copy or fill.
    pub fn op(&mut self, name: Sym, look: BoxStyle, moved: Moved) -> u32 {
        let look = if look == BoxStyle::Copy && moved.is_pageable() { BoxStyle::Pageable } else { look };
        if let Some(label) = self.ops.get(&(name, look, moved)) {
            return *label;
        }
        let key = (name, look, moved);
        let look = match look {
            BoxStyle::Kernel if explain::communicates(self.trace.text(name)) => BoxStyle::Communication,
            look => look,
        };
        let text = match (look, self.trace.text(name)) {
            (BoxStyle::Copy | BoxStyle::Pageable, _) => named("copy", &moved.text()),
            (BoxStyle::Fill, _) => named("fill", &moved.text()),
            (_, "") => String::from("unnamed kernel"),
            (_, name) => name.to_owned(),
        };
        let label = self.add(text, look);
        self.ops.insert(key, label);
        label
    }

    pub fn range(&mut self, name: Sym) -> u32 {
        if let Some(label) = self.ranges.get(&name) {
            return *label;
        }
        let label = self.add(self.trace.text(name).to_owned(), BoxStyle::Range);
        self.ranges.insert(name, label);
        label
    }

    /// Time that a finding counts; `row` is the row that was waited for.
    pub fn lost(&mut self, cause: Cause, text: String, finding: Option<u32>, row: Option<u32>) -> u32 {
        let look = match About::of(cause).nature {
            Nature::Asked => BoxStyle::Waited,
            Nature::Lost | Nature::Unknown => BoxStyle::Lost,
        };
        self.intern(Label { finding, row, ..Label::of(text, look) })
    }

    /// Time in which a GPU did these kinds of work.
    pub fn busy(&mut self, text: &str, look: BoxStyle) -> u32 {
        self.add(text.to_owned(), look)
    }

    /// Time in which a GPU was idle because of a cause; `chain` are the rows of the threads that led to it.
    pub fn idle(&mut self, cause: Cause, text: String, chain: Vec<u32>) -> u32 {
        self.intern(Label { chain, ..Label::of(text, BoxStyle::idle(About::of(cause).family)) })
    }

    pub fn all(self) -> Vec<Label> {
        self.all
    }

    fn add(&mut self, text: String, look: BoxStyle) -> u32 {
        self.intern(Label::of(text, look))
    }

    fn intern(&mut self, label: Label) -> u32 {
        let text = shown(&label.text);
        let text = if self.text + text.len() > MOST_TEXT {
            self.nameless += 1;
            String::from("(name omitted)")
        } else {
            text
        };
        let label = Label { text, ..label };
        if let Some(known) = self.by_label.get(&label) {
            return *known;
        }
        self.text += label.text.len();
        let number = self.all.len() as u32;
        self.all.push(label.clone());
        self.by_label.insert(label, number);
        number
    }
}

fn named(name: &str, detail: &str) -> String {
    match (name, detail) {
        ("", "") => String::from("unnamed"),
        (name, "") => name.to_owned(),
        (name, detail) => format!("{name} {detail}"),
    }
}
