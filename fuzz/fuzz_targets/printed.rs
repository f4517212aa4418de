//! Any text below the titles of one of the tables that nvprof and nsys print.
#![no_main]

use libfuzzer_sys::fuzz_target;

const TITLES: [&str; 5] = [
    "==7== Profiling result:\n   Start  Duration  Name\n",
    "==7== Profiling result:\n   Start  Duration  Grid Size  Size  Throughput  Device  Context  Stream  Name\n",
    "\"Start\",\"Duration\",\"Size\",\"Throughput\",\"Device\",\"Context\",\"Stream\",\"Name\",\"Correlation_ID\"\nms,us,MB,GB/s,,,,,\n",
    "Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid\n",
    "Start (us),Duration (us),CorrId,Bytes (MB),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name\n",
];

fuzz_target!(|input: (u8, &[u8])| {
    let (which, rows) = input;
    let titles = TITLES[usize::from(which) % TITLES.len()];
    if let Ok(trace) = import::read_bytes(&[titles.as_bytes(), rows].concat(), "fuzz") {
        fuzz::understand(&trace);
    }
});
