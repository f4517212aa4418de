//! The sentences that text and Markdown share.

use crate::escape::visible;
use crate::layout::elide;
use crate::units;
use explain::{Cause, Confidence, Evidence, Example, Explanation, Finding, Party, Place};

/// The cause's name in every output.
pub(super) fn cause(cause: Cause) -> String {
    identifier(&cause)
}

pub(super) fn evidence(evidence: Evidence) -> String {
    identifier(&evidence)
}

/// Cause and confidence; there is no confidence in knowing nothing.
pub(super) fn verdict(finding: &Finding) -> String {
    match finding.cause {
        Cause::Unexplained => cause(finding.cause),
        _ => format!("{} · {}", cause(finding.cause), confidence(finding.confidence)),
    }
}

pub(super) fn confidence(confidence: Confidence) -> String {
    identifier(&confidence)
}

/// The name a value has in the JSON contract, so that the outputs cannot drift apart.
fn identifier(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        other => unreachable!("unit variants serialize as strings, not {other:?}"),
    }
}

/// `1,163 ms (97 %)`
pub(super) fn amount(finding: &Finding) -> String {
    format!("{} ({})", units::duration(finding.lost_ns), units::percent(finding.share))
}

/// `cudaLaunchKernel`; of a waiter in no call `waiting for a lock of libc10.so`.
pub(super) fn activity(waiter: &Party) -> &str {
    if waiter.call.is_empty() { &waiter.detail } else { &waiter.call }
}

/// `thread 7 lost 1,163 ms (97 %) in 25 × cudaLaunchKernel`, `… in 5 waits for a lock of libc10.so`
pub(super) fn sentence(finding: &Finding, many_processes: bool) -> String {
    let thread = thread(&finding.waiter, many_processes);
    let (verb, end) = match finding.cause {
        Cause::Unexplained => ("spent", ", for no known cause"),
        Cause::ExplicitSync => ("waited", ""),
        _ => ("lost", ""),
    };
    let waiter = &finding.waiter;
    let times = match waiter.detail.strip_prefix("waiting for ").filter(|_| waiter.call.is_empty()) {
        Some(lock) => format!("{} for {}", units::counted(finding.count, "wait", "waits"), visible(lock)),
        None => format!("{} × {}", units::count(finding.count), visible(activity(waiter))),
    };
    format!("{thread} {verb} {} in {times}{end}", amount(finding))
}

/// `thread 8 in cudaMemcpyAsync: device to pageable host, 64 MiB, stream 7`; a longer detail,
/// which has a kernel's name in it, is cut in the middle to `columns`.
pub(super) fn party(party: &Party, many_processes: bool, columns: usize) -> String {
    let mut text = thread(party, many_processes);
    if !party.call.is_empty() {
        text.push_str(" in ");
        text.push_str(&visible(&party.call));
    }
    if !party.detail.is_empty() {
        text.push_str(": ");
        text.push_str(&elide(&spoken(&visible(&party.detail)), columns));
    }
    text
}

/// `thread pt_autograd_0 (7)`, or `16 threads`.
fn thread(party: &Party, many_processes: bool) -> String {
    let mut text = match party.threads {
        0 | 1 => format!("thread {}", visible(&party.thread)),
        several => format!("{} threads", units::count(several)),
    };
    if party.threads <= 1 && party.thread != party.tid.to_string() {
        text.push_str(&format!(" ({})", party.tid));
    }
    if many_processes {
        text.push_str(&format!(" of process {}", party.pid));
    }
    text
}

/// A detail as the JSON has it (`DtoH pageable 67108864 B, stream 7`) for people
/// (`device to pageable host, 64 MiB, stream 7`). What is not recognised stays as it is.
fn spoken(detail: &str) -> String {
    let (first, rest) = detail.split_once(", ").map_or((detail, None), |(first, rest)| (first, Some(rest)));
    let mut words: Vec<&str> = first.split(' ').collect();
    let mut parts = Vec::new();
    if let [.., number, "B"] = words[..]
        && let Some(size) = size(number)
    {
        words.truncate(words.len() - 2);
        parts.push(size);
    }
    let subject = match words[..] {
        ["DtoH", host] => format!("device to {host} host"),
        ["HtoD", host] => format!("{host} host to device"),
        ["DtoH"] => String::from("device to host"),
        ["HtoD"] => String::from("host to device"),
        ["DtoD", ..] => String::from("device to device"),
        _ => words.join(" "),
    };
    if !subject.is_empty() {
        parts.insert(0, subject);
    }
    parts.extend(rest.map(str::to_owned));
    parts.join(", ")
}

/// A number of bytes, or a range of them (`4–1024`), with units.
fn size(number: &str) -> Option<String> {
    let (least, most) = number.split_once('–').unwrap_or((number, ""));
    let bytes = |text: &str| text.parse().ok().map(units::bytes);
    if most.is_empty() { bytes(least) } else { Some(format!("{} to {}", bytes(least)?, bytes(most)?)) }
}

/// `train.py:42 in step`, or as much of that as is known.
pub(crate) fn place(place: &Place) -> String {
    let mut text = visible(&place.file).into_owned();
    if place.line > 0 {
        text.push_str(&format!(":{}", place.line));
    }
    match (text.is_empty(), place.function.is_empty()) {
        (_, true) => text,
        (true, false) => visible(&place.function).into_owned(),
        (false, false) => format!("{text} in {}", visible(&place.function)),
    }
}

/// The longest waits and when they began.
pub(super) fn examples(finding: &Finding) -> String {
    finding.examples.iter().map(example).collect::<Vec<_>>().join(", ")
}

/// `53.8 ms at 0.412 s`
pub(super) fn example(example: &Example) -> String {
    let start = example.start_ns as f64 / 1e9;
    format!("{} at {start:.3} s", units::duration(example.duration_ns))
}

/// `explained 99 % of the 2,324 ms spent in calls over 100 µs`, then the honest rest.
pub(super) fn conclusion(explanation: &Explanation) -> Vec<String> {
    if explanation.chosen_calls == 0 && explanation.trace.calls > 0 && explanation.findings.is_empty() {
        return vec!["no call of the trace is in what was chosen; nothing can be said of it".to_owned()];
    }
    let threshold = units::duration(explanation.min_wait_ns);
    let waits =
        [("in shorter calls", explanation.short_wait_ns), ("outside calls", explanation.outside_wait_ns)];
    let waits = waits.into_iter().filter(|(_, time)| *time > 0);
    let waits: Vec<String> = waits
        .map(|(place, time)| format!("waits for locks {place} add up to {}", units::duration(time)))
        .collect();
    if explanation.slow_call_ns <= 0 {
        let rest = match waits.as_slice() {
            [] if explanation.trace.calls == 0 => {
                return vec!["the trace has no calls; nothing can be said of it".to_owned()];
            }
            [] => "nothing held up a host thread".to_owned(),
            waits => waits.join("; "),
        };
        return vec![format!("no call took longer than {threshold}; {rest}")];
    }
    let share = |part: i64| units::percent(part as f64 / explanation.slow_call_ns as f64);
    let slow = units::duration(explanation.slow_call_ns);
    let explained = share(explanation.explained_ns);
    let mut lines = vec![format!("explained {explained} of the {slow} spent in calls over {threshold}")];
    let rest = explanation.slow_call_ns - explanation.explained_ns;
    if rest > 0 {
        lines.push(format!("unexplained {} of it, {}", share(rest), units::duration(rest)));
    }
    lines.extend(waits);
    lines
}

/// `and 12 smaller findings, 1.9 ms together`
pub(super) fn folded(findings: &[&Finding]) -> Option<String> {
    if findings.is_empty() {
        return None;
    }
    let number = units::counted(findings.len() as u64, "smaller finding", "smaller findings");
    let lost = findings.iter().map(|finding| finding.lost_ns).sum();
    Some(format!("and {number}, {}", units::duration(lost)))
}

#[cfg(test)]
mod tests {
    use super::spoken;

    #[test]
    fn details_are_spoken_where_they_are_known() {
        let cases = [
            ("DtoH pageable 67108864 B, stream 7", "device to pageable host, 64 MiB, stream 7"),
            ("HtoD pinned 4 B, same stream 7", "pinned host to device, 4 B, same stream 7"),
            ("DtoD 1536 B", "device to device, 1.50 KiB"),
            ("stream 7", "stream 7"),
            ("vectorAdd, grid 1 × 1", "vectorAdd, grid 1 × 1"),
            ("67108864 B", "64 MiB"),
            ("DtoH pageable 4–1024 B", "device to pageable host, 4 B to 1 KiB"),
            ("DtoH pageable –4 B", "DtoH pageable –4 B"),
        ];
        for (detail, expected) in cases {
            assert_eq!(spoken(detail), expected);
        }
    }
}
