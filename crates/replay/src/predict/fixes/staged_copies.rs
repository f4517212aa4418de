//! Copies of pageable memory through page-locked buffers of the program's own.

use super::pinned_reused::is_changed;
use super::scene::{At, Copied};
use super::{Fix, Scene};
use crate::{Recovered, StepOf};
use rustc_hash::{FxHashMap, FxHashSet};
use sim::{CallOf, Does, Locks, Rates, RecordedStep, Rows, Rule, Until, Work, WorkKind};
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

/// Part of the driver's copy rate that a thread reaches as it copies pieces: 0.75, 0.75 and 0.82 in three recordings of
/// `staged-upload` of `benches/whatif` before and after, 0.75, 0.75 and 0.81 in three of `staged` (H200); 0.80 and 0.83 on an H100.
const REACHED: f64 = 0.78;

/// Part of the rate of pinned memory that a piece to the host reaches while the thread copies the piece before it: 1 MiB took 24.9, 26.2
/// and 26.8 µs in the mean of the same recordings, and 20.7 in the median (H200); 28.6 and 26.4 on an H100, and 20.4 at least.
const TO_HOST: f64 = 0.75;

/// It is also at most so many times as fast as the driver copies the same memory, a choice: where a thread is slow at copying, it leaves
/// the device less of the memory's rate. 40.1, 40.5 and 43.8 µs in the mean for 1 MiB on an H100 whose driver copied 9.8 to 13.5 GB/s
/// (`staged` before and after), which is 2.1 times as fast; 2.8 times on an H200.
const OF_DRIVER: f64 = 2.5;

/// Part of the rate of pinned memory that a piece to the device reaches, whose bytes the thread has just written and are in its caches:
/// 1 MiB took 49.9, 50.3 and 47.5 µs in the median of the same recordings, where 19 are usual. The last piece of a copy, during which the
/// thread does not copy, took 37 µs.
const TO_DEVICE: f64 = 0.38;
const LAST_TO_DEVICE: f64 = 0.51;

/// Time by which the three calls of a piece take longer than in the model, which has them one after another: the copied bytes replace the
/// driver's in the caches. To wait, to copy and to record took 6.2 µs in the same recordings, of which the recorder's part is 1.5 µs (by
/// the time of the unrecorded program), and as `holdup lab calibrate` measures it 2.4.
const COLD: Ns = 2_300;

/// The rate of a thread, where the driver copied at one rate, and copies memory that is there at another: page faults take both the same
/// time, MB/s.
fn reached(driver: i64, driver_at_best: u64) -> u64 {
    let driver = driver.max(1) as f64;
    let copies = driver.max(driver_at_best as f64);
    (1.0 / (1.0 / driver + (1.0 / REACHED - 1.0) / copies)).max(1.0) as u64
}

/// Part of the rate of pinned memory that a piece to the host reaches, by the rate at which the driver copied in the trace and at which it
/// copies memory that is there, MB/s. Page faults are what takes more than half of it: they are none of the memory's.
fn to_host(driver: Option<i64>, driver_at_best: u64, pinned: u64) -> f64 {
    let memory = driver.map(|driver| (driver as f64).max(driver_at_best as f64 / 2.0));
    memory.map_or(TO_HOST, |mb_s| TO_HOST.min(mb_s * OF_DRIVER / pinned.max(1) as f64))
}

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
    let routes = Routes::of(scene, &copies, to);
    for row in 0..to.steps.len() {
        Stager::of(to, &routes).thread(row, scene, &copies, to);
    }
    let holds = |at: At| at.call.holds.filter(|_| copies.contains_key(&at.id));
    let numbers: FxHashSet<u32> =
        scene.calls().filter_map(holds).map(|(number, _): (u32, Until)| number).collect();
    to.lets_pass(scene, |_, number| numbers.contains(&number));
    to.overtaken.extend(copies.values().map(|copy| copy.row));
    copies.len()
}

/// How pieces go in each direction.
struct Routes {
    to_device: Route,
    to_host: Route,
    /// [`COLD`], where the machine has caches.
    cold_ns: Ns,
}

/// How pieces go in one direction.
#[derive(Clone, Copy)]
struct Route {
    /// How fast a thread copies memory, MB/s.
    by_thread_mb_s: u64,
    /// How fast the device copies a piece, MB/s, and the last one.
    by_device_mb_s: u64,
    last_by_device_mb_s: u64,
    /// Time that the device takes besides, ns.
    latency_ns: Ns,
}

impl Routes {
    fn of(scene: &Scene<'_>, copies: &FxHashMap<CallId, Copied>, to: &Recovered) -> Routes {
        let model = &to.model.copies;
        let route = |rates: &Rates, of_pinned: f64, last: f64, driver: Option<i64>| Route {
            by_thread_mb_s: driver.map_or(to.model.host.mb_s, |driver| reached(driver, rates.pageable_mb_s)),
            by_device_mb_s: (rates.pinned_mb_s as f64 * of_pinned) as u64,
            last_by_device_mb_s: (rates.pinned_mb_s as f64 * last) as u64,
            latency_ns: rates.latency_ns.unwrap_or(model.latency_ns),
        };
        let [in_mb_s, out_mb_s] =
            [CopyKind::HtoD, CopyKind::DtoH].map(|kind| Routes::by_driver(kind, copies, to));
        // A simulated machine has no caches.
        if !scene.is_of_a_machine() {
            let to_device = route(&model.to_device, 1.0, 1.0, in_mb_s);
            return Routes { to_device, to_host: route(&model.to_host, 1.0, 1.0, out_mb_s), cold_ns: 0 };
        }
        let most = to_host(out_mb_s, model.to_host.pageable_mb_s, model.to_host.pinned_mb_s);
        Routes {
            to_device: route(&model.to_device, TO_DEVICE, LAST_TO_DEVICE, in_mb_s),
            to_host: route(&model.to_host, most, most, out_mb_s),
            cold_ns: COLD,
        }
    }

    /// The rate at which the driver copied in the trace, MB/s: it copies the same memory, piece by piece, with the calling thread.
    fn by_driver(kind: CopyKind, copies: &FxHashMap<CallId, Copied>, to: &Recovered) -> Option<i64> {
        let rate = |copy: &Copied| copy.bytes * 1_000 / to.recorded.works[copy.row as usize].ns.max(1);
        let mut rates: Vec<i64> = copies.values().filter(|copy| copy.kind == kind).map(rate).collect();
        let middle = rates.len() / 2;
        (!rates.is_empty()).then(|| *rates.select_nth_unstable(middle).1)
    }

    fn of_kind(&self, kind: CopyKind) -> Route {
        if kind == CopyKind::HtoD { self.to_device } else { self.to_host }
    }

    /// The operations of the pieces. The last one is the copy's own: what waits for the copy waits for that.
    fn works(&self, sizes: &[i64], copy: &Copied, scene: &Scene<'_>, to: &mut Recovered) -> Vec<u32> {
        let Route { by_device_mb_s, last_by_device_mb_s, latency_ns, .. } = self.of_kind(copy.kind);
        let kind = WorkKind::Copy { kind: copy.kind, pinned: true };
        let own = to.recorded.works[copy.row as usize];
        let piece = |bytes: i64, mb_s: u64| Work {
            kind,
            ns: latency_ns + transfer(bytes, mb_s),
            latency_ns: None,
            gap_ns: None,
            after: None,
            ..own
        };
        let first = to.recorded.works.len() as u32;
        let (last, others) =
            sizes.split_last().map_or((copy.bytes, &[][..]), |(last, others)| (*last, others));
        to.recorded.works.extend(others.iter().map(|bytes| piece(*bytes, by_device_mb_s)));
        to.recorded.works[copy.row as usize] = piece(last, last_by_device_mb_s);
        let rows: Vec<u32> = (first..).take(others.len()).chain([copy.row]).collect();
        to.recorded.works[rows[0] as usize].after = own.after;
        if let Some(op) = scene.op(copy.row).some() {
            Arc::make_mut(&mut to.works)[op.index()].0 = rows[0];
            to.pieces.insert(rows[0], copy.row);
        }
        rows
    }
}

/// Makes the steps of one thread.
struct Stager<'r> {
    routes: &'r Routes,
    copy: Rule,
    record: Rule,
    synchronize: Rule,
    steps: Vec<RecordedStep>,
    of: Vec<StepOf>,
    begins: Vec<Ns>,
    /// The piece that each of the two buffers had last, if it went to the device: works.
    buffers: [Option<u32>; 2],
    next: usize,
}

impl Stager<'_> {
    fn of<'r>(to: &Recovered, routes: &'r Routes) -> Stager<'r> {
        let rules = &to.model.calls;
        Stager {
            copy: rules.copy.clone(),
            record: rules.order.clone(),
            synchronize: rules.synchronize.clone(),
            routes,
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
        let works = self.routes.works(&sizes, copy, scene, to);
        let to_device = copy.kind == CopyKind::HtoD;
        let route = self.routes.of_kind(copy.kind);
        let host: Vec<Ns> = sizes.iter().map(|bytes| transfer(*bytes, route.by_thread_mb_s)).collect();
        let mut issue = CallOf {
            before_ns: self.copy.before_ns,
            held_ns: self.copy.held_ns,
            after_ns: self.copy.after_ns
                + self.record.before_ns
                + self.record.held_ns
                + self.record.after_ns
                + self.routes.cold_ns,
            // Its lock is that of the context as far as the replay has it at all.
            locks: if call.locks == Locks::default() { call.locks } else { Locks::of(&self.copy) },
            behind: call.behind,
            ..CallOf::default()
        };
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

/// The time of bytes at a rate, ns.
fn transfer(bytes: i64, mb_s: u64) -> Ns {
    (i128::from(bytes.max(0)) * 1_000 / i128::from(mb_s.max(1))) as Ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_slower_at_copying_and_not_at_page_faults() {
        assert_eq!(reached(8_000, 8_000), 6_240);
        assert_eq!(reached(12_000, 8_000), 9_360);
        // 1 MB takes 500 µs with page faults, and 62.5 without.
        assert_eq!(reached(2_000, 16_000), 1_931);
        assert_eq!(reached(0, 8_000), 1);
    }

    #[test]
    fn pieces_to_the_host_are_slow_where_its_memory_is() {
        let of = |driver| to_host(driver, 14_000, 50_000);
        assert_eq!([None, Some(20_000), Some(15_000)].map(of), [TO_HOST; 3]);
        assert_eq!(of(Some(10_000)), 0.5);
        assert_eq!(of(Some(2_000)), 0.35, "as of a memory that is there, at half of its rate");
    }
}
