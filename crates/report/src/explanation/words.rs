//! Findings in words, without a layout: for outputs with their own layout.

use super::size::by_size;
use super::{gain, phrases};
use crate::{failed, header, overlap, units};
use explain::{About, Explanation, Finding, Nature, Party, Place, Summary};

/// One finding in the words of the other outputs, with names escaped.
#[derive(Clone, Debug)]
pub struct Words {
    /// `thread 7 lost 1,163 ms (97 % of its time) in 25 × cudaLaunchKernel`
    pub sentence: String,
    /// The most important part of the sentence: `1,163 ms (97 % of its time)`.
    pub amount: String,
    /// `driver-lock · likely`
    pub verdict: String,
    /// The holder, the evidence, the mechanism and the places; empty ones are omitted.
    pub fields: Vec<Field>,
    /// The stacks below the first place as a tree, a line for each function.
    pub tree: Vec<String>,
    /// `53.8 ms at 0.412 s`, for each of [`Finding::examples`].
    pub examples: Vec<String>,
}

/// A labelled sentence.
#[derive(Clone, Debug)]
pub struct Field {
    /// `waits for`, `or`, `evidence`, `why`, `where`, `below`.
    pub label: &'static str,
    /// The sentence.
    pub text: String,
    /// Source places that belong to it.
    pub places: Vec<String>,
}

/// An explanation in words.
#[derive(Clone, Debug)]
pub struct Overview {
    /// The trace in numbers: `Kineto`, `1.25 s`, `3 threads` …
    pub facts: Vec<String>,
    /// Remarks on how far the figures can be trusted, and on calls that failed, one sentence each.
    pub remarks: Vec<String>,
    /// For each finding, whether it is too small for a paragraph of its own.
    pub small: Vec<bool>,
    /// `and 2 more findings, 708 µs of host time`; `None` if there are none.
    pub folded: Option<String>,
    /// The overlap of each GPU that is worth reporting.
    pub overlaps: Vec<Overlapped>,
    /// The explained and the unexplained time, one sentence each.
    pub conclusion: Vec<String>,
}

/// A GPU's overlap in words.
#[derive(Clone, Debug)]
pub struct Overlapped {
    /// The busy times, separately and together, and the time that overlap could save.
    pub sentence: String,
    /// The lost times, each with its cause.
    pub lost: Vec<(String, String)>,
}

/// The trace and the explanation as a whole; with `all` no finding is small.
pub fn overview(explanation: &Explanation, all: bool) -> Overview {
    let (large, small) = by_size(explanation, all);
    let versions = header::versions(&explanation.trace);
    let versions = (!versions.is_empty()).then(|| versions.join(" · "));
    // The small findings are in the order of all findings.
    let mut next = small.iter().peekable();
    let is_small = |finding: &Finding| next.next_if(|other| std::ptr::eq(**other, finding)).is_some();
    Overview {
        facts: header::facts(&explanation.trace),
        remarks: versions
            .into_iter()
            .chain(header::remarks(&explanation.trace))
            .chain(failed::line(&explanation.failed_calls))
            .collect(),
        small: explanation.findings.iter().map(is_small).collect(),
        folded: phrases::folded(&small),
        overlaps: overlaps(explanation, all),
        conclusion: phrases::conclusion(explanation)
            .into_iter()
            .chain(gain::absent(explanation, &large))
            .collect(),
    }
}

fn overlaps(explanation: &Explanation, all: bool) -> Vec<Overlapped> {
    let told = explanation.overlap.iter().filter(|device| overlap::is_worth_telling(device, all));
    let words = |device| Overlapped { sentence: overlap::sentence(device), lost: overlap::lost(device, all) };
    told.map(words).collect()
}

/// One finding of a trace in words.
pub fn words(finding: &Finding, trace: &Summary) -> Words {
    let many_processes = trace.processes > 1;
    let mut fields = Vec::new();
    let mut add = |label, text: String, places: &[Place]| {
        if !text.is_empty() || !places.is_empty() {
            fields.push(Field { label, text, places: places.iter().map(phrases::place).collect() });
        }
    };
    let party = |party: &Party| phrases::party(party, many_processes, usize::MAX);
    if let Some(holder) = &finding.holder {
        add("waits for", party(holder), &holder.places);
    }
    for other in &finding.or {
        add("or", party(other), &other.places);
    }
    let because = phrases::because(finding);
    if About::of(finding.cause).nature == Nature::Unknown {
        add("why", because, &[]);
    } else {
        let colon = if because.is_empty() { "" } else { ": " };
        add("evidence", format!("{}{colon}{because}", finding.evidence.id()), &[]);
        add("why", finding.why.to_owned(), &[]);
    }
    add("where", String::new(), &finding.places);
    let below = crate::place::below(finding);
    add("below", below.trim_start_matches([' ', '→']).to_owned(), &[]);
    Words {
        sentence: phrases::sentence(finding, many_processes),
        amount: phrases::amount(finding),
        verdict: phrases::verdict(finding),
        fields,
        tree: phrases::tree(finding),
        examples: finding.examples.iter().map(phrases::example).collect(),
    }
}

/// The lost share of the waiter's time: `97 %`.
pub fn share(finding: &Finding) -> String {
    units::percent(finding.share)
}
