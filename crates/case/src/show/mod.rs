//! The report of a case in Markdown, and the head of its workload.

mod considered;
mod files;
mod reproduced;

pub use files::{REPORT, TRACE, WORKLOAD};
pub use reproduced::{command_on_model, is_shown, toml};

use crate::{Case, Environment, Figures, Spread, Subject};
use explain::{About, Finding, Nature};
use report::document::{Block, Document, Form, Line, Paragraph, Table};
use report::{Role, explanation, units};

/// The report, as GitHub's Markdown.
pub fn markdown(case: &Case) -> String {
    let mut document = Document::new(Form::Markdown);
    document.extend(statement(case));
    document.push(Paragraph::heading(2, "Environment"));
    document.push(environment(&case.environment));
    document.extend(finding(case));
    document.extend(evidence(case));
    document.extend(considered::blocks(&case.ruled_out));
    document.extend(reproduced::blocks(case));
    document.extend(files(case));
    document.to_string()
}

/// The title, and the problem in one sentence.
fn statement(case: &Case) -> Vec<Block> {
    let finding = case.finding();
    let words = explanation::words(finding, &case.explanation.trace);
    let waits_for = words.fields.iter().find(|field| field.label == "waits for");
    let holder = waits_for.map_or(String::new(), |field| format!("; waits for {}", field.text));
    vec![
        Paragraph::heading(1, format!("{}: {}", finding.cause.id(), About::of(finding.cause).brief)).into(),
        Paragraph::new(Line::of(Role::Strong, format!("{}{holder}.", words.sentence))).into(),
    ]
}

/// A table of two columns.
fn pairs(title: [&'static str; 2], rows: Vec<(String, String)>) -> Block {
    let [left, right] = title;
    Table::of(&rows).left(left, |row| row.0.clone()).left(right, |row| row.1.clone()).into()
}

fn environment(of: &Environment) -> Block {
    let known = |text: String| if text.is_empty() { String::from("not recorded") } else { text };
    let gpu = |(name, (major, minor), count): &(String, (u32, u32), u64)| {
        let compute = if (*major, *minor) == (0, 0) { String::new() } else { format!(" ({major}.{minor})") };
        format!("{count} × {name}{compute}")
    };
    let gpus: Vec<String> = of.gpus.iter().map(gpu).collect();
    let libraries: Vec<String> =
        of.libraries.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let processors = of.processors.map_or(String::new(), |count| units::count(u64::from(count)));
    let mut rows = vec![
        ("GPUs (compute capability)", known(gpus.join(", "))),
        ("driver", known(of.driver.clone())),
        ("CUDA runtime", known(of.runtime.clone())),
        ("libraries", known(libraries.join(", "))),
        ("processors that the program may use", known(processors)),
        ("operating system, kernel", known(String::new())),
        ("processes", units::count(of.processes)),
        ("recorded by", known(of.source.clone())),
        ("report by", format!("holdup {}", env!("CARGO_PKG_VERSION"))),
    ];
    rows.extend(
        of.ranks.map(|ranks| ("ranks of the program", units::count(u64::try_from(ranks).unwrap_or(0)))),
    );
    pairs(["what", "value"], rows.into_iter().map(|(what, value)| (what.to_owned(), value)).collect())
}

/// The finding with its figures.
fn finding(case: &Case) -> Vec<Block> {
    let finding = case.finding();
    let mut blocks: Vec<Block> = vec![Paragraph::heading(2, "Finding").into()];
    let mut facts = vec![format!(
        "Lost host time: {} ({} of the time of the threads that lost it).",
        units::duration(finding.lost_ns),
        units::percent(finding.share)
    )];
    if finding.cost_ns > 0 && !case.explanation.accounts.gpus.is_empty() {
        facts.push(format!(
            "Lost GPU time: {} ({} of the GPUs' time).",
            units::duration(finding.cost_ns),
            units::percent(finding.cost_share)
        ));
    }
    facts.push(format!("{} lost time, {}.", threads(finding), when(finding)));
    blocks.extend(facts.into_iter().map(|fact| Paragraph::item(fact).into()));
    if let Some(figures) = &case.figures {
        blocks.push(figures_table(figures, finding));
    }
    blocks
}

fn threads(finding: &Finding) -> String {
    units::counted(finding.waiter.threads.max(1), "thread", "threads")
}

fn when(finding: &Finding) -> &'static str {
    match finding.phase {
        explain::Phase::Once => "once",
        explain::Phase::Recurring => "again and again",
    }
}

fn figures_table(figures: &Figures, finding: &Finding) -> Block {
    let call = match finding.waiter.call.as_str() {
        "" => "calls",
        call => call,
    };
    let [lost, beside] = match figures.subject {
        Subject::Calls => [format!("{call} that lost time"), format!("{call} otherwise")],
        Subject::Waits => [String::from("waits outside of calls"), String::new()],
        Subject::Operations => [
            String::from("waits of GPU operations for this cause"),
            String::from("waits of the other operations"),
        ],
        Subject::Pauses => [String::from("pauses between calls"), String::new()],
    };
    let mut rows: Vec<(String, Spread)> = vec![(lost, figures.lost)];
    rows.extend(figures.beside.map(|spread| (beside, spread)));
    Table::of(&rows)
        .left("durations", |row| row.0.clone())
        .right("count", |row| units::count(row.1.count))
        .right("min", |row| units::duration(row.1.min))
        .right("median", |row| units::duration(row.1.median))
        .right("p95", |row| units::duration(row.1.p95))
        .right("max", |row| units::duration(row.1.max))
        .into()
}

fn evidence(case: &Case) -> Vec<Block> {
    let finding = case.finding();
    let words = explanation::words(finding, &case.explanation.trace);
    let mut blocks: Vec<Block> = vec![Paragraph::heading(2, "Evidence").into()];
    let confidence = match About::of(finding.cause).nature {
        Nature::Unknown => String::from("The cause is unknown."),
        Nature::Lost | Nature::Asked => {
            format!("Confidence: {} ({}).", finding.confidence.id(), finding.evidence.meaning())
        }
    };
    blocks.push(Paragraph::item(confidence).into());
    for field in &words.fields {
        let places = field.places.join("; ");
        let text = [field.text.as_str(), places.as_str()]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>();
        blocks.push(Paragraph::item(format!("{}: {}", field.label, text.join(": at "))).into());
    }
    if !words.examples.is_empty() {
        blocks.push(Paragraph::item(format!("longest: {}", words.examples.join(", "))).into());
    }
    blocks
}

/// The trace extract, and what was replaced.
fn files(case: &Case) -> Vec<Block> {
    let mut blocks: Vec<Block> = vec![Paragraph::heading(2, "Trace").into()];
    let part = match case.extract.window {
        Some((from, to)) => format!(
            "trace.holdup has {} to {} of the {} that were recorded: the part in which this is worst. holdup explain trace.holdup finds the same in it.",
            units::duration(from),
            units::duration(to),
            units::duration(case.ns)
        ),
        None => format!("trace.holdup has all of the {} that were recorded.", units::duration(case.ns)),
    };
    blocks.push(Paragraph::new(part).into());
    blocks.push(Paragraph::heading(2, "Privacy").into());
    match &case.replaced {
        None => blocks.push(Paragraph::new(
            "Nothing was replaced (--names): the files have the names of the program's processes, threads, functions, source files, kernels and \
             marked ranges, the command line and the machine's name, as far as they were recorded.").into()),
        Some(replaced) => {
            blocks.push(Paragraph::new(
                "In all files, names of the program are replaced by numbers. Names of CUDA's functions, of libraries of NVIDIA and of well-known \
                 frameworks, and of their kernels stay; so do process and thread ids.").into());
            let rows: Vec<(String, String)> = replaced
                .iter()
                .map(|(kind, count)| (kind.nouns().1.to_owned(), units::count(*count as u64)))
                .collect();
            match rows.is_empty() {
                true => blocks.push(Paragraph::new("The trace had none to replace.").into()),
                false => blocks.push(pairs(["replaced", "count"], rows)),
            }
        }
    }
    blocks
}
