//! Divides the time of a root among places.

use super::naming::SpotId;
use super::roots::{Between, Root, Row};
use trace::Ns;

/// `ns · part / whole`, rounded down; `whole` is positive.
pub(super) fn part(ns: Ns, part: u64, whole: u64) -> Ns {
    (i128::from(ns) * i128::from(part) / i128::from(whole.max(1))) as Ns
}

/// Divides a row among places in proportion to their samples; exact in sum.
pub(super) fn divide(
    row: Row,
    spots: &[(SpotId, u64)],
    root: impl Fn(Root, Option<SpotId>) -> Root,
) -> Vec<Row> {
    let all: u64 = spots.iter().map(|(_, count)| count).sum();
    let Some(most) = (0..spots.len()).max_by_key(|at| (spots[*at].1, std::cmp::Reverse(*at))) else {
        return vec![Row { root: root(row.root, None), ..row }];
    };
    let mut rest = row.ns;
    let mut rows: Vec<Row> = Vec::with_capacity(spots.len());
    for (spot, count) in spots {
        let ns = part(row.ns, *count, all);
        rest -= ns;
        let waiters = row.waiters.iter().map(|(thread, ns)| (*thread, part(*ns, *count, all))).collect();
        let chained = part(row.chained, *count, all);
        let longest = row.longest.map(|(ns, start)| (part(ns, *count, all), start));
        rows.push(Row {
            root: root(row.root, Some(*spot)),
            ns,
            chained,
            longest,
            waiters,
            seen: Vec::new(),
            between: row.between.iter().map(|of| Between { ns, ..*of }).collect(),
            ..row.clone()
        });
    }
    rows[most].ns += rest;
    rows.retain(|row| row.ns > 0);
    rows
}
