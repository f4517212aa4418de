//! The reproduction in words, and as a file.

use super::files::WORKLOAD;
use crate::{Case, Reproduction, Shown};
use report::document::{Block, Paragraph};
use report::{explanation, units};
use sim::Model;

/// How to reproduce the finding, and what a run on a model showed.
pub(super) fn blocks(case: &Case) -> Vec<Block> {
    let mut blocks: Vec<Block> = vec![Paragraph::heading(2, "Reproduce").into()];
    let made = match &case.reproduction {
        Ok(made) => made,
        Err(why) => {
            blocks.push(Paragraph::new(format!("There is no reproduction: {why}.")).into());
            return blocks;
        }
    };
    let on_gpu =
        format!("holdup lab run {WORKLOAD} --on gpu --trace run.holdup\nholdup explain run.holdup\n");
    let on_model = command_on_model(made).map_or(String::new(), |command| format!("{command}\n"));
    blocks.push(Block::Drawn(format!("```sh\n{on_gpu}{on_model}```\n")));
    blocks.push(Paragraph::new(made_of(made)).into());
    blocks.push(Paragraph::new(is_shown(case, made)).into());
    if !made.left_out.is_empty() {
        blocks.push(Paragraph::new("The workload does not have all that the trace has:").into());
        let items =
            made.left_out.iter().map(|(what, count)| format!("{} × {what}", units::count(*count as u64)));
        blocks.extend(items.map(|text| Paragraph::item(text).into()));
    }
    blocks
}

/// The command that runs a workload on a built-in model; `None` if none has as many GPUs.
pub fn command_on_model(made: &Reproduction) -> Option<String> {
    let model = Model::load(&made.model).ok()?;
    let has_room = |of: &Model| of.device.count >= made.gpus;
    let same = || {
        let all = Model::names().filter_map(|name| Model::load(name).ok());
        all.filter(|of| of.device.compute == model.device.compute).find(has_room)
    };
    let model = if has_room(&model) { Some(model.clone()) } else { same() };
    model.map(|model| format!("holdup lab run {WORKLOAD} --on sim:{}", model.name))
}

/// Parts of the reproduction.
fn made_of(made: &Reproduction) -> String {
    let Reproduction { threads, threads_in_trace, gpus, gpus_in_trace, shrinks, .. } = made;
    let count = |number: usize, one, many| units::counted(number as u64, one, many);
    let gpus_words = units::counted(u64::from(*gpus), "GPU", "GPUs");
    let fewer = match gpus < gpus_in_trace {
        true => format!(
            " {} for the {gpus_in_trace} of the trace, so that it runs where there are fewer; kernels take as much less time as there are fewer \
             GPUs, so that these are as busy.",
            if *gpus == 1 { String::from("It stands") } else { String::from("They stand") }
        ),
        false => String::new(),
    };
    let shorter = match shrinks {
        2.. => format!(
            " Copies are {shrinks} times smaller, and kernels and pauses as much shorter, so that it takes seconds."
        ),
        _ => String::new(),
    };
    format!(
        "It runs {} of the trace's {threads_in_trace} on {gpus_words}: their calls, streams, copies and waits, in the round that repeats. Kernels \
         are loops of the measured durations.{fewer}{shorter}",
        count(*threads, "thread", "threads")
    )
}

/// Whether a run on the model shows the finding, with its figures.
pub fn is_shown(case: &Case, made: &Reproduction) -> String {
    let (cause, model) = (case.finding().cause.id(), &made.model);
    let Shown { is_first, finding, first, error, ns } = &made.shown;
    let ran = units::duration(*ns);
    let sentence = finding.as_ref().map(|found| {
        let words = explanation::words(found, &case.explanation.trace);
        words.sentence
    });
    match (error, sentence, first) {
        (Some(error), ..) => {
            format!("The reproduction does not show it on the model {model}: it does not run: {error}.")
        }
        (None, Some(sentence), _) if *is_first => {
            format!(
                "Run on the model {model} ({ran}), it shows the same: its first finding is {cause}: {sentence}."
            )
        }
        (None, Some(sentence), Some(first)) => format!(
            "Run on the model {model} ({ran}), it shows {cause}, but not first ({sentence}): its first finding is {}.",
            first.id()
        ),
        (None, None, Some(first)) => format!(
            "The reproduction does not show it on the model {model} ({ran}): its first finding is {}.",
            first.id()
        ),
        (None, _, None) => {
            format!("The reproduction does not show it on the model {model} ({ran}): it has no finding.")
        }
    }
}

/// The workload as a file.
pub fn toml(case: &Case, made: &Reproduction) -> String {
    let mut text = String::new();
    let mut comment = |line: &str| {
        text.push_str(line.trim_end());
        text.push('\n');
    };
    comment(&format!(
        "# Made from a trace by `holdup case` of holdup {}. It is to show: {}.",
        env!("CARGO_PKG_VERSION"),
        case.finding().cause.id()
    ));
    comment("#");
    comment(&format!(
        "#     holdup lab run {WORKLOAD} --on gpu --trace run.holdup && holdup explain run.holdup"
    ));
    comment("#");
    comment(&format!("# {}", is_shown(case, made).replace('\n', " ")));
    comment("");
    text + &made.workload.to_toml()
}
