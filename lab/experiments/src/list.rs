//! All experiments, and describing them.

use crate::catalogue::{architectures, hidden_sync, interference, launch_stall, multi_gpu, overlap, stagger};
use crate::experiment::Experiment;
use crate::parameters::{AUTOMATIC, Parameter};
use report::{Page, labelled, paragraph};
use serde_json::{Value, json};

/// All experiments, in the order they are listed.
pub static CATALOGUE: [Experiment; 7] = [
    architectures::EXPERIMENT,
    stagger::EXPERIMENT,
    launch_stall::EXPERIMENT,
    overlap::EXPERIMENT,
    hidden_sync::EXPERIMENT,
    multi_gpu::EXPERIMENT,
    interference::EXPERIMENT,
];

/// The experiment of that name.
///
/// # Errors
/// A line that says which there are.
pub fn experiment(name: &str) -> Result<&'static Experiment, String> {
    CATALOGUE.iter().find(|experiment| experiment.name == name).ok_or_else(|| {
        let names: Vec<&str> = CATALOGUE.iter().map(|experiment| experiment.name).collect();
        format!(
            "{name}: no such experiment; there are {}, or give a workload's file, NAME.toml",
            names.join(", ")
        )
    })
}

/// Each experiment and what it shows.
pub fn list_text(page: Page) -> String {
    let width = CATALOGUE.iter().map(|experiment| experiment.name.len()).max().unwrap_or(0) + 2;
    CATALOGUE.iter().map(|experiment| labelled(experiment.name, width, experiment.about, page)).collect()
}

/// The question, and what can be set.
pub fn describe_text(experiment: &Experiment, page: Page) -> String {
    let mut text = paragraph(&format!("{} · {}", experiment.name, experiment.about), page);
    text.push_str(&paragraph(&format!("    {}", experiment.question), page));
    for parameter in experiment.parameters {
        let alias =
            if parameter.alias.is_empty() { String::new() } else { format!(" (or {})", parameter.alias) };
        text.push_str(&format!("\n--set {}=…{alias}\n", parameter.name));
        text.push_str(&paragraph(&format!("    {}", parameter.about), page));
        text.push_str(&paragraph(&format!("    {}", allowed(parameter)), page));
        if parameter.default != AUTOMATIC {
            text.push_str(&paragraph(
                &format!("    default: {}", parameter.default.replace(',', ", ")),
                page,
            ));
        }
    }
    text
}

fn allowed(parameter: &Parameter) -> String {
    let several = if parameter.several { "; several with commas between" } else { "" };
    format!("{}{several}", parameter.kind)
}

/// The catalogue, or some of it, with all that can be set.
pub fn list_json<'a>(experiments: impl IntoIterator<Item = &'a Experiment>) -> Value {
    let parameter = |parameter: &Parameter| {
        json!({
            "name": parameter.name,
            "about": parameter.about,
            "values": parameter.kind.to_string(),
            "several": parameter.several,
            "default": parameter.default,
        })
    };
    let one = |experiment: &Experiment| {
        json!({
            "name": experiment.name,
            "about": experiment.about,
            "question": experiment.question,
            "parameters": experiment.parameters.iter().map(parameter).collect::<Vec<_>>(),
        })
    };
    experiments.into_iter().map(one).collect()
}
