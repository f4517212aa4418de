//! Loads models, built in and from files, and refuses those that no run can have.

use crate::Error;
use crate::model::Model;
use std::cmp::Reverse;
use std::path::Path;
use std::sync::LazyLock;

/// The built-in models, `models/NAME.toml` each, in the order of their names.
const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/models.rs"));

/// Parts of models that are no model of their own, `models/base/NAME.toml` each.
const BASES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/bases.rs"));

/// The names of the built-in models, oldest device first: in the order of compute capability, then of the number of devices.
static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let key = |name: &str| Model::load(name).map(|model| (model.device.compute, model.device.count)).ok();
    let mut names: Vec<&'static str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    names.sort_by_cached_key(|name| key(name));
    names
});

impl Model {
    /// The names of the built-in models, oldest device first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().copied()
    }

    /// The built-in model of that name, or else the model in the file of that path.
    ///
    /// # Errors
    /// There is no such model or file, or the file is not a model.
    pub fn load(name: &str) -> Result<Model, Error> {
        if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Model::parse(text, name);
        }
        let path = Path::new(name);
        if !path.is_file() {
            let known = Model::names().collect::<Vec<_>>().join(", ");
            let problem = format!("unknown model: expected one of {known}, or the path of a file");
            return Err(Error::Model { file: name.to_owned(), problem });
        }
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::Model { file: name.to_owned(), problem: error.to_string() })?;
        Model::parse(&text, name)
    }

    /// The built-in model of the newest device that is not newer than that compute capability, major and minor part; the oldest if all
    /// are newer. Of several with the same capability, the one whose name is part of the device's, else the one with the fewest devices and
    /// the most memory.
    ///
    /// # Errors
    /// A built-in model is broken.
    pub fn nearest(compute: (u32, u32), device: &str) -> Result<Model, Error> {
        let mut models = Model::names().map(Model::load).collect::<Result<Vec<Model>, _>>()?;
        let at = models.iter().rposition(|model| model.device.compute <= compute).unwrap_or(0);
        let compute = models[at].device.compute;
        models.retain(|model| model.device.compute == compute);
        let device = device.to_lowercase();
        let named = models.iter().position(|model| device.contains(&model.name));
        let size = |at: &usize| (models[*at].device.count, Reverse(models[*at].device.memory_bytes));
        let usual = (0..models.len()).min_by_key(size);
        Ok(models.swap_remove(named.or(usual).unwrap_or(0)))
    }

    /// The model of a text. With `base = "NAME"` it is that model with the text's fields instead of its own.
    ///
    /// # Errors
    /// The text is not a model.
    pub fn parse(text: &str, file: &str) -> Result<Model, Error> {
        let problem = |problem: String| Error::Model { file: file.to_owned(), problem };
        let table: toml::Table = toml::from_str(text).map_err(|error| problem(located(&error, text)))?;
        let is_based = table.contains_key("base");
        let table = based(table, file)?;
        amounts("", &table).map_err(problem)?;
        let parsed: Result<Model, toml::de::Error> = match is_based {
            true => table.try_into(),
            // Not from the table, which has no lines for errors.
            false => toml::from_str(text),
        };
        let model = parsed.map_err(|error| problem(located(&error, text)))?;
        model.check().map_err(problem)?;
        Ok(model)
    }

    /// Refuses zeros that a run would divide by or never end with.
    fn check(&self) -> Result<(), String> {
        let positive = [
            ("device.count", u64::from(self.device.count)),
            ("device.multiprocessors", u64::from(self.device.multiprocessors)),
            ("device.threads_per_multiprocessor", u64::from(self.device.threads_per_multiprocessor)),
            ("device.blocks_per_multiprocessor", u64::from(self.device.blocks_per_multiprocessor)),
            ("device.concurrent_kernels", u64::from(self.device.concurrent_kernels)),
            ("device.clock_mhz", self.device.clock_mhz),
            ("device.copy_engines", u64::from(self.device.copy_engines)),
            ("copies.to_device.pinned_mb_s", self.copies.to_device.pinned_mb_s),
            ("copies.to_device.pageable_mb_s", self.copies.to_device.pageable_mb_s),
            ("copies.to_device.fresh_mb_s", self.copies.to_device.fresh_mb_s),
            ("copies.to_device.beside_mb_s", self.copies.to_device.beside_mb_s.unwrap_or(1)),
            ("copies.to_host.beside_mb_s", self.copies.to_host.beside_mb_s.unwrap_or(1)),
            ("copies.to_host.pinned_mb_s", self.copies.to_host.pinned_mb_s),
            ("copies.to_host.pageable_mb_s", self.copies.to_host.pageable_mb_s),
            ("copies.to_host.fresh_mb_s", self.copies.to_host.fresh_mb_s),
            ("copies.within_mb_s", self.copies.within_mb_s),
            ("copies.between_mb_s", self.copies.between_mb_s),
            ("kernels.memory_mb_s", self.kernels.memory_mb_s),
            ("kernels.fill_mb_s", self.kernels.fill_mb_s.unwrap_or(1)),
            ("kernels.base_ns", self.kernels.base_ns.max(0) as u64),
            ("connections.default", u64::from(self.connections.default)),
            ("connections.most", u64::from(self.connections.most)),
            ("connections.mps", u64::from(self.connections.mps)),
            ("connections.depth", u64::from(self.connections.depth)),
            ("sharing.slice_ns", self.sharing.slice_ns.max(0) as u64),
            ("host.mb_s", self.host.mb_s),
        ];
        match positive.iter().find(|(_, value)| *value == 0) {
            Some((field, _)) => Err(format!("{field} must be more than 0")),
            None if self.kernels.product_flops_per_ns.is_nan()
                || self.kernels.product_flops_per_ns <= 0.0 =>
            {
                Err("kernels.product_flops_per_ns must be more than 0".to_owned())
            }
            None => self.counts(),
        }
    }

    /// Refuses numbers that a run has no room for.
    fn counts(&self) -> Result<(), String> {
        let counts = [
            ("device.count", self.device.count, 1024),
            ("device.multiprocessors", self.device.multiprocessors, 10_000),
            ("device.threads_per_multiprocessor", self.device.threads_per_multiprocessor, 10_000),
            ("connections.default", self.connections.default, 1024),
            ("connections.most", self.connections.most, 1024),
            ("connections.mps", self.connections.mps, 1024),
        ];
        match counts.iter().find(|(_, value, most)| value > most) {
            Some((field, _, most)) => Err(format!("{field} must be at most {most}")),
            None => Ok(()),
        }
    }
}

/// The longest time of a model, a minute, so that sums of a few million never overflow.
const LONGEST_NS: i64 = 60_000_000_000;

/// Refuses negative numbers, with which time would run backwards, and times whose sums would overflow.
fn amounts(table_of: &str, table: &toml::Table) -> Result<(), String> {
    for (key, value) in table {
        let field = if table_of.is_empty() { key.clone() } else { format!("{table_of}.{key}") };
        let is_time = key.ends_with("_ns");
        match value {
            toml::Value::Table(inner) => amounts(&field, inner)?,
            toml::Value::Integer(..0) => return Err(format!("{field} must not be negative")),
            toml::Value::Array(values) => {
                let of = |value: &toml::Value| toml::Table::from_iter([(key.clone(), value.clone())]);
                values.iter().try_for_each(|value| amounts(table_of, &of(value)))?;
            }
            toml::Value::Float(number) if !(0.0..).contains(number) => {
                return Err(format!("{field} must not be negative"));
            }
            toml::Value::Integer(LONGEST_NS..) if is_time => {
                return Err(format!("{field} must be less than a minute, {LONGEST_NS}"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// A table on top of that of its base.
fn based(mut table: toml::Table, file: &str) -> Result<toml::Table, Error> {
    let problem = |problem: String| Error::Model { file: file.to_owned(), problem };
    let Some(base) = table.remove("base") else { return Ok(table) };
    let known = BUILT_IN.iter().chain(BASES).find(|(name, _)| base.as_str() == Some(name));
    let Some((name, text)) = known else {
        // Not `Model::names`, which loads every built-in model, this one included.
        let names = BUILT_IN.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        return Err(problem(format!("unknown base: expected one of {names}")));
    };
    let under = toml::from_str(text).map_err(|error| problem(located(&error, text)))?;
    let mut under = based(under, name)?;
    lay_over(&mut under, table);
    Ok(under)
}

fn lay_over(under: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(toml::Value::Table(under)), toml::Value::Table(over)) => lay_over(under, over),
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

/// An error in one line, with its line in the text if known.
fn located(error: &toml::de::Error, text: &str) -> String {
    let message = error.message().replace('\n', " ");
    match error.span() {
        Some(span) => {
            let line = text[..span.start.min(text.len())].matches('\n').count() + 1;
            format!("line {line}: {message}")
        }
        None => message,
    }
}
