//! The catalogue as text and as JSON.

use crate::catalogue::CATALOGUE;
use crate::experiment::{AUTOMATIC, Experiment, Parameter};
use report::Page;
use report::document::{Document, Form, Paragraph};
use serde_json::{Value, json};

/// Every experiment in one line each.
pub fn list(page: Page) -> Document {
    let width = CATALOGUE.iter().map(|experiment| experiment.name.len()).max().unwrap_or(0) + 2;
    let item = |of: &Experiment| Paragraph::item(of.about).label(of.name, None, width).indented(4);
    let mut document = Document::new(Form::Text(page));
    document.extend(CATALOGUE.iter().map(item));
    document
}

/// The question of an experiment, and its parameters.
pub fn describe(experiment: &Experiment, page: Page) -> Document {
    let mut document = Document::new(Form::Text(page));
    document.push(Paragraph::new(format!("{} · {}", experiment.name, experiment.about)));
    document.push(Paragraph::new(experiment.question).indented(4));
    for parameter in experiment.parameters {
        let alias =
            if parameter.alias.is_empty() { String::new() } else { format!(" (or {})", parameter.alias) };
        document.gap();
        document.push(Paragraph::new(format!("--set {}=…{alias}", parameter.name)));
        let default = format!("default: {}", parameter.default.replace(',', ", "));
        let default = Some(default).filter(|_| parameter.default != AUTOMATIC);
        let lines = [parameter.about.to_owned(), allowed(parameter)].into_iter().chain(default);
        document.extend(lines.map(|line| Paragraph::new(line).indented(4)));
    }
    document
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
