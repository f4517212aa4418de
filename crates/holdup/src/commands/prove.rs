//! `holdup prove`

use crate::args::{Document, Prove};
use crate::failure::Failure;
use crate::interrupt::{self, INTERRUPTED};
use crate::output::{self, Color};
use crate::progress::Bar;
use crate::readers::Readers;
use crate::save::Target;
use prove::judge::Sense;
use prove::{Arm, Metric, Plan, Problem, Processes, Side, Tested, Variable};
use report::Page;
use report::document::Form;
use report::prove::Shown;
use std::process::ExitCode;

/// Exit status when the gain is too small.
const TOO_SMALL: u8 = 1;

/// Runs both commands and judges the gain.
pub fn run(arguments: &Prove, color: Color) -> Result<ExitCode, Failure> {
    let tested = tested(arguments)?;
    let target = arguments
        .output
        .as_deref()
        .map(|file| Target::new(file, arguments.force, Readers::ALL))
        .transpose()?;
    interrupt::listen();
    let processes = Processes::new(arguments.timeout, &INTERRUPTED);
    let mut bar = Bar::new("running");
    let proof = prove::prove(&tested, &mut |_, arm| processes.run(arm), &mut |progress| {
        bar.update(progress.side.id(), progress.done as u64, Some(progress.most as u64));
    });
    drop(bar);
    let proof = proof.map_err(|error| Failure::Message(error.to_string()))?;
    let shown = Shown { tested: &tested, proof: &proof, predicted: arguments.predicted };
    let page = if target.is_some() { Page::default() } else { output::page(color) };
    let text = match arguments.format {
        Document::Text => report::prove::document(shown, Form::Text(page)).to_string(),
        Document::Json => report::prove::json(shown),
        Document::Markdown => report::prove::document(shown, Form::Markdown).to_string(),
    };
    match target {
        Some(target) => target.write_text(&text)?,
        None => output::print(&text)?,
    }
    if proof.is_partial {
        let rounds = report::units::counted(proof.rounds() as u64, "round", "rounds");
        return Err(Failure::Message(format!("interrupted after {rounds}; the results are partial")));
    }
    let gain = &proof.judgement.gain;
    Ok(match arguments.fail_under.filter(|limit| gain.low < *limit) {
        Some(limit) => {
            let line = tested.arm(Side::After).line();
            eprintln!("holdup: after `{}`: {}", report::visible(&line), report::prove::reason(gain, limit));
            ExitCode::from(TOO_SMALL)
        }
        None => ExitCode::SUCCESS,
    })
}

/// Comparison to make, checked as far as that goes without a run.
fn tested(arguments: &Prove) -> Result<Tested, Failure> {
    if arguments.against.is_none() && arguments.with.is_empty() {
        let problem = "nothing to compare with: name the command before the change with --against, or a variable with --with";
        return Err(Failure::Message(problem.to_owned()));
    }
    let option = |option: &str, text: &str, problem: Problem| {
        Failure::Message(format!("{option} `{text}`: {problem}"))
    };
    let after = Arm::new(arguments.command.iter().cloned());
    let after = after.map_err(|problem| Failure::Message(problem.to_string()))?;
    let before = match &arguments.against {
        Some(line) => Arm::parse(line).map_err(|problem| option("--against", line, problem))?,
        None => after.clone(),
    };
    let variable = |text: &String| Variable::parse(text).map_err(|problem| option("--with", text, problem));
    let variables: Vec<Variable> = arguments.with.iter().map(variable).collect::<Result<_, _>>()?;
    let sense = if arguments.less_is_better { Sense::LessIsBetter } else { Sense::MoreIsBetter };
    let metric = match &arguments.metric {
        Some(text) => Metric::printed(text, sense).map_err(|problem| option("--metric", text, problem))?,
        None => Metric::Wall,
    };
    let plan = Plan {
        rounds: arguments.rounds as usize,
        warm_ups: arguments.warm_ups as usize,
        precision: arguments.precision,
    };
    let tested = Tested { arms: [before, after.with(&variables)], metric, plan };
    for side in [Side::Before, Side::After] {
        let arm = tested.arm(side);
        Processes::check(arm).map_err(|problem| {
            Failure::Message(prove::Error::Arm { side, line: arm.line(), problem }.to_string())
        })?;
    }
    Ok(tested)
}
