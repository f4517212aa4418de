//! Buckets: an index of a table's rows by their owner.

/// Rows of a table by their owner, each bucket in the table's order.
pub(super) struct Buckets {
    /// Where each bucket begins; the last bucket is for rows without an owner.
    first: Vec<usize>,
    rows: Vec<u32>,
}

impl Buckets {
    pub fn new(buckets: usize, of: impl Iterator<Item = Option<usize>> + Clone) -> Buckets {
        let mut first = vec![0; buckets + 2];
        let bucket = |of: Option<usize>| of.unwrap_or(buckets);
        of.clone().for_each(|of| first[bucket(of) + 1] += 1);
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut next = first.clone();
        let mut rows = vec![0; first[buckets + 1]];
        for (row, of) in of.enumerate() {
            rows[next[bucket(of)]] = row as u32;
            next[bucket(of)] += 1;
        }
        Buckets { first, rows }
    }

    pub fn of(&self, bucket: usize) -> impl Iterator<Item = usize> + '_ {
        self.rows[self.first[bucket]..self.first[bucket + 1]].iter().map(|row| *row as usize)
    }

    /// Like [`Buckets::of`], but `None` stands for the rows without an owner.
    pub fn of_some(&self, bucket: Option<usize>) -> impl Iterator<Item = usize> + '_ {
        self.of(bucket.unwrap_or(self.first.len() - 2))
    }
}
