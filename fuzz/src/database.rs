//! Small databases with the tables of Nsight Systems and nvprof, filled from arbitrary bytes.

use arbitrary::{Arbitrary, Unstructured};
use rusqlite::types::Value;
use std::path::Path;

/// A table: its name and its columns.
type Shape = (&'static str, &'static [&'static str]);

const NSYS: &[Shape] = &[
    ("StringIds", &["id", "value"]),
    ("META_DATA_EXPORT", &["name", "value"]),
    ("TARGET_INFO_SESSION_START_TIME", &["utcEpochNs", "utcTime", "localTime"]),
    ("TARGET_INFO_SYSTEM_ENV", &["globalVid", "devStateName", "name", "nameEnum", "value"]),
    (
        "TARGET_INFO_GPU",
        &[
            "vmId",
            "id",
            "name",
            "busLocation",
            "cuDevice",
            "computeMajor",
            "computeMinor",
            "smCount",
            "totalMemory",
            "numAsyncEngines",
            "asyncEngineCount",
        ],
    ),
    ("TARGET_INFO_CUDA_DEVICE", &["gpuId", "cudaId", "pid", "uuid", "numMultiprocessors"]),
    ("PROCESSES", &["globalPid", "pid", "name"]),
    ("ThreadNames", &["nameId", "priority", "globalTid"]),
    (
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        &["start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue", "callchainId"],
    ),
    (
        "CUPTI_ACTIVITY_KIND_KERNEL",
        &[
            "start",
            "end",
            "deviceId",
            "contextId",
            "streamId",
            "correlationId",
            "globalPid",
            "demangledName",
            "shortName",
            "registersPerThread",
            "gridX",
            "gridY",
            "gridZ",
            "blockX",
            "blockY",
            "blockZ",
            "staticSharedMemory",
            "dynamicSharedMemory",
            "graphNodeId",
        ],
    ),
    (
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        &[
            "start",
            "end",
            "deviceId",
            "contextId",
            "streamId",
            "correlationId",
            "globalPid",
            "bytes",
            "copyKind",
            "srcKind",
            "dstKind",
            "graphNodeId",
        ],
    ),
    (
        "CUPTI_ACTIVITY_KIND_MEMSET",
        &[
            "start",
            "end",
            "deviceId",
            "contextId",
            "streamId",
            "correlationId",
            "globalPid",
            "value",
            "bytes",
            "memKind",
            "graphNodeId",
        ],
    ),
    (
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
        &[
            "start",
            "end",
            "deviceId",
            "contextId",
            "streamId",
            "correlationId",
            "globalPid",
            "syncType",
            "eventId",
        ],
    ),
    (
        "CUPTI_ACTIVITY_KIND_OVERHEAD",
        &["start", "end", "globalTid", "correlationId", "nameId", "overheadKind"],
    ),
    ("NVTX_EVENTS", &["start", "end", "eventType", "text", "textId", "globalTid", "domainId"]),
    ("SCHED_EVENTS", &["start", "cpu", "isSchedIn", "globalTid", "threadState"]),
    ("COMPOSITE_EVENTS", &["id", "start", "cpu", "threadState", "globalTid"]),
    ("SAMPLING_CALLCHAINS", &["id", "symbol", "module", "unresolved", "originalIP", "stackDepth"]),
    (
        "OSRT_API",
        &["start", "end", "eventClass", "globalTid", "nameId", "returnValue", "nestingLevel", "callchainId"],
    ),
    ("CUDA_CALLCHAINS", &["id", "symbol", "module", "unresolved", "originalIP", "stackDepth"]),
    ("OSRT_CALLCHAINS", &["id", "symbol", "module", "unresolved", "originalIP", "stackDepth"]),
    ("DIAGNOSTIC_EVENT", &["timestamp", "source", "severity", "text", "globalPid"]),
    ("ENUM_CUDA_MEM_KIND", &["id", "name", "label"]),
    ("ENUM_CUDA_MEMCPY_OPER", &["id", "name", "label"]),
    ("ENUM_CUPTI_SYNC_TYPE", &["id", "name", "label"]),
    ("ENUM_CUPTI_OVERHEAD_TYPE", &["id", "name", "label"]),
    ("ENUM_NSYS_EVENT_CLASS", &["id", "name", "label"]),
];

const NVPROF: &[Shape] = &[
    ("StringTable", &["_id_", "value"]),
    ("Version", &["_id_", "version"]),
    (
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        &["_id_", "cbid", "start", "end", "processId", "threadId", "correlationId", "returnValue"],
    ),
    (
        "CUPTI_ACTIVITY_KIND_DRIVER",
        &["_id_", "cbid", "start", "end", "processId", "threadId", "correlationId", "returnValue"],
    ),
    (
        "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
        &[
            "_id_",
            "start",
            "end",
            "deviceId",
            "contextId",
            "streamId",
            "correlationId",
            "name",
            "gridX",
            "gridY",
            "gridZ",
            "blockX",
            "blockY",
            "blockZ",
            "registersPerThread",
            "staticSharedMemory",
            "dynamicSharedMemory",
        ],
    ),
    (
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        &[
            "_id_",
            "copyKind",
            "srcKind",
            "dstKind",
            "flags",
            "bytes",
            "start",
            "end",
            "deviceId",
            "contextId",
            "streamId",
            "correlationId",
            "runtimeCorrelationId",
        ],
    ),
    (
        "CUPTI_ACTIVITY_KIND_MEMSET",
        &[
            "_id_",
            "value",
            "bytes",
            "start",
            "end",
            "deviceId",
            "contextId",
            "streamId",
            "correlationId",
            "memoryKind",
        ],
    ),
    (
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
        &["_id_", "type", "start", "end", "correlationId", "contextId", "streamId", "cudaEventId"],
    ),
    ("CUPTI_ACTIVITY_KIND_OVERHEAD", &["_id_", "overheadKind", "objectKind", "objectId", "start", "end"]),
    (
        "CUPTI_ACTIVITY_KIND_DEVICE",
        &["_id_", "id", "name", "computeCapabilityMajor", "computeCapabilityMinor"],
    ),
    ("CUPTI_ACTIVITY_KIND_MARKER", &["_id_", "flags", "timestamp", "id", "objectKind", "objectId", "name"]),
    ("CUPTI_ACTIVITY_KIND_NAME", &["_id_", "objectKind", "objectId", "name"]),
];

/// Text that importers give a meaning to.
const TEXTS: &[&str] = &[
    "",
    "cudaMemcpyAsync_v3020",
    "cudaLaunchKernel_v7000",
    "cuMemcpyDtoHAsync_v2",
    "cudaFree",
    "cudaMalloc",
    "pthread_mutex_lock",
    "EXPORT_SCHEMA_VERSION",
    "3.25.0",
    "2.9.1",
    "EXPORT_SCHEMA_VERSION_MAJOR",
    "Pageable",
    "CUDA_MEMCPY_KIND_DTOH",
    "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE",
    "DriverVersion",
    "-1",
    "9223372036854775808",
    "1.5",
    "kernel<float>",
    "a\0b",
    "\u{10ffff}",
];

/// A database to build.
#[derive(Debug)]
pub struct Database(Vec<Table>);

#[derive(Debug)]
struct Table {
    name: &'static str,
    columns: Vec<&'static str>,
    rows: Vec<Vec<Value>>,
}

impl<'a> Arbitrary<'a> for Database {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Database> {
        let shapes = if u.arbitrary()? { NSYS } else { NVPROF };
        let mut tables: Vec<Table> = Vec::new();
        while !u.is_empty() && tables.len() < shapes.len() {
            let table = table(u.choose(shapes)?, u)?;
            if tables.iter().all(|other| other.name != table.name) {
                tables.push(table);
            }
        }
        Ok(Database(tables))
    }
}

/// A table with all its columns, or now and then without some.
fn table(&(name, columns): &Shape, u: &mut Unstructured) -> arbitrary::Result<Table> {
    let left_out: u32 = if u.ratio(1, 4)? { u.arbitrary()? } else { 0 };
    let kept = columns.iter().enumerate().filter(|&(at, _)| at == 0 || left_out >> at & 1 == 0);
    let columns: Vec<&str> = kept.map(|(_, column)| *column).collect();
    let mut rows = Vec::new();
    for _ in 0..u.int_in_range(0..=12)? {
        rows.push(columns.iter().map(|column| cell(column, u)).collect::<Result<_, _>>()?);
    }
    Ok(Table { name, columns, rows })
}

/// A value: mostly one that fits the column, so that tables join; else anything.
fn cell(column: &str, u: &mut Unstructured) -> arbitrary::Result<Value> {
    if u.ratio(1, 16)? {
        return anything(u);
    }
    let number = match column {
        "start" | "end" | "timestamp" => i64::from(u.arbitrary::<u32>()?),
        "globalTid" | "globalPid" => {
            i64::from(u.arbitrary::<u8>()? & 3) << 24 | i64::from(u.arbitrary::<u8>()? & 3)
        }
        "name" | "value" | "text" | "version" | "label" if u.arbitrary()? => return text(u),
        "cbid" => *u.choose(&[13, 20, 22, 31, 41, 131, 165, 211, 430, 9999])?,
        "bytes" => i64::from(u.arbitrary::<u32>()?),
        _ => i64::from(u.arbitrary::<u8>()? & 15),
    };
    Ok(Value::Integer(number))
}

fn text(u: &mut Unstructured) -> arbitrary::Result<Value> {
    Ok(Value::Text((*u.choose(TEXTS)?).to_owned()))
}

fn anything(u: &mut Unstructured) -> arbitrary::Result<Value> {
    Ok(match u.int_in_range(0..=6)? {
        0 => Value::Null,
        1 => Value::Integer(u.arbitrary()?),
        2 => Value::Integer(*u.choose(&[i64::MIN, i64::MAX, -1, 1 << 61, -(1 << 61), u32::MAX as i64])?),
        3 => Value::Real(u.arbitrary()?),
        4 => Value::Blob(u.arbitrary()?),
        5 => Value::Text(u.arbitrary()?),
        _ => return text(u),
    })
}

impl Database {
    /// Writes the database to `path`.
    pub fn write(&self, path: &Path) -> rusqlite::Result<()> {
        let db = rusqlite::Connection::open(path)?;
        db.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")?;
        for table in &self.0 {
            let columns = table.columns.join("\", \"");
            db.execute_batch(&format!("CREATE TABLE \"{}\" (\"{columns}\")", table.name))?;
            let places = vec!["?"; table.columns.len()].join(", ");
            let mut insert = db.prepare(&format!("INSERT INTO \"{}\" VALUES ({places})", table.name))?;
            for row in &table.rows {
                insert.execute(rusqlite::params_from_iter(row))?;
            }
        }
        db.execute_batch("COMMIT")
    }
}
