//! One model of several rounds of all measurements.
//!
//! A processor is faster in some processes and minutes than in others: an H200's host allocated memory in 0.9 µs in four of seven
//! calibrations, and in 1.5 µs in three. The middle value of several rounds is what a machine has most of the time.

use crate::draft::Calibrated;
use sim::Model;
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// Each number from the round that has the middle one, with its origin there; what is no number, as most rounds have it.
///
/// # Errors
/// The values together are no model.
pub(crate) fn middle(rounds: &[Calibrated]) -> Result<Option<Calibrated>, sim::Error> {
    let Some((first, others)) = rounds.split_first() else { return Ok(None) };
    if others.is_empty() {
        return Ok(Some(first.clone()));
    }
    let tables: Vec<Table> =
        rounds.iter().map(|round| Table::try_from(&round.model).unwrap_or_default()).collect();
    let mut merged = Merge { rounds, origins: BTreeMap::new() };
    let table = merged.table("", &tables.iter().enumerate().collect::<Vec<_>>());
    let model = Model::parse(&toml::to_string(&table).unwrap_or_default(), &first.model.name)?;
    Ok(Some(Calibrated { model, origins: merged.origins, base: first.base.clone() }))
}

struct Merge<'r> {
    rounds: &'r [Calibrated],
    /// Where the values come from, as in [`Calibrated`].
    origins: BTreeMap<String, String>,
}

impl Merge<'_> {
    /// A table of the rounds, each with its number.
    fn table(&mut self, path: &str, tables: &[(usize, &Table)]) -> Table {
        let keys: BTreeSet<&String> = tables.iter().flat_map(|(_, table)| table.keys()).collect();
        let mut merged = Table::new();
        for key in keys {
            let dot = if path.is_empty() { "" } else { "." };
            let path = format!("{path}{dot}{key}");
            let values: Vec<(usize, &Value)> =
                tables.iter().filter_map(|(round, table)| Some((*round, table.get(key)?))).collect();
            // Most rounds have no such value.
            if values.len() * 2 > self.rounds.len() {
                merged.insert(key.clone(), self.value(&path, values));
            }
        }
        merged
    }

    /// The value of a field of the rounds that have one, each with its number.
    fn value(&mut self, path: &str, mut values: Vec<(usize, &Value)>) -> Value {
        let tables: Vec<(usize, &Table)> =
            values.iter().filter_map(|(round, value)| Some((*round, value.as_table()?))).collect();
        if !tables.is_empty() {
            return Value::Table(self.table(path, &tables));
        }
        let (round, value) = match number(values[0].1) {
            Some(_) => {
                values
                    .sort_by(|(_, a), (_, b)| number(a).unwrap_or(0.0).total_cmp(&number(b).unwrap_or(0.0)));
                values[(values.len() - 1) / 2]
            }
            None => usual(&values),
        };
        if let Some(origin) = self.rounds[round].origins.get(path) {
            self.origins.insert(path.to_owned(), origin.clone());
        }
        value.clone()
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_float().or(value.as_integer().map(|whole| whole as f64))
}

/// The value that most have; the first one of several such.
fn usual<'v>(values: &[(usize, &'v Value)]) -> (usize, &'v Value) {
    let count = |value: &Value| values.iter().filter(|(_, other)| *other == value).count();
    let most = values.iter().map(|(_, value)| count(value)).max();
    *values.iter().find(|(_, value)| Some(count(value)) == most).unwrap_or(&values[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::Use;

    /// A round with these times of a launch and this lock of allocations.
    fn round(held_ns: i64, lock: Use, is_measured: bool) -> Calibrated {
        let mut model = Model::load("h200").expect("built in");
        (model.calls.launch.held_ns, model.calls.allocate.lock) = (held_ns, lock);
        model.kernels.fill_mb_s = is_measured.then_some(3_000_000);
        let origin = |what: &str| (what.to_owned(), format!("measured: {held_ns}"));
        let origins = BTreeMap::from(["calls.launch.held_ns", "calls.allocate.lock"].map(origin));
        Calibrated { model, origins, base: String::from("h200") }
    }

    #[test]
    fn each_value_is_the_middle_one_with_its_origin() {
        let rounds = [
            round(900, Use::Exclusive, true),
            round(5_000, Use::Shared, true),
            round(1_300, Use::Exclusive, false),
        ];
        let found = middle(&rounds).expect("a model").expect("three rounds");
        assert_eq!(found.model.calls.launch.held_ns, 1_300);
        assert_eq!(found.model.calls.allocate.lock, Use::Exclusive);
        assert_eq!(found.model.kernels.fill_mb_s, Some(3_000_000));
        let origins =
            ["calls.launch.held_ns", "calls.allocate.lock"].map(|path| found.origins[path].as_str());
        assert_eq!(origins, ["measured: 1300", "measured: 900"]);
    }

    #[test]
    fn of_one_round_nothing_changes_and_none_is_no_model() {
        let one = round(900, Use::Shared, false);
        assert_eq!(middle(std::slice::from_ref(&one)).expect("a model"), Some(one));
        assert_eq!(middle(&[]).expect("no error"), None);
    }

    #[test]
    fn a_value_that_most_rounds_lack_is_none() {
        let rounds = [true, false, false].map(|is_measured| round(900, Use::Shared, is_measured));
        let found = middle(&rounds).expect("a model").expect("three rounds");
        assert_eq!(found.model.kernels.fill_mb_s, None);
    }
}
