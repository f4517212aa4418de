//! The parameters of an experiment, and reading their values from `NAME=VALUE,VALUE`.

use super::{Cell, Take, Word};
use std::fmt;
use std::time::Duration;

/// A parameter of an experiment.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Another name for it; empty if it has none.
    pub alias: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// Its possible values.
    pub kind: Kind,
    /// Whether it takes several values, each with its own variants.
    pub several: bool,
    /// The default, as a user writes it; [`AUTOMATIC`] if it depends on the device.
    pub default: &'static str,
    /// Whether it changes nothing on a model.
    pub measured: bool,
}

/// The default of a parameter that depends on the device.
pub const AUTOMATIC: &str = "automatic";

/// The possible values of a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Some of these names.
    Words(fn() -> Vec<&'static str>),
    /// Whole numbers from the first to the second.
    Numbers(u64, u64),
    /// `CUDA_DEVICE_MAX_CONNECTIONS`: 1 to 32, or `default` to leave it unset.
    Connections,
    /// Sizes such as `64MiB`, from the first to the second number of bytes.
    Sizes(u64, u64),
    /// Durations such as `100ms`, up to an hour.
    Durations,
    /// `yes` and `no`.
    Flags,
}

impl Parameter {
    /// Several names of `W`.
    pub const fn words<W: Word>(name: &'static str, about: &'static str, default: &'static str) -> Parameter {
        Parameter {
            name,
            alias: "",
            about,
            kind: Kind::Words(W::names),
            several: true,
            default,
            measured: false,
        }
    }

    /// Several numbers.
    pub const fn numbers(
        name: &'static str,
        about: &'static str,
        (from, to): (u64, u64),
        default: &'static str,
    ) -> Parameter {
        Parameter {
            name,
            alias: "",
            about,
            kind: Kind::Numbers(from, to),
            several: true,
            default,
            measured: false,
        }
    }

    /// One value of that kind.
    pub const fn one(
        name: &'static str,
        about: &'static str,
        kind: Kind,
        default: &'static str,
    ) -> Parameter {
        Parameter { name, alias: "", about, kind, several: false, default, measured: false }
    }

    /// Several values of that kind.
    pub const fn many(
        name: &'static str,
        about: &'static str,
        kind: Kind,
        default: &'static str,
    ) -> Parameter {
        Parameter { name, alias: "", about, kind, several: true, default, measured: false }
    }

    /// The same with another name for it.
    pub const fn or_named(mut self, alias: &'static str) -> Parameter {
        self.alias = alias;
        self
    }

    /// The same for a parameter that changes nothing on a model: it is varied on GPUs only.
    pub const fn measured(mut self) -> Parameter {
        self.measured = true;
        self
    }

    fn is_named(&self, name: &str) -> bool {
        name == self.name || (!self.alias.is_empty() && name == self.alias)
    }

    /// Reads `VALUE,VALUE`.
    fn parse(&self, text: &str) -> Result<Vec<Cell>, String> {
        if text == AUTOMATIC && self.default == AUTOMATIC {
            return Ok(Vec::new());
        }
        let mut cells: Vec<Cell> = Vec::new();
        for word in text.split(',') {
            let cell = self.kind.parse(word.trim());
            let cell = cell.ok_or_else(|| format!("{}={word}: expected {}", self.name, self.kind))?;
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
        match cells.len() {
            1 => Ok(cells),
            _ if self.several => Ok(cells),
            _ => Err(format!("{}={text}: expected one value", self.name)),
        }
    }
}

impl Kind {
    fn parse(self, word: &str) -> Option<Cell> {
        match self {
            Kind::Words(names) => names().into_iter().find(|name| *name == word).map(Cell::from),
            Kind::Numbers(from, to) => number(word).filter(|n| (from..=to).contains(n)).map(Cell::Number),
            Kind::Connections if word == "default" => Some(Cell::Default),
            Kind::Connections => number(word).filter(|n| (1..=32).contains(n)).map(Cell::Number),
            Kind::Sizes(from, to) => {
                quantity::size(word).filter(|n| (from..=to).contains(n)).map(Cell::Number)
            }
            Kind::Durations => duration(word).map(Cell::Number),
            Kind::Flags => match word {
                "yes" | "true" => Some(Cell::Flag(true)),
                "no" | "false" => Some(Cell::Flag(false)),
                _ => None,
            },
        }
    }
}

/// Condition that a value must meet: "a whole number from 1 to 64".
impl fmt::Display for Kind {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Words(names) => write!(to, "one of {}", names().join(", ")),
            Kind::Numbers(from, most) if *most == u64::MAX => write!(to, "a whole number from {from} up"),
            Kind::Numbers(from, most) => write!(to, "a whole number from {from} to {most}"),
            Kind::Connections => to.write_str("a number from 1 to 32, or default"),
            Kind::Sizes(from, most) => {
                let [from, most] = [*from, *most].map(|bytes| report::units::bytes(bytes as i64));
                write!(to, "a size from {from} to {most}, as in 64MiB")
            }
            Kind::Durations => to.write_str("a duration of at most an hour, as in 100ms"),
            Kind::Flags => to.write_str("yes or no"),
        }
    }
}

/// The values of every parameter of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    values: Vec<(&'static str, Vec<Cell>)>,
    /// The parameters that the user set.
    set: Vec<&'static str>,
}

impl Settings {
    /// The defaults of `experiment`'s parameters, replaced by those in `set`, each `NAME=VALUE,VALUE`.
    ///
    /// # Errors
    /// One line with the unknown name or value, and the known ones.
    pub fn new(experiment: &str, parameters: &[Parameter], set: &[String]) -> Result<Settings, String> {
        let (mut values, mut known) = (Vec::new(), Vec::new());
        for parameter in parameters {
            values.push((parameter.name, parameter.parse(parameter.default)?));
        }
        for text in set {
            let (name, value) = text.split_once('=').ok_or_else(|| {
                format!("--set {text}: expected NAME=VALUE, or NAME=VALUE,VALUE for several values")
            })?;
            let at = parameters.iter().position(|parameter| parameter.is_named(name.trim()));
            let at = at.ok_or_else(|| {
                let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
                format!(
                    "--set {text}: unknown setting `{name}` for `{experiment}`: expected one of {}",
                    names.join(", ")
                )
            })?;
            values[at].1 = parameters[at].parse(value).map_err(|problem| format!("--set {problem}"))?;
            known.push(parameters[at].name);
        }
        Ok(Settings { values, set: known })
    }

    /// The settings of an earlier run; `values` has the cells of each parameter that it knew.
    ///
    /// # Errors
    /// A default is not among its parameter's values.
    pub(crate) fn read(
        experiment: &str,
        parameters: &[Parameter],
        values: impl Fn(&str) -> Option<Vec<Cell>>,
    ) -> Result<Settings, String> {
        let mut settings = Settings::new(experiment, parameters, &[])?;
        for (name, cells) in &mut settings.values {
            *cells = values(name).unwrap_or(std::mem::take(cells));
        }
        Ok(settings)
    }

    /// Takes the defaults of parameters that a model has not; returns the name of each that the user set.
    pub(crate) fn simulated(&mut self, parameters: &[Parameter]) -> Result<Vec<&'static str>, String> {
        let set = std::mem::take(&mut self.set);
        let is_measured = |name: &&str| parameters.iter().any(|one| one.name == *name && one.measured);
        let (ignored, set): (Vec<_>, Vec<_>) = set.into_iter().partition(is_measured);
        self.set = set;
        for (parameter, (_, cells)) in parameters.iter().zip(&mut self.values) {
            if ignored.contains(&parameter.name) {
                *cells = parameter.parse(parameter.default)?;
            }
        }
        Ok(ignored)
    }

    /// Whether a row reports the best of its rounds, not their median.
    pub fn takes_best(&self) -> bool {
        self.words::<Take>("take").first() == Some(&Take::Best)
    }

    /// Whether the user set that parameter.
    pub fn is_set(&self, name: &str) -> bool {
        self.set.contains(&name)
    }

    /// Each parameter's name and values; no values if they depend on the device.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &[Cell])> {
        self.values.iter().map(|(name, cells)| (*name, cells.as_slice()))
    }

    /// `bytes=64 MiB`
    pub(crate) fn setting(&self, parameter: &Parameter) -> String {
        let text = |cell: &Cell| match (parameter.kind, cell) {
            (Kind::Sizes(..), Cell::Number(bytes)) => report::units::bytes(*bytes as i64),
            (Kind::Durations, Cell::Number(ns)) => report::units::duration(*ns as i64),
            _ => cell.to_string(),
        };
        let values: Vec<String> = self.cells(parameter.name).iter().map(text).collect();
        format!("{}={}", parameter.name, values.join(","))
    }

    fn cells(&self, name: &str) -> &[Cell] {
        let found = self.values.iter().find(|(own, _)| *own == name);
        found.map_or(&[], |(_, cells)| cells)
    }

    /// The values of a parameter of names.
    pub fn words<W: Word>(&self, name: &str) -> Vec<W> {
        let word = |cell: &Cell| match cell {
            Cell::Text(text) => W::named(text),
            _ => None,
        };
        self.cells(name).iter().filter_map(word).collect()
    }

    /// The values of a parameter of numbers; sizes in bytes, durations in nanoseconds.
    pub fn numbers(&self, name: &str) -> Vec<u64> {
        let number = |cell: &Cell| match cell {
            Cell::Number(number) => Some(*number),
            _ => None,
        };
        self.cells(name).iter().filter_map(number).collect()
    }

    /// [`Settings::numbers`] of a parameter whose numbers fit 32 bits.
    pub fn counts(&self, name: &str) -> Vec<u32> {
        self.numbers(name).into_iter().map(|number| u32::try_from(number).unwrap_or(u32::MAX)).collect()
    }

    /// The value of a parameter of one number.
    pub fn number(&self, name: &str) -> u64 {
        self.numbers(name).first().copied().unwrap_or_default()
    }

    /// The value of a parameter of one duration.
    pub fn duration(&self, name: &str) -> Duration {
        Duration::from_nanos(self.number(name))
    }

    /// The values of a parameter of yes and no.
    pub fn flags(&self, name: &str) -> Vec<bool> {
        self.cells(name).iter().map(|cell| *cell == Cell::Flag(true)).collect()
    }

    /// The values of a parameter of connections; `None` is the driver's default.
    pub fn optional(&self, name: &str) -> Vec<Option<u32>> {
        let number = |cell: &Cell| match cell {
            Cell::Number(number) => u32::try_from(*number).ok(),
            _ => None,
        };
        self.cells(name).iter().map(number).collect()
    }
}

fn number(word: &str) -> Option<u64> {
    let digits = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| word.parse().ok()).flatten()
}

/// `100ms`, `2s`; up to an hour.
fn duration(word: &str) -> Option<u64> {
    quantity::duration(word).filter(|ns| (1..=3_600_000_000_000).contains(ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostMemory;

    const PARAMETERS: [Parameter; 5] = [
        Parameter::numbers("workers", "", (1, 64), "1,2").or_named("threads"),
        Parameter::words::<HostMemory>("memory", "", "pinned"),
        Parameter::many("connections", "", Kind::Connections, "default"),
        Parameter::one("bytes", "", Kind::Sizes(1024, 1 << 30), "16MiB"),
        Parameter::one("time", "", Kind::Durations, "1s"),
    ];

    fn set(text: &[&str]) -> Result<Settings, String> {
        let text: Vec<String> = text.iter().map(|text| (*text).to_owned()).collect();
        Settings::new("x", &PARAMETERS, &text)
    }

    #[test]
    fn set_values_replace_defaults() {
        let settings =
            set(&["threads=4,8, 4", "memory=pageable,fresh", "connections=default,32", "time=20ms"])
                .expect("well set");
        assert_eq!(settings.counts("workers"), [4, 8]);
        assert_eq!(settings.words::<HostMemory>("memory"), [HostMemory::Pageable, HostMemory::Fresh]);
        assert_eq!(settings.optional("connections"), [None, Some(32)]);
        assert_eq!(settings.number("bytes"), 16 << 20);
        assert_eq!(settings.duration("time"), Duration::from_millis(20));
    }

    #[test]
    fn errors_name_the_possible_values() {
        let cases = [
            (
                "colour=red",
                "--set colour=red: unknown setting `colour` for `x`: expected one of workers, memory, connections, bytes, time",
            ),
            ("workers", "--set workers: expected NAME=VALUE, or NAME=VALUE,VALUE for several values"),
            ("workers=0", "--set workers=0: expected a whole number from 1 to 64"),
            ("workers=1,", "--set workers=: expected a whole number from 1 to 64"),
            ("memory=paged", "--set memory=paged: expected one of pinned, pageable, fresh, staged"),
            ("connections=33", "--set connections=33: expected a number from 1 to 32, or default"),
            ("bytes=1KiB,2KiB", "--set bytes=1KiB,2KiB: expected one value"),
            ("bytes=5", "--set bytes=5: expected a size from 1 KiB to 1 GiB, as in 64MiB"),
            (
                "bytes=99999999999GiB",
                "--set bytes=99999999999GiB: expected a size from 1 KiB to 1 GiB, as in 64MiB",
            ),
            ("time=5", "--set time=5: expected a duration of at most an hour, as in 100ms"),
        ];
        for (text, problem) in cases {
            assert_eq!(set(&[text]), Err(problem.to_owned()));
        }
    }
}
