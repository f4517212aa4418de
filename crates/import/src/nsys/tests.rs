//! One small database for each pitfall of the format.

mod threads;

use super::import;
use rusqlite::Connection;
use trace::{Api, Call, CallId, Clock, CopyKind, MemoryKind, Op, OpId, RangeKind, SyncKind, Trace};

/// A process's threads and GPU records as Nsight Systems numbers them.
const fn tid(pid: i64, tid: i64) -> i64 {
    1 << 48 | pid << 24 | tid
}

fn read(sql: &str) -> Trace {
    let db = Connection::open_in_memory().unwrap();
    db.execute_batch(sql).unwrap();
    import(&db, &mut |_, _| ()).unwrap()
}

fn calls(trace: &Trace) -> Vec<Call> {
    trace.calls.ids().map(|id: CallId| trace.calls.row(id)).collect()
}

fn ops(trace: &Trace) -> Vec<Op> {
    trace.ops.ids().map(|id: OpId| trace.ops.row(id)).collect()
}

fn name(trace: &Trace, call: usize) -> &str {
    trace.text(trace.calls.name[call])
}

const STRINGS: &str = "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
    INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'cuMemcpyHtoDAsync_v2'),
        (3, 'cudaMemcpyAsync_ptsz_v7000'), (4, 'pthread_rwlock_wrlock'), (5, 'sin(float*)'),
        (6, 'main'), (7, 'work'), (8, 'app'), (9, 'step');";
const RUNTIME: &str = "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, eventClass, globalTid,
    correlationId, nameId, returnValue, callchainId);";
const MEMCPY: &str = "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, contextId, streamId,
    correlationId, globalPid, bytes, copyKind, srcKind, dstKind);";

#[test]
fn the_least_a_file_can_have_is_read() {
    let trace = read(&format!(
        "{STRINGS}
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, streamId, correlationId, shortName);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, correlationId, globalTid, nameId);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (-3000, -500, 100, 1, 1), (0, 9, 101, 1, 2);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 1000, 0, 7, 100, 5);"
    ));
    let [launch, copy] = calls(&trace)[..] else { panic!() };
    assert_eq!((launch.start, launch.end, launch.api, copy.api), (0, 2500, Api::Runtime, Api::Driver));
    let [op] = ops(&trace)[..] else { panic!() };
    assert_eq!((op.call.index(), trace.text(op.name)), (0, "sin(float*)"));
    assert_eq!(trace.meta.lost, trace::Lost::default());
    assert!(read(STRINGS).calls.is_empty());
}

#[test]
fn suffixes_go_from_runtime_names_only() {
    let t = tid(10, 11);
    let trace = read(&format!(
        "{STRINGS}{RUNTIME} INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
        (0, 1, 0, {t}, 1, 1, 0, NULL), (2, 3, 1, {t}, 2, 2, 0, NULL), (4, 5, 0, {t}, 3, 3, 700, NULL);"
    ));
    let names = [name(&trace, 0), name(&trace, 1), name(&trace, 2)];
    assert_eq!(names, ["cudaLaunchKernel", "cuMemcpyHtoDAsync_v2", "cudaMemcpyAsync"]);
    assert_eq!(trace.calls.api, [Api::Runtime, Api::Driver, Api::Runtime]);
    assert_eq!(trace.calls.result, [0, 0, 700]);
}

#[test]
fn correlation_ids_that_repeat_across_processes_join_within_each() {
    let (a, b) = (tid(10, 11), tid(20, 21));
    let trace = read(&format!(
        "{STRINGS}{RUNTIME}{MEMCPY}
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
            (0, 9, 0, {a}, 5, 3, 0, NULL), (1, 9, 0, {b}, 5, 3, 0, NULL);
        INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES
            (5, 8, 1, 2, 7, 5, {pb}, 64, 1, 0, 2), (4, 8, 0, 1, 7, 5, {pa}, 64, 1, 0, 2),
            (6, 8, 0, 1, 7, 5, NULL, 64, 1, 0, 2);",
        pa = tid(10, 0),
        pb = tid(20, 0),
    ));
    let joined: Vec<usize> = trace.ops.call.iter().map(|call| call.index()).collect();
    assert_eq!(joined, [1, 0]);
    assert_eq!((trace.processes.len(), trace.streams.len()), (2, 2));
    let lost = "CUPTI_ACTIVITY_KIND_MEMCPY: names no process in a trace of several";
    assert_eq!(trace.meta.lost.reasons.get(lost), Some(&1));
}

#[test]
fn memory_kinds_have_nsights_numbers_unless_the_file_has_its_own() {
    let rows = format!(
        "{STRINGS}{MEMCPY} INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES
        (0, 1, 0, 1, 7, 0, NULL, 64, 1, 0, 2), (2, 3, 0, 1, 7, 0, NULL, 64, 2, 2, 1),
        (4, 5, 0, 0, 0, 0, NULL, 64, 11, 7, 7);"
    );
    let [pageable, pinned, unified] = ops(&read(&rows))[..] else { panic!() };
    assert_eq!(
        (pageable.copy, pageable.src, pageable.dst),
        (CopyKind::HtoD, MemoryKind::Pageable, MemoryKind::Device)
    );
    assert_eq!(
        (pinned.copy, pinned.src, pinned.dst),
        (CopyKind::DtoH, MemoryKind::Device, MemoryKind::Pinned)
    );
    assert_eq!((unified.copy, unified.src), (CopyKind::UnifiedHtoD, MemoryKind::Unknown));
    let own = "CREATE TABLE ENUM_CUDA_MEM_KIND(id, name, label); INSERT INTO ENUM_CUDA_MEM_KIND VALUES
        (0, 'CUDA_MEMOPR_MEMORY_KIND_UNKNOWN', 'Unknown'), (1, 'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE', 'Pageable'),
        (2, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC', 'Device Static');";
    let [renumbered, ..] = ops(&read(&format!("{rows}{own}")))[..] else { panic!() };
    assert_eq!((renumbered.src, renumbered.dst), (MemoryKind::Unknown, MemoryKind::DeviceStatic));
}

#[test]
fn synchronizations_without_stream_or_event_have_none() {
    let trace = read(&format!(
        "{STRINGS}{RUNTIME} INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 9, 0, {t}, 5, 3, 0, NULL);
        CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start, end, deviceId, contextId, streamId,
            correlationId, globalPid, deprecatedSyncType, syncType, eventId);
        INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES
            (1, 8, 0, 1, 4294967295, 5, {p}, NULL, 4, 4294967295), (1, 8, 0, 1, 7, 6, {p}, 2, NULL, 3);",
        t = tid(10, 11),
        p = tid(10, 0),
    ));
    let syncs = &trace.syncs;
    assert_eq!(syncs.kind, [SyncKind::Context, SyncKind::StreamWaitEvent]);
    assert_eq!((syncs.stream[0].is_none(), syncs.stream[1].is_some()), (true, true));
    assert_eq!(syncs.event, [0, 3]);
    assert_eq!((syncs.call[0].is_some(), syncs.call[1].is_some()), (true, false));
}

const CHAINS: &str = "CREATE TABLE CUDA_CALLCHAINS(id, symbol, module, unresolved, originalIP, stackDepth);
    INSERT INTO CUDA_CALLCHAINS VALUES (1, 7, 8, 0, 0, 0), (1, 6, 8, 0, 0, 1), (2, 6, 8, 0, 0, 1),
        (2, 'in place', 'lib', 0, 0, 0), (1, 7, 8, 0, 0, 2);";

fn stack(trace: &Trace, call: usize) -> Vec<&str> {
    let mut stack = trace.calls.stack[call];
    let mut names = Vec::new();
    while let Some(id) = stack.some() {
        let row = trace.stacks.row(id);
        names.push(trace.text(trace.frames.row(row.frame).function));
        assert!(row.caller.is_none() || row.caller < id);
        stack = row.caller;
    }
    names
}

#[test]
fn stacks_start_at_depth_0_whatever_the_row_order() {
    let t = tid(10, 11);
    let trace = read(&format!(
        "{STRINGS}{RUNTIME}{CHAINS} INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
        (0, 1, 0, {t}, 1, 1, 0, 1), (2, 3, 0, {t}, 2, 1, 0, 2), (4, 5, 0, {t}, 3, 1, 0, 77);"
    ));
    assert_eq!(stack(&trace, 0), ["work", "main"]);
    assert_eq!(stack(&trace, 1), ["in place", "main"]);
    assert!(stack(&trace, 2).is_empty());
    assert_eq!(trace.stacks.len(), 3);
    assert_eq!(trace.meta.lost.reasons.get("CUDA_CALLCHAINS: stack in several pieces"), Some(&1));
}

#[test]
fn a_backtrace_row_gives_its_call_a_stack_and_is_no_second_call() {
    let t = tid(10, 11);
    let trace = read(&format!(
        "{STRINGS}{RUNTIME}{CHAINS} INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
        (0, 11, 67, {t}, 1, 1, 0, 1), (1, 10, 0, {t}, 1, 1, 0, NULL), (20, 30, 67, {t}, 2, 3, 0, 2);"
    ));
    assert_eq!(trace.calls.len(), 2);
    assert_eq!((trace.calls.start[0], trace.calls.end[0]), (0, 9));
    assert_eq!(stack(&trace, 0), ["work", "main"]);
    assert_eq!((name(&trace, 1), stack(&trace, 1)), ("cudaMemcpyAsync", vec!["in place", "main"]));
}

#[test]
fn host_time_beside_cuda_is_kept_apart() {
    let (t, other) = (tid(10, 11), tid(30, 31));
    let trace = read(&format!(
        "{STRINGS}
        CREATE TABLE OSRT_API(start, end, globalTid, nameId, returnValue, nestingLevel, callchainId);
        INSERT INTO OSRT_API VALUES (0, 9, {t}, 4, 16, 0, 0);
        CREATE TABLE NVTX_EVENTS(start, end, eventType, text, textId, globalTid);
        INSERT INTO NVTX_EVENTS VALUES (1, 5, 59, 'batch', NULL, {t}), (2, 6, 60, NULL, 9, {t}),
            (3, NULL, 34, 'mark', NULL, {t}), (4, NULL, 59, 'open', NULL, {t});
        CREATE TABLE PROFILER_OVERHEAD(start, end, globalTid, nameId);
        INSERT INTO PROFILER_OVERHEAD VALUES (2, 3, {t}, 'CUPTI: Buffer flush');
        CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD(start, end, globalTid, overheadType);
        INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (3, 4, {process}, 7);
        CREATE TABLE GPU_METRICS(start); INSERT INTO GPU_METRICS VALUES (1), (2);
        CREATE TABLE ThreadNames(nameId, globalTid); INSERT INTO ThreadNames VALUES (7, {t}), (6, {other});
        CREATE TABLE PROCESSES(globalPid, pid, name); INSERT INTO PROCESSES VALUES (0, 10, 'app'), (0, 30, 'init');",
        process = tid(10, 0),
    ));
    assert_eq!(
        (trace.calls.api[0], name(&trace, 0), trace.calls.result[0]),
        (Api::Os, "pthread_rwlock_wrlock", 0)
    );
    let names: Vec<&str> = trace.ranges.name.iter().map(|&name| trace.text(name)).collect();
    assert_eq!(names, ["batch", "step", "Buffer Flush", "Lazy Function Loading"]);
    assert_eq!(trace.ranges.kind[1..3], [RangeKind::User, RangeKind::Overhead]);
    assert!(trace.ranges.thread[2].is_some() && trace.ranges.thread[3].is_none());
    assert_eq!(trace.meta.left_out.get("GPU_METRICS"), Some(&2));
    assert_eq!(trace.meta.left_out.get("NVTX marks, categories and domains"), Some(&1));
    assert_eq!(trace.meta.lost.reasons.get("NVTX_EVENTS: no end time"), Some(&1));
    assert_eq!((trace.threads.len(), trace.text(trace.threads.name[0])), (1, "work"));
    assert_eq!((trace.processes.len(), trace.text(trace.processes.name[0])), (1, "app"));
}

#[test]
fn damaged_rows_are_counted_and_the_rest_is_read() {
    let t = tid(10, 11);
    let far = i64::MAX;
    let trace = read(&format!(
        "{STRINGS}{RUNTIME} INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
        (0, 1, 0, {t}, 1, 1, 0, NULL), (NULL, 1, 0, {t}, 1, 1, 0, NULL), ('soon', 1, 0, {t}, 1, 1, 0, NULL),
        (5, 2, 0, {t}, 1, 1, 0, NULL), (5, {far}, 0, {t}, 1, 1, 0, NULL), (5, 6, 0, NULL, 1, 1, 0, NULL),
        (5, 6, 0, {t}, 1, 999, 0, NULL), (5, 6, 0, {t}, 1, NULL, 0, NULL), (5, 6, x'00', {t}, x'00', 1, {far}, 'x');"
    ));
    assert_eq!(trace.calls.len(), 2);
    assert_eq!(trace.calls.result, [0, i32::MAX]);
    let lost =
        |reason| trace.meta.lost.reasons.get(&format!("CUPTI_ACTIVITY_KIND_RUNTIME: {reason}")).copied();
    assert_eq!(
        (lost("no start time"), lost("ends before it starts"), lost("time out of range")),
        (Some(2), Some(1), Some(1))
    );
    assert_eq!((lost("no thread"), lost("unknown string id"), lost("no name")), (Some(1), Some(1), Some(1)));
    assert_eq!(trace.meta.lost.records, 7);
}

#[test]
fn a_graph_traced_as_a_whole_is_one_operation() {
    let trace = read(&format!(
        "{STRINGS} CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start, end, deviceId, contextId, streamId,
            correlationId, globalPid, graphId);
        INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (0, 9, 0, 1, 7, 3, {}, 1);",
        tid(10, 0)
    ));
    assert_eq!(trace.text(trace.ops.name[0]), "CUDA graph");
}

#[test]
fn gpus_that_processes_number_differently_stay_apart() {
    let rows = format!(
        "{STRINGS}{MEMCPY} INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES
        (0, 1, 0, 1, 7, 0, {}, 64, 1, 0, 2), (0, 1, 0, 1, 7, 0, {}, 64, 1, 0, 2);
        CREATE TABLE TARGET_INFO_GPU(id, cuDevice, name, smCount);
        INSERT INTO TARGET_INFO_GPU VALUES (0, 0, 'left', 10), (1, 1, 'right', 20);
        CREATE TABLE TARGET_INFO_CUDA_DEVICE(gpuId, cudaId, pid);",
        tid(10, 0),
        tid(20, 0)
    );
    let agreed = read(&format!("{rows} INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1, 0, 10), (1, 0, 20);"));
    assert_eq!(agreed.text(agreed.devices.name[0]), "right");
    let apart = read(&format!("{rows} INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 10), (1, 0, 20);"));
    let device = |op: usize| apart.device_of_stream(apart.ops.stream[op]).index();
    assert_eq!(apart.text(apart.devices.name[device(0)]), "left");
    assert_eq!(apart.text(apart.devices.name[device(1)]), "right");
    assert_eq!(apart.meta.notes.len(), 1);
}

#[test]
fn the_command_is_imported_but_not_its_environment() {
    let trace = read(&format!(
        "{STRINGS} CREATE TABLE META_DATA_CAPTURE(name, value); INSERT INTO META_DATA_CAPTURE VALUES
            ('PROCESS_0:COMMAND', 'python'), ('PROCESS_0:ARGUMENT_0', '-c'), ('PROCESS_0:ARGUMENT_1', 'a b'),
            ('PROCESS_0:ENVIRONMENT_VARIABLE', 'TOKEN=secret');
        CREATE TABLE EXPORT_META_DATA(name, value);
        INSERT INTO EXPORT_META_DATA VALUES ('EXPORT_SCHEMA_VERSION', '2.9.1');
        CREATE TABLE TARGET_INFO_SYSTEM_ENV(name, value);
        INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Hostname', 'node'), ('NvDriverVersion', '580.1');
        CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs);
        INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1000000);
        CREATE TABLE DIAGNOSTIC_EVENT(severity, text); INSERT INTO DIAGNOSTIC_EVENT VALUES
            (1, 'CUDA fine'), (2, 'No NVTX events'), (2, 'Some CUDA events were dropped'), (3, 'broken');"
    ));
    let meta = &trace.meta;
    assert_eq!((meta.source_version.as_str(), meta.command.as_str()), ("2.9.1", "python -c 'a b'"));
    assert_eq!(
        (meta.host.as_str(), meta.driver.as_str(), meta.epoch_unix_ns),
        ("node", "580.1", Some(1_000_000))
    );
    assert_eq!(
        meta.notes,
        ["Nsight Systems reports: Some CUDA events were dropped", "Nsight Systems reports: broken"]
    );
    assert_eq!(meta.clock, Clock::Aligned);
}
