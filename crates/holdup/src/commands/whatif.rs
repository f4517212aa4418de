//! `holdup whatif`

use crate::args::{Explanation as Form, Whatif};
use crate::failure::Failure;
use crate::input;
use crate::model;
use crate::output::{self, Color};
use crate::progress::Bar;
use crate::readers::Readers;
use crate::save::{self, Target};
use explain::{About, Cause, Effect, Fix};
use replay::show::{self, Forecast, Shown};
use replay::{Bare, Change, FIXES, Faster, Fit, MOST_ERROR, Prediction, Predictor, Removed};
use report::{Page, document, units};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use trace::{RangeId, Selection, Trace};

/// Predicts what changes would gain.
pub fn run(arguments: &Whatif, color: Color) -> Result<ExitCode, Failure> {
    let names: Vec<Vec<&'static str>> =
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
    let fit_of = if arguments.format == Form::Json { Fit::of } else { Fit::brief };
    let mut fit = fit_of(&trace, &recovered, &replayed);
    if !ranges.is_empty() {
        fit = fit.within(&ranges, &trace, &recovered, &replayed);
    }
    check(&fit, arguments)?;
    let bar = Mutex::new(Bar::new("predicting"));
    let progress = |id: &str| {
        _ = bar.lock().map(|mut bar| bar.update(id, 0, None));
    };
    let is_search = names.is_empty() && arguments.faster.is_empty() && arguments.remove.is_empty();
    let Found { removed, mended } = find(&trace, arguments, &names, is_search)?;
    let mut wanted: Vec<Vec<Change<'_>>> =
        names.iter().map(|names| changes(names, &mended, arguments)).collect::<Result<_, _>>()?;
    imagine(&mut wanted, &arguments.faster, &removed);
    drop(replayed);
    let predictor = Predictor::of(&trace, bare, &fit, &progress).within(ranges).reusing(recovered);
    let asked = match is_search {
        true => search(&predictor, &mended).map_err(refused)?,
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
    let shown = Shown { predictions: &predictions, were_asked: !is_search };
    let text = match arguments.format {
        Form::Json => show::predictions_json(&fit, &predictions, &name),
        Form::Markdown => show::predictions(&fit, &shown, &name, document::Form::Markdown).to_string(),
        Form::Text | Form::Html => {
            let page = if target.is_some() { Page::default() } else { output::page(color) };
            text(&trace, &fit, &shown, &name, page)
        }
    };
    target.map_or_else(|| output::print(&text), |target| target.write_text(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// The header of the trace, and the predictions.
fn text(trace: &Trace, fit: &Fit, shown: &Shown<'_>, name: &str, page: Page) -> String {
    let mut document = report::header(trace, name, page);
    document.extend(show::predictions(fit, shown, name, document::Form::Text(page)));
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

/// The names of a list of changes, each of which there is: a change of the replay, or a fix that removes what findings find.
fn fixes(list: &str) -> Result<Vec<&'static str>, Failure> {
    let known = || FIXES.iter().map(|fix| fix.id).chain(removals().map(|fix| fix.id));
    let one = |id: &str| {
        let all = || known().collect::<Vec<_>>().join(", ");
        let unknown = || Failure::Message(format!("--fix {list}: no change `{}`: try {}", id.trim(), all()));
        known().find(|known| *known == id.trim()).ok_or_else(unknown)
    };
    list.split(',').map(one).collect()
}

/// The fixes after which what findings find is gone, each once.
fn removals() -> impl Iterator<Item = &'static Fix> {
    let fixes = Cause::ALL.iter().flat_map(|cause| About::of(*cause).fixes);
    let all: BTreeMap<&str, &Fix> =
        fixes.filter(|fix| fix.effect == Effect::Removal).map(|fix| (fix.id, fix)).collect();
    all.into_values()
}

/// The changes of these names; a fix that no finding offers is refused.
fn changes<'a>(
    names: &[&'static str],
    mended: &'a [Removed],
    arguments: &Whatif,
) -> Result<Vec<Change<'a>>, Failure> {
    let one = |name: &&'static str| {
        let removed = || mended.iter().find(|removed| removed.text() == *name).map(Change::Removed);
        let nothing = || Failure::of(&arguments.trace, format!("{name}: it would change nothing here"));
        replay::fix(name).map(Change::Fix).or_else(removed).ok_or_else(nothing)
    };
    names.iter().map(one).collect()
}

/// Findings whose causes would be gone.
#[derive(Default)]
struct Found {
    /// The findings that are asked for.
    removed: Vec<Removed>,
    /// The findings that a fix mends, by its name.
    mended: Vec<Removed>,
}

/// The findings that are asked for, and those of the fixes of these names, or of all.
fn find(
    trace: &Trace,
    arguments: &Whatif,
    names: &[Vec<&'static str>],
    is_search: bool,
) -> Result<Found, Failure> {
    let is_wanted = |id: &str| is_search || names.iter().flatten().any(|name| *name == id);
    let wanted: Vec<&str> = removals().map(|fix| fix.id).filter(|id| is_wanted(id)).collect();
    if arguments.remove.is_empty() && wanted.is_empty() {
        return Ok(Found::default());
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
    let mended = wanted.iter().filter_map(|id| Removed::by_fix(id, &explanation, &losses));
    Ok(Found {
        removed: arguments.remove.iter().map(one).collect::<Result<_, _>>()?,
        mended: mended.collect(),
    })
}

/// Every change that fits the trace, and the best together, by gain.
fn search<'a>(predictor: &Predictor<'_>, mended: &'a [Removed]) -> Result<Vec<Forecast<'a>>, replay::Error> {
    let sets: Vec<Vec<Change<'a>>> = mended.iter().map(|removed| vec![Change::Removed(removed)]).collect();
    let predicted = predictor.predict_each(&sets)?;
    let mending = |(changes, prediction): (Vec<Change<'a>>, Option<Prediction>)| {
        prediction.map(|prediction| Forecast { prediction, changes })
    };
    let mut all: Vec<Forecast<'a>> = sets.into_iter().zip(predicted).filter_map(mending).collect();
    all.extend(predictor.search()?.into_iter().map(Forecast::found));
    all.sort_by(|a, b| b.prediction.gain.share.total_cmp(&a.prediction.gain.share));
    Ok(all)
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
