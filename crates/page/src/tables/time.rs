//! Durations in cells.

use report::document::Cell;
use report::units;
use trace::Ns;

/// A duration that sorts by itself.
pub(super) fn time(ns: Ns) -> Cell {
    Cell::number(units::duration(ns), ns as f64)
}
