//! Values that distinguish variants and rows.

use super::Cell;

/// Values that a variant or a row varies, by column.
pub(crate) type Varied = [(&'static str, Cell)];

/// Whether two are equal except in those columns.
pub(crate) fn are_alike(one: &Varied, other: &Varied, but: &[&str]) -> bool {
    let others = |varied: &'_ Varied| -> Vec<(&'static str, Cell)> {
        varied.iter().filter(|(name, _)| !but.contains(name)).cloned().collect()
    };
    others(one) == others(other)
}
