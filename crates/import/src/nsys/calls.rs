//! Calls of host threads: CUDA's runtime and driver, libraries above them, the operating system.

use super::kinds::{Class, Kinds, api_of};
use super::reader::{Nsys, TIMES, thread};
use super::stacks::StackIds;
use crate::Problem;
use crate::sqlite::{self, Builder, Value, interval};
use crate::suffix;
use rustc_hash::FxHashMap;
use trace::{Api, Call, ProcessId, StackId, Strings, Sym, Trace};

/// Holds runtime and driver calls, despite its name.
pub(super) const CUDA: &str = "CUPTI_ACTIVITY_KIND_RUNTIME";
pub(super) const LIBRARIES: [&str; 2] = ["CUBLAS_EVENTS", "CUDNN_EVENTS"];
pub(super) const OS: &str = "OSRT_API";

const COLUMNS: [&str; 8] =
    ["start", "end", "globalTid", "nameId", "eventClass", "correlationId", "returnValue", "callchainId"];

impl Nsys<'_> {
    pub(super) fn calls(&mut self) -> Result<(), Problem> {
        let cuda_stacks = self.stacks(super::stacks::CUDA)?;
        self.read_calls(CUDA, None, &cuda_stacks)?;
        for table in LIBRARIES {
            self.read_calls(table, Some(Api::Library), &cuda_stacks)?;
        }
        let os_stacks = self.stacks(super::stacks::OS)?;
        self.read_calls(OS, Some(Api::Os), &os_stacks)
    }

    /// Reads a table of calls into the library `api`; if that is `None`, each call has its own.
    fn read_calls(&mut self, table: &str, api: Option<Api>, stacks: &StackIds) -> Result<(), Problem> {
        let Nsys { rows, kinds, .. } = self;
        // There are a few hundred names at most: classifying each once keeps text out of the loop.
        let mut called: FxHashMap<(Sym, Option<i64>), (Class, Sym)> = FxHashMap::default();
        let mut backtraces = Vec::new();
        let read = |rows: &mut Builder<'_>, values: [Value<'_>; 8]| {
            let [start, end, tid, name, class, correlation, result, stack] = values;
            let Builder { names, ids, trace, .. } = rows;
            let (start, end) = interval(start, end, &TIMES)?;
            let (pid, tid) = thread(tid)?;
            let name = names.sym(&mut trace.strings, name)?;
            let (class, name) = *called
                .entry((name, class.int()))
                .or_insert_with(|| classify(&mut trace.strings, kinds, api, class, name));
            let api = match class {
                Class::Call(api) => api,
                Class::Backtrace => api_of(trace.text(name)),
            };
            let call = Call {
                start,
                end,
                thread: ids.thread(trace, pid, tid),
                api,
                name,
                correlation: correlation.int().unwrap_or(0),
                result: self::result(api, result),
                stack: stack.int().and_then(|id| stacks.get(&id).copied()).unwrap_or_default(),
                ..Call::default()
            };
            match class {
                Class::Call(_) => _ = trace.calls.push(call),
                Class::Backtrace => backtraces.push(call),
            }
            Ok(())
        };
        rows.each(table, COLUMNS, read)?;
        attach(&mut rows.trace, backtraces);
        Ok(())
    }
}

/// The class of rows of that name and event class, and the function's own name.
fn classify(strings: &mut Strings, kinds: &Kinds, api: Option<Api>, class: Value, name: Sym) -> (Class, Sym) {
    let text = strings.text(name);
    let class = api.map_or_else(|| kinds.class(class, text), Class::Call);
    let api = match class {
        Class::Call(api) => api,
        Class::Backtrace => api_of(text),
    };
    let text = suffix::strip(api, text).to_owned();
    (class, strings.intern(&text))
}

/// Gives calls the stacks that older versions write as separate rows, a few hundred nanoseconds longer than the call
/// and with its correlation id. As calls, these rows would count every slow call twice. A row without a call becomes
/// the call.
fn attach(trace: &mut Trace, backtraces: Vec<Call>) {
    if backtraces.is_empty() {
        return;
    }
    let keyed =
        backtraces.iter().map(|row| ((trace.process_of_thread(row.thread), row.correlation), row.stack));
    let mut stack_of: FxHashMap<(ProcessId, i64), StackId> = keyed.collect();
    for call in trace.calls.ids() {
        let at = call.index();
        let key = (trace.process_of_thread(trace.calls.thread[at]), trace.calls.correlation[at]);
        if let Some(stack) = stack_of.remove(&key) {
            trace.calls.stack[at] = stack;
        }
    }
    for row in backtraces {
        if stack_of.contains_key(&(trace.process_of_thread(row.thread), row.correlation)) {
            trace.calls.push(row);
        }
    }
}

/// The result code of a CUDA call. 0 for other functions: an operating system function's value is often a length or an
/// address.
fn result(api: Api, value: Value) -> i32 {
    match api {
        Api::Os | Api::Library => 0,
        _ => sqlite::result(value),
    }
}
