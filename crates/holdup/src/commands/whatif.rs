//! `holdup whatif`

use crate::args::{Explanation as Form, Whatif};
use crate::failure::Failure;
use crate::input;
use crate::model;
use crate::output::{self, Color};
use crate::progress::Bar;
use crate::readers::Readers;
use crate::save::{self, Target};
use replay::show::{self, Forecast};
use replay::{Bare, Change, FIXES, Faster, Fit, MOST_ERROR, Prediction, Predictor, Removed};
use report::{Page, document, units};
use std::process::ExitCode;
use std::sync::Mutex;
use trace::{RangeId, Selection, Trace};

/// Predicts what changes would gain.
pub fn run(arguments: &Whatif, color: Color) -> Result<ExitCode, Failure> {
    let mut wanted: Vec<Vec<Change<'_>>> =
        arguments.fixes.iter().map(|list| fixes(list)).collect::<Result<_, _>>()?;
    let model = model::named(arguments.model.as_deref())?;
    let readers = Readers::of([arguments.trace.as_path()]);
    let target =
        arguments.output.as_deref().map(|file| Target::new(file, arguments.force, readers)).transpose()?;
    if arguments.format == Form::Html && target.is_none() {
        output::page_has_a_reader()?;
    }
    let part = Selection { range: arguments.range.clone(), ..Selection::default() };
    let trace = input::read_part(&arguments.trace, &part)?;
    let ranges: Vec<RangeId> = part.ranges(&trace).collect();
    let refused = |error| Failure::of(&arguments.trace, error);
    let recovered = replay::recover_on(&trace, model.as_ref()).map_err(refused)?;
    let (replayed, bare) = Bare::beside_replay(&trace, &recovered).map_err(refused)?;
    // Where a replay differs is in JSON alone, and takes as long to find as a prediction.
    let mut fit = match arguments.format {
        Form::Json => Fit::of(&trace, &recovered, &replayed),
        Form::Text | Form::Markdown | Form::Html => Fit::brief(&trace, &recovered, &replayed),
    };
    if !ranges.is_empty() {
        fit = fit.within(&ranges, &trace, &recovered, &replayed);
    }
    check(&fit, arguments)?;
    let bar = Mutex::new(Bar::new("predicting"));
    let progress = |id: &str| {
        if let Ok(mut bar) = bar.lock() {
            bar.update(id, 0, None);
        }
    };
    let removed = removed(&trace, arguments)?;
    imagine(&mut wanted, &arguments.faster, &removed);
    drop(replayed);
    let predictor = Predictor::of(&trace, bare, &fit, &progress).within(ranges).reusing(recovered);
    let asked = match wanted.is_empty() {
        true => predictor.search().map_err(refused)?.into_iter().map(Forecast::found).collect(),
        false => asked(&predictor, wanted, arguments)?,
    };
    let name = input::name(&arguments.trace);
    if arguments.format == Form::Html {
        progress("accounts and timelines");
        let page = show::predictions_page(&predictor, &asked, &fit, &name).map_err(refused)?;
        drop(bar);
        save::page(&page, target)?;
        return Ok(ExitCode::SUCCESS);
    }
    drop(bar);
    let predictions: Vec<Prediction> = asked.into_iter().map(|one| one.prediction).collect();
    let text = match arguments.format {
        Form::Json => show::predictions_json(&fit, &predictions, &name),
        Form::Markdown => show::predictions(&fit, &predictions, &name, document::Form::Markdown).to_string(),
        Form::Text | Form::Html => {
            let page = if target.is_some() { Page::default() } else { output::page(color) };
            text(&trace, &fit, &predictions, &name, page)
        }
    };
    target.map_or_else(|| output::print(&text), |target| target.write_text(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// The header of the trace, and the predictions.
fn text(trace: &Trace, fit: &Fit, predictions: &[Prediction], name: &str, page: Page) -> String {
    let mut document = report::header(trace, name, page);
    document.extend(show::predictions(fit, predictions, name, document::Form::Text(page)));
    document.to_string()
}

/// Refuses to predict from a replay that does not fit.
fn check(fit: &Fit, arguments: &Whatif) -> Result<(), Failure> {
    if fit.fits {
        return Ok(());
    }
    let (error, most) = (units::percent_two_decimals(fit.error), units::percent(MOST_ERROR));
    let problem = match fit.only_ranges_differ() {
        true => format!(
            "the replay of the chosen ranges differs by {error}, more than {most}: without --range the whole program is predicted"
        ),
        false => format!("its replay differs by {error}, more than {most}: `holdup replay` says where"),
    };
    Err(Failure::of(&arguments.trace, problem))
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

/// The findings whose causes would be gone.
fn removed(trace: &Trace, arguments: &Whatif) -> Result<Vec<Removed>, Failure> {
    if arguments.remove.is_empty() {
        return Ok(Vec::new());
    }
    let (explanation, losses) = super::explanation::each(trace, &explain::Options::default());
    let one = |name: &String| {
        let last = explanation.findings.last().map_or("", |finding| &finding.id);
        let unknown = || match last {
            "" => Failure::Message(format!("--remove {name}: `holdup explain` finds nothing in this trace")),
            _ => Failure::Message(format!(
                "--remove: no finding `{name}`: `holdup explain --all` has H1 to {last}"
            )),
        };
        Removed::of(name, &explanation, &losses).ok_or_else(unknown)
    };
    arguments.remove.iter().map(one).collect()
}

/// Adds the imagined changes to each prediction.
fn imagine<'a>(wanted: &mut Vec<Vec<Change<'a>>>, faster: &'a [Faster], removed: &'a [Removed]) {
    let imagined = faster.iter().map(Change::Faster).chain(removed.iter().map(Change::Removed));
    let imagined: Vec<Change<'a>> = imagined.collect();
    if wanted.is_empty() && !imagined.is_empty() {
        wanted.push(Vec::new());
    }
    wanted.iter_mut().for_each(|changes| changes.extend(&imagined));
}

/// The predictions that were asked for.
fn asked<'a>(
    predictor: &Predictor<'_>,
    wanted: Vec<Vec<Change<'a>>>,
    arguments: &Whatif,
) -> Result<Vec<Forecast<'a>>, Failure> {
    let predictions =
        predictor.predict_each(&wanted).map_err(|error| Failure::of(&arguments.trace, error))?;
    let one = |(changes, prediction): (Vec<Change<'a>>, Option<Prediction>)| {
        let names = || changes.iter().map(Change::id).collect::<Vec<_>>().join(",");
        let why = match changes[..] {
            [Change::Removed(_)] => {
                "no call or pause waits for its cause: --faster asks what if something took less time"
            }
            _ => "it would change nothing here",
        };
        let nothing = || Failure::of(&arguments.trace, format!("{}: {why}", names()));
        let prediction = prediction.ok_or_else(nothing)?;
        Ok(Forecast { prediction, changes })
    };
    wanted.into_iter().zip(predictions).map(one).collect()
}
