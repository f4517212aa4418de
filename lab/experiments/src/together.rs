//! Results of several runs put together.

use crate::results::{Partial, Results, Row};
use crate::{Bench, Experiment, Settings};

/// Where an experiment was run, and how: what results must agree in to be put together.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub experiment: &'static Experiment,
    pub bench: &'a Bench,
    pub settings: &'a Settings,
}

impl Part<'_> {
    /// `overlap on NVIDIA H200, driver 580.159`
    fn title(&self) -> String {
        format!("{} on {}", self.experiment.name, self.bench.title())
    }

    /// Whether it is the same experiment on the same device.
    ///
    /// # Errors
    /// That it is not, in a line.
    fn goes_with(&self, other: Part<'_>) -> Result<(), String> {
        let of = |part: &Part<'_>| (part.title(), part.bench.simulated);
        match of(self) == of(&other) {
            true => Ok(()),
            false => Err(format!("{} does not go with {}", other.title(), self.title())),
        }
    }

    /// Whether what an earlier run measured would be measured the same here: what rows do not vary is as it was.
    ///
    /// # Errors
    /// What differs, in a line.
    pub fn goes_on_with(&self, earlier: Part<'_>) -> Result<(), String> {
        self.goes_with(earlier)
            .map_err(|problem| format!("{problem}; go on with it there, or start anew"))?;
        if earlier.bench.gpus > self.bench.gpus {
            let gpus = |bench: &Bench| report::units::counted(bench.gpus.into(), "GPU", "GPUs");
            return Err(format!("measured with {}, and here is {}", gpus(earlier.bench), gpus(self.bench)));
        }
        let single = self.experiment.parameters.iter().filter(|parameter| !parameter.several);
        for parameter in single {
            let [then, now] = [earlier.settings, self.settings].map(|settings| settings.said(parameter));
            if then != now {
                return Err(format!("measured with {then}, and this is with {now}; set the same"));
            }
        }
        Ok(())
    }
}

impl Results {
    pub(crate) fn part(&self) -> Part<'_> {
        Part { experiment: self.experiment, bench: &self.bench, settings: &self.settings }
    }

    /// Takes in the rows of another run of the same on the same device; where both have a row, the other's stands.
    ///
    /// # Errors
    /// Why the two do not go together, in a line.
    pub fn merge(&mut self, other: Results) -> Result<(), String> {
        self.part().goes_with(other.part()).map_err(|problem| format!("{problem}; show them one by one"))?;
        self.rows.retain(|row| !other.rows.iter().any(|later| later.varied == row.varied));
        self.partial = match (self.partial.take(), other.partial.clone()) {
            (Some(own), Some(others)) => Some(Partial {
                why: own.why,
                missing: own.missing.saturating_add(others.missing),
                of: own.of.saturating_add(others.of),
            }),
            (own, others) => own.or(others),
        };
        add_new(&mut self.left_out, other.left_out.clone());
        let rows = self.take(other);
        if !rows.is_empty() && !self.rows.is_empty() {
            self.are_of_several_runs();
        }
        self.rows.extend(rows);
        // What relates rows may relate more of them now.
        self.relate();
        Ok(())
    }

    /// The rows of another run; what else is to be said of them is said here from now on.
    pub(crate) fn take(&mut self, other: Results) -> Vec<Row> {
        add_new(&mut self.notes, other.notes);
        if self.rounds != other.rounds {
            let (few, many) = (self.rounds.min(other.rounds), self.rounds.max(other.rounds));
            self.rounds = many;
            add_new(&mut self.notes, vec![format!("rounds were from {few} to {many}")]);
        }
        other.rows
    }

    pub(crate) fn are_of_several_runs(&mut self) {
        add_new(&mut self.notes, vec![String::from("rows are of several runs")]);
    }

    /// Works out the figures that need other rows.
    pub(crate) fn relate(&mut self) {
        for row in &mut self.rows {
            row.figures.retain(|figure| figure.name != "slowdown");
        }
        if let Some(relation) = &self.experiment.relation {
            relation.relate(&mut self.rows);
        }
    }
}

fn add_new(lines: &mut Vec<String>, others: Vec<String>) {
    let new: Vec<String> = others.into_iter().filter(|line| !lines.contains(line)).collect();
    lines.extend(new);
}
