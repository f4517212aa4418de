//! Rows of tables in the order of their times.

use trace::{OpId, Trace};

/// Sorts rows of a table, in its order so far, by times of the table: as `sort_by_key`, but times beside the rows are cheaper to compare
/// than times in the table, which are far from each other.
pub fn sort_by_times<Row: Copy + Ord, Times: Ord>(rows: &mut [Row], times: impl Fn(Row) -> Times) {
    if rows.is_sorted_by_key(|row| times(*row)) {
        return;
    }
    let mut keys: Vec<(Times, Row)> = rows.iter().map(|row| (times(*row), *row)).collect();
    // Tables have long sorted runs, which a stable sort merges.
    keys.sort();
    rows.iter_mut().zip(keys).for_each(|(row, (_, sorted))| *row = sorted);
}

/// Like [`sort_by_times`], but for rows of which those of a group, below `groups`, are mostly in order: where threads' rows alternate
/// in a table, it has no long runs.
pub(crate) fn sort_groups_by_times<Row: Copy + Ord, Times: Ord>(
    rows: &mut [Row],
    groups: usize,
    group: impl Fn(Row) -> usize,
    times: impl Fn(Row) -> Times,
) {
    if rows.is_sorted_by_key(|row| times(*row)) {
        return;
    }
    let mut next = vec![0; groups + 1];
    rows.iter().for_each(|row| next[group(*row) + 1] += 1);
    (0..groups).for_each(|at| next[at + 1] += next[at]);
    let mut grouped = rows.to_vec();
    for row in rows.iter() {
        let at = &mut next[group(*row)];
        grouped[*at] = *row;
        *at += 1;
    }
    sort_by_times(&mut grouped, times);
    rows.copy_from_slice(&grouped);
}

/// Like [`sort_by_times`], but for operations: those that one thread issued into one stream are mostly in order.
pub fn sort_ops_by_times<Times: Ord>(trace: &Trace, ops: &mut [OpId], times: impl Fn(OpId) -> Times) {
    let (threads, streams) = (trace.threads.len() + 1, trace.streams.len() + 1);
    let thread = |op: OpId| {
        let call = trace.ops.call[op.index()].some();
        call.and_then(|call| trace.calls.thread[call.index()].some()).map_or(0, |thread| thread.index() + 1)
    };
    let stream = |op: OpId| trace.ops.stream[op.index()].some().map_or(0, |stream| stream.index() + 1);
    let both = threads.saturating_mul(streams);
    match both <= MOST_GROUPS.max(ops.len() / 16) {
        true => sort_groups_by_times(ops, both, |op| thread(op) * streams + stream(op), times),
        false => sort_by_times(ops, times),
    }
}

/// So many groups take no time to count in any case.
const MOST_GROUPS: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use trace::Ns;

    #[test]
    fn groups_of_rows_are_sorted_as_all_rows_are() {
        // Two groups in turn, the second one behind; equal times remain in the table's order.
        let times: Vec<Ns> = (0..64).map(|row| if row % 2 == 0 { row } else { row / 3 * 2 }).collect();
        let mut rows: Vec<usize> = (0..times.len()).collect();
        let mut expected = rows.clone();
        expected.sort_by_key(|row| times[*row]);
        sort_groups_by_times(&mut rows, 2, |row| row % 2, |row| times[row]);
        assert_eq!(rows, expected);
    }
}
