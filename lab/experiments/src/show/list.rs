//! The catalogue as text and as JSON.

use crate::catalogue::CATALOGUE;
use crate::experiment::{AUTOMATIC, Experiment, Parameter};
use report::{Page, labelled, paragraph};
use serde_json::{Value, json};

/// Every experiment in one line each.
pub fn list_text(page: Page) -> String {
    let width = CATALOGUE.iter().map(|experiment| experiment.name.len()).max().unwrap_or(0) + 2;
    CATALOGUE.iter().map(|experiment| labelled(experiment.name, width, experiment.about, page)).collect()
}

/// The question of an experiment, and its parameters.
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
    let several = if parameter.several { "; several values with commas" } else { "" };
    format!("{}{several}", parameter.kind)
}

/// Experiments with their parameters.
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
