//! Work that calls issue to GPUs, and the streams that they name: `order.rs` joins them.

use super::order::{Group, Issue, JoinCounts, Work, join};
use super::state::Process;
use rayon::prelude::*;
use trace::{OpKind, Ops};

impl Process<'_, '_> {
    /// Gives each call that issued work the correlation id of its operations.
    pub(super) fn join_by_order(&mut self) {
        let issues = std::mem::take(&mut self.later.issues);
        if issues.is_empty() {
            return;
        }
        let groups = self.groups();
        let (found, joined) = join(&issues, &groups);
        if issues.iter().any(|issue| issue.is_checked) {
            self.compare(&issues, &found, groups.len(), joined);
        }
        for (issue, id) in issues.iter().zip(&found) {
            self.all.trace.calls.correlation[issue.call] = *id;
        }
        self.later.joined = joined;
    }

    /// Compares the join with the correlation ids that CUPTI told as the calls entered the driver, and says so in notes.
    fn compare(&mut self, issues: &[Issue], found: &[i64], groups: usize, joined: JoinCounts) {
        let is_wrong = |(issue, id): &(&Issue, &i64)| **id != 0 && **id != i64::from(issue.correlation);
        let wrong = issues.iter().zip(found).filter(is_wrong).count();
        let JoinCounts { calls, uncertain, without } = joined;
        self.note(format!(
            "join by order: {groups} groups of operations, {calls} calls, {uncertain} uncertain"
        ));
        self.note(format!(
            "join by order: {wrong} wrong by CUPTI's ids, {without} launches without an operation"
        ));
    }

    /// This process's operations by correlation id.
    fn groups(&self) -> Vec<Group> {
        let ops = &self.all.trace.ops;
        // The ids of a recording have 32 bits, and so have rows.
        let key = |at: usize| (ops.correlation[at] as u64) << 32 | at as u64;
        let mut rows: Vec<u64> = (self.first_op..ops.len()).into_par_iter().map(key).collect();
        rows.par_sort_unstable();
        let id = |row: &u64| row >> 32;
        // An operation without an id belongs to no call.
        let rows = &rows[rows.partition_point(|row| id(row) == 0)..];
        let first = |at: &usize| *at == 0 || id(&rows[*at - 1]) != id(&rows[*at]);
        let firsts: Vec<u32> = (0..rows.len()).filter(first).map(|at| at as u32).collect();
        let of = |number: usize| {
            let next = firsts.get(number + 1).map_or(rows.len(), |next| *next as usize);
            group(ops, &rows[firsts[number] as usize..next])
        };
        (0..firsts.len()).into_par_iter().map(of).collect()
    }
}

/// The group of operations in these rows, which are in the lower halves.
fn group(ops: &Ops, rows: &[u64]) -> Group {
    let rows = rows.iter().map(|row| *row as u32 as usize);
    let bytes = rows.clone().map(|at| ops.bytes[at] as u64).fold(0, u64::saturating_add);
    let first = rows.min_by_key(|at| ops.start[*at]).unwrap_or_default();
    let work = match ops.kind[first] {
        _ if ops.graph_node[first] != 0 => Work::Graph,
        OpKind::Kernel => Work::Kernel,
        OpKind::Copy => Work::Copy,
        OpKind::Memset => Work::Fill,
        OpKind::Graph => Work::Graph,
        OpKind::Unknown => Work::Unknown,
    };
    let grid = [&ops.grid_x, &ops.grid_y, &ops.grid_z, &ops.block_x, &ops.block_y, &ops.block_z];
    let fact = if work == Work::Kernel { spool::grid_fact(grid.map(|column| column[first])) } else { 0 };
    let (id, start, stream) = (ops.correlation[first], ops.start[first], ops.stream[first]);
    Group { id, start, stream, work, bytes, fact }
}
