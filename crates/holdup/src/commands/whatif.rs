//! `holdup whatif`

use crate::args::{Table, Whatif};
use crate::failure::Failure;
use crate::input;
use crate::model;
use crate::output::{self, Color};
use crate::progress::Bar;
use replay::{Change, FIXES, Fit, MOST_ERROR, Prediction, Predictor, show};
use report::units;
use std::cell::RefCell;
use std::process::ExitCode;

/// Predicts what changes would gain.
pub fn run(arguments: &Whatif, color: Color) -> Result<ExitCode, Failure> {
    let mut wanted: Vec<Vec<Change<'_>>> =
        arguments.fixes.iter().map(|list| fixes(list)).collect::<Result<_, _>>()?;
    // What is faster, is so in each prediction.
    let faster = arguments.faster.iter().map(Change::Faster);
    wanted.iter_mut().for_each(|changes| changes.extend(faster.clone()));
    if wanted.is_empty() && !arguments.faster.is_empty() {
        wanted.push(faster.collect());
    }
    let model = model::named(arguments.model.as_deref())?;
    let trace = input::read(&arguments.trace)?;
    let refused = |error| Failure::of(&arguments.trace, error);
    let recovered = replay::recover_on(&trace, model.as_ref()).map_err(refused)?;
    let replayed = recovered.replay().map_err(refused)?;
    let fit = Fit::of(&trace, &recovered, &replayed);
    if !fit.fits {
        let (error, most) = (units::percent(fit.error), units::percent(MOST_ERROR));
        let problem = format!("its replay differs by {error}, more than {most}: `holdup replay` says where");
        return Err(Failure::of(&arguments.trace, problem));
    }
    let bar = RefCell::new(Bar::new("predicting"));
    let progress = |id: &str| bar.borrow_mut().update(id, 0, None);
    let predictor = Predictor::new(&trace, &recovered, &replayed, &fit, &progress);
    let predictions = match wanted.is_empty() {
        true => predictor.search().map_err(refused)?,
        false => asked(&predictor, &wanted, arguments)?,
    };
    drop(bar);
    let name = input::name(&arguments.trace);
    let page = output::page(color);
    output::print(&match arguments.format {
        Table::Text => {
            report::header(&trace, &name, page) + &show::predictions_text(&fit, &predictions, page)
        }
        Table::Json => show::predictions_json(&fit, &predictions, &name),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The changes of a list.
fn fixes(list: &str) -> Result<Vec<Change<'static>>, Failure> {
    let one = |id: &str| {
        let known = || FIXES.iter().map(|fix| fix.id).collect::<Vec<_>>().join(", ");
        let unknown =
            || Failure::Message(format!("--fix {list}: no change `{}`: try {}", id.trim(), known()));
        replay::fix(id.trim()).map(Change::Fix).ok_or_else(unknown)
    };
    list.split(',').map(one).collect()
}

/// The predictions that were asked for.
fn asked(
    predictor: &Predictor<'_>,
    wanted: &[Vec<Change<'_>>],
    arguments: &Whatif,
) -> Result<Vec<Prediction>, Failure> {
    let one = |changes: &Vec<Change<'_>>| {
        let prediction = predictor.predict(changes).map_err(|error| Failure::of(&arguments.trace, error))?;
        let names = || changes.iter().map(Change::id).collect::<Vec<_>>().join(",");
        prediction.ok_or_else(|| {
            Failure::of(&arguments.trace, format!("{}: it would change nothing here", names()))
        })
    };
    wanted.iter().map(one).collect()
}
