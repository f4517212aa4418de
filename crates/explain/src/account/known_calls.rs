//! Calls within known work: what an autotuner launches is a part of the build of a kernel, however little each call takes.

use super::division::divide;
use super::naming::SpotId;
use super::roots::{Culprit, Root, Row};
use super::sites::Sites;
use super::sums::add_to;
use crate::Cause;
use trace::Trace;

/// The fewest calls with stacks that stand for all calls of a row: of eight, each is an eighth.
const ENOUGH: u64 = 8;

/// Divides the own work of calls among the known work that their stacks show, and the rest.
pub(super) fn divided(row: Row, trace: &Trace, sites: &Sites) -> Vec<Row> {
    let Culprit::Call(process, ..) = row.root.culprit else { return vec![row] };
    if row.root.cause != Cause::OwnWork {
        return vec![row];
    }
    let known = |spot: SpotId| sites.mark(spot).map(|mark| mark.cause()).filter(|cause| is_of_calls(*cause));
    let (mut spots, mut others) = (Vec::<(SpotId, u64)>::new(), (None, 0));
    for (call, _) in &row.calls.calls {
        let stack = trace.calls.stack[call.index()].some();
        let Some(spot) = stack.and_then(|stack| sites.of_stack(stack)) else { continue };
        match known(spot) {
            Some(_) => add_to(&mut spots, spot, 1),
            None => others = (Some(spot), others.1 + 1),
        }
    }
    let all = others.1 + spots.iter().map(|(_, count)| count).sum::<u64>();
    if spots.is_empty() || all < ENOUGH {
        return vec![row];
    }
    spots.extend(others.0.map(|spot| (spot, others.1)));
    divide(row, &spots, |root, spot| match spot.and_then(|spot| Some((spot, known(spot)?))) {
        Some((spot, cause)) => Root { cause, culprit: Culprit::Spot(process, spot), ..root },
        None => root,
    })
}

/// Whether calls are made for such work, and would not be without it.
fn is_of_calls(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::KernelBuild
            | Cause::ObjectChurn
            | Cause::DataLoading
            | Cause::FileWriting
            | Cause::FileReading
            | Cause::GarbageCollection
    )
}
