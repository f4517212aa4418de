//! The account: what each GPU waited for, in lines, and a bar for each GPU and for the threads of each name.

use crate::causes::Family;
use crate::document::Section;
use crate::html::Html;
use explain::Explanation;
use report::bars::{Bar, BarPart, bars};
use report::units;

/// GPUs whose verdicts and bars are not folded. A choice: the first screen has room for a bar of each and for threads.
const GPUS: usize = 4;

/// GPUs up to which each gets lines with its causes, and the lines of all of them together.
const GPUS_WITH_LINES: usize = 2;
const LINES: usize = 4;

/// Bars that are not folded, and those of threads among them.
const BARS: usize = 8;
const THREADS: usize = 5;

/// Most folded bars: a page of a thousand threads has those that call CUDA most.
const FOLDED: usize = 200;

/// Smallest part of a bar that is drawn by itself: about two pixels. Smaller ones are drawn together.
const NARROW: f64 = 0.004;

/// Smallest share of a GPU's time that gets a line.
const SMALL: f64 = 0.005;

/// Width of a bar on the narrowest usual screen and of a character in it, pixels: a name that does not fit is omitted.
const WIDE: f64 = 440.0;
const CHARACTER: f64 = 6.6;

/// The account of a trace.
pub(crate) fn section(explanation: &Explanation) -> Section {
    let all = bars(&explanation.accounts);
    let (gpus, threads): (Vec<&Bar>, Vec<&Bar>) = all.iter().partition(|bar| bar.is_gpu);
    let mut body = verdicts(&gpus);
    let seen_gpus = gpus.len().min(GPUS);
    let seen_threads = threads.len().min(THREADS).min(BARS - seen_gpus);
    // Those that call CUDA most; ties in the order of the account.
    let mut ranked = threads.clone();
    ranked.sort_by_key(|bar| std::cmp::Reverse(bar.calls));
    body.push(&patterns());
    body.open("div", &[("class", "bars"), ("role", "group"), ("aria-label", "Where the time went")]);
    for bar in gpus[..seen_gpus].iter().chain(&ranked[..seen_threads]) {
        body.push(&row(bar));
    }
    body.close("div");
    body.push(&folded(&gpus[seen_gpus..], &ranked, seen_threads));
    body.leaf("p", &[("class", "readout"), ("aria-hidden", "true")], "");
    Section { id: "account", title: String::from("Account"), body, script: "account", data: Vec::new() }
}

/// One sentence for each GPU, and lines with its largest causes.
fn verdicts(gpus: &[&Bar]) -> Html {
    let mut html = Html::new();
    html.open("div", &[("class", "verdicts-of-gpus")]);
    if gpus.is_empty() {
        html.leaf("p", &[("class", "of-gpu")], "The trace has no GPU operations.");
    }
    let lines = if gpus.len() <= GPUS_WITH_LINES { LINES / gpus.len().max(1) } else { 0 };
    for gpu in gpus.iter().take(GPUS) {
        html.leaf("p", &[("class", "of-gpu")], &gpu.verdict);
        let causes = gpu.parts.iter().filter(|part| part.cause.is_some() && part.share >= SMALL);
        let causes: Vec<_> = causes.take(lines).collect();
        if causes.is_empty() {
            continue;
        }
        html.open("ul", &[("class", "causes")]);
        for part in causes {
            html.open("li", &[("data-find", part.name)]).leaf("b", &[], &part.percent).text(" ");
            html.leaf("span", &[], part.name).text(" ");
            html.leaf("code", &[("title", &part.place)], &part.place).close("li");
        }
        html.close("ul");
    }
    html.close("div");
    html
}

/// The bars that the first screen has no room for.
fn folded(gpus: &[&Bar], threads: &[&Bar], seen: usize) -> Html {
    let mut html = Html::new();
    let each: Vec<&Bar> = threads.iter().flat_map(|bar| &bar.each).collect();
    let bars: Vec<&Bar> = gpus.iter().chain(&threads[seen..]).copied().chain(each.iter().copied()).collect();
    if bars.is_empty() {
        return html;
    }
    let more =
        |number: usize, one: &str, many: &str| (number > 0).then(|| units::counted(number as u64, one, many));
    let threads = threads[seen..].iter().map(|bar| bar.each.len().max(1)).sum();
    let parts = [
        more(gpus.len(), "more GPU", "more GPUs"),
        more(threads, "more thread", "more threads"),
        more(each.len(), "single thread of a group", "single threads of groups"),
    ];
    let summary: Vec<String> = parts.into_iter().flatten().collect();
    html.open("details", &[("class", "more-bars")]).leaf("summary", &[], &summary.join(", "));
    html.open("div", &[("class", "bars"), ("role", "group"), ("aria-label", "More accounts")]);
    for bar in bars.iter().take(FOLDED) {
        html.push(&row(bar));
    }
    html.close("div");
    if bars.len() > FOLDED {
        let omitted = units::counted((bars.len() - FOLDED) as u64, "more", "more");
        html.leaf("p", &[("class", "remark")], &format!("{omitted}: holdup stats lists all."));
    }
    html.close("details");
    html
}

/// A name, a bar, and what the bar adds up to.
fn row(bar: &Bar) -> Html {
    let label = format!("{}, {}", bar.of, bar.span);
    let mut html = Html::new();
    html.open("div", &[("class", "account"), ("role", "group"), ("aria-label", &label)]);
    html.leaf("span", &[("class", "of"), ("title", &bar.of)], &bar.of);
    html.open("svg", &[("class", "segments")]);
    let (wide, narrow): (Vec<&BarPart>, Vec<&BarPart>) =
        bar.parts.iter().partition(|part| part.share >= NARROW);
    let mut from = 0.0;
    for part in wide {
        let place = if part.place.is_empty() { String::new() } else { format!(" · {}", part.place) };
        let says = format!("{}: {}, {} of {}{place}", part.name, part.time, part.percent, bar.of);
        html.push(&segment(
            style(part),
            part.name,
            &part.percent,
            &says,
            (from, part.share),
            bar.is_gpu && part.cause.is_some(),
        ));
        from += part.share;
    }
    if !narrow.is_empty() {
        let parts: Vec<String> = narrow.iter().map(|part| format!("{} {}", part.name, part.time)).collect();
        let says = format!("Each below 0.4 % of {}: {}", bar.of, parts.join(", "));
        let share = narrow.iter().map(|part| part.share).sum();
        html.push(&segment("unknown", "", "", &says, (from, share), false));
    }
    html.close("svg").leaf("span", &[("class", "span")], &bar.span).close("div");
    html
}

fn style(part: &BarPart) -> &'static str {
    match part.cause {
        Some(cause) => Family::of(cause).style(),
        None if part.name == "busy" => "busy",
        None => "unknown",
    }
}

/// A part of a bar. It is a picture of its own, so that it cuts its text, needs no script and prints. If it `is_drawn`,
/// the timeline finds it.
fn segment(
    style: &str,
    name: &str,
    percent: &str,
    says: &str,
    (from, share): (f64, f64),
    is_drawn: bool,
) -> Html {
    let class = format!("segment {style}");
    let place = |part: f64| format!("{:.3}%", part.clamp(0.0, 1.0) * 100.0);
    let (x, width) = (place(from), place(share));
    let mut html = Html::new();
    let mut attributes = vec![("class", &*class), ("x", &x), ("width", &width), ("height", "22")];
    attributes.extend([("tabindex", "-1"), ("aria-label", says)]);
    match is_drawn {
        true => attributes.extend([("role", "button"), ("data-find", name)]),
        false => attributes.push(("role", "img")),
    }
    html.open("svg", &attributes);
    html.leaf("title", &[], says);
    html.open("rect", &[("width", "100%"), ("height", "22")]).close("rect");
    let room = share * WIDE / CHARACTER - 1.5;
    let both = format!("{percent} {name}");
    let fits = [both.as_str(), percent].into_iter().find(|text| text.chars().count() as f64 <= room);
    if let Some(text) = fits.filter(|text| !text.is_empty()) {
        html.leaf("text", &[("x", "5"), ("y", "15")], text);
    }
    html.close("svg");
    html
}

/// The patterns of the families: shapes that differ without color.
fn patterns() -> Html {
    // Each family's tile of 6 by 6 pixels, as lines.
    const TILES: [(&str, &str); 8] = [
        ("lock", "M-1 7L7 -1M-1 1L1 -1M5 7L7 5"),
        ("memory", "M-1 -1L7 7M5 -1L7 1M-1 5L1 7"),
        ("sync", "M1 3h1M4 0h1M4 6h1"),
        ("setup", "M0 3h6M3 0v6"),
        ("host", ""),
        ("calls", "M0 4h6"),
        ("asleep", "M3 0v6"),
        ("unknown", "M2 3h2"),
    ];
    let mut html = Html::new();
    html.open("svg", &[("class", "patterns"), ("width", "0"), ("height", "0"), ("aria-hidden", "true")]);
    for (name, lines) in TILES {
        let id = format!("pattern-{name}");
        html.open(
            "pattern",
            &[
                ("id", &id),
                ("class", name),
                ("width", "6"),
                ("height", "6"),
                ("patternUnits", "userSpaceOnUse"),
            ],
        );
        html.open("rect", &[("width", "6"), ("height", "6")]).close("rect");
        html.open("path", &[("d", lines)]).close("path").close("pattern");
    }
    html.close("svg");
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use explain::{AccountPart, Accounts, Busy, Cause, GpuAccount, ThreadAccount};

    fn explanation(accounts: Accounts) -> Explanation {
        Explanation { accounts, ..explain::explain(&trace::Trace::default(), &explain::Options::default()) }
    }

    fn part(cause: Cause, ns: i64) -> AccountPart {
        AccountPart { cause, ns, places: Vec::new(), calls: Vec::new(), spent: Vec::new() }
    }

    fn gpu(device: i64) -> GpuAccount {
        let idle = vec![part(Cause::HostCode, 58), part(Cause::Gil, 2)];
        GpuAccount {
            device,
            name: String::new(),
            span_ns: 1_000,
            busy_ns: 940,
            busy: Busy::default(),
            busy_over_time: Vec::new(),
            exposed_communication_ns: 0,
            collective_wait_ns: Some(0),
            idle,
            held_back: Vec::new(),
        }
    }

    fn thread(tid: i64, name: &str, calls: u64) -> ThreadAccount {
        let parts = vec![part(Cause::OwnWork, 10)];
        ThreadAccount { pid: 1, tid, name: name.to_owned(), span_ns: 10, calls, parts }
    }

    #[test]
    fn a_bar_has_a_segment_for_each_part_and_one_for_the_narrow_ones() {
        let html = section(&explanation(Accounts { gpus: vec![gpu(0)], ..Accounts::default() }));
        let html = html.body.as_str();
        assert!(html.contains("aria-label=\"host-code: 58 ns, 6 % of GPU 0\""), "{html}");
        assert!(
            html.contains("x=\"0.000%\" width=\"94.000%\"") && html.contains("width=\"5.800%\""),
            "{html}"
        );
        assert!(html.contains("Each below 0.4 % of GPU 0: gil 2 ns"), "{html}");
        assert!(html.contains("<p class=\"of-gpu\">GPU 0 was idle 6 % of 1.00 µs</p>"), "{html}");
    }

    #[test]
    fn more_than_the_first_screen_has_room_for_is_folded_and_counted() {
        let gpus = (0..6).map(gpu).collect();
        let mut threads: Vec<_> = (0..9).map(|tid| thread(tid, "", tid as u64)).collect();
        threads.extend((10..13).map(|tid| thread(tid, "worker", 100)));
        let html = section(&explanation(Accounts { gpus, threads, ..Accounts::default() }));
        let (seen, folded) = html.body.as_str().split_once("<details").unwrap();
        assert_eq!(seen.matches("class=\"account\"").count(), BARS);
        assert!(seen.contains(">3 threads worker<") && seen.contains(">thread 8<"), "{seen}");
        assert!(folded.contains("2 more GPUs, 6 more threads, 3 single threads of groups"), "{folded}");
        assert_eq!(folded.matches("class=\"account\"").count(), 11);
    }

    #[test]
    fn every_family_has_a_pattern() {
        let html = patterns();
        for family in Family::ALL {
            assert!(html.as_str().contains(&format!("id=\"pattern-{}\"", family.style())), "{family:?}");
        }
    }
}
