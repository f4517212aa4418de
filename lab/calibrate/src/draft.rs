//! A model that is being made: each value with its origin.

use crate::Facts;
use crate::statistics::{Sample, divided};
use sim::{Model, Rule};
use std::collections::BTreeMap;

/// Gives a field of the draft's model a value and its origin.
macro_rules! set {
    ($draft:expr, $first:ident $(. $rest:ident)* = $value:expr, $origin:expr) => {{
        $draft.model.$first $(.$rest)* = $value;
        let path = concat!(stringify!($first) $(, ".", stringify!($rest))*);
        $draft.note(path, $origin);
    }};
}
pub(crate) use set;

/// A rule of a model.
pub(crate) type RuleField = fn(&mut Model) -> &mut Rule;

/// A model that is being made.
pub(crate) struct Draft {
    pub model: Model,
    /// Where values come from that are not those of the base: by the field's path, as in `calls.launch.held_ns`.
    origins: BTreeMap<String, String>,
    /// The name of the built-in model that the others come from.
    pub base: String,
    /// How long calls took that created a context, ns.
    pub contexts_ns: Vec<i64>,
    /// Calls that hold up another thread's launches: the time of each without its locks, at its end, by the field of its rule, ns.
    pub after_locks: BTreeMap<&'static str, Sample>,
    /// Remarks on what could not be measured, one sentence each.
    pub remarks: Vec<String>,
}

/// A finished calibration.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibrated {
    /// The model.
    pub model: Model,
    /// Where its values come from, by the field's path, as in `calls.launch.held_ns`. Fields that are not here have the value of
    /// the model `base`.
    pub origins: BTreeMap<String, String>,
    /// The name of the built-in model of the nearest device.
    pub base: String,
}

impl Draft {
    /// The base, with what the machine reports of itself.
    pub fn new(name: &str, facts: &Facts, base: Model) -> Draft {
        let base_name = base.name.clone();
        let mut draft = Draft {
            model: base,
            origins: BTreeMap::new(),
            base: base_name,
            contexts_ns: Vec::new(),
            after_locks: BTreeMap::new(),
            remarks: Vec::new(),
        };
        let driver =
            if facts.driver.is_empty() { String::new() } else { format!(" (driver {})", facts.driver) };
        draft.model.name = name.to_owned();
        draft.model.driver = facts.driver.clone();
        draft.model.about = format!("{}{driver}, measured by `holdup lab calibrate`.", facts.title);
        draft.model.notes = Vec::new();
        let reported = "reported by the device";
        set!(draft, device.title = facts.title.clone(), reported);
        set!(draft, device.count = facts.count.max(1), reported);
        set!(draft, device.compute = facts.compute, reported);
        set!(draft, device.multiprocessors = facts.multiprocessors.max(1), reported);
        set!(draft, device.memory_bytes = facts.memory_bytes, reported);
        // More than one per direction never matters to a model.
        set!(draft, device.copy_engines = facts.copy_engines.clamp(1, 2), reported);
        set!(draft, host.processors = facts.processors, "reported by the system");
        if facts.clock_mhz > 0 {
            set!(draft, device.clock_mhz = facts.clock_mhz, reported);
        }
        draft
    }

    /// Notes where a value comes from.
    pub fn note(&mut self, path: &str, origin: impl Into<String>) {
        self.origins.insert(path.to_owned(), origin.into());
    }

    /// Sets a rule's times from the whole time of its calls, divided as the base divides it.
    pub fn divide(&mut self, field: &'static str, rule: RuleField, whole: Sample) {
        let origin = format!("measured: {whole}; its parts as in {}", self.base);
        let rule = rule(&mut self.model);
        let parts = divided(whole.median, [rule.before_ns, rule.held_ns, rule.after_ns]);
        [rule.before_ns, rule.held_ns, rule.after_ns] = parts;
        self.note_parts(field, &origin);
    }

    /// Notes where the times of a rule come from.
    pub fn note_parts(&mut self, field: &str, origin: &str) {
        for part in ["before_ns", "held_ns", "after_ns"] {
            self.note(&format!("calls.{field}.{part}"), origin);
        }
    }

    /// The time of a call before, with and after its locks, ns: of all of it, and what it takes after them. What it takes before
    /// them is in the proportion that it has in the base.
    pub fn outside(&mut self, rule: RuleField, whole: i64, after: i64) -> [i64; 3] {
        let Rule { before_ns, after_ns, .. } = *rule(&mut self.model);
        let after = after.clamp(0, whole.max(0));
        let before = match after_ns {
            0 => before_ns,
            _ => (i128::from(after) * i128::from(before_ns) / i128::from(after_ns)) as i64,
        };
        let before = before.clamp(0, whole.max(0) - after);
        [before, whole.max(0) - before - after, after]
    }

    /// Returns the results of one round.
    pub fn finish(mut self) -> Calibrated {
        if let Some(created) = Sample::of(std::mem::take(&mut self.contexts_ns)) {
            set!(
                self,
                calls.context_create.held_ns = created.median.clamp(0, MOST_NS),
                format!("measured: {created}; the whole call")
            );
        }
        self.model.notes = self.remarks;
        Calibrated { model: self.model, origins: self.origins, base: self.base }
    }
}

/// The longest time that a model accepts, ns.
pub(crate) const MOST_NS: i64 = 59_000_000_000;
