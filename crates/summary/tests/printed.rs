//! A summary that is printed as its tool prints it, and read again, is the same.

use proptest::prelude::*;
use std::fmt::Write;
use summary::{Memory, Operator, Row, Summary, Tool, Work, WorkKind, read};
use trace::Ns;

/// A time that tools print without rounding: four digits of a unit.
fn time() -> impl Strategy<Value = Ns> {
    (1..10_000i64, prop::sample::select(vec![1, 1_000, 1_000_000])).prop_map(|(digits, unit)| digits * unit)
}

/// A row with a name of one of these; each is longer than the longest of its calls only if it has several.
fn row(names: &'static [&'static str]) -> impl Strategy<Value = Row> {
    (prop::sample::select(names), 1..5_000_000u64, time(), time()).prop_map(
        |(name, count, total_ns, max_ns)| {
            let max_ns = Some(if count == 1 { total_ns } else { max_ns });
            Row { name: name.to_owned(), count, total_ns, max_ns }
        },
    )
}

const CALLS: &[&str] =
    &["cudaLaunchKernel", "cuMemcpyDtoHAsync_v2", "cudaFree", "hipMalloc", "cudaStreamSynchronize"];
const KERNELS: &[&str] =
    &["scale(float *, int)", "void sum<int=2, 1.5>(T1 *)", "_Z3addPfS_i", "cudapy::f$1", "12_kernel"];
const OS: &[&str] = &["poll", "sem_timedwait", "pthread_cond_wait"];
const OPERATORS: &[&str] =
    &["aten::mm", "Optimizer.step#Adam.step", "forward pass 2", "enumerate(DataLoader)#_Iter.__next__"];

fn works() -> impl Strategy<Value = Vec<Work>> {
    let kernel = row(KERNELS).prop_map(|row| Work { row, kind: WorkKind::Kernel });
    prop::collection::vec(kernel, 1..6)
}

fn summary(tool: Tool) -> impl Strategy<Value = Summary> {
    (prop::collection::vec(row(CALLS), 1..6), works(), time()).prop_map(move |(calls, work, span_ns)| {
        Summary {
            span_ns: (tool == Tool::Julia).then_some(span_ns),
            calls,
            work,
            has_calls: true,
            has_work: true,
            ..Summary::new(tool, 0)
        }
    })
}

/// `1.5 ms`, exact.
fn printed(ns: Ns, space: &str) -> String {
    let (unit, name) = match ns {
        1_000_000.. => (1_000_000, "ms"),
        1_000.. => (1_000, "us"),
        _ => (1, "ns"),
    };
    let digits = format!("{}.{:06}", ns / unit, ns % unit * (1_000_000 / unit));
    format!("{}{space}{name}", digits.trim_end_matches('0').trim_end_matches('.'))
}

fn max(row: &Row) -> Ns {
    row.max_ns.unwrap_or(row.total_ns)
}

fn nvprof(summary: &Summary) -> String {
    let mut text = String::from(
        "==7== Profiling result:\n            Type  Time(%)      Time     Calls       Avg       Min       Max  Name\n",
    );
    let works = summary.work.iter().map(|work| &work.row);
    for (title, rows) in [
        (" GPU activities:", works.collect::<Vec<_>>()),
        ("      API calls:", summary.calls.iter().collect()),
    ] {
        for (at, row) in rows.into_iter().enumerate() {
            let title = if at == 0 { title } else { "" };
            let [total, max] = [row.total_ns, max(row)].map(|ns| printed(ns, ""));
            writeln!(text, "{title:>16}  12.50%  {total}  {}  1.5us  1ns  {max}  {}", row.count, row.name)
                .unwrap();
        }
    }
    text
}

fn nsys(summary: &Summary) -> String {
    let mut text = String::new();
    let works = summary.work.iter().map(|work| &work.row);
    let parts = [
        (" ** CUDA API Summary (cuda_api_sum):", "Num Calls", summary.calls.iter().collect()),
        (" ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):", "Instances", works.collect::<Vec<_>>()),
        (" ** OS Runtime Summary (osrt_sum):", "Num Calls", summary.os.iter().collect()),
    ];
    for (title, count, rows) in parts.into_iter().filter(|(_, _, rows)| !rows.is_empty()) {
        writeln!(text, "{title}\n\n Time (%)  Total Time (ns)  {count}  Avg (ns)  Med (ns)  Min (ns)  Max (ns)  StdDev (ns)  Name\n --------  -----").unwrap();
        for row in rows {
            writeln!(
                text,
                "     12.5  {}  {}  1.5  1.0  1  {}  0.0  {}",
                row.total_ns,
                row.count,
                max(row),
                row.name
            )
            .unwrap();
        }
        text.push('\n');
    }
    text
}

fn julia(summary: &Summary) -> String {
    let span = printed(summary.span_ns.unwrap_or(0), " ");
    let mut text = format!("Profiler ran for {span}, capturing 9 events.\n\n");
    let works = summary.work.iter().map(|work| &work.row);
    let parts = [
        ("Host-side activity: calling", summary.calls.iter().collect()),
        ("Device-side activity: GPU", works.collect::<Vec<_>>()),
    ];
    for (title, rows) in parts {
        writeln!(
            text,
            "{title} 1 ms\n│ Time (%) │ Time │ Calls │ Avg time │ Min time │ Max time │ Name │\n├────┼────┤"
        )
        .unwrap();
        for row in rows {
            let [total, max] = [row.total_ns, max(row)].map(|ns| printed(ns, " "));
            writeln!(text, "│   12.50% │ {total} │ {} │ 1.5 µs │ 0.0 ns │ {max} │ {} │", row.count, row.name)
                .unwrap();
        }
        text.push('\n');
    }
    text
}

fn torch(summary: &Summary) -> String {
    let mut text = String::from(
        "   Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg     Self CUDA   Self CUDA %    CUDA total  CUDA time avg    # of Calls  \n----  ----\n",
    );
    let mut line = |name: &str, own: Ns, total: Ns, device: Ns, count: u64| {
        let [own, total, device] = [own, total, device].map(|ns| printed(ns, ""));
        writeln!(
            text,
            "   {name}  12.50%  {own}  12.50%  {total}  1.000us  {device}  NaN%  {device}  1.000us  {count}  "
        )
        .unwrap();
    };
    for one in &summary.operators {
        line(&one.name, one.self_ns, one.total_ns, one.device_ns.unwrap_or(0), one.count);
    }
    summary.calls.iter().for_each(|row| line(&row.name, row.total_ns, row.total_ns, 0, row.count));
    summary.work.iter().for_each(|work| line(&work.row.name, 0, 0, work.row.total_ns, work.row.count));
    let [host, device] = [summary.host_ns, summary.device_ns].map(|ns| printed(ns.unwrap_or(0), ""));
    writeln!(text, "----  ----\nSelf CPU time total: {host}\nSelf CUDA time total: {device}").unwrap();
    text
}

fn same(summary: Summary, text: &str) -> Result<(), TestCaseError> {
    let read = read(text.as_bytes()).map_err(|problem| TestCaseError::fail(format!("{problem}\n{text}")))?;
    let read: Vec<Summary> = read.into_iter().map(|read| Summary { line: 0, ..read }).collect();
    prop_assert_eq!(read, [summary], "{}", text);
    Ok(())
}

proptest! {
    #[test]
    fn nvprofs_summary(summary in summary(Tool::Nvprof)) {
        let text = nvprof(&summary);
        same(summary, &text)?;
    }

    #[test]
    fn nsyss_summary(summary in summary(Tool::Nsys), os in prop::collection::vec(row(OS), 0..3)) {
        let summary = Summary { os, ..summary };
        let text = nsys(&summary);
        same(summary, &text)?;
    }

    #[test]
    fn julias_summary(summary in summary(Tool::Julia)) {
        let text = julia(&summary);
        same(summary, &text)?;
    }

    #[test]
    fn pytorchs_summary(
        summary in summary(Tool::Torch),
        operators in prop::collection::vec((prop::sample::select(OPERATORS), 1..9_000u64, time(), time(), time()), 1..5),
        stated in (time(), time()),
    ) {
        let operator = |(name, count, self_ns, total_ns, device): (&str, u64, Ns, Ns, Ns)| {
            Operator { name: name.to_owned(), count, self_ns, total_ns, device_ns: Some(device) }
        };
        // Its tables have no longest call.
        let of_one = |row: &mut Row| row.max_ns = (row.count == 1).then_some(row.total_ns);
        let mut summary = Summary { host_ns: Some(stated.0), device_ns: Some(stated.1), ..summary };
        summary.calls.iter_mut().for_each(of_one);
        summary.work.iter_mut().map(|work| &mut work.row).for_each(of_one);
        summary.operators = operators.into_iter().map(operator).collect();
        let text = torch(&summary);
        same(summary, &text)?;
    }

    /// Nothing that a text can have makes the reader or a rule panic.
    #[test]
    fn any_lines_are_read_without_a_panic(lines in prop::collection::vec(line(), 0..20)) {
        if let Ok(summaries) = read(lines.join("\n").as_bytes()) {
            summaries.iter().for_each(|summary| _ = summary::judge(summary));
        }
    }
}

/// Pieces of tables in any order.
fn line() -> impl Strategy<Value = String> {
    let pieces = [
        "Type  Time(%)  Time  Calls  Avg  Min  Max  Name",
        "│ Time (%) │ Total time │ Calls │ Time distribution │ Name │",
        "Name  Self CPU %  Self CPU  CPU total %  CPU total  CPU time avg  # of Calls  Input Shapes",
        "Time (%),Total Time (ns),Instances,Name",
        "Profiler ran for 1 s",
        "==1== API calls:",
        "Self CPU time total: 9223372036.8s",
        "GPU activities:",
        "98.41%",
        "9223372036854775807",
        "18446744073709551615",
        "9223372036.854775807s",
        "1e18s",
        "0.0 ns",
        "-",
        "│",
        "|",
        ",",
        "\"",
        "aten::item",
        "cudaMalloc",
        "cudaLaunchKernel",
        "[CUDA memcpy HtoD]",
        "ncclKernel_AllReduce",
        "± 1 ( 2 ‥ 3 )",
        "é",
        "> ",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..9).prop_map(|words| words.join(" "))
}

#[test]
fn copies_keep_the_memory_that_their_name_states() {
    let text = "Device-side activity: GPU was busy for 1 ms\n│ Time (%) │ Total time │ Calls │ Name │\n│ 1.00% │ 5 ms │ 1 │ [copy pinned to device memory] │\n";
    let summaries = read(text.as_bytes()).unwrap();
    assert_eq!(summaries[0].work[0].kind, WorkKind::Copy { memory: Memory::Pinned });
}
