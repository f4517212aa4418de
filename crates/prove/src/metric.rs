//! Figure that is measured of a run.

use crate::error::Problem;
use crate::judge::Sense;
use regex_lite::Regex;

/// Figure that is measured of a run.
#[derive(Clone, Debug)]
pub enum Metric {
    /// The time from its start to its end, in nanoseconds. Less is better.
    Wall,
    /// A number that it prints: the group of the last match.
    Printed {
        /// An expression with one group.
        expression: Regex,
        /// Whether less or more is better.
        sense: Sense,
    },
}

impl Metric {
    /// A number that the program prints.
    ///
    /// # Errors
    /// An invalid expression, or one that does not have exactly one group.
    pub fn printed(expression: &str, sense: Sense) -> Result<Metric, Problem> {
        let expression = Regex::new(expression).map_err(|error| Problem::Expression(error.to_string()))?;
        match expression.captures_len() - 1 {
            1 => Ok(Metric::Printed { expression, sense }),
            groups => Err(Problem::Groups(groups)),
        }
    }

    /// Whether less or more is better.
    pub fn sense(&self) -> Sense {
        match self {
            Metric::Wall => Sense::LessIsBetter,
            Metric::Printed { sense, .. } => *sense,
        }
    }

    /// `wall`, or the expression.
    pub fn name(&self) -> &str {
        match self {
            Metric::Wall => "wall",
            Metric::Printed { expression, .. } => expression.as_str(),
        }
    }

    /// The value of a run that took `ns` and printed this; the last match counts, and one in standard error counts if standard
    /// output has none.
    ///
    /// # Errors
    /// Nothing matches, or what matches is not a positive number.
    pub(crate) fn value(&self, ns: u64, output: &str, error: &str) -> Result<f64, Problem> {
        let Metric::Printed { expression, .. } = self else { return Ok(ns as f64) };
        let last = |text: &str| -> Option<String> {
            let found = expression.captures_iter(text).last()?;
            // A group may have no part in a match.
            Some(found.get(1).map_or_else(String::new, |group| group.as_str().to_owned()))
        };
        let text = last(output).or_else(|| last(error));
        let text = text.ok_or_else(|| Problem::NotPrinted(self.name().to_owned()))?;
        match text.trim().parse::<f64>() {
            Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
            Ok(value) if value.is_finite() => Err(Problem::NotPositive(self.name().to_owned(), text)),
            _ => Err(Problem::NotANumber(self.name().to_owned(), text)),
        }
    }

    /// Whether the metric is printed on this line, which then may differ from run to run.
    pub(crate) fn is_on(&self, line: &str) -> bool {
        match self {
            Metric::Wall => false,
            Metric::Printed { expression, .. } => expression.is_match(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(expression: &str) -> Result<Metric, Problem> {
        Metric::printed(expression, Sense::MoreIsBetter)
    }

    #[test]
    fn the_last_match_counts() {
        let metric = printed("rate: ([0-9.]+)").expect("an expression");
        assert_eq!(metric.value(1, "rate: 5\nrate: 7.5\n", "rate: 9"), Ok(7.5));
        assert_eq!(metric.value(1, "nothing", "rate: 9"), Ok(9.0), "standard error");
        assert_eq!(Metric::Wall.value(12, "rate: 5", ""), Ok(12.0));
    }

    #[test]
    fn an_expression_has_one_group() {
        assert!(matches!(printed("([0-9]"), Err(Problem::Expression(_))));
        assert!(matches!(printed("[0-9]+"), Err(Problem::Groups(0))));
        assert!(matches!(printed("(a)(b)"), Err(Problem::Groups(2))));
    }

    #[test]
    fn a_value_is_a_positive_number() {
        let value = |text: &str| printed("x=(.*)").expect("an expression").value(1, text, "");
        for (text, is_expected) in [
            ("x=0", (|of| matches!(of, Problem::NotPositive(..))) as fn(&Problem) -> bool),
            ("x=-3", |of| matches!(of, Problem::NotPositive(..))),
            ("x=1,234", |of| matches!(of, Problem::NotANumber(..))),
            ("x=", |of| matches!(of, Problem::NotANumber(..))),
            ("x=inf", |of| matches!(of, Problem::NotANumber(..))),
            ("x=nan", |of| matches!(of, Problem::NotANumber(..))),
            ("y=1", |of| matches!(of, Problem::NotPrinted(_))),
        ] {
            assert!(value(text).is_err_and(|problem| is_expected(&problem)), "{text}");
        }
        assert_eq!(value("x=1e3 \r"), Ok(1000.0));
    }
}
