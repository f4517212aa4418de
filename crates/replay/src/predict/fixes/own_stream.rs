//! Each thread issues to streams of its own.

use super::scene::At;
use super::{Fix, Scene};
use crate::Recovered;
use crate::recover::costs::take;
use explain::Class;
use rustc_hash::FxHashMap;
use sim::{Does, RecordedStep, Rows};
use std::collections::{BTreeMap, BTreeSet};
use trace::Ns;

pub(super) const FIX: Fix = Fix {
    id: "own-stream",
    text: "give each thread its own stream",
    safety: "safe if the threads share no GPU data, or order it by events",
    apply,
};

/// Additional cost of a launch and of a synchronization beside a copy to pageable memory of another thread, ns: 8 launches and a wait for
/// them took 67.9 µs, and 90.8 µs beside such copies, each launch 3.00 and 4.06 µs, and the wait 1.7 and 13.8 µs (H100,
/// `docs/benchmarks.md`, "By call"). Before the change they waited for the end of the copies.
const BESIDE: Ns = 1_000;
const WAIT_BESIDE: Ns = 12_000;

/// Additional cost of a call that enqueues after another thread's in the same stream, ns: a launch each 20 µs took 26.66 µs beside a thread
/// that did the same in its stream, and 25.77 µs beside one with its own (H100, "By call"; `launchers` of `benches/whatif` gained 0.7 and
/// 1.1 µs a launch). At most half of its cost is that.
const AFTER_ANOTHER: Ns = 900;

/// Streams that several threads issue to become one for each thread. Then what waits behind a copy of pageable memory is other such
/// copies, and what needs the context for itself (H200, `docs/lab/h200.md`): launches and copies of other threads go on.
fn apply(scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let users = shared(to);
    let follow = if scene.is_of_a_machine() { follow_others(scene, to, &users) } else { Vec::new() };
    let moved = divide(to);
    if moved == 0 {
        return 0;
    }
    let enqueues = |at: &At| {
        let class = scene.class(at.id);
        matches!(class, Class::Launch | Class::Fill | Class::Copy { .. }) && !scene.is_pageable(&at.call)
    };
    let passed = to.lets_pass(scene, |at, number| {
        let holder = scene.holder(number);
        let blocks = holder.is_some_and(|holder| holder.row != at.row && scene.is_pageable(&holder.call));
        blocks && enqueues(&at)
    });
    for at in follow {
        let Some(call) = to.call_mut(at) else { continue };
        let own = call.before_ns + call.held_ns + call.after_ns;
        take([&mut call.after_ns, &mut call.held_ns, &mut call.before_ns], AFTER_ANOTHER.min(own / 2));
    }
    if scene.is_of_a_machine() {
        let sharing: BTreeSet<usize> = users.into_values().flatten().collect();
        for at in scene.calls().filter(|at| sharing.contains(&at.row)) {
            let more = match scene.class(at.id) {
                Class::Sync => WAIT_BESIDE,
                _ if enqueues(&at) => BESIDE,
                _ => 0,
            };
            to.call_mut(at).into_iter().for_each(|call| call.beside_ns = more);
        }
    }
    passed + moved
}

/// Stands for a work that stays in its stream.
const STAYS: u32 = u32::MAX;

/// The streams that several threads issue to, and these threads.
fn shared(to: &Recovered) -> BTreeMap<u32, Vec<usize>> {
    let mut users: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for row in (0..to.recorded.threads.len()).filter(|row| to.threads[*row].is_some()) {
        to.streams_of(row).into_iter().for_each(|stream| users.entry(stream).or_default().push(row));
    }
    users.retain(|_, rows| rows.len() > 1);
    users
}

/// The calls that enqueue into a stream after another thread.
fn follow_others(scene: &Scene<'_>, to: &Recovered, users: &BTreeMap<u32, Vec<usize>>) -> Vec<At> {
    let stream_of = |at: &At| match at.call.does {
        Does::Issue { works: Rows { first, count: 1.. }, .. } => {
            Some(to.recorded.works[first as usize].stream).filter(|stream| users.contains_key(stream))
        }
        _ => None,
    };
    let mut calls: Vec<(u32, At)> = scene.calls().filter_map(|at| Some((stream_of(&at)?, at))).collect();
    calls.sort_by_key(|(stream, at)| (*stream, scene.trace.calls.start[at.id.index()]));
    let follows = |pair: &&[(u32, At)]| pair[0].0 == pair[1].0 && pair[0].1.row != pair[1].1.row;
    calls.windows(2).filter(follows).map(|pair| pair[1].1).collect()
}

/// Divides streams that several threads issue to. Returns how many operations have another stream.
pub(super) fn divide(to: &mut Recovered) -> usize {
    let users = shared(to);
    if users.is_empty() {
        return 0;
    }
    let pairs: Vec<(u32, usize)> =
        users.iter().flat_map(|(stream, rows)| rows.iter().map(move |row| (*stream, *row))).collect();
    let shared: Vec<u32> = pairs.iter().map(|(stream, _)| *stream).collect();
    // The rows of streams move when streams are added: the changed ones are found before.
    let mut moved = vec![STAYS; to.recorded.works.len()];
    for (at, (stream, row)) in (0..).zip(&pairs) {
        for step in &to.recorded.threads[*row] {
            let RecordedStep::Call(call) = step else { continue };
            let Does::Issue { works: rows, .. } = call.does else { continue };
            rows.iter()
                .filter(|work| to.recorded.works[*work].stream == *stream)
                .for_each(|work| moved[work] = at);
        }
    }
    waits_for_own(to, &moved);
    let new = to.streams_beside(&shared);
    let mut count = 0;
    for (work, at) in to.recorded.works.iter_mut().zip(&moved).filter(|(_, at)| **at != STAYS) {
        work.stream = new[*at as usize];
        count += 1;
    }
    count
}

/// A synchronization of a shared stream waits for what its own thread issued there, not for what is in another stream now. `moved`: the
/// new stream of each work, before works have it.
fn waits_for_own(to: &mut Recovered, moved: &[u32]) {
    for row in 0..to.recorded.threads.len() {
        let mut last: FxHashMap<u32, u32> = FxHashMap::default();
        for step in &to.recorded.threads[row] {
            let RecordedStep::Call(call) = step else { continue };
            match call.does {
                Does::Issue { works, .. } => {
                    last.extend(works.iter().map(|work| (to.recorded.works[work].stream, work as u32)));
                }
                Does::Await(awaited) => {
                    for at in awaited.iter() {
                        let work = to.recorded.awaited[at] as usize;
                        let own = last.get(&to.recorded.works[work].stream).copied();
                        if let Some(own) = own.filter(|own| moved[work] != moved[*own as usize]) {
                            to.recorded.awaited[at] = own;
                        }
                    }
                }
                Does::Nothing | Does::Synchronize(_) => {}
            }
        }
    }
}
