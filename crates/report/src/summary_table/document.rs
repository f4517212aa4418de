//! The judgement of summary tables as a document.

use super::{Judged, sentences, steps};
use crate::document::{Block, Document, Form, Line, Paragraph};
use crate::escape::visible;
use crate::style::Role;
use crate::units::{counted, duration};
use explain::{About, Fix, Framework};
use summary::{Judgement, Reading, Summary, Tool, Verdict};
use trace::Ns;

/// Readings that are shown without `all`.
const SHOWN: usize = 4;

/// Columns of the labels of a reading, and before them.
const LABEL: usize = 7;
const INDENT: usize = 2;

/// The tables of a text with their judgements; with `all` every reading, and every fix in full.
pub fn document(judged: &Judged, form: Form, all: bool) -> Document {
    let mut document = Document::new(form);
    if document.is_markdown() {
        document.push(Paragraph::heading(1, format!("What holds up {}", visible(&judged.path))));
    }
    let number = judged.tables.len();
    for (at, (summary, judgement)) in judged.tables.iter().enumerate() {
        if at > 0 {
            document.gap();
        }
        let which = if number > 1 { format!("profile {} of {number}: ", at + 1) } else { String::new() };
        let first = format!("{}: {which}{}", visible(&judged.path), header(summary));
        document.push(Paragraph::new(first));
        document.gap();
        document.push(Paragraph::new(Line::of(Role::Strong, sentences::verdict(judgement))));
        document.gap();
        let shown = if all { judgement.readings.len() } else { SHOWN };
        for reading in judgement.readings.iter().take(shown) {
            document.extend(paragraphs(reading, judgement, summary, all));
            document.extend(code(reading, summary.tool));
            document.gap();
        }
        document.extend(folded(judgement, shown).map(Paragraph::new));
        document.push(Paragraph::new(format!("The table cannot show {}.", sentences::limits(judgement))));
        let is_markdown = document.is_markdown();
        document.extend(next(judgement, summary, is_markdown));
    }
    document
}

/// `CUDA.jl's profiler, line 2: a summary table of 5.03 ms: 13 calls take 5.01 ms, 4 operations 4.94 ms`
fn header(summary: &Summary) -> String {
    let sum = |rows: &mut dyn Iterator<Item = (u64, Ns)>| {
        rows.fold((0u64, 0 as Ns), |(count, ns), (more, time)| {
            (count.saturating_add(more), ns.saturating_add(time))
        })
    };
    let part = |(number, ns): (u64, Ns), one, many| {
        (ns > 0).then(|| format!("{} in {}", duration(ns), counted(number, one, many)))
    };
    let calls = sum(&mut summary.calls.iter().map(|row| (row.count, row.total_ns)));
    let own = sum(&mut summary.operators.iter().map(|row| (row.count, row.self_ns)));
    let work = sum(&mut summary.work.iter().map(|work| (work.row.count, work.row.total_ns)));
    let parts = [
        part(own, "operator", "operators"),
        part(calls, "call", "calls"),
        part(work, "operation of the GPU", "operations of the GPU"),
    ];
    let span = summary.span_ns.map_or(String::new(), |ns| format!(", {} profiled", duration(ns)));
    let parts = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    format!("summary table of {}, line {}{span}: {parts}", sentences::tool(summary.tool), summary.line)
}

/// A reading: what it is of, what was seen, what the cause means, and its fixes.
fn paragraphs(reading: &Reading, judgement: &Judgement, summary: &Summary, all: bool) -> Vec<Paragraph> {
    let calls = sentences::calls(reading);
    let within = if calls.is_empty() { String::new() } else { format!(" in {calls}") };
    let amount =
        format!("{} ({})", duration(reading.time_ns), sentences::share(reading.time_ns, judgement, summary));
    let cause = match (reading.cause, reading.confidence) {
        (Some(cause), Some(confidence)) => format!(": {} · {}", cause.id(), confidence.id()),
        (Some(_), None) if reading.is_untold() => String::from(": cannot be told"),
        (Some(cause), None) => format!(": {}", cause.id()),
        (None, _) => String::new(),
    };
    let mut paragraphs = vec![Paragraph::new(Line::of(Role::Strong, amount).and(format!("{within}{cause}")))];
    paragraphs.push(field("seen", sentences::seen(reading)));
    if let Some(cause) = reading.cause.filter(|_| !reading.is_untold()) {
        paragraphs.push(field("means", About::of(cause).meaning.to_owned()));
    }
    let fixes = if all { reading.fixes.len() } else { 1 };
    paragraphs.extend(reading.fixes.iter().take(fixes).map(|fix| field("fix", remedy(fix))));
    if let Some(others) = others(&reading.fixes[fixes.min(reading.fixes.len())..]) {
        paragraphs.push(field("or", others));
    }
    paragraphs
}

/// The lines that apply the first fix, where the profiler is that of one language.
fn code(reading: &Reading, tool: Tool) -> Option<Block> {
    let framework = match tool {
        Tool::Julia => Framework::Julia,
        Tool::Torch => Framework::PyTorch,
        Tool::Nvprof | Tool::Nsys => return None,
    };
    let form = reading.fixes.first()?.forms.iter().find(|form| form.fits(Some(framework)))?;
    let indent = INDENT + LABEL;
    Some(Block::Code { language: form.language(), code: form.code.to_owned(), indent })
}

fn remedy(fix: &Fix) -> String {
    format!("{}: {}; {}", fix.id, fix.text, fix.safety)
}

fn others(fixes: &[Fix]) -> Option<String> {
    let names: Vec<&str> = fixes.iter().map(|fix| fix.id).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn field(label: &str, text: String) -> Paragraph {
    Paragraph::item(text).label(label, Some(Role::Dim), LABEL).indented(INDENT)
}

/// Readings that are not shown, in one line.
fn folded(judgement: &Judgement, shown: usize) -> Option<String> {
    let rest = judgement.readings.get(shown..).filter(|rest| !rest.is_empty())?;
    let ns = rest.iter().map(|reading| reading.time_ns).fold(0, Ns::saturating_add);
    let number = counted(rest.len() as u64, "further part", "further parts");
    Some(format!("{number} of {} (--all shows them)", duration(ns)))
}

/// The steps that show more.
fn next(judgement: &Judgement, summary: &Summary, is_markdown: bool) -> Vec<Paragraph> {
    let title = match judgement.verdict {
        Verdict::CannotTell => "To find out:",
        Verdict::Cause(_) => "To prove it, and to see where:",
        Verdict::Busy(_) => "To see where the time goes:",
    };
    let sentences = judgement.next.iter().flat_map(|step| steps::sentences(*step, summary.tool));
    let item = |sentence: String| match is_markdown {
        true => Paragraph::item(sentence),
        false => Paragraph::item(sentence).label("-", None, 2),
    };
    let items = sentences.map(item);
    [Paragraph::new(title)].into_iter().chain(items).collect()
}
