//! The account: what each GPU waited for, in lines, and a bar for each GPU and for the threads of each name.

use crate::document::Section;
use crate::html::Html;
use explain::About;
use explain::Explanation;
use report::bars::{Bar, BarPart, bars};
use report::ranks::{Communication, LateCause};
use report::units;

/// GPUs whose bars are not folded. A choice: the first screen has room for a bar of each and for threads.
const GPUS: usize = 4;

/// Bars that are not folded, and those of threads among them.
const BARS: usize = 8;
const THREADS: usize = 5;

/// Most folded bars: a page of a thousand threads has those that call CUDA most.
const FOLDED: usize = 200;

/// Smallest part of a bar that is drawn by itself: about two pixels. Smaller ones are drawn together.
const NARROW: f64 = 0.004;

/// The name of the part in which a GPU worked.
const BUSY: &str = "busy";

/// Width of a bar on the narrowest usual screen and of a character in it, pixels: a name that does not fit is omitted.
const WIDE: f64 = 340.0;
const CHARACTER: f64 = 6.6;

/// The account of a trace.
pub(crate) fn section(explanation: &Explanation) -> Section {
    let all = bars(&explanation.accounts);
    let (gpus, threads): (Vec<&Bar>, Vec<&Bar>) = all.iter().partition(|bar| bar.is_gpu);
    let mut body = verdict(explanation);
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
    body.push(&communication(&Communication::of(&explanation.accounts)));
    Section { id: "account", title: String::from("Account"), body, script: "account", data: Vec::new() }
}

/// The verdict: a sentence, and lines about what costs most, which lead to its findings.
fn verdict(explanation: &Explanation) -> Html {
    let mut html = Html::new();
    let lines = report::verdict_lines(explanation);
    let Some((first, rest)) = lines.split_first() else { return html };
    html.leaf("p", &[("class", "of-gpu")], &first.text);
    if rest.is_empty() {
        return html;
    }
    html.open("ul", &[("class", "causes")]);
    for line in rest {
        html.open("li", &[]).push(&with_code(&line.text));
        if let Some(finding) = &line.finding {
            html.text(" ").leaf("a", &[("href", &format!("#{finding}"))], finding);
        }
        html.close("li");
    }
    html.close("ul");
    html
}

/// Communication of the GPUs that nothing hides, and the rank that was late at the collectives.
fn communication(found: &Communication) -> Html {
    let mut html = Html::new();
    if found.is_empty() {
        return html;
    }
    html.open(
        "div",
        &[("class", "communication"), ("role", "group"), ("aria-label", "Communication of GPUs")],
    );
    for sentence in found.exposed.iter().chain(&found.more) {
        html.leaf("p", &[], sentence);
    }
    for rank in &found.late {
        html.leaf("p", &[], &rank.sentence);
        if !rank.causes.is_empty() {
            let label = format!("What {} did when it was late", rank.name);
            html.open("ul", &[("class", "causes"), ("aria-label", &label)]);
            for cause in &rank.causes {
                html.push(&of_late_rank(cause));
            }
            html.close("ul");
        }
    }
    html.close("div");
    html
}

fn of_late_rank(cause: &LateCause) -> Html {
    let place = if cause.place.is_empty() { String::new() } else { format!(" · {}", cause.place) };
    let mut html = Html::new();
    html.open("li", &[]).text(&format!("{} {}{place}", cause.share, cause.cause));
    if let Some(finding) = &cause.finding {
        html.text(" ").leaf("a", &[("href", &format!("#{finding}"))], finding);
    }
    html.close("li");
    html
}

/// A text in which pairs of backticks mark what can be typed.
fn with_code(text: &str) -> Html {
    let mut html = Html::new();
    for (at, piece) in text.split('`').enumerate() {
        match at % 2 {
            0 => html.text(piece),
            _ => html.leaf("code", &[], piece),
        };
    }
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
    labelled(bar, &bar.of, &format!("{}, {}", bar.of, bar.span), 1.0)
}

/// A bar beside a short name, described by `label`, over a part of the width: 1 for all of it.
pub(crate) fn labelled(bar: &Bar, name: &str, label: &str, width: f64) -> Html {
    let mut html = Html::new();
    html.open("div", &[("class", "account"), ("role", "group"), ("aria-label", label)]);
    html.leaf("span", &[("class", "of"), ("title", name)], name);
    html.open("svg", &[("class", "segments")]);
    let parts = divided(bar);
    let (wide, narrow): (Vec<&BarPart>, Vec<&BarPart>) = parts.iter().partition(|part| part.share >= NARROW);
    let mut from = 0.0;
    for part in wide {
        html.push(&segment(&Segment::of(part, bar, from).over(width)));
        from += part.share;
    }
    if !narrow.is_empty() {
        html.push(&segment(&Segment::together(&narrow, bar, from).over(width)));
    }
    html.close("svg").leaf("span", &[("class", "span")], &bar.span).close("div");
    html
}

/// The parts of a bar, with a GPU's busy time divided where it was held back.
fn divided(bar: &Bar) -> Vec<BarPart> {
    let (held_ns, held_share) =
        bar.held.iter().fold((0, 0.0), |(ns, share), part| (ns + part.ns, share + part.share));
    let divide = |part: &BarPart| match part.name == BUSY && held_ns > 0 {
        false => vec![part.clone()],
        true => {
            let (ns, share) = (part.ns - held_ns, part.share - held_share);
            let (time, percent) = (units::duration(ns), units::percent(share));
            let free = BarPart { ns, share, time, percent, ..part.clone() };
            std::iter::once(free).chain(bar.held.iter().cloned()).filter(|part| part.ns > 0).collect()
        }
    };
    bar.parts.iter().flat_map(divide).collect()
}

fn style(part: &BarPart) -> &'static str {
    match part.cause {
        Some(cause) => About::of(cause).family.id(),
        None if part.name == BUSY => BUSY,
        None => "unknown",
    }
}

/// A part of a bar as it is drawn.
struct Segment<'b> {
    style: &'static str,
    /// Text that is written into it, if it fits.
    text: String,
    percent: &'b str,
    /// The part in words.
    says: String,
    from: f64,
    share: f64,
    is_held: bool,
    /// The finding that it leads to.
    finding: Option<&'b str>,
    /// The cause that the timeline finds.
    find: Option<&'static str>,
}

impl<'b> Segment<'b> {
    fn of(part: &'b BarPart, bar: &Bar, from: f64) -> Segment<'b> {
        let name = named(part, bar);
        let place = if part.place.is_empty() { String::new() } else { format!(" · {}", part.place) };
        let finding = part.finding.as_deref();
        let leads = finding.map_or_else(String::new, |finding| format!(" · finding {finding}"));
        Segment {
            style: style(part),
            says: format!("{name}: {}, {} of {}{place}{leads}", part.time, part.percent, bar.of),
            text: if part.is_held { name } else { part.name.to_owned() },
            percent: &part.percent,
            from,
            share: part.share,
            is_held: part.is_held,
            finding,
            find: (bar.is_gpu && part.cause.is_some() && !part.is_held).then_some(part.name),
        }
    }

    /// Parts too narrow to be drawn each.
    fn together(parts: &[&BarPart], bar: &Bar, from: f64) -> Segment<'b> {
        let each: Vec<String> =
            parts.iter().map(|part| format!("{} {}", named(part, bar), part.time)).collect();
        Segment {
            style: "unknown",
            text: String::new(),
            percent: "",
            says: format!("Each below 0.4 % of {}: {}", bar.of, each.join(", ")),
            from,
            share: parts.iter().map(|part| part.share).sum(),
            is_held: false,
            finding: None,
            find: None,
        }
    }

    /// The segment in a bar over a part of the width.
    fn over(self, width: f64) -> Segment<'b> {
        Segment { from: self.from * width, share: self.share * width, ..self }
    }

    /// Its words as far as there is room for them.
    fn fitting(&self) -> Option<String> {
        let room = self.share * WIDE / CHARACTER - 1.5;
        let both = format!("{} {}", self.percent, self.text);
        let fits =
            [both, self.percent.to_owned()].into_iter().find(|text| text.chars().count() as f64 <= room);
        fits.filter(|text| !text.is_empty())
    }
}

/// The name of a part in words: busy time is divided where the GPU was held back.
fn named(part: &BarPart, bar: &Bar) -> String {
    match part.cause {
        Some(_) if part.is_held => format!("held back by {}", part.name),
        None if part.name == BUSY && !bar.held.is_empty() => format!("{BUSY} and not held back"),
        Some(_) | None => part.name.to_owned(),
    }
}

/// Draws a segment. It is a picture of its own, so that it cuts its text, needs no script and prints.
fn segment(segment: &Segment<'_>) -> Html {
    let class = format!("segment {}{}", segment.style, if segment.is_held { " held" } else { "" });
    let place = |part: f64| format!("{:.3}%", part.clamp(0.0, 1.0) * 100.0);
    let (x, width) = (place(segment.from), place(segment.share));
    let mut html = Html::new();
    let mut attributes = vec![("class", &*class), ("x", &x), ("width", &width), ("height", "22")];
    attributes.extend([("tabindex", "-1"), ("aria-label", &segment.says)]);
    attributes.push(match (segment.finding, segment.find) {
        (Some(_), _) => ("role", "link"),
        (None, Some(_)) => ("role", "button"),
        (None, None) => ("role", "img"),
    });
    attributes.extend(segment.finding.map(|finding| ("data-finding", finding)));
    attributes.extend(segment.find.map(|find| ("data-find", find)));
    html.open("svg", &attributes);
    html.leaf("title", &[], &segment.says);
    html.open("rect", &[("width", "100%"), ("height", "22")]).close("rect");
    if segment.is_held {
        // Half as high as idle time: the GPU worked, and could have done more.
        html.open("rect", &[("class", "of-cause"), ("width", "100%"), ("height", "11")]).close("rect");
    }
    if let Some(text) = segment.fitting() {
        html.leaf("text", &[("x", "5"), ("y", "15")], &text);
    }
    html.close("svg");
    html
}

/// The patterns of the families: shapes that differ without color.
pub(crate) fn patterns() -> Html {
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
    use crate::fixture::{self, part};
    use explain::{
        Accounts, Cause, Confidence, Evidence, Family, GpuAccount, HeldBack, StreamBehind, ThreadAccount,
        WaitPart,
    };
    use report::ranks::LateRank;

    fn explanation(accounts: Accounts) -> Explanation {
        Explanation { accounts, ..explain::explain(&trace::Trace::default(), &explain::Options::default()) }
    }

    fn gpu(device: i64) -> GpuAccount {
        let gpu = fixture::gpu(940, vec![part(Cause::HostCode, 58), part(Cause::Gil, 2)]);
        GpuAccount { device, ..gpu }
    }

    fn thread(tid: i64, name: &str, calls: u64) -> ThreadAccount {
        ThreadAccount { calls, ..fixture::thread(tid, name, vec![part(Cause::OwnWork, 10)]) }
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
        assert!(html.contains("<p class=\"of-gpu\">GPU 0 was idle 6 % of 1.00 µs.</p>"), "{html}");
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
    fn busy_time_is_divided_where_the_gpu_was_held_back_and_parts_lead_to_findings() {
        let (evidence, confidence) = (Evidence::Timing, Confidence::Possible);
        let finding = Some(String::from("H2"));
        let held = WaitPart { cause: Cause::ConnectionAliasing, ns: 300, evidence, confidence, finding };
        let streams = vec![StreamBehind { stream: 21, behind: Some(13), ns: 300 }];
        let gpu = GpuAccount { held_back: vec![HeldBack { part: held, streams }], ..gpu(0) };
        let html = section(&explanation(Accounts { gpus: vec![gpu], ..Accounts::default() }));
        let html = html.body.as_str();
        assert!(html.contains("aria-label=\"busy and not held back: 640 ns, 64 % of GPU 0\""), "{html}");
        let held = "class=\"segment sync held\" x=\"64.000%\" width=\"30.000%\" height=\"22\" tabindex=\"-1\" \
                    aria-label=\"held back by connection-aliasing: 300 ns, 30 % of GPU 0 · stream 21 behind stream 13, \
                    possible · finding H2\" role=\"link\" data-finding=\"H2\">";
        assert!(html.contains(held), "{html}");
        assert!(html.contains("x=\"94.000%\""), "idle time follows: {html}");
    }

    #[test]
    fn communication_and_late_ranks_are_stated_in_reports_words() {
        let cause = |share: &str, place: &str, finding: Option<&str>| LateCause {
            share: share.to_owned(),
            cause: "host-code",
            place: place.to_owned(),
            finding: finding.map(str::to_owned),
        };
        let late = |name: &str, causes| LateRank {
            name: name.to_owned(),
            sentence: format!("{name} was the last at 48 of 50 collectives."),
            causes,
        };
        let causes = vec![cause("92 %", "ddp.py:31 <lambda>", Some("H2")), cause("8 %", "", None)];
        let found = Communication {
            exposed: vec![String::from("GPU 0 communicated for 12 % of its time with nothing else running.")],
            more: Some(String::from("and 2 more GPUs (JSON has all)")),
            late: vec![late("GPU 1", causes), late("GPU 3", Vec::new())],
        };
        let expected = "<div class=\"communication\" role=\"group\" aria-label=\"Communication of GPUs\">\
            <p>GPU 0 communicated for 12 % of its time with nothing else running.</p>\
            <p>and 2 more GPUs (JSON has all)</p>\
            <p>GPU 1 was the last at 48 of 50 collectives.</p>\
            <ul class=\"causes\" aria-label=\"What GPU 1 did when it was late\">\
            <li>92 % host-code · ddp.py:31 &lt;lambda&gt; <a href=\"#H2\">H2</a></li><li>8 % host-code</li></ul>\
            <p>GPU 3 was the last at 48 of 50 collectives.</p></div>";
        assert_eq!(communication(&found).as_str(), expected);
    }

    #[test]
    fn without_communication_nothing_is_said_of_it() {
        let html = section(&explanation(Accounts { gpus: vec![gpu(0), gpu(1)], ..Accounts::default() }));
        assert!(!html.body.as_str().contains("ommunicat"));
    }

    #[test]
    fn every_family_has_a_pattern() {
        let html = patterns();
        for family in Family::ALL {
            assert!(html.as_str().contains(&format!("id=\"pattern-{}\"", family.id())), "{family:?}");
        }
    }
}
