//! The overlap of copies and kernels, in words.

use crate::document::{Document, Form, Paragraph};
use crate::escape::visible;
use crate::layout::elide;
use crate::place::short;
use crate::style::Role;
use crate::units;
use explain::{Behind, Engine, LateOps, LostOverlap, Overlap, OverlapRule, Place};

/// Smallest part that gets a line: of a device's busy time, or of its missed overlap. Ignored with `--all`.
const SMALL: f64 = 0.01;

/// Columns before the amount.
const INDENT: usize = 4;
/// Columns of the amount.
const AMOUNT: usize = 13;

/// Widest kernel name, columns.
const KERNEL: usize = 40;

/// Whether a device's overlap is worth reporting; with `all`, whether it has anything to overlap.
pub(crate) fn is_worth_telling(overlap: &Overlap, all: bool) -> bool {
    let least = overlap.busy_ns as f64 * SMALL;
    overlap.possible_ns > 0 && (all || overlap.explained_ns() as f64 >= least.max(1.0))
}

/// A device's overlap: the sentence, and the lost times.
pub(crate) fn document(overlap: &Overlap, form: Form, all: bool) -> Document {
    let mut document = Document::new(form);
    document.push(Paragraph::heading(2, sentence(overlap)));
    for (amount, words) in lost(overlap, all) {
        let amount = format!("{amount:>AMOUNT$}");
        document.push(Paragraph::item(words).label(amount, Some(Role::Strong), AMOUNT + 2).indented(INDENT));
    }
    document
}

/// `GPU 0: 410 ms more could overlap: one-stream · likely (--all)`: of copies and kernels, with the largest loss.
pub(crate) fn brief(overlap: &Overlap) -> String {
    let (gpu, missed) = (overlap.device, units::duration(overlap.missed_ns()));
    let first = overlap.lost.first().filter(|_| overlap.judged);
    let why =
        first.map_or_else(String::new, |lost| format!(": {} · {}", lost.rule.id(), lost.confidence.id()));
    format!("GPU {gpu}: {missed} more could overlap{why} (--all)")
}

/// `GPU 0 overlap: copies in 3.2 ms, kernels 3.3 ms, copies out 3.1 ms; two at once 5.0 ms, all three 1.1 ms; …`
pub(crate) fn sentence(overlap: &Overlap) -> String {
    let time = units::duration;
    let parts = [
        ("copies in", overlap.copies_in_ns),
        ("kernels", overlap.kernels_ns),
        ("copies out", overlap.copies_out_ns),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(_, ns)| *ns > 0).map(|(what, ns)| format!("{what} {}", time(*ns))).collect();
    let together = match (overlap.two_ns, overlap.three_ns) {
        (0, _) => String::from("never two at once"),
        (two, 0) => format!("two at once {}", time(two)),
        (two, three) => format!("two at once {}, all three {}", time(two), time(three)),
    };
    let engines = match overlap.copy_engines {
        None => String::from("number of copy engines unknown"),
        Some(engines) => units::counted(engines.into(), "copy engine", "copy engines"),
    };
    let least = if overlap.copy_engines.is_none() { "at least " } else { "" };
    let gain = match overlap.possible_ns {
        0 => String::from("there is nothing to overlap"),
        possible => format!(
            "overlap could save {least}{} and saves {}",
            time(possible),
            match overlap.reached_ns {
                0 => String::from("nothing"),
                reached => time(reached),
            }
        ),
    };
    let gpu = format!("GPU {}", overlap.device);
    format!("{gpu} overlap: {}; {together}; {engines}; {gain}", parts.join(", "))
}

/// The lost overlap: each amount with its cause. Without `all`, small parts are skipped.
pub(crate) fn lost(overlap: &Overlap, all: bool) -> Vec<(String, String)> {
    if !overlap.judged {
        let why = "cause unknown: the GPU's clock does not fit the host's";
        return vec![(String::from("lost"), String::from(why))];
    }
    let least = overlap.missed_ns() as f64 * SMALL;
    let large = overlap.lost.iter().filter(|lost| all || lost.lost_ns as f64 >= least);
    let mut lines: Vec<_> =
        large.map(|lost| (format!("lost {}", units::duration(lost.lost_ns)), told(lost))).collect();
    let rest = overlap.missed_ns() - overlap.explained_ns();
    if rest as f64 > least && rest > 0 {
        let why = "cause unknown; nothing can run beside the first operation and the last";
        lines.push((format!("rest {}", units::duration(rest)), String::from(why)));
    }
    lines
}

/// One loss: the rule, the mechanism, the late operations and the longest piece.
fn told(lost: &LostOverlap) -> String {
    let mut text = format!("{} · {}: {}", lost.rule.id(), lost.confidence.id(), lost.rule.mechanism(lost));
    if let Some(first) = lost.operations.first() {
        text.push_str(&format!("; {}", late(first, lost.rule)));
        if lost.kinds > 1 {
            let more = units::counted(lost.kinds - 1, "other kind", "other kinds");
            text.push_str(&format!(", and {more} of operation"));
        }
    }
    if let Some(longest) = lost.examples.first() {
        let start = longest.start_ns as f64 / 1e9;
        text.push_str(&format!("; longest {} at {start:.3} s", units::duration(longest.duration_ns)));
    }
    text.push_str(&format!(" ({})", lost.evidence.id()));
    text
}

/// `33 × copies in of stream 14 (cudaMemcpyAsync) behind copies out of stream 13 (cudaMemcpyAsync)`
fn late(late: &LateOps, rule: OverlapRule) -> String {
    let what = Party {
        engine: Some(late.engine),
        kernel: &late.kernel,
        stream: Some(late.stream),
        call: &late.call,
        library: &late.library,
        place: late.place.as_ref(),
    };
    let what = operation(&what);
    let mut text = format!("{} × {what}", units::count(late.count));
    if let Some(behind) = &late.behind {
        let Behind { engine, kernel, stream, call, library, place } = behind;
        let (engine, stream, place) = (*engine, *stream, place.as_ref());
        let link = match (rule, engine) {
            (OverlapRule::OneStream, _) => "after",
            (_, None) => "after a wait in",
            _ => "behind",
        };
        let what = operation(&Party { engine, kernel, stream, call, library, place });
        text.push_str(&format!(" {link} {what}"));
    }
    text
}

/// Operations, or what they waited for.
struct Party<'a> {
    engine: Option<Engine>,
    kernel: &'a str,
    stream: Option<i64>,
    call: &'a str,
    library: &'a str,
    place: Option<&'a Place>,
}

/// `copy in, stream 14 (cublas, cudaMemcpyAsync at run.py:3)`
fn operation(Party { engine, kernel, stream, call, library, place }: &Party<'_>) -> String {
    let at = place.map_or(String::new(), |place| format!(" at {}", short(place)));
    let Some(engine) = engine else { return format!("{}{at}", visible(call)) };
    let mut text = match engine {
        Engine::CopyIn => String::from("copy in"),
        Engine::CopyOut => String::from("copy out"),
        Engine::Other => String::from("other copy"),
        Engine::Compute if kernel.is_empty() => String::from("fill"),
        Engine::Compute => elide(&visible(kernel), KERNEL),
    };
    if let Some(stream) = stream {
        text.push_str(&format!(", stream {stream}"));
    }
    let by: Vec<_> = [*library, *call].into_iter().filter(|name| !name.is_empty()).map(visible).collect();
    if !by.is_empty() {
        text.push_str(&format!(" ({}{at})", by.join(", ")));
    }
    text
}
