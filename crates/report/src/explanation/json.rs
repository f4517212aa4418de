//! The serialized form of an explanation. Its names are a contract: `docs/schema/explain.json`.

use super::applied::Applied;
use super::sentence::{detail, sentence};
use super::size::any_matters;
use explain::{
    Accounts, Cause, ChainLink, Confidence, Evidence, Example, Explanation, FailedCalls, Finding, Fix,
    Framework, Gain, NoGains, Overlap, Party, Pauses, Phase, Place, Steps, Summary, TreeRow, Verdict, Waiter,
};
use serde::Serialize;
use trace::Ns;

const SCHEMA: &str = "holdup/explain/1";

/// One explanation as one JSON object; with `all` no finding is minor.
pub fn json(explanation: &Explanation, all: bool) -> String {
    crate::json(SCHEMA, &Document::of(explanation, all))
}

/// The explanations of several traces as one JSON array.
pub fn json_array(explanations: &[Explanation], all: bool) -> String {
    let documents: Vec<_> = explanations.iter().map(|explanation| Document::of(explanation, all)).collect();
    crate::json_array(SCHEMA, &documents)
}

#[derive(Serialize)]
struct Document<'a> {
    trace: &'a Summary,
    verdict: VerdictDocument,
    chosen_calls: u64,
    slow_call_ns: Ns,
    slow_calls: u64,
    explained_ns: Ns,
    own_work_ns: Ns,
    short_wait_ns: Ns,
    outside_wait_ns: Ns,
    min_wait_ns: Ns,
    failed_calls: &'a [FailedCalls],
    overlap: &'a [Overlap],
    accounts: &'a Accounts,
    steps: Option<&'a Steps>,
    /// Why no fix has a gain, if gains were asked for.
    gains_absent: Option<&'static str>,
    findings: Vec<FindingDocument<'a>>,
    /// All of them, where none matters.
    minor_findings: Vec<FindingDocument<'a>>,
}

impl Document<'_> {
    fn of(explanation: &Explanation, all: bool) -> Document<'_> {
        let matters = all || any_matters(explanation);
        let all: Vec<_> =
            explanation.findings.iter().map(|one| FindingDocument::of(explanation, one)).collect();
        let (findings, minor_findings) = if matters { (all, Vec::new()) } else { (Vec::new(), all) };
        let Explanation { trace, chosen_calls, slow_call_ns, slow_calls, explained_ns, .. } = explanation;
        let Explanation { short_wait_ns, outside_wait_ns, min_wait_ns, overlap, .. } = explanation;
        Document {
            trace,
            verdict: VerdictDocument { text: crate::verdict(explanation), verdict: explanation.verdict },
            chosen_calls: *chosen_calls,
            slow_call_ns: *slow_call_ns,
            slow_calls: *slow_calls,
            explained_ns: *explained_ns,
            own_work_ns: explanation.own_work_ns,
            short_wait_ns: *short_wait_ns,
            outside_wait_ns: *outside_wait_ns,
            min_wait_ns: *min_wait_ns,
            failed_calls: &explanation.failed_calls,
            overlap,
            accounts: &explanation.accounts,
            steps: explanation.steps.as_ref(),
            gains_absent: explanation.gains.absent.as_ref().map(NoGains::id),
            findings,
            minor_findings,
        }
    }
}

#[derive(Serialize)]
struct VerdictDocument {
    text: String,
    #[serde(flatten)]
    verdict: Verdict,
}

#[derive(Serialize)]
struct FindingDocument<'a> {
    id: &'a str,
    cause: Cause,
    of_account: bool,
    phase: Phase,
    cost_ns: Ns,
    cost_share: f64,
    removal_gain: Option<f64>,
    lost_ns: Ns,
    share: f64,
    count: u64,
    short_calls: u64,
    other_calls: u64,
    pauses: Option<&'a Pauses>,
    max_ns: Ns,
    threads: &'a [Waiter],
    waiter: PartyDocument<'a>,
    holder: Option<PartyDocument<'a>>,
    or: Vec<PartyDocument<'a>>,
    chain: &'a [ChainLink],
    evidence: Evidence,
    confidence: Confidence,
    because: String,
    why: &'a str,
    #[serde(rename = "where")]
    places: &'a [Place],
    work: Option<&'static str>,
    inner: &'a [Place],
    tree: &'a [TreeRow],
    examples: &'a [Example],
    framework: Option<Framework>,
    fixes: Vec<FixDocument<'a>>,
}

impl FindingDocument<'_> {
    fn of<'a>(explanation: &'a Explanation, finding: &'a Finding) -> FindingDocument<'a> {
        FindingDocument {
            id: &finding.id,
            cause: finding.cause,
            of_account: finding.is_of_account,
            phase: finding.phase,
            cost_ns: finding.cost_ns,
            cost_share: finding.cost_share,
            removal_gain: finding.removal,
            lost_ns: finding.lost_ns,
            share: finding.share,
            count: finding.count,
            short_calls: finding.short_calls,
            other_calls: finding.other_calls,
            pauses: finding.pauses.as_ref(),
            max_ns: finding.max_ns,
            threads: &finding.threads,
            waiter: PartyDocument::of(&finding.waiter),
            holder: finding.holder.as_ref().map(PartyDocument::of),
            or: finding.or.iter().map(PartyDocument::of).collect(),
            chain: &finding.chain,
            evidence: finding.evidence,
            confidence: finding.confidence,
            because: sentence(&finding.because),
            why: finding.why,
            places: &finding.places,
            work: Some(finding.work).filter(|work| !work.is_empty()),
            inner: &finding.inner,
            tree: &finding.tree,
            examples: &finding.examples,
            framework: finding.framework,
            fixes: finding.fixes.iter().map(|fix| FixDocument::of(explanation, finding, fix)).collect(),
        }
    }
}

#[derive(Serialize)]
struct FixDocument<'a> {
    #[serde(flatten)]
    fix: &'a Fix,
    gain: Option<&'a Gain>,
    applied: Option<AppliedDocument<'a>>,
}

impl FixDocument<'_> {
    fn of<'a>(explanation: &'a Explanation, finding: &'a Finding, fix: &'a Fix) -> FixDocument<'a> {
        let applied = Applied::of(explanation, finding, fix).map(|applied| AppliedDocument {
            language: applied.form.language(),
            code: applied.form.code,
            place: applied.place,
            source: applied.source,
        });
        FixDocument { fix, gain: explanation.gains.of(fix), applied }
    }
}

#[derive(Serialize)]
struct AppliedDocument<'a> {
    language: &'static str,
    code: &'static str,
    #[serde(rename = "where")]
    place: Option<&'a Place>,
    source: Option<&'a str>,
}

#[derive(Serialize)]
struct PartyDocument<'a> {
    pid: i64,
    tid: i64,
    thread: &'a str,
    threads: u64,
    call: &'a str,
    detail: String,
    #[serde(rename = "where")]
    places: &'a [Place],
}

impl PartyDocument<'_> {
    fn of(party: &Party) -> PartyDocument<'_> {
        PartyDocument {
            pid: party.pid,
            tid: party.tid,
            thread: &party.thread,
            threads: party.threads,
            call: &party.call,
            detail: detail(party),
            places: &party.places,
        }
    }
}
