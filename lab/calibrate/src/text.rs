//! The TOML of a calibrated model: one value per line, each with its origin.

use crate::draft::Calibrated;
use std::collections::BTreeMap;

/// Fields before the first table: a model describes itself with them.
const OWN: [&str; 5] = ["name", "about", "driver", "notes", "seed"];

/// The fields of a model in the order in which it declares them, each with its table and value as TOML has them.
fn fields(text: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let mut table = "";
    text.lines().filter_map(move |line| {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            table = name;
            return None;
        }
        let (key, value) = line.split_once(" = ")?;
        Some((table, key, value))
    })
}

/// Values of a rule or a lock where a model leaves them out: neither written nor assumed.
const DEFAULTS: [(&str, &[(&str, &str)]); 3] = [
    (
        "calls.",
        &[
            ("before_ns", "0"),
            ("held_ns", "0"),
            ("unit_ns", "0.0"),
            ("after_ns", "0"),
            ("lock", "\"none\""),
            ("mutex", "false"),
            ("keeps", "false"),
            ("pieces", "0"),
        ],
    ),
    ("locks.", &[("wake_spread_ns", "0"), ("patience", "0"), ("recent_ns", "0")]),
    ("kernels", &[("reduction_ns", "0")]),
];

fn is_default(table: &str, key: &str, value: &str) -> bool {
    let mut defaults = DEFAULTS.iter().filter(|(prefix, _)| table.starts_with(prefix));
    defaults.any(|(_, fields)| fields.contains(&(key, value)))
}

/// A field's path, as in `calls.launch.held_ns`.
fn path(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }
}

impl Calibrated {
    /// The model as TOML without origins. Every value of a model can be written.
    fn plain(&self) -> String {
        toml::to_string(&self.model).unwrap_or_default()
    }

    /// The sentence that lists the values that nobody measured here, by table.
    fn assumed(&self) -> String {
        let text = self.plain();
        let mut tables: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (table, key, value) in fields(&text) {
            let own = table.is_empty() && OWN.contains(&key);
            let known = own || is_default(table, key, value);
            if !known && !self.origins.contains_key(&path(table, key)) {
                tables.entry(table).or_default().push(key);
            }
        }
        let list = |(table, keys): (&&str, &Vec<&str>)| format!("{table} ({})", keys.join(", "));
        let lists: Vec<String> = tables.iter().map(list).collect();
        format!("Assumed, from the model {}: {}.", self.base, lists.join("; "))
    }

    /// With notes on what it is made of.
    pub(crate) fn stated(mut self, rounds: usize) -> Calibrated {
        if rounds > 1 {
            self.model
                .notes
                .push(format!("Each value is the middle one of {rounds} rounds of measurements."));
        }
        let assumed = self.assumed();
        self.model.notes.push(assumed);
        self
    }

    /// The text of the model's file. Each value states in a comment whether it was measured, and what, or that it is assumed.
    pub fn text(&self) -> String {
        let mut text = String::from(
            "# A model of a machine, by `holdup lab calibrate`. Times are in ns, sizes in bytes, rates in 10⁶ bytes per second.\n\
             # Spreads are half of the range of the middle half of the samples.\n\n",
        );
        let plain = self.plain();
        let mut last = "";
        for (table, key, value) in fields(&plain) {
            if table != last {
                text.push_str(&format!("\n[{table}]\n"));
                last = table;
            }
            let path = path(table, key);
            let comment = match self.origins.get(&path) {
                Some(origin) => format!(" # {origin}"),
                None if table.is_empty() && OWN.contains(&key) => String::new(),
                None if is_default(table, key, value) => continue,
                None => format!(" # assumed: from {}", self.base),
            };
            text.push_str(&format!("{key} = {value}{comment}\n"));
        }
        text
    }
}
