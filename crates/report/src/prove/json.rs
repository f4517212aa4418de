//! A proof for programs. `docs/schema/prove.json` describes it.

use super::Shown;
use prove::judge::{self, Sense};
use prove::{Agreement, Difference, Metric, Side};
use serde::Serialize;
use std::collections::BTreeMap;

const SCHEMA: &str = "holdup/prove/1";

/// A proof as one JSON object. Values of wall time are in nanoseconds.
pub fn json(shown: Shown<'_>) -> String {
    let (proof, tested) = (shown.proof, shown.tested);
    let judged = &proof.judgement;
    let (outputs_agree, difference) = match &proof.agreement {
        Agreement::Same => (Some(true), None),
        Agreement::Different(difference) => (Some(false), Some(difference)),
        Agreement::Unknown(difference) => (None, Some(difference)),
    };
    let document = Document {
        metric: tested.metric.name(),
        unit: matches!(tested.metric, Metric::Wall).then_some("ns"),
        less_is_better: tested.metric.sense() == Sense::LessIsBetter,
        rounds: proof.rounds(),
        gain: Gain::of(&judged.gain),
        verdict: judged.verdict.id(),
        certain: judged.steady,
        precise: proof.is_precise,
        control: Gain::of(&judged.control),
        outputs_agree,
        outputs_differ: difference.map(Differ::of),
        predicted: shown.predicted.map(|share| Predicted { share, off: judged.gain.share - share }),
        arms: [Side::Before, Side::After].map(|side| arm(shown, side)),
        partial: proof.is_partial,
    };
    crate::json(SCHEMA, &document)
}

#[derive(Serialize)]
struct Document<'a> {
    metric: &'a str,
    unit: Option<&'static str>,
    less_is_better: bool,
    rounds: usize,
    gain: Gain,
    verdict: &'static str,
    certain: bool,
    precise: bool,
    control: Gain,
    outputs_agree: Option<bool>,
    outputs_differ: Option<Differ<'a>>,
    predicted: Option<Predicted>,
    arms: [Arm; 2],
    partial: bool,
}

#[derive(Serialize)]
struct Gain {
    share: f64,
    low: f64,
    high: f64,
}

impl Gain {
    fn of(gain: &judge::Gain) -> Gain {
        Gain { share: gain.share, low: gain.low, high: gain.high }
    }
}

#[derive(Serialize)]
struct Differ<'a> {
    line: usize,
    first: Option<&'a str>,
    other: Option<&'a str>,
}

impl Differ<'_> {
    fn of(difference: &Difference) -> Differ<'_> {
        let Difference { line, first, other } = difference;
        Differ { line: *line, first: first.as_deref(), other: other.as_deref() }
    }
}

#[derive(Serialize)]
struct Predicted {
    share: f64,
    off: f64,
}

#[derive(Serialize)]
struct Arm {
    command: Vec<String>,
    environment: BTreeMap<String, String>,
    values: Vec<f64>,
}

fn arm(shown: Shown<'_>, side: Side) -> Arm {
    let arm = shown.tested.arm(side);
    let words = [&arm.program].into_iter().chain(&arm.arguments);
    Arm {
        command: words.map(|word| word.to_string_lossy().into_owned()).collect(),
        environment: arm.environment.iter().map(|of| (of.name.clone(), of.value.clone())).collect(),
        values: shown.proof.values(side),
    }
}
