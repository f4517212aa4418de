//! The header: which trace this is, and what it lacks.

use crate::document::{Document, Fit, Form, Paragraph};
use crate::escape::visible;
use crate::units;
use explain::{Setting, Summary};
use std::collections::BTreeMap;
use trace::Trace;

/// The trace in numbers, with the path that the user typed.
pub(crate) fn summary(trace: &Trace, path: &str) -> Summary {
    Summary { path: path.to_owned(), ..explain::summary(trace) }
}

/// The facts of the header: format, length, contents, losses.
pub(crate) fn facts(summary: &Summary) -> Vec<String> {
    let mut facts = vec![
        visible(&summary.source_title).into_owned(),
        match summary.selected_ns {
            None => units::duration(summary.duration_ns),
            Some(selected) => {
                format!("{} of {} selected", units::duration(selected), units::duration(summary.duration_ns))
            }
        },
        units::counted(summary.processes, "process", "processes"),
        units::counted(summary.threads, "thread", "threads"),
        units::counted(summary.calls, "call", "calls"),
        units::counted(summary.ops, "GPU op", "GPU ops"),
    ];
    let lost = lost(summary);
    if lost.is_empty() {
        facts.push(String::from("nothing lost"));
    } else {
        facts.extend(lost);
    }
    facts
}

/// Versions of the driver, the runtime and libraries; first the libraries in whose calls programs wait.
pub(crate) fn versions(summary: &Summary) -> Vec<String> {
    let mut versions = vec![driver(summary)];
    if !summary.runtime.is_empty() {
        versions.push(format!("runtime {}", summary.runtime));
    }
    let mut libraries: Vec<_> = summary.libraries.iter().filter(|(name, _)| *name != NVIDIA_DRIVER).collect();
    libraries.sort_by_key(|(name, _)| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()));
    versions.extend(libraries.into_iter().map(|(name, version)| format!("{name} {version}")));
    versions.retain(|version| !version.is_empty());
    versions.iter().map(|version| visible(version).into_owned()).collect()
}

/// Libraries in whose calls programs wait.
const FIRST: [&str; 4] = ["cuBLAS", "cuDNN", "NCCL", "CUPTI"];

/// The name of the driver's own version in a recording; the CUDA version that it supports is separate.
const NVIDIA_DRIVER: &str = "NVIDIA driver";

/// `driver 580.95.05 (CUDA 13.0)`, or the known part of it.
fn driver(summary: &Summary) -> String {
    let stated = summary.driver.strip_prefix("CUDA ").unwrap_or(&summary.driver);
    // The driver's own versions are in the hundreds; CUDA's are not.
    let number = stated.split('.').next().and_then(|number| number.parse::<u32>().ok());
    let (own, cuda) = match number {
        Some(100..) => (stated, ""),
        _ => (summary.libraries.get(NVIDIA_DRIVER).map_or("", |own| own), stated),
    };
    match (own, cuda) {
        ("", "") => String::new(),
        (own, "") => format!("driver {own}"),
        ("", cuda) => format!("driver CUDA {cuda}"),
        (own, cuda) => format!("driver {own} (CUDA {cuda})"),
    }
}

/// As many versions as fit on one line; `None` if not even one fits.
fn versions_line(summary: &Summary, columns: usize) -> Option<String> {
    let versions = versions(summary);
    let line = |count: usize| {
        let more = if count < versions.len() { " · …" } else { "" };
        format!("    {}{more}", versions[..count].join(" · "))
    };
    let fits = |count: &usize| crate::layout::width(&line(*count)) <= columns;
    (1..=versions.len()).rev().find(fits).map(line)
}

/// How much a header says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The path and the facts.
    Facts,
    /// Versions, too.
    Versions,
    /// Versions and remarks.
    All,
}

/// The header: in text the path and the facts, on one line if they fit, and as many versions as fit on the next one.
pub(crate) fn document(summary: &Summary, form: Form, extent: Extent) -> Document {
    let mut document = Document::new(form);
    match form {
        Form::Text(page) => {
            let mut lines = path_and_facts(summary, page.columns);
            lines.extend(versions_line(summary, page.columns).filter(|_| extent != Extent::Facts));
            document.extend(lines.into_iter().map(|line| Paragraph::new(line).fit(Fit::Stay)));
        }
        Form::Markdown => {
            document.push(Paragraph::new(facts(summary).join(" · ")));
            let versions = versions(summary);
            document.extend((!versions.is_empty()).then(|| Paragraph::new(versions.join(" · "))));
        }
    }
    if extent == Extent::All {
        document.extend(remarks(summary).into_iter().map(|remark| Paragraph::remark(remark).indented(4)));
    }
    document
}

fn path_and_facts(summary: &Summary, columns: usize) -> Vec<String> {
    let path = visible(&summary.path);
    let facts = facts(summary);
    let one_line = format!("{path}   {}", facts.join(" · "));
    if crate::layout::width(&one_line) <= columns {
        return vec![one_line];
    }
    let facts = wrap_facts(&facts, columns - 4).into_iter().map(|line| format!("    {line}"));
    std::iter::once(path.into_owned()).chain(facts).collect()
}

/// Remarks on how far the figures can be trusted, one sentence each; what limits findings first.
pub(crate) fn remarks(summary: &Summary) -> Vec<String> {
    let mut remarks = Vec::new();
    if !summary.lost_reasons.is_empty() {
        remarks.push(format!("lost: {}", counts(&summary.lost_reasons)));
    }
    if summary.clock == "separate" {
        remarks
            .push(String::from("the GPU's clock does not fit the host's: no finding compares their times"));
    }
    if let Some(wrong) = summary.gpu_clock.map(|clock| clock.wrong_ns).filter(|wrong| *wrong > 0) {
        remarks.push(format!("GPU times are off by {} or more in some second", units::duration(wrong)));
    }
    if !summary.left_out.is_empty() {
        remarks.push(format!("not imported: {}", counts(&summary.left_out)));
    }
    remarks.extend(settings(summary));
    remarks.extend(summary.notes.iter().map(|note| visible(note).into_owned()));
    // A part of a part has the same note twice.
    remarks.dedup();
    remarks
}

/// Variables of processes, a sentence for each: a comparison of processes that differ in one compares that, too.
fn settings(summary: &Summary) -> impl Iterator<Item = String> {
    summary.settings.chunk_by(|one, next| one.name == next.name).map(|values| {
        let name = values[0].name;
        match values {
            [one] => format!("{name} is {}", value(one)),
            several => {
                let number = |value: &Setting| units::counted(value.processes, "process", "processes");
                let of = |setting: &Setting| format!("{} in {}", value(setting), number(setting));
                let values: Vec<_> = several.iter().map(of).collect();
                format!("{name} is {}: a comparison of them compares this, too", values.join(", "))
            }
        }
    })
}

/// The value of a variable.
pub(crate) fn value(setting: &Setting) -> String {
    setting.value.as_deref().map_or(String::from("not stated"), |value| visible(value).into_owned())
}

/// The number of lost records, with reasons; `None` if none was lost.
pub(crate) fn losses(summary: &Summary) -> Option<String> {
    let count = (summary.lost_records > 0).then_some(summary.lost_records)?;
    let lost = units::counted(count, "record lost", "records lost");
    let reasons = counts(&summary.lost_reasons);
    Some(if reasons.is_empty() { lost } else { format!("{lost} ({reasons})") })
}

/// `3 flow arrows, 2 instant events`, most first.
fn counts(of: &BTreeMap<String, u64>) -> String {
    let mut counts: Vec<_> = of.iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let word = |(what, count): &(&String, &u64)| format!("{} {}", units::count(**count), visible(what));
    counts.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// Joins with ` · `, breaking lines only between facts.
fn wrap_facts(facts: &[String], columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for fact in facts {
        match lines.last_mut() {
            Some(line) if crate::layout::width(line) + 3 + crate::layout::width(fact) <= columns => {
                line.push_str(" · ");
                line.push_str(fact);
            }
            _ => lines.push(fact.clone()),
        }
    }
    lines
}

fn lost(summary: &Summary) -> Vec<String> {
    let mut lost = Vec::new();
    let mut say = |number: u64, one: &str, many: &str| {
        if number > 0 {
            lost.push(units::counted(number, one, many));
        }
    };
    say(summary.lost_records, "record lost", "records lost");
    say(summary.unmatched_calls, "launch without its GPU op", "launches without their GPU ops");
    say(summary.unmatched_ops, "GPU op without its call", "GPU ops without their calls");
    if summary.truncated {
        lost.push(String::from("the input ends early"));
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_differ_in_a_variable_are_said_to() {
        let setting = |name, value: Option<&str>, processes| Setting {
            name,
            value: value.map(str::to_owned),
            processes,
        };
        let all = vec![setting("V", Some("LAZY"), 9), setting("V", None, 1), setting("W", Some("32"), 10)];
        let said: Vec<_> = settings(&Summary { settings: all, ..Summary::default() }).collect();
        let differing =
            "V is LAZY in 9 processes, not stated in 1 process: a comparison of them compares this, too";
        assert_eq!(said, [differing, "W is 32"]);
    }

    #[test]
    fn a_driver_has_a_version_of_its_own_and_one_of_cuda() {
        let driver = |stated: &str, own: &str| {
            let libraries = [(NVIDIA_DRIVER.to_owned(), own.to_owned())];
            let libraries = libraries.into_iter().filter(|(_, own)| !own.is_empty()).collect();
            super::driver(&Summary { driver: stated.into(), libraries, ..Summary::default() })
        };
        assert_eq!(driver("CUDA 13.0", "580.95.05"), "driver 580.95.05 (CUDA 13.0)");
        assert_eq!(driver("13.0", ""), "driver CUDA 13.0");
        assert_eq!(driver("535.183.1", ""), "driver 535.183.1");
        assert_eq!((driver("", "580.95.05").as_str(), driver("", "")), ("driver 580.95.05", String::new()));
    }
}
