//! nvprof's real tables, filled with the rows that each test needs.

use super::import;
use rusqlite::Connection;
use trace::{Clock, CopyKind, MemoryKind, RangeKind, SyncKind, Trace};

const SCHEMA: &str = "
    CREATE TABLE Version(_id_ INTEGER PRIMARY KEY, version INTEGER); INSERT INTO Version VALUES (1, 22);
    CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT);
    INSERT INTO StringTable VALUES (1, '_Z3sinPf'), (2, 'Tesla V100'), (3, 'epoch');
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(_id_ INTEGER PRIMARY KEY, cbid, start, end, processId,
        threadId, correlationId, returnValue);
    CREATE TABLE CUPTI_ACTIVITY_KIND_DRIVER(_id_ INTEGER PRIMARY KEY, cbid, start, end, processId,
        threadId, correlationId, returnValue);
    CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(_id_ INTEGER PRIMARY KEY, registersPerThread,
        start, end, deviceId, contextId, streamId, gridX, gridY, gridZ, blockX, blockY, blockZ,
        staticSharedMemory, dynamicSharedMemory, correlationId, name);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(_id_ INTEGER PRIMARY KEY, copyKind, srcKind, dstKind, flags,
        bytes, start, end, deviceId, contextId, streamId, correlationId, runtimeCorrelationId);
    CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(_id_ INTEGER PRIMARY KEY, type, start, end,
        correlationId, contextId, streamId, cudaEventId);
    CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD(_id_ INTEGER PRIMARY KEY, overheadKind, objectKind,
        objectId BLOB, start, end);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER(_id_ INTEGER PRIMARY KEY, flags, timestamp, id, objectKind,
        objectId BLOB, name, domain);
    CREATE TABLE CUPTI_ACTIVITY_KIND_DEVICE(_id_ INTEGER PRIMARY KEY, globalMemorySize, numMemcpyEngines,
        numMultiprocessors, computeCapabilityMajor, computeCapabilityMinor, id, name);
    INSERT INTO CUPTI_ACTIVITY_KIND_DEVICE VALUES (1, 16000, 5, 80, 7, 0, 0, 2);";

/// A time in 2017 on nvprof's clock, ns.
const EPOCH: i64 = 1_496_933_427_000_000_000;

fn read(rows: &str) -> Trace {
    let db = Connection::open_in_memory().unwrap();
    db.execute_batch(SCHEMA).unwrap();
    db.execute_batch(&rows.replace("T+", &format!("{EPOCH}+"))).unwrap();
    import(&db, &mut |_, _| ()).unwrap()
}

#[test]
fn calls_and_ops_are_named_numbered_and_joined_cuptis_way() {
    let trace = read(
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
            (1, 41, T+0, T+10, 500, -1107294656, 7, 0), (2, 211, T+20, T+30, 500, 8, 8, 0),
            (3, 4999, T+40, T+41, 500, 8, 9, 0);
        INSERT INTO CUPTI_ACTIVITY_KIND_DRIVER VALUES (1, 17, T+21, T+29, 500, 8, 10, 0);
        INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 3, 1, 0, 64, T+12, T+18, 0, 1, 7, 7, 0);
        INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES
            (1, 16, T+35, T+50, 0, 1, 7, 4, 2, 1, 128, 1, 1, 10, 20, 8, 1);
        INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1, 3, T+1, T+9, 7, 1, 7, 4294967295);",
    );
    let names: Vec<&str> = trace.calls.name.iter().map(|&name| trace.text(name)).collect();
    assert_eq!(names, ["cudaMemcpyAsync", "cudaLaunchKernel", "runtime function 4999", "cuCtxSynchronize"]);
    assert_eq!(trace.threads.tid, [-1_107_294_656, 8]);
    let ops = &trace.ops;
    assert_eq!(
        (ops.copy[0], ops.src[0], ops.dst[0]),
        (CopyKind::DtoH, MemoryKind::Device, MemoryKind::Pageable)
    );
    assert_eq!((ops.call[0].index(), ops.call[1].index(), trace.text(ops.name[1])), (0, 1, "sin(float*)"));
    assert_eq!((ops.grid_x[1], ops.block_x[1], ops.registers[1], ops.dynamic_shared[1]), (4, 128, 16, 20));
    assert_eq!((trace.syncs.kind[0], trace.syncs.event[0]), (SyncKind::Stream, 0));
    assert_eq!((trace.syncs.stream[0], trace.syncs.call[0].index()), (ops.stream[0], 0));
    assert_eq!((trace.meta.source_version.as_str(), trace.meta.epoch_unix_ns), ("22", Some(EPOCH)));
    assert_eq!((trace.text(trace.devices.name[0]), trace.devices.copy_engines[0]), ("Tesla V100", 5));
    assert_eq!((trace.calls.start[0], trace.meta.clock, trace.devices.len()), (0, Clock::Aligned, 1));
    assert_eq!(trace.meta.lost, trace::Lost::default());
}

#[test]
fn gpu_times_on_another_clock_are_moved_and_noted() {
    let trace = read(
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 41, T+1000, T+2000, 500, 8, 7, 0);
        INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES
            (1, 1, 1, 3, 0, 64, T-18000000000000, T-17999999999990, 0, 1, 7, 7, 0);"
            .replace("T-", &format!("{EPOCH}-"))
            .as_str(),
    );
    assert_eq!(trace.meta.clock, Clock::Separate);
    assert!(trace.meta.notes[0].contains("5.0 h before its call"), "{:?}", trace.meta.notes);
    assert_eq!((trace.calls.start[0], trace.ops.start[0], trace.ops.end[0]), (0, 0, 10));
}

#[test]
fn markers_pair_in_any_order_and_overhead_finds_its_thread() {
    // Process 500 and thread -2, as two little-endian 32-bit numbers.
    let thread = "2, x'F4010000FEFFFFFF'";
    let trace = read(&format!(
        "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES
            (1, 2, T+10, 1, {thread}, 3, 0), (2, 4, T+20, 1, {thread}, 0, 0), (3, 4, T+40, 2, {thread}, 0, 0),
            (4, 2, T+30, 2, {thread}, 3, 0), (5, 1, T+31, 3, {thread}, 3, 0), (6, 2, T+32, 4, {thread}, 3, 0);
        INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES
            (1, 65536, {thread}, T+1, T+5), (2, 1, 1, x'00', T+6, T+7), (3, 1, 2, x'00', 0, 0);"
    ));
    let ranges = &trace.ranges;
    let names: Vec<&str> = ranges.name.iter().map(|&name| trace.text(name)).collect();
    assert_eq!(names, ["Buffer Flush", "Driver Compiler", "epoch", "epoch"]);
    assert_eq!(ranges.kind[1..3], [RangeKind::Overhead, RangeKind::User]);
    assert_eq!((ranges.start[3], ranges.end[3]), (29, 39));
    assert!(ranges.thread[0].is_some() && ranges.thread[1].is_none());
    assert_eq!((trace.threads.tid[0], trace.processes.pid[0]), (-2, 500));
    let lost = |reason| trace.meta.lost.reasons.get(reason).copied();
    assert_eq!(lost("CUPTI_ACTIVITY_KIND_MARKER: start without an end"), Some(1));
    assert_eq!(lost("CUPTI_ACTIVITY_KIND_OVERHEAD: no times recorded"), Some(1));
    assert_eq!(trace.meta.left_out.get("NVTX marks"), Some(&1));
}

#[test]
fn damaged_rows_and_unknown_tables_are_counted() {
    let trace = read(
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
            (1, 41, T+0, T+10, 500, 8, 7, 0), (2, 41, -5, T+10, 500, 8, 7, 0), (3, NULL, T+0, T+10, 500, 8, 7, 0),
            (4, 41, T+9, T+1, 500, 8, 7, 0), (5, 41, T+0, T+10, NULL, 8, 7, 0), (6, 41, T+0, T+10, 500, 'x', 7, 0);
        INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES
            (1, 16, T+35, T+50, 0, 1, 7, 4, 2, 1, 128, 1, 1, 10, 20, 8, 99);
        CREATE TABLE CUPTI_ACTIVITY_KIND_ENVIRONMENT(a); INSERT INTO CUPTI_ACTIVITY_KIND_ENVIRONMENT VALUES (1);",
    );
    assert_eq!((trace.calls.len(), trace.ops.len(), trace.meta.lost.records), (1, 0, 6));
    assert_eq!(trace.meta.left_out.get("CUPTI_ACTIVITY_KIND_ENVIRONMENT"), Some(&1));
}
