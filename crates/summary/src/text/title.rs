//! The columns of a table, recognized by their titles. All layouts of all tools are mapped to one set.

use super::amount;
use crate::model::Tool;
use trace::Ns;

/// Meaning of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Column {
    /// The name; at the end of a row it may hold anything.
    Name,
    /// A share.
    Share,
    /// Time in all; in Julia's form with one row per event, the time of one.
    Total,
    Count,
    Maximum,
    /// Mean, deviation and range in one: `2.48 ms ± 3.49 (0.01 ‥ 4.94)`.
    Distribution,
    SelfHost,
    TotalHost,
    SelfDevice,
    TotalDevice,
    /// A time that nothing uses.
    Time,
    /// A number or `-` that nothing uses: floating-point operations, an id.
    Number,
    /// A size, with its unit: `1.50 Kb`.
    Size,
    /// Three numbers, or one word.
    Triple,
    /// A word, which may be missing: nvprof's kind of row.
    Type,
    /// Anything, up to the next column.
    Text,
}

/// How the cells of a row are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// By what can be in their columns.
    Plain,
    /// By bars.
    Bars,
    /// By commas.
    Csv,
}

/// The columns of a table.
#[derive(Clone, Debug)]
pub(super) struct Titles {
    pub(super) tool: Tool,
    pub(super) columns: Vec<Column>,
    /// Unit of each column, ns, where its title has one.
    pub(super) units: Vec<Option<Ns>>,
    pub(super) form: Form,
    /// Title of the column of counts, in lower case; empty if there is none.
    pub(super) count: String,
    /// Whether each row is one event.
    pub(super) is_trace: bool,
    /// A mark of comments before each line: `#`.
    pub(super) mark: Option<char>,
}

/// Words of titles in lower case, and their columns; longer ones are looked for first.
const WORDS: &[(&str, Column)] = &[
    ("self cpu total %", Column::Share),
    ("self cpu total", Column::SelfHost),
    ("self cpu time", Column::SelfHost),
    ("self cpu mem", Column::Size),
    ("self cpu %", Column::Share),
    ("self cpu", Column::SelfHost),
    ("cpu total %", Column::Share),
    ("cpu total", Column::TotalHost),
    ("cpu time avg", Column::Time),
    ("cpu mem", Column::Size),
    ("self cuda total %", Column::Share),
    ("self cuda total", Column::SelfDevice),
    ("self cuda mem", Column::Size),
    ("self cuda %", Column::Share),
    ("self cuda", Column::SelfDevice),
    ("cuda total %", Column::Share),
    ("cuda total", Column::TotalDevice),
    ("cuda time avg", Column::Time),
    ("cuda mem", Column::Size),
    ("number of calls", Column::Count),
    ("# of calls", Column::Count),
    ("input shapes", Column::Text),
    ("source location", Column::Text),
    ("overload name", Column::Text),
    ("node id", Column::Number),
    ("total flops", Column::Number),
    ("total kflops", Column::Number),
    ("total mflops", Column::Number),
    ("total gflops", Column::Number),
    ("total tflops", Column::Number),
    ("time distribution", Column::Distribution),
    ("time (%)", Column::Share),
    ("time(%)", Column::Share),
    ("time %", Column::Share),
    ("total time", Column::Total),
    ("total size", Column::Size),
    ("num calls", Column::Count),
    ("avg time", Column::Time),
    ("min time", Column::Time),
    ("max time", Column::Maximum),
    ("avg size", Column::Size),
    ("min size", Column::Size),
    ("max size", Column::Size),
    ("shared mem", Column::Size),
    ("gridxyz", Column::Triple),
    ("blockxyz", Column::Triple),
    ("calls", Column::Count),
    ("instances", Column::Count),
    ("operations", Column::Count),
    ("count", Column::Count),
    ("average", Column::Time),
    ("avg", Column::Time),
    ("median", Column::Time),
    ("med", Column::Time),
    ("minimum", Column::Time),
    ("min", Column::Time),
    ("maximum", Column::Maximum),
    ("max", Column::Maximum),
    ("stddev", Column::Time),
    ("category", Column::Type),
    ("style", Column::Type),
    ("type", Column::Type),
    ("id", Column::Number),
    ("start", Column::Time),
    ("threads", Column::Triple),
    ("thread", Column::Number),
    ("blocks", Column::Triple),
    ("regs", Column::Number),
    ("ssmem", Column::Size),
    ("dsmem", Column::Size),
    ("size", Column::Size),
    ("throughput", Column::Size),
    ("details", Column::Text),
    ("time", Column::Total),
    ("total", Column::Size),
    ("operation", Column::Name),
    ("range", Column::Name),
    ("name", Column::Name),
];

/// Other devices than CUDA's, as PyTorch's titles have them.
const DEVICES: [&str; 7] = ["xpu", "hpu", "mtia", "musa", "npu", "hip", "device"];

/// The columns that titles declare, and whether every word of the line is one.
struct Found {
    columns: Vec<(Column, &'static str)>,
    units: Vec<Option<Ns>>,
    is_whole: bool,
}

fn find(line: &str) -> Found {
    let mut rest = line;
    let mut found = Found { columns: Vec::new(), units: Vec::new(), is_whole: true };
    while !rest.is_empty() {
        let ends =
            |word: &str| rest[word.len()..].chars().next().is_none_or(|next| next == ' ' || next == '(');
        let known = WORDS.iter().find(|(word, _)| rest.starts_with(word) && ends(word));
        rest = match known {
            Some((word, column)) => {
                found.columns.push((*column, word));
                found.units.push(None);
                &rest[word.len()..]
            }
            None => {
                let end = rest.find(' ').unwrap_or(rest.len());
                let inner = rest[..end].trim_matches(['(', ')', '*']);
                match (amount::unit(inner), found.units.last_mut()) {
                    (Some(unit), Some(last)) => *last = Some(unit),
                    _ => found.is_whole &= matches!(inner, "⋯" | "..." | "" | "mb" | "kib"),
                }
                &rest[end..]
            }
        };
        rest = rest.trim_start();
    }
    found
}

impl Titles {
    /// The columns of a line of titles; `None` for any other line.
    pub(super) fn of(line: &str) -> Option<Titles> {
        let mark = line.trim_start().chars().next().filter(|c| matches!(c, '#' | '*' | '/'));
        let line = line.trim_start().trim_start_matches(['#', '*', '/']);
        let form = match line {
            line if line.contains('│') || line.matches('|').count() >= 3 => Form::Bars,
            line if line.matches(',').count() >= 3 => Form::Csv,
            _ => Form::Plain,
        };
        let found = find(&normal(line));
        // Rows with bars do not need a title of each column; others do.
        if !found.is_whole || found.columns.len() < 3 {
            return None;
        }
        let tool = tool(&found)?;
        let is_trace = found.columns.iter().any(|(_, word)| *word == "start");
        let count = found.columns.iter().find(|(column, _)| *column == Column::Count);
        let count = count.map_or("", |(_, word)| *word).to_owned();
        let columns: Vec<Column> = found.columns.iter().map(|(column, _)| *column).collect();
        let has = |wanted: Column| columns.contains(&wanted);
        let is_table = match tool {
            Tool::Torch => has(Column::Name) && (has(Column::Count) || has(Column::SelfHost)),
            Tool::Nvprof | Tool::Nsys | Tool::Julia => has(Column::Name) && has(Column::Total),
        };
        let units = units(tool, found.units);
        is_table.then_some(Titles { tool, columns, units, form, count, is_trace, mark })
    }

    /// Whether a line has titles alone.
    pub(super) fn begin(line: &str) -> bool {
        let found = find(&normal(line.trim_start().trim_start_matches(['#', '*', '/'])));
        found.is_whole && found.columns.len() >= 3
    }

    /// Whether a line has several titles; the last may be cut, and go on in the next line.
    pub(super) fn may_begin(line: &str) -> bool {
        find(&normal(line.trim_start().trim_start_matches(['#', '*', '/']))).columns.len() >= 3
    }
}

/// The unit of each column. nsys prints nanoseconds, and old versions have the unit above the table alone.
fn units(tool: Tool, units: Vec<Option<Ns>>) -> Vec<Option<Ns>> {
    let of_all = units.iter().copied().flatten().next().or((tool == Tool::Nsys).then_some(1));
    units.into_iter().map(|unit| unit.or(of_all)).collect()
}

/// A line of titles in lower case with single spaces, and CUDA for every device.
fn normal(line: &str) -> String {
    let line: String = line.chars().map(|c| if "│|,\"\t".contains(c) { ' ' } else { c }).collect();
    let word = |word: &str| {
        let word = word.to_lowercase();
        if DEVICES.contains(&word.as_str()) {
            String::from("cuda")
        } else {
            word.trim_end_matches('*').to_owned()
        }
    };
    line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// The tool whose titles these are.
fn tool(found: &Found) -> Option<Tool> {
    let has = |wanted: &str| found.columns.iter().any(|(_, word)| *word == wanted);
    let starts = |start: &str| found.columns.iter().any(|(_, word)| word.starts_with(start));
    let of_nsys = ["num calls", "instances", "operations", "average", "med", "median", "stddev", "style"];
    Some(match () {
        () if starts("self cpu") || starts("cpu ") => Tool::Torch,
        () if has("avg size") || has("type") => Tool::Nvprof,
        () if has("time distribution") || has("avg time") || has("start") => Tool::Julia,
        () if of_nsys.iter().any(|word| has(word)) || has("count") => Tool::Nsys,
        () if has("time") && has("avg") && has("calls") => Tool::Nvprof,
        () if has("total time") && has("calls") => Tool::Julia,
        () if has("total time") && found.units.iter().any(Option::is_some) => Tool::Nsys,
        () => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_of_every_tool_are_recognized() {
        let cases = [
            (
                "            Type  Time(%)      Time     Calls       Avg       Min       Max  Name",
                Tool::Nvprof,
                8,
            ),
            ("Time(%)      Time     Calls       Avg       Min       Max  Name", Tool::Nvprof, 7),
            ("   Count  Avg Size  Min Size  Max Size  Total Size  Total Time  Name", Tool::Nvprof, 7),
            (
                "Time(%)      Total Time       Calls         Average         Minimum  Maximum  Name",
                Tool::Nsys,
                7,
            ),
            (
                " Time (%)  Total Time (ns)  Num Calls  Avg (ns)  Med (ns)  Min (ns)  Max (ns)  StdDev (ns)  Name",
                Tool::Nsys,
                9,
            ),
            ("Time (%),Total Time (ns),Instances,Avg (ns),Name", Tool::Nsys, 5),
            ("│ Time (%) │ Total time │ Calls │ Time distribution │ Name ⋯", Tool::Julia, 5),
            ("│ Time (%) │ Total time │ Calls │ Name │", Tool::Julia, 4),
            ("| Time (%) |      Time | Calls |  Avg time |  Min time |  Max time | Name |", Tool::Julia, 7),
            ("│ ID │ Start │ Time │ Threads │ Blocks │ Size │ Throughput │ Name │", Tool::Julia, 8),
            (
                "Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls",
                Tool::Torch,
                7,
            ),
            (
                "| Name | Self CPU total % | Self CPU total | CUDA total % | CUDA total | Number of Calls |",
                Tool::Torch,
                6,
            ),
            (
                "Name Self CPU Self XPU Self XPU % XPU total XPU time avg # of Calls Total KFLOPs",
                Tool::Torch,
                8,
            ),
        ];
        for (line, tool, columns) in cases {
            let titles = Titles::of(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((titles.tool, titles.columns.len()), (tool, columns), "{line}");
        }
        assert_eq!(
            Titles::of("Time (%)  Total Time (ms)  Num Calls  Name").unwrap().units[1],
            Some(1_000_000)
        );
        for line in [
            "",
            "the time of calls has a name",
            "Total Operations Average Minimum Maximum Name",
            "name size count",
        ] {
            assert!(Titles::of(line).is_none(), "{line}");
        }
    }
}
