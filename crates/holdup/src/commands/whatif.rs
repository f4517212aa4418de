//! `holdup whatif`

use crate::args::{Table, Whatif};
use crate::failure::Failure;
use crate::input;
use crate::output::{self, Color};
use replay::{FIXES, Fit, Fix, MOST_ERROR, Prediction, Predictor, show};
use report::units;
use std::process::ExitCode;

/// Predicts what changes would gain.
pub fn run(arguments: &Whatif, color: Color) -> Result<ExitCode, Failure> {
    let wanted: Vec<Vec<&Fix>> = arguments.fixes.iter().map(|list| fixes(list)).collect::<Result<_, _>>()?;
    let trace = input::read(&arguments.trace)?;
    let refused = |error| Failure::of(&arguments.trace, error);
    let recovered = replay::recover(&trace).map_err(refused)?;
    let replayed = recovered.replay().map_err(refused)?;
    let fit = Fit::of(&trace, &recovered, &replayed);
    if !fit.fits {
        let (error, most) = (units::percent(fit.error), units::percent(MOST_ERROR));
        let problem = format!("its replay differs by {error}, more than {most}: `holdup replay` says where");
        return Err(Failure::of(&arguments.trace, problem));
    }
    let predictor = Predictor::new(&trace, &recovered, &fit);
    let predictions = match wanted.is_empty() {
        true => predictor.search().map_err(refused)?,
        false => asked(&predictor, &wanted, arguments)?,
    };
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
fn fixes(list: &str) -> Result<Vec<&'static Fix>, Failure> {
    let one = |id: &str| {
        let known = || FIXES.iter().map(|fix| fix.id).collect::<Vec<_>>().join(", ");
        replay::fix(id.trim()).ok_or_else(|| {
            Failure::Message(format!("--fix {list}: no change `{}`: try {}", id.trim(), known()))
        })
    };
    list.split(',').map(one).collect()
}

/// The predictions that were asked for.
fn asked(
    predictor: &Predictor<'_>,
    wanted: &[Vec<&Fix>],
    arguments: &Whatif,
) -> Result<Vec<Prediction>, Failure> {
    let one = |fixes: &Vec<&Fix>| {
        let prediction = predictor.predict(fixes).map_err(|error| Failure::of(&arguments.trace, error))?;
        let names = || fixes.iter().map(|fix| fix.id).collect::<Vec<_>>().join(",");
        prediction.ok_or_else(|| {
            Failure::of(&arguments.trace, format!("--fix {}: it would change nothing here", names()))
        })
    };
    wanted.iter().map(one).collect()
}
