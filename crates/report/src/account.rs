//! The accounts of GPUs, in words.

use crate::layout::{elide, wrap};
use crate::page::Page;
use crate::style::Role;
use crate::units;
use explain::{AccountPart, Accounts, Confidence, GpuAccount, HeldBack, Place, Refusal};
use trace::Ns;

/// Smallest part of a GPU's time that gets a line, in percent; the others are summed.
const SMALL: Ns = 1;

/// Part of its time, in percent, from which on a GPU that is busy is held up by nobody on the host.
const BUSY: Ns = 95;

/// Columns before a part's cause, and before its place.
const CAUSE: usize = 10;
const PLACE: usize = 32;

/// The accounts of all GPUs for a terminal, an empty line after each.
pub(crate) fn text(accounts: &Accounts, page: Page) -> String {
    let mut text = String::new();
    for gpu in &accounts.gpus {
        text.push_str(&of_gpu(gpu, accounts.refused, page));
        text.push('\n');
    }
    text
}

fn of_gpu(gpu: &GpuAccount, refused: Option<Refusal>, page: Page) -> String {
    let mut text = wrap(&verdict(gpu, refused), page.columns).join("\n");
    text.push('\n');
    if refused.is_none() {
        if !is_busy(gpu) {
            idle(&mut text, gpu, page);
        }
        held_back(&mut text, gpu, page);
    }
    text
}

fn idle(text: &mut String, gpu: &GpuAccount, page: Page) {
    let (large, small): (Vec<_>, Vec<_>) =
        gpu.idle.iter().partition(|part| part.ns * 100 >= gpu.span_ns * SMALL);
    for part in large {
        line(text, gpu, part.ns, part.cause.id(), &place(part), page);
    }
    let rest: Ns = small.iter().map(|part| part.ns).sum();
    if rest * 100 >= gpu.span_ns * SMALL {
        line(text, gpu, rest, "other", "", page);
    }
}

/// Lines for the part of its busy time in which a GPU was held back, if it matters.
fn held_back(text: &mut String, gpu: &GpuAccount, page: Page) {
    let held: Ns = gpu.held_back.iter().map(|held| held.part.ns).sum();
    let is_large = |ns: Ns| ns * 100 >= gpu.span_ns * SMALL;
    if !is_large(held) {
        return;
    }
    let (number, span) = (gpu.device, units::duration(gpu.span_ns));
    let verdict = format!(
        "GPU {number} was held back {} of {span} (busy, with room for operations that waited; estimated):",
        units::percent(share(held, gpu))
    );
    text.push_str(&wrap(&verdict, page.columns).join("\n"));
    text.push('\n');
    for held in gpu.held_back.iter().filter(|held| is_large(held.part.ns)) {
        line(text, gpu, held.part.ns, held.part.cause.id(), &behind(held), page);
    }
}

/// What waited most for what: `stream 14 behind stream 13, possible`.
pub(crate) fn behind(held: &HeldBack) -> String {
    let pair = held.streams.first().map(|pair| match pair.behind {
        Some(behind) => format!("stream {} behind stream {behind}", pair.stream),
        None => format!("stream {}", pair.stream),
    });
    let doubt = (held.part.confidence == Confidence::Possible).then(|| "possible".to_owned());
    pair.into_iter().chain(doubt).collect::<Vec<_>>().join(", ")
}

fn line(text: &mut String, gpu: &GpuAccount, ns: Ns, cause: &str, place: &str, page: Page) {
    let share = page.style.paint(Role::Strong, &format!("{:>8}", units::percent(share(ns, gpu))));
    let cause = format!("{cause:space$}", space = PLACE - CAUSE);
    let place = elide(place, page.columns.saturating_sub(PLACE));
    text.push_str(format!("{share}  {cause}{place}").trim_end());
    text.push('\n');
}

/// `GPU 0 was idle 64 % of 1.9 s:`
pub(crate) fn verdict(gpu: &GpuAccount, refused: Option<Refusal>) -> String {
    let (number, span) = (gpu.device, units::duration(gpu.span_ns));
    let (busy, idle) = (gpu.busy_ns, gpu.span_ns - gpu.busy_ns);
    if let Some(refused) = refused {
        let why = match refused {
            Refusal::Lost => "records were lost",
            Refusal::Clock => "the clocks of host and GPU cannot be compared",
        };
        return format!(
            "GPU {number} has records for {} of {span}; why it was idle is unknown: {why}.",
            units::duration(busy)
        );
    }
    let percent = |ns| units::percent(share(ns, gpu));
    match is_busy(gpu) {
        true => {
            format!("GPU {number} was busy {} of {span}: it does not wait for the host.", percent(busy))
        }
        false => format!("GPU {number} was idle {} of {span}:", percent(idle)),
    }
}

pub(crate) fn is_busy(gpu: &GpuAccount) -> bool {
    gpu.busy_ns * 100 >= gpu.span_ns * BUSY
}

fn share(ns: Ns, gpu: &GpuAccount) -> f64 {
    ns as f64 / gpu.span_ns.max(1) as f64
}

/// Where most of a part's time passed: `serve.py:17 one`, else the calls in or before which it did.
pub(crate) fn place(part: &AccountPart) -> String {
    let named = |place: &Place| match place.line {
        0 => format!("{} {}", place.function, place.file),
        line => format!("{}:{line} {}", place.file, place.function),
    };
    match part.places.first() {
        Some(place) => named(place).trim_end().to_owned(),
        None => part.calls.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::width;

    #[test]
    fn causes_fit_their_column() {
        let widest = explain::Cause::ALL.iter().map(|cause| width(cause.id())).max();
        assert!(widest < Some(PLACE - CAUSE), "{widest:?}");
    }
}
