//! Reports the progress of a reader.

/// Counts rows and reports occasionally.
pub(crate) struct Progress<'a> {
    report: &'a mut dyn FnMut(u64, u64),
    done: u64,
    total: u64,
}

impl<'a> Progress<'a> {
    /// Starts at 0 of `total`, which may be an estimate.
    pub(crate) fn new(report: &'a mut dyn FnMut(u64, u64), total: u64) -> Progress<'a> {
        report(0, total);
        Progress { report, done: 0, total }
    }

    /// Counts one row.
    pub(crate) fn row(&mut self) {
        self.done += 1;
        if self.done.is_multiple_of(1 << 13) {
            (self.report)(self.done.min(self.total), self.total);
        }
    }

    /// Reports that all rows are read.
    pub(crate) fn finish(self) {
        (self.report)(self.total, self.total);
    }
}
