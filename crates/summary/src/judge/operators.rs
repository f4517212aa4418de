//! Operators and ranges of PyTorch's tables, and the rows of the tracer's own time.

use super::facts::{Facts, USUAL_NS, each, reaches};
use crate::judgement::{Reading, Sight};
use crate::model::{Operator, Row};
use explain::{Cause, Confidence};
use trace::Ns;

/// Operators that hand a number to the host. Each may be within another of them: the longest counts.
const READ_BACK: [&str; 8] = [
    "aten::item",
    "aten::_local_scalar_dense",
    "aten::is_nonzero",
    "aten::equal",
    "aten::allclose",
    "aten::nonzero",
    "aten::masked_select",
    "aten::_unique2",
];

/// Part of the host's time in which the GPU works at most, if the host's own work is to be a cause.
const IDLE: f64 = 0.5;

/// The readings of operators.
pub(super) fn readings(facts: &Facts<'_>) -> Vec<Reading> {
    let loader = loader(facts);
    let own = own(facts);
    [loader, read_back(facts), own].into_iter().flatten().chain(overhead(facts)).collect()
}

fn row(operator: &Operator, total_ns: Ns) -> Row {
    Row { name: operator.name.clone(), count: operator.count, total_ns, max_ns: None }
}

fn is_loader(operator: &Operator) -> bool {
    operator.name.starts_with("enumerate(DataLoader)") || operator.name.contains("train_dataloader_next")
}

/// The host's thread is in the data loader for this time: a sum, and no inference.
fn loader(facts: &Facts<'_>) -> Option<Reading> {
    let loaders = facts.summary.operators.iter().filter(|operator| is_loader(operator));
    let longest = loaders.max_by_key(|operator| operator.total_ns)?;
    let reading = facts.of(Sight::Loader, [&row(longest, longest.total_ns)]);
    let reading = reading.because(Cause::DataLoading, &["loader-workers"]);
    Some(Reading { confidence: Some(Confidence::Likely), ..reading })
}

fn read_back(facts: &Facts<'_>) -> Option<Reading> {
    let names = |operator: &&Operator| READ_BACK.contains(&operator.name.as_str());
    let longest = facts.summary.operators.iter().filter(names).max_by_key(|operator| operator.total_ns)?;
    if each(longest.count, longest.total_ns) < USUAL_NS {
        return None;
    }
    let reading = facts.of(Sight::ReadBack, [&row(longest, longest.total_ns)]);
    let waits = facts.work_ns.is_none_or(|work_ns| reaches(work_ns, IDLE, longest.total_ns));
    Some(match waits {
        true => reading.because(Cause::HiddenSync, &["device-scalar"]),
        false => Reading { sight: Sight::Unlike, ..reading }.unknown(),
    })
}

/// The host's own time in operators and ranges.
fn own(facts: &Facts<'_>) -> Option<Reading> {
    let is_own = |operator: &&Operator| !is_loader(operator) && !READ_BACK.contains(&operator.name.as_str());
    let operators = facts.summary.operators.iter().filter(is_own);
    let rows: Vec<Row> = operators.map(|operator| row(operator, operator.self_ns)).collect();
    let reading = facts.of(Sight::HostWork, &rows);
    let is_most = reading.time_ns > 0 && reaches(reading.time_ns, IDLE, facts.whole_ns);
    let is_idle = facts.work_ns.is_none_or(|work_ns| !reaches(work_ns, IDLE, facts.whole_ns));
    (is_most && is_idle).then(|| reading.because(Cause::HostCode, &["foreach", "graph"]))
}

/// Time that records of the driver and of the tracer state.
fn overhead(facts: &Facts<'_>) -> Vec<Reading> {
    let reading = |row: &Row| {
        let reading = facts.of(Sight::Overhead, [row]);
        Some(match row.name.as_str() {
            "Command Buffer Full" => reading.because(Cause::QueueFull, &["graph"]),
            "Runtime Triggered Module Loading" | "Lazy Function Loading" => {
                reading.because(Cause::FirstUse, &["eager-loading"])
            }
            "Activity Buffer Request" | "Buffer Flush" | "Instrumentation" | "Resource" => {
                reading.because(Cause::ProfilerOverhead, &[])
            }
            "Unrecognized" => reading.unknown(),
            _ => return None,
        })
    };
    facts.summary.calls.iter().filter_map(reading).collect()
}
