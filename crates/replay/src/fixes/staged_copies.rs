//! Copies of pageable memory through page-locked buffers of the program's own.

use super::pinned_reused::is_changed;
use super::scene::{At, Copied};
use super::{Fix, Scene};
use crate::{Recovered, StepOf};
use rustc_hash::{FxHashMap, FxHashSet};
use sim::{CallOf, Does, Locks, RecordedStep, Rows, Rule, Until, Work, WorkKind};
use std::sync::Arc;
use trace::{CallId, CopyKind, Ns};

pub(super) const FIX: Fix = Fix {
    id: "staged-copies",
    text: "copy piece by piece through two pinned buffers of the program's own, where its memory itself cannot be pinned",
    safety: "safe if each thread has buffers of its own",
    apply,
};

/// The size of a buffer, bytes: a choice. To issue a piece and to wait for it takes less than a tenth of the time of its bytes.
const PIECE: i64 = 1 << 20;

/// Most pieces of a copy, a choice: larger copies have larger buffers, so that a trace of large copies does not become long.
const MOST: i64 = 64;

/// A copy becomes pieces. The thread itself copies each between its memory and one of two page-locked buffers, which are free when the
/// piece before the last one is done, and holds no lock meanwhile. To the device the call returns when the last piece is issued; to the
/// host, when the thread has copied the last piece.
fn apply(scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let is_pageable = |to: &Recovered, copy: &Copied| {
        // Another change may have pinned its memory.
        matches!(to.recorded.works[copy.row as usize].kind, WorkKind::Copy { pinned: false, .. })
    };
    let staged = |at: At| {
        let copy = scene.copy(&at.call).filter(|copy| is_changed(scene, &at) && is_pageable(to, copy))?;
        let Does::Issue { works: Rows { count: 1, .. }, .. } = at.call.does else { return None };
        Some((at.id, copy))
    };
    let copies: FxHashMap<CallId, Copied> = scene.calls().filter_map(staged).collect();
    if copies.is_empty() {
        return 0;
    }
    for row in 0..to.steps.len() {
        Stager::of(to).thread(row, scene, &copies, to);
    }
    let holds = |at: At| at.call.holds.filter(|_| copies.contains_key(&at.id));
    let numbers: FxHashSet<u32> =
        scene.calls().filter_map(holds).map(|(number, _): (u32, Until)| number).collect();
    to.lets_pass(scene, |_, number| numbers.contains(&number));
    copies.len()
}

/// Makes the steps of one thread.
struct Stager {
    copy: Rule,
    event: Rule,
    synchronize: Rule,
    /// The thread's copy of memory, MB/s.
    host_mb_s: u64,
    steps: Vec<RecordedStep>,
    of: Vec<StepOf>,
    begins: Vec<Ns>,
    /// The piece that each of the two buffers had last, if it went to the device: works.
    buffers: [Option<u32>; 2],
    next: usize,
}

impl Stager {
    fn of(to: &Recovered) -> Stager {
        let rules = &to.model.calls;
        Stager {
            copy: rules.copy.clone(),
            event: rules.event.clone(),
            synchronize: rules.synchronize.clone(),
            host_mb_s: to.model.host.mb_s,
            steps: Vec::new(),
            of: Vec::new(),
            begins: Vec::new(),
            buffers: [None; 2],
            next: 0,
        }
    }

    /// Replaces the copies among the steps of a thread.
    fn thread(
        mut self,
        row: usize,
        scene: &Scene<'_>,
        copies: &FxHashMap<CallId, Copied>,
        to: &mut Recovered,
    ) {
        let copy_of = |of: &StepOf| match of {
            StepOf::Call(id) => copies.get(id),
            _ => None,
        };
        if to.steps[row].iter().all(|of| copy_of(of).is_none()) {
            return;
        }
        let of = std::mem::take(&mut Arc::make_mut(&mut to.steps)[row]);
        let begins = std::mem::take(&mut Arc::make_mut(&mut to.begins)[row]);
        for (at, step) in std::mem::take(&mut to.recorded.threads[row]).into_iter().enumerate() {
            match (step, copy_of(&of[at])) {
                (RecordedStep::Call(call), Some(copy)) => {
                    let first = self.steps.len();
                    self.pieces(&call, copy, scene, to);
                    // The call begins with its first step. That it ends with its last one is what the next step says.
                    let (count, end) = (self.steps.len() - first, begins[at + 1]);
                    self.begins.push(begins[at]);
                    self.begins.extend(std::iter::repeat_n(end, count - 1));
                    self.of.push(of[at]);
                    self.of.extend(std::iter::repeat_n(StepOf::Part, count - 1));
                }
                _ => {
                    self.steps.push(step);
                    self.of.push(of[at]);
                    self.begins.push(begins[at]);
                }
            }
        }
        self.begins.extend(begins.last());
        to.recorded.threads[row] = self.steps;
        Arc::make_mut(&mut to.steps)[row] = self.of;
        Arc::make_mut(&mut to.begins)[row] = self.begins;
    }

    /// The steps of one copy.
    fn pieces(&mut self, call: &CallOf, copy: &Copied, scene: &Scene<'_>, to: &mut Recovered) {
        let size = PIECE.max((copy.bytes + MOST - 1) / MOST);
        let sizes: Vec<i64> =
            (0..copy.bytes).step_by(size as usize).map(|at| size.min(copy.bytes - at)).collect();
        let works = works(&sizes, copy, scene, to);
        let host: Vec<Ns> = sizes.iter().map(|bytes| transfer(*bytes, self.host_mb_s)).collect();
        let mut issue = CallOf {
            before_ns: self.copy.before_ns,
            held_ns: self.copy.held_ns,
            after_ns: self.copy.after_ns + self.event.before_ns + self.event.held_ns + self.event.after_ns,
            // Its lock is that of the context as far as the replay has it at all.
            locks: if call.locks == Locks::default() { call.locks } else { Locks::of(&self.copy) },
            behind: call.behind,
            ..CallOf::default()
        };
        let to_device = copy.kind == CopyKind::HtoD;
        for at in 0..works.len() {
            self.frees_buffer(to);
            let filled = if to_device { host[at] } else { 0 };
            let does = Does::Issue { works: Rows { first: works[at], count: 1 }, waits: false };
            self.steps.push(RecordedStep::Call(CallOf {
                before_ns: issue.before_ns + filled,
                does,
                ..issue
            }));
            issue.behind = Rows::default();
            self.buffers[self.next] = Some(works[at]).filter(|_| to_device);
            self.next = 1 - self.next;
            // To the host, a piece is copied while the next one is transferred.
            if let Some(before) = at.checked_sub(1).filter(|_| !to_device) {
                self.awaits(works[before], host[before], to);
            }
        }
        if let (Some(work), Some(host), false) = (works.last(), host.last(), to_device) {
            self.awaits(*work, *host, to);
        }
    }

    /// Waits until the next buffer has been copied to the device.
    fn frees_buffer(&mut self, to: &mut Recovered) {
        if let Some(work) = self.buffers[self.next].take() {
            self.awaits(work, 0, to);
        }
    }

    /// Waits for a piece, and then copies so long.
    fn awaits(&mut self, work: u32, then: Ns, to: &mut Recovered) {
        let first = to.recorded.awaited.len() as u32;
        to.recorded.awaited.push(work);
        self.steps.push(RecordedStep::Call(CallOf {
            before_ns: self.synchronize.before_ns,
            held_ns: self.synchronize.held_ns,
            after_ns: self.synchronize.after_ns + then,
            does: Does::Await(Rows { first, count: 1 }),
            ..CallOf::default()
        }));
    }
}

/// The operations of the pieces. The last one is the copy's own: what waits for the copy waits for that.
fn works(sizes: &[i64], copy: &Copied, scene: &Scene<'_>, to: &mut Recovered) -> Vec<u32> {
    let copies = &to.model.copies;
    let rates = if copy.kind == CopyKind::HtoD { &copies.to_device } else { &copies.to_host };
    let (latency, mb_s) = (rates.latency_ns.unwrap_or(copies.latency_ns), rates.pinned_mb_s);
    let kind = WorkKind::Copy { kind: copy.kind, pinned: true };
    let own = to.recorded.works[copy.row as usize];
    let piece = |bytes: i64| Work {
        kind,
        ns: latency + transfer(bytes, mb_s),
        latency_ns: None,
        gap_ns: None,
        after: None,
        ..own
    };
    let first = to.recorded.works.len() as u32;
    let (last, others) = sizes.split_last().map_or((copy.bytes, &[][..]), |(last, others)| (*last, others));
    to.recorded.works.extend(others.iter().map(|bytes| piece(*bytes)));
    to.recorded.works[copy.row as usize] = piece(last);
    let rows: Vec<u32> = (first..).take(others.len()).chain([copy.row]).collect();
    to.recorded.works[rows[0] as usize].after = own.after;
    if let Some(op) = scene.op(copy.row).some() {
        Arc::make_mut(&mut to.works)[op.index()].0 = rows[0];
        to.pieces.insert(rows[0], copy.row);
    }
    rows
}

/// The time of bytes at a rate, ns.
fn transfer(bytes: i64, mb_s: u64) -> Ns {
    (i128::from(bytes.max(0)) * 1_000 / i128::from(mb_s.max(1))) as Ns
}
