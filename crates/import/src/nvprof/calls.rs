//! Calls into CUDA's runtime and driver.

use super::cbid;
use super::times::times;
use crate::Problem;
use crate::sqlite::{Builder, result};
use rustc_hash::FxHashMap;
use trace::{Api, Call, Sym};

pub(super) const RUNTIME: &str = "CUPTI_ACTIVITY_KIND_RUNTIME";
pub(super) const DRIVER: &str = "CUPTI_ACTIVITY_KIND_DRIVER";

/// Reads runtime calls first: if both layers have the same correlation id, the join takes the first.
pub(super) fn read(rows: &mut Builder<'_>) -> Result<(), Problem> {
    read_calls(rows, RUNTIME, Api::Runtime, cbid::runtime)?;
    read_calls(rows, DRIVER, Api::Driver, cbid::driver)
}

fn read_calls(
    rows: &mut Builder<'_>,
    table: &str,
    api: Api,
    name_of: fn(i64) -> Option<&'static str>,
) -> Result<(), Problem> {
    let mut called: FxHashMap<i64, Sym> = FxHashMap::default();
    let columns = ["start", "end", "cbid", "processId", "threadId", "correlationId", "returnValue"];
    rows.each(table, columns, |rows, [start, end, cbid, pid, tid, correlation, code]| {
        let Builder { ids, trace, .. } = rows;
        let (start, end) = times(start, end)?;
        let cbid = cbid.int().ok_or("no function id")?;
        let pid = pid.int().ok_or("no process")?;
        // The low 32 bits of pthread_self, signed: negative ids are valid.
        let tid = tid.int().ok_or("no thread")?;
        let name = *called.entry(cbid).or_insert_with(|| match name_of(cbid) {
            Some(name) => trace.strings.intern(name),
            None => trace.strings.intern(&format!("{api} function {cbid}")),
        });
        let thread = ids.thread(trace, pid, tid);
        let correlation = correlation.int().unwrap_or(0);
        trace.calls.push(Call {
            start,
            end,
            thread,
            api,
            name,
            correlation,
            result: result(code),
            ..Call::default()
        });
        Ok(())
    })
}
