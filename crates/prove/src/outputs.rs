//! Whether both commands print the same.

use crate::metric::Metric;
use crate::side::Side;

/// Whether both commands print the same on standard output. Lines on which the metric is printed do not count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Agreement {
    /// Every run printed the same.
    Same,
    /// The command after the change printed something else.
    Different(Difference),
    /// The runs before the change differ among themselves.
    Unknown(Difference),
}

/// The first line in which two outputs differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Its number, from 1, without the lines that do not count.
    pub line: usize,
    /// Text of the first run before the change there; `None` if it ends before.
    pub first: Option<String>,
    /// Text of the other run there; `None` if it ends before.
    pub other: Option<String>,
}

/// Compares each output with the first one of the command before the change.
#[derive(Default)]
pub(crate) struct Outputs {
    first: Option<Vec<String>>,
    before: Option<Difference>,
    after: Option<Difference>,
    /// Outputs of the command after the change that came before the first one to compare with.
    early: Vec<Vec<String>>,
}

impl Outputs {
    pub fn add(&mut self, side: Side, output: &str, metric: &Metric) {
        let counted = output.lines().filter(|line| !metric.is_on(line));
        let Some(first) = &self.first else {
            let lines = counted.map(str::to_owned).collect();
            match side {
                Side::After => self.early.push(lines),
                Side::Before => {
                    for early in self.early.drain(..) {
                        let found = difference(&lines, early.iter().map(String::as_str));
                        self.after = self.after.take().or(found);
                    }
                    self.first = Some(lines);
                }
            }
            return;
        };
        let seen = match side {
            Side::Before => &mut self.before,
            Side::After => &mut self.after,
        };
        if seen.is_none() {
            *seen = difference(first, counted);
        }
    }

    pub fn agreement(self) -> Agreement {
        match (self.before, self.after) {
            (Some(difference), _) => Agreement::Unknown(difference),
            (None, Some(difference)) => Agreement::Different(difference),
            (None, None) => Agreement::Same,
        }
    }
}

fn difference<'a>(first: &[String], other: impl Iterator<Item = &'a str>) -> Option<Difference> {
    let (mut first, mut other) = (first.iter(), other);
    for line in 1.. {
        match (first.next(), other.next()) {
            (None, None) => return None,
            (Some(one), Some(another)) if one == another => {}
            (one, another) => {
                return Some(Difference { line, first: one.cloned(), other: another.map(str::to_owned) });
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Sense;

    fn agreement(outputs: &[(Side, &str)]) -> Agreement {
        let metric = Metric::printed("rate ([0-9]+)", Sense::MoreIsBetter).expect("an expression");
        let mut all = Outputs::default();
        outputs.iter().for_each(|(side, output)| all.add(*side, output, &metric));
        all.agreement()
    }

    #[test]
    fn lines_with_the_metric_do_not_count() {
        let (a, b) = (Side::Before, Side::After);
        assert_eq!(agreement(&[(a, "x\nrate 5\ny"), (b, "x\ny\nrate 6"), (a, "x\ny\n")]), Agreement::Same);
    }

    #[test]
    fn the_first_line_that_differs_is_kept() {
        let (a, b) = (Side::Before, Side::After);
        let differs = |first: Option<&str>, other: Option<&str>| Difference {
            line: 2,
            first: first.map(str::to_owned),
            other: other.map(str::to_owned),
        };
        let expected = Agreement::Different(differs(Some("y"), Some("z")));
        assert_eq!(agreement(&[(a, "x\ny\n"), (b, "x\nz"), (b, "q"), (a, "x\ny")]), expected);
        assert_eq!(agreement(&[(b, "x\nz"), (b, "x\ny"), (a, "x\ny")]), expected, "after is first");
        let expected = Agreement::Unknown(differs(Some("y"), None));
        assert_eq!(agreement(&[(a, "x\ny"), (b, "x\nz"), (a, "x")]), expected);
    }
}
