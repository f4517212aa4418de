#!/usr/bin/env bash
# Makes the first inputs of the fuzz targets: small, valid, of every kind. Run it once; the fuzzer adds to them.
set -euo pipefail
cd "$(dirname "$0")/.."

corpus=fuzz/corpus
mkdir -p "$corpus"/{kineto,printed,summary,holdup_file,holdup_table,sqlite,spool,workload,model,results}

cargo xtask generate kineto --size 20KB -o "$corpus/kineto/generated.json" >/dev/null
cargo xtask generate kineto --size 20KB --stacks --seed 2 -o "$corpus/kineto/stacks.json" >/dev/null
gzip -9nc "$corpus/kineto/generated.json" >"$corpus/kineto/generated.json.gz"
cargo xtask generate spool --events 300 -o "$corpus/recording" >/dev/null
mv "$corpus"/recording/*.spool "$corpus/spool/"
rm -r "$corpus/recording"
for listing in crates/import/tests/data/printed/*/input.txt; do
    cp "$listing" "$corpus/kineto/$(basename "$(dirname "$listing")").txt"
    { printf '\0'; cat "$listing"; } >"$corpus/printed/$(basename "$(dirname "$listing")")"
done
cp crates/summary/tests/tables/*.txt "$corpus/summary/"
cp crates/workload/tests/data/accepted/*.toml "$corpus/workload/"
cp crates/sim/models/*.toml "$corpus/model/"
cp crates/holdup/tests/data/lab/*.json "$corpus/results/"
cargo run --release --quiet -p holdup -- import "$corpus/kineto/stacks.json" -o "$corpus/holdup_file/generated.holdup"

python3 - "$corpus" <<'PYTHON'
"""The oldest Kineto layout, each table of the .holdup file, and two small databases."""
import json
import pathlib
import sqlite3
import sys
import zipfile

corpus = pathlib.Path(sys.argv[1])

old = [
    {"ph": "X", "cat": "Operator", "name": "aten::copy_", "pid": 7, "tid": "7", "ts": 1000, "dur": 900,
     "args": {"External id": 2, "Call stack": "train.py(12): step;train.py(99): <module>"}},
    {"ph": "X", "cat": "Runtime", "name": "cudaMemcpyAsync", "pid": 7, "tid": "-1107294656", "ts": 1010, "dur": 800,
     "args": {"cbid": 41, "correlation": 5, "external id": "2", "external ts": "0"}},
    {"ph": "X", "cat": "Memcpy", "name": "Memcpy DtoH (Device -> Pageable)", "pid": 0, "tid": "stream 7",
     "ts": 1020, "dur": 700, "args": {"device": 0, "context": 1, "stream": 7, "correlation": 5, "bytes": 1 << 20,
                                     "memory bandwidth (GB/s)": float("nan")}},
    {"ph": "M", "name": "thread_name", "pid": 7, "tid": "7", "ts": 0, "args": {"name": "thread 7 (python)"}},
]
(corpus / "kineto/old.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": old}))
(corpus / "kineto/array.json").write_text(json.dumps(old))

# In the order of `trace::TABLES`.
TABLES = ["processes", "threads", "devices", "contexts", "streams", "frames", "stacks", "ranges", "calls", "ops",
          "syncs", "waits", "arguments", "states", "limits", "samples", "tallies"]
with zipfile.ZipFile(corpus / "holdup_file/generated.holdup") as archive:
    for which, table in enumerate(TABLES):
        part = archive.read(f"{table}.parquet")
        (corpus / f"holdup_table/{table}").write_bytes(bytes([which]) + part)

NSYS = """
    CREATE TABLE StringIds (id INTEGER, value TEXT);
    INSERT INTO StringIds VALUES (1, 'cudaMemcpyAsync_v3020'), (2, 'cudaLaunchKernel_v7000'), (3, 'kernel');
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId, returnValue);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 900000, 0, 16777217, 5, 1, 0), (9000, 910000, 0, 16777218, 6, 2, 0);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes,
                                             copyKind, srcKind, dstKind);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (9000, 880000, 0, 1, 7, 5, 16777216, 1048576, 2, 2, 0);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid,
                                             demangledName, shortName);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (911000, 912000, 0, 1, 7, 6, 16777216, 3, 3);
"""
NVPROF = """
    CREATE TABLE StringTable (_id_ INTEGER, value TEXT);
    INSERT INTO StringTable VALUES (1, 'kernel');
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (_id_, cbid, start, end, processId, threadId, correlationId, returnValue);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 41, 0, 900000, 9, -5, 5, 0), (2, 211, 9000, 910000, 9, 6, 6, 0);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (_id_, copyKind, srcKind, dstKind, flags, bytes, start, end, deviceId,
                                             contextId, streamId, correlationId, runtimeCorrelationId);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 3, 1, 0, 1048576, 9000, 880000, 0, 1, 7, 5, 0);
    CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (_id_, start, end, deviceId, contextId, streamId, correlationId, name);
    INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES (1, 911000, 912000, 0, 1, 7, 6, 1);
"""
for name, script in [("nsys", NSYS), ("nvprof", NVPROF)]:
    path = corpus / f"sqlite/{name}"
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA page_size = 512")
        db.executescript(script)
PYTHON
