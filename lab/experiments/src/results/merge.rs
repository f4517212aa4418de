//! Results of several runs merged.

use super::partial::Partial;
use super::row::Row;
use crate::experiment::{Bench, Experiment, Results, Settings};

/// Where and how an experiment ran: what two results must have in common to be merged.
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

    /// Checks that both are the same experiment on the same device.
    ///
    /// # Errors
    /// One line with the two.
    fn goes_with(&self, other: Part<'_>) -> Result<(), String> {
        let of = |part: &Part<'_>| (part.title(), part.bench.simulated);
        match of(self) == of(&other) {
            true => Ok(()),
            false => Err(format!("{} cannot be merged with {}", other.title(), self.title())),
        }
    }

    /// Checks that the rows of an earlier run can be kept: everything that rows do not vary is equal.
    ///
    /// # Errors
    /// One line that says what differs.
    pub fn goes_on_with(&self, earlier: Part<'_>) -> Result<(), String> {
        self.goes_with(earlier)
            .map_err(|problem| format!("{problem}: resume on that device, or run without --resume"))?;
        if earlier.bench.gpus > self.bench.gpus {
            let gpus = |bench: &Bench| report::units::counted(bench.gpus.into(), "GPU", "GPUs");
            return Err(format!(
                "measured with {}, but this machine has {}: resume on that machine, or run without --resume",
                gpus(earlier.bench),
                gpus(self.bench)
            ));
        }
        let single = self.experiment.parameters.iter().filter(|parameter| !parameter.several);
        for parameter in single {
            let [then, now] = [earlier.settings, self.settings].map(|settings| settings.setting(parameter));
            if then != now {
                return Err(format!("measured with {then}, this run has {now}: set the same value"));
            }
        }
        Ok(())
    }
}

impl Results {
    pub(crate) fn part(&self) -> Part<'_> {
        Part { experiment: self.experiment, bench: &self.bench, settings: &self.settings }
    }

    /// Adds the rows of another run of the same experiment on the same device. A row of the other run replaces the same row of
    /// this one.
    ///
    /// # Errors
    /// One line that says why the two cannot be merged.
    pub fn merge(&mut self, other: Results) -> Result<(), String> {
        self.part().goes_with(other.part()).map_err(|problem| format!("{problem}: show them separately"))?;
        self.rows.retain(|row| !other.rows.iter().any(|later| later.varied == row.varied));
        self.partial = match (self.partial.take(), other.partial.clone()) {
            (Some(own), Some(others)) => Some(Partial {
                why: own.why,
                missing: own.missing.saturating_add(others.missing),
                incomplete: own.incomplete.saturating_add(others.incomplete),
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
        // More rows may have a base now.
        self.relate();
        Ok(())
    }

    /// Returns the rows of another run, and takes over its notes.
    pub(crate) fn take(&mut self, other: Results) -> Vec<Row> {
        add_new(&mut self.notes, other.notes);
        if self.rounds != other.rounds {
            let (few, many) = (self.rounds.min(other.rounds), self.rounds.max(other.rounds));
            self.rounds = many;
            add_new(&mut self.notes, vec![format!("rounds per row: {few} to {many}")]);
        }
        other.rows
    }

    pub(crate) fn are_of_several_runs(&mut self) {
        add_new(&mut self.notes, vec![String::from("rows come from several runs")]);
    }

    /// Computes the figures that compare two rows.
    pub(crate) fn relate(&mut self) {
        if let Some(relation) = &self.experiment.relation {
            for row in &mut self.rows {
                row.figures.retain(|figure| figure.name != relation.name);
            }
            relation.relate(&mut self.rows);
        }
    }
}

fn add_new(lines: &mut Vec<String>, others: Vec<String>) {
    let new: Vec<String> = others.into_iter().filter(|line| !lines.contains(line)).collect();
    lines.extend(new);
}
