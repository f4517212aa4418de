//! Steps, in words.

use crate::document::{Block, Document, Form, Paragraph};
use crate::escape::visible;
use crate::layout::shorten;
use crate::place::short;
use crate::units;
use explain::{AccountPart, Refusal, SlowStep, StepSource, Steps};
use trace::Ns;

/// Most causes that a sentence names.
const NAMED: usize = 3;

/// Smallest part that a sentence names, in percent: of the time of steps, or of what slow ones took longer.
const SMALL: Ns = 5;

/// Widest name of a kernel, columns.
const KERNEL: usize = 40;

/// The steps, with an empty line after them; nothing without steps. `told` says that the verdict has all but the slow ones.
pub(crate) fn document(steps: Option<&Steps>, refused: Option<Refusal>, form: Form, told: bool) -> Document {
    let mut document = Document::new(form);
    let sentences = sentences(steps, refused).into_iter().skip(usize::from(told));
    let sentences: Vec<Paragraph> = sentences
        .map(|sentence| match form {
            Form::Text(page) if told => Paragraph::new(shorten(&sentence, page.columns - 4, 2)),
            Form::Text(_) | Form::Markdown => Paragraph::new(sentence),
        })
        .collect();
    let gap = (!sentences.is_empty()).then_some(Block::Gap);
    document.extend(sentences);
    document.extend(gap);
    document
}

/// `65 steps (median 15.4 ms, 64.94/s)`, `400 requests in 4 threads (median 4.64 ms, 842.7/s)`
pub(crate) fn rate(steps: &Steps) -> String {
    format!("{} (median {}, {}/s)", count(steps), units::duration(steps.median_ns), rate_of(steps))
}

/// `65 steps`, `400 requests in 4 threads`
pub fn count(steps: &Steps) -> String {
    let (one, many) = nouns(steps);
    let count = units::counted(steps.count, one, many);
    match steps.threads {
        0 | 1 => count,
        threads => format!("{count} in {} threads", units::count(threads)),
    }
}

/// Noun for one of them, and for several.
fn nouns(steps: &Steps) -> (&'static str, &'static str) {
    if steps.requests { ("request", "requests") } else { ("step", "steps") }
}

fn rate_of(steps: &Steps) -> String {
    units::number(steps.per_second)
}

/// The steps in a sentence, and the slow ones in another one; nothing without steps.
pub fn sentences(steps: Option<&Steps>, refused: Option<Refusal>) -> Vec<String> {
    let Some(steps) = steps else { return Vec::new() };
    let mut sentences = vec![usual(steps, refused)];
    sentences.extend(steps.slow.first().map(|longest| slow(steps, longest, refused)));
    sentences
}

/// `65 steps (ProfilerStep), median 15.4 ms, 64.94/s: GPU 0 idle 36 %: 24 % host-code train.py:31, 8 % own-work …`, of all steps but
/// the first ones
fn usual(steps: &Steps, refused: Option<Refusal>) -> String {
    let (count, median, rate) = (count(steps), units::duration(steps.median_ns), rate_of(steps));
    let mut text = format!("{count} ({}), median {median}, {rate}/s", name(steps.source, &steps.name));
    let total = steps.total.duration_ns;
    let share = |ns: Ns| units::percent(ns as f64 / total.max(1) as f64);
    match (steps.device, refused) {
        (Some(device), None) => {
            text.push_str(&format!(": GPU {device} idle {}", share(total - steps.total.busy_ns)));
        }
        (None, _) => {}
        (Some(_), Some(_)) => return text,
    }
    let parts = steps.total.idle.iter().filter(|part| part.ns * 100 >= total * SMALL).take(NAMED);
    let parts: Vec<String> = parts.map(|part| with_place(share(part.ns), part)).collect();
    if !parts.is_empty() {
        text.push_str(&format!(": {}", parts.join(", ")));
    }
    text
}

/// `2 slow steps, the longest 45.4 ms (ProfilerStep#12 at 1.02 s): +30.0 ms, of which 28.0 ms host-code train.py:31 step`
fn slow(steps: &Steps, longest: &SlowStep, refused: Option<Refusal>) -> String {
    let count = steps.slow.len() as u64;
    let more = longest.duration_ns - steps.median_ns;
    let named = if longest.name.is_empty() { String::new() } else { format!("{} ", visible(&longest.name)) };
    let (took, at) = (units::duration(longest.duration_ns), units::duration(longest.start_ns));
    let (one, many) = nouns(steps);
    let mut text = match count {
        1 => format!("1 slow {one}, {took}"),
        _ => format!("{} slow {many}, the longest {took}", units::count(count)),
    };
    text.push_str(&format!(" ({named}at {at}), {} more than the median", units::duration(more)));
    if refused.is_some() {
        return text;
    }
    let is_large = |ns: Ns| ns * 100 >= more * SMALL;
    let causes = longest.more.iter().filter(|part| is_large(part.ns));
    let mut parts: Vec<(Ns, String)> =
        causes.map(|part| (part.ns, with_place(units::duration(part.ns), part))).collect();
    if is_large(longest.busy_more_ns) && steps.device.is_some() {
        let busy = units::duration(longest.busy_more_ns);
        parts.push((longest.busy_more_ns, format!("{busy} of work of the GPU")));
    }
    parts.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
    let parts: Vec<String> = parts.into_iter().take(NAMED).map(|(_, text)| text).collect();
    if !parts.is_empty() {
        text.push_str(&format!(": {}", parts.join(", ")));
    }
    text
}

/// `24 % host-code train.py:31 step`
fn with_place(amount: String, part: &AccountPart) -> String {
    // Several calls would make the sentence long: one of them is enough.
    let call = || part.calls.first().map_or_else(String::new, |call| visible(call).into_owned());
    let place = part.places.first().map_or_else(call, short);
    format!("{amount} {} {place}", part.cause.id()).trim_end().to_owned()
}

/// Text for the name of steps, with names escaped.
pub fn name(source: StepSource, name: &str) -> String {
    let name = visible(name);
    match source {
        StepSource::Ranges => name.into_owned(),
        StepSource::GraphLaunches => format!("from one {name} to the next"),
        StepSource::Kernels | StepSource::Threads => {
            let short = crate::short::fit(&[&name], KERNEL).pop().unwrap_or_default();
            format!("from one {short} to the next")
        }
    }
}
