//! Tables say the same whatever terminals, forums and people did to them.

use std::path::Path;
use summary::{Summary, read};

fn table(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/tables/{name}.txt"));
    std::fs::read_to_string(path).expect("a table")
}

const TABLES: [&str; 7] = [
    "julia-norm-waits",
    "julia-copy-to-device",
    "nvprof-launch-queue",
    "nvprof-first-malloc",
    "nsys-malloc-free",
    "torch-loader",
    "torch-equal-old-layout",
];

/// The summaries of a text, without the numbers of lines.
fn sums(text: &str) -> Vec<Summary> {
    let read = read(text.as_bytes()).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    read.into_iter().map(|summary| Summary { line: 0, ..summary }).collect()
}

/// Checks that a change of each line leaves the sums as they are.
fn unchanged(what: &str, change: impl Fn(&str) -> String) {
    for name in TABLES {
        let plain = table(name);
        let changed: Vec<String> = plain.lines().map(&change).collect();
        assert_eq!(sums(&changed.join("\n")), sums(&plain), "{name}: {what}");
    }
}

#[test]
fn quotations_line_ends_and_colours_change_nothing() {
    unchanged("quoted", |line| format!("> {line}"));
    unchanged("quoted twice", |line| format!("> > {line}"));
    unchanged("indented", |line| format!("        {line}"));
    unchanged("carriage returns", |line| format!("{line}\r"));
    unchanged("coloured", |line| format!("\u{1b}[1;31m{line}\u{1b}[0m"));
    unchanged("no-break spaces", |line| line.replace(' ', "\u{a0}"));
}

#[test]
fn lost_alignment_changes_nothing() {
    let single = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    unchanged("single spaces", single);
    unchanged("tabs", |line| line.split("  ").filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\t"));
    unchanged("ASCII frames", |line| line.replace('│', "|").replace(['─', '┼'], "-").replace('‥', ".."));
    unchanged("no frames", |line| line.replace(['│', '┌', '─', '┐', '├', '┼', '┤', '└', '┴', '┘', '┬'], " "));
}

#[test]
fn talk_around_and_blank_lines_between_change_nothing() {
    unchanged("blank lines", |line| format!("{line}\n"));
    for name in TABLES {
        let plain = table(name);
        let talk =
            "Hi all,\nmy program is slow, 3 times slower than 12.5 ms. What does the table say?\n```\n";
        let text = format!("{talk}{plain}```\nThanks in advance\n$ nvidia-smi\n| 0  Tesla P40 | 23 % |\n");
        assert_eq!(sums(&text), sums(&plain), "{name}");
    }
}

/// A terminal of 80 columns, and a mail program that breaks lines between words.
#[test]
fn wrapped_rows_are_joined() {
    let wrap = |line: &str, at: usize| {
        let chars: Vec<char> = line.chars().collect();
        chars.chunks(at).map(|part| part.iter().collect::<String>()).collect::<Vec<_>>().join("\n")
    };
    for name in ["torch-loader", "torch-equal-old-layout"] {
        let plain = table(name);
        let wrapped: Vec<String> = plain.lines().map(|line| wrap(line, 100)).collect();
        let (found, all) = (sums(&wrapped.join("\n")), sums(&plain));
        let names = |sums: &[Summary]| sums[0].operators.iter().map(|it| it.total_ns).collect::<Vec<_>>();
        assert_eq!(names(&found), names(&all), "{name}");
    }
}

#[test]
fn a_markdown_table_is_read() {
    let text = "| Name | Self CPU % | Self CPU | CPU total % | CPU total | CPU time avg | # of Calls |\n|---|---|---|---|---|---|---|\n\
                | aten::mm | 60.00% | 3.000ms | 60.00% | 3.000ms | 1.000ms | 3 |\n";
    let summaries = sums(text);
    assert_eq!(
        (summaries[0].operators[0].name.as_str(), summaries[0].operators[0].self_ns),
        ("aten::mm", 3_000_000)
    );
}

#[test]
fn several_profiles_are_told_apart() {
    for name in TABLES {
        let plain = table(name);
        let one = sums(&plain);
        assert_eq!(one.len(), 1, "{name}");
        assert_eq!(
            sums(&format!("{plain}\nand now after the change:\n{plain}")),
            [one.clone(), one].concat(),
            "{name}"
        );
    }
}

#[test]
fn half_a_table_is_read_as_far_as_it_goes() {
    for name in TABLES {
        let plain = table(name);
        for end in plain.char_indices().map(|(at, _)| at).step_by(37) {
            // Titles without rows are refused, whatever else is read.
            let _ = read(&plain.as_bytes()[..end]);
            let _ = read(&plain.as_bytes()[end..]);
        }
    }
    let without_device = table("julia-norm-waits").split("Device-side").next().unwrap().to_owned();
    let summaries = sums(&without_device);
    assert!(summaries[0].has_calls && !summaries[0].has_work);
}

#[test]
fn titles_without_rows_are_refused_with_their_line() {
    let text = "Hello\n\n            Type  Time(%)      Time     Calls       Avg       Min       Max  Name\nnothing\n";
    let problem = read(text.as_bytes()).unwrap_err().to_string();
    assert!(problem.starts_with("line 3: ") && problem.contains("nvprof"), "{problem}");
    assert_eq!(read(b"Dear diary,\nnothing was traced.\n"), Ok(Vec::new()));
    assert_eq!(read(b"\xff\xfe\0"), Ok(Vec::new()));
}

/// `CUDA.@profile trace=true` has a row for each call and operation.
#[test]
fn rows_of_events_are_added_up() {
    let text = "\
Profiler ran for 1.71 ms, capturing 6 events.

Host-side activity: calling CUDA APIs took 1.62 ms (95.02% of the trace)
┌──────┬─────────┬───────────┬────────┬──────────────────────┬──────────┐
│   ID │   Start │      Time │ Thread │ Name                 │ Details  │
├──────┼─────────┼───────────┼────────┼──────────────────────┼──────────┤
│ 1866 │  0.0 ns │   1.13 ms │      1 │ cuMemcpyDtoHAsync    │ -        │
│ 1867 │ 1.13 ms │ 238.42 ns │      1 │ cuLaunchKernel       │ -        │
│ 1868 │ 1.14 ms │   0.12 ms │      1 │ cuMemcpyDtoHAsync    │ 2.0 KiB, │
└──────┴─────────┴───────────┴────────┴──────────────────────┴──────────┘

Device-side activity: GPU was busy for 1.2 ms (70.0% of the trace)
┌──────┬─────────┬─────────┬─────────┬────────┬──────┬─────────┬────────────┬──────────────┐
│   ID │   Start │    Time │ Threads │ Blocks │ Regs │    Size │ Throughput │ Name         │
├──────┼─────────┼─────────┼─────────┼────────┼──────┼─────────┼────────────┼──────────────┤
│ 1867 │ 1.13 ms │ 1.19 ms │     256 │   1024 │   16 │       - │          - │ _Z3addv      │
│ 1868 │ 1.15 ms │ 2.15 µs │       - │      - │    - │ 2.0 KiB │   1.0 GB/s │ [copy device to pageable memory] │
└──────┴─────────┴─────────┴─────────┴────────┴──────┴─────────┴────────────┴──────────────┘
";
    let summaries = sums(text);
    let copies = &summaries[0].calls[0];
    assert_eq!((copies.name.as_str(), copies.count, copies.total_ns), ("cuMemcpyDtoHAsync", 2, 1_250_000));
    assert_eq!(copies.max_ns, Some(1_130_000));
    assert_eq!(summaries[0].work.len(), 2);
    assert_eq!(summaries[0].span_ns, Some(1_710_000));
}
