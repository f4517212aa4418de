//! The command line's grammar.

mod diff;
mod fleet;
mod lab;
#[cfg(unix)]
mod prove;
mod replay;
mod whatif;

pub use diff::{Diff, Form, Limit};
pub use fleet::{Digest, Fleet};
pub use lab::{
    Devices, Lab, LabCalibrate, LabList, LabRun, LabShow, LabVerb, Results as ResultsForm, ResultsOutput,
};
#[cfg(unix)]
pub use prove::Prove;
pub use replay::Replay;
pub use whatif::Whatif;

use crate::output::Color;
use crate::time;
use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use trace::{Ns, Selection};

/// Explains why the threads, streams and GPUs of a CUDA program wait, and how to fix it.
#[derive(Parser)]
#[command(name = "holdup", version, long_about = long_about(), max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Examples:
  holdup record python train.py         run a program and record it
  holdup doctor                         what recording needs, and what is missing
  holdup explain trace.json.gz          why the program waited, and how to fix it
  holdup view trace.json.gz             the same as a page in the browser
  holdup diff old.json.gz new.json.gz   what got slower, and by what cause
  holdup digest traces/* -o digests     digests of thousands of ranks, for holdup fleet
  holdup prove --against ./old -- ./new whether a change makes it faster
  holdup stats report.sqlite            where host and GPU time went
  holdup where cudaMemcpyAsync t.json   which lines of the program call it
  holdup lab run overlap                an experiment on this machine's GPU

Times and durations: 1.5s, 200ms, 900us, 50ns; a bare number is seconds.

Exit status: 0 done; 1 --fail-over is exceeded, or a gain under --fail-under; 2 wrong usage, unreadable input, or an empty selection.")]
pub struct CommandLine {
    /// Colour text; "auto" means on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
    #[command(subcommand)]
    pub verb: Verb,
}

/// The help's first paragraphs: what holdup is, and what it reads.
fn long_about() -> String {
    let forms: Vec<String> = import::forms().map(|form| form.name.replace('`', "")).collect();
    format!(
        "Explains why the threads, streams and GPUs of a CUDA program wait, and how to fix it.\n\n\
         Records a program (record). Reads {}. The content decides the format. A trace can be gzipped; \"-\" is standard \
         input.",
        forms.join("; ")
    )
}

#[derive(Subcommand)]
pub enum Verb {
    #[cfg(target_os = "linux")]
    Record(Record),
    Explain(Explain),
    Diff(Diff),
    Replay(Replay),
    Whatif(Whatif),
    #[cfg(unix)]
    Prove(Prove),
    Causes(Causes),
    View(View),
    Digest(Digest),
    Fleet(Fleet),
    Stats(Stats),
    Calls(Listing),
    Ops(OpListing),
    Where(Where),
    Export(Export),
    Import(Import),
    Lab(Lab),
    Devices(Devices),
    #[cfg(target_os = "linux")]
    Doctor(Doctor),
    Completions(Completions),
    Man(Man),
}

/// Runs a program and records its calls, GPU operations and waits for locks.
///
/// The program keeps its output and exit status and gets its signals.
#[cfg(target_os = "linux")]
#[derive(Args)]
#[command(after_help = "Examples:
  holdup record python train.py
      writes train.holdup and prints the first findings
  holdup record -o night.holdup --level light ./server
      only driver calls and lock waits: cheaper
  holdup record --max-size 2GB -- torchrun --nproc-per-node 8 train.py

Level full needs CUPTI, which is part of PyTorch, the CUDA toolkit and the package nvidia-cuda-cupti. Without it, \
or while the program uses CUPTI itself (a profiler), holdup records level light and reports that. `holdup doctor` \
checks the machine.

Exit status: the program's; 126 or 127 if it cannot be started.")]
pub struct Record {
    /// The file to write [default: PROGRAM.holdup; never overwrites a file].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Let others read the file as far as the umask permits; otherwise its owner alone can.
    #[arg(long)]
    pub share: bool,
    /// How much to record.
    #[arg(long, value_enum, default_value_t)]
    pub level: Level,
    /// Record each node of a CUDA graph at level full; otherwise a launched graph is one operation.
    #[arg(long)]
    pub graph_nodes: bool,
    /// Record the stacks of calls of at least this duration; "off" for none.
    #[arg(long, value_name = "DURATION", default_value = "100us", value_parser = stacks)]
    pub stacks: Stacks,
    /// Record waits for these libraries' locks besides the driver's: beginnings of file names, separated by commas
    /// [default: the libraries of PyTorch, JAX, CuPy and CUDA].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub locks: Vec<String>,
    /// Samples of the stacks of all threads per second; 0 for none.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(..=1000))]
    pub sample_rate: u32,
    /// Most bytes to record, all processes together; records beyond are counted.
    #[arg(long, value_name = "SIZE", default_value = "8GB", value_parser = crate::size::parse)]
    pub max_size: u64,
    /// Which records to keep if not all fit into --max-size.
    #[arg(long, value_enum, default_value_t)]
    pub keep: Keep,
    /// Begin to record after this duration, with "signal" when holdup gets SIGUSR2, or with "program" when the program
    /// asks for it (`holdup.record` in Python).
    #[arg(long, value_name = "DURATION", value_parser = begin)]
    pub after: Option<Begin>,
    /// Record for this duration; the program goes on.
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub duration: Option<Duration>,
    /// Folder for records until the program ends [default: the folder of temporary files].
    #[arg(long, value_name = "DIR")]
    pub spool_dir: Option<PathBuf>,
    /// Print only the number of lost records, no findings.
    #[arg(short, long)]
    pub quiet: bool,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Which records to keep.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Keep {
    /// The first ones.
    #[default]
    First,
    /// The last ones: later records replace earlier ones.
    Last,
}

/// When recording begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begin {
    /// So long after the program was started.
    After(Duration),
    /// When holdup gets SIGUSR2.
    AtSignal,
    /// When the program asks for it.
    AtProgram,
}

fn begin(text: &str) -> Result<Begin, String> {
    match text {
        "signal" => Ok(Begin::AtSignal),
        "program" => Ok(Begin::AtProgram),
        _ => duration(text)
            .map(Begin::After)
            .map_err(|problem| format!("{problem}, \"signal\" or \"program\"")),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    time::parse(text).map(|ns| Duration::from_nanos(u64::try_from(ns).unwrap_or(0)))
}

/// How much to record.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Level {
    /// Calls of runtime and driver, GPU operations, lock waits, NVTX ranges.
    #[default]
    Full,
    /// Driver calls and lock waits: at most a few percent of a launch.
    Light,
    /// As full, with CUPTI's own records of calls and synchronizations: slows a program that launches often by a third.
    Calls,
}

/// Thousandths of a percent of a text such as `5%` or `0.5 %`.
fn thousandths(text: &str) -> Option<u32> {
    let share = text.trim().strip_suffix('%')?.trim();
    let (whole, decimals) = share.split_once('.').unwrap_or((share, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || decimals.len() > 3 || !is_number(whole) || !is_number(decimals) {
        return None;
    }
    format!("{whole}{decimals:0<3}").parse().ok()
}

#[cfg(target_os = "linux")]
impl From<Level> for spool::Level {
    fn from(level: Level) -> spool::Level {
        match level {
            Level::Full => spool::Level::Full,
            Level::Light => spool::Level::Light,
            Level::Calls => spool::Level::Calls,
        }
    }
}

/// From which duration on a call's stack is recorded, ns; none for `off`.
#[derive(Clone, Copy)]
pub struct Stacks(pub Option<u64>);

fn stacks(text: &str) -> Result<Stacks, String> {
    if text == "off" {
        return Ok(Stacks(None));
    }
    let shortest = time::parse(text).map_err(|problem| format!("{problem}, or \"off\""))?;
    Ok(Stacks(u64::try_from(shortest).ok()))
}

/// Which events to select.
#[derive(Args)]
#[command(next_help_heading = "Selection")]
pub struct Filter {
    /// Only events that end after this time from the trace's start.
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    from: Option<Ns>,
    /// Only events that start before this time from the trace's start.
    #[arg(long, value_name = "TIME", value_parser = time::parse_end)]
    to: Option<Ns>,
    /// Only this thread: its id, or a part of its name.
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
    /// Only calls and GPU operations whose name contains this, in any case.
    #[arg(long, value_name = "PART")]
    name: Option<String>,
    /// Only calls that a thread made within its ranges (NVTX, record_function, operators) whose name contains this,
    /// and the GPU operations that they issued.
    ///
    /// A range that one thread starts and another ends belongs to the one that started it; a range without a thread
    /// belongs to all.
    #[arg(long, value_name = "PART")]
    range: Option<String>,
}

impl Filter {
    pub fn selection(&self) -> Selection {
        let Filter { from, to, thread, name, range } = self;
        Selection { from: *from, to: *to, thread: thread.clone(), name: name.clone(), range: range.clone() }
    }
}

/// Reports why the program waited: which thread, for what, how long, and how to fix it.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup explain trace.json.gz
  holdup explain trace.json.gz --format markdown > issue.md
  holdup explain trace.json.gz --format html -o report.html
      a page to view and to mail
  holdup explain nightly.sqlite --fail-over 50ms
      exit status 1 if any finding lost more

Several traces give one text after another, or one JSON array; a page has one trace. Of traces of the ranks of one run \
holdup says which rank is late at the collectives, and why.

The page is one file that opens offline: findings, a timeline, tables. With --from and --to its timeline shows only \
that time; a call that extends beyond it counts whole.")]
pub struct Explain {
    /// Traces of any format that holdup reads; "-" is standard input.
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Explanation,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Explain calls that take longer than this.
    #[arg(long, value_name = "DURATION", default_value = "100us", value_parser = time::parse)]
    pub min_wait: Ns,
    /// End with exit status 1 if a finding lost more than this.
    #[arg(long, value_name = "DURATION", value_parser = time::parse)]
    pub fail_over: Option<Ns>,
    /// Print every finding in full, with lines of code that apply its fixes, those that cost little too, and every remark.
    #[arg(long)]
    pub all: bool,
    /// Predict what each fix would gain, as holdup whatif does; not with a selection.
    #[arg(long, value_enum, default_value_t)]
    pub gains: Gains,
    #[command(flatten)]
    pub filter: Filter,
}

/// Whether to predict what fixes would gain.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Gains {
    /// If the trace is so small that it takes at most about a second.
    #[default]
    Auto,
    /// However long it takes.
    Always,
    /// Never.
    Never,
}

/// Shows a trace in the browser: findings, timeline and tables, as explain --format html writes them.
///
/// Serves one page on 127.0.0.1, at an address that cannot be guessed, until it is interrupted.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup view trace.json.gz
  holdup view trace.json.gz --open
      and opens the browser
  ssh -L 8000:127.0.0.1:8000 gpu holdup view trace.holdup --port 8000
      from another machine

Only this machine can reach the page, and only at its full address.")]
pub struct View {
    /// A trace of any format that holdup reads; "-" is standard input.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Open the page in the browser (xdg-open).
    #[arg(long)]
    pub open: bool,
    /// The port [default: a free one].
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Explain calls that take longer than this.
    #[arg(long, value_name = "DURATION", default_value = "100us", value_parser = time::parse)]
    pub min_wait: Ns,
    #[command(flatten)]
    pub filter: Filter,
}

/// Summarizes host and GPU time: tables of calls, GPU operations and copies, and what overlaps on each GPU.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup stats trace.json.gz
  holdup stats trace.json.gz --per-thread --from 0.4s --to 600ms
  holdup stats trace.json.gz --top 5

With --from and --to, only the time between them counts: events are cut there. --thread and --name do not apply to
overlap: a GPU's engines serve all threads.")]
pub struct Stats {
    /// A trace of any format that holdup reads; "-" is standard input.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Document,
    /// One table of calls per thread.
    #[arg(long)]
    pub per_thread: bool,
    /// Rows of each table; 0 for all. Default: ten and all with 0.1 % of the time; JSON always has all.
    #[arg(long, value_name = "COUNT")]
    pub top: Option<usize>,
    /// Never shorten names.
    #[arg(long)]
    pub wide: bool,
    #[command(flatten)]
    pub filter: Filter,
}

/// Lists host calls, with the GPU operation that each issued.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup calls trace.json.gz --name launch --sort duration --top 20
  holdup calls trace.json.gz --format csv > calls.csv
  holdup calls trace.json.gz --format json | jq 'select(.duration_ns > 1000000)'

Text skips empty columns, and on a narrow terminal the least important ones; CSV and JSON have all, in nanoseconds \
and bytes.")]
pub struct Listing {
    /// A trace of any format that holdup reads; "-" is standard input.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Form of the output; json is one object per line.
    #[arg(long, value_enum, default_value_t)]
    pub format: Rows,
    /// Order of rows: start (earliest first), duration (longest first) or name.
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    pub sort: Sort,
    /// Only the first rows in that order.
    #[arg(long, value_name = "COUNT")]
    pub top: Option<usize>,
    #[command(flatten)]
    pub filter: Filter,
}

/// Lists GPU operations: kernels, copies and fills.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup ops trace.json.gz --name pageable
      copies from or to pageable memory
  holdup ops trace.json.gz --from 0.412s --to 0.47s
  holdup ops trace.json.gz --format csv > ops.csv

Text skips empty columns, and on a narrow terminal the least important ones; CSV and JSON have all, in nanoseconds \
and bytes. --thread selects the thread whose call issued the operation.")]
pub struct OpListing {
    #[command(flatten)]
    pub listing: Listing,
}

/// Lists the source places that call an API.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup where cudaMemcpyAsync trace.json.gz
  holdup where launch trace.json.gz --thread 1207957184

Without call stacks in the trace, the place is the framework's operator or the NVTX range around the call. Options \
for stacks: PyTorch with_stack=True, Nsight Systems --cudabacktrace=all.")]
pub struct Where {
    /// A part of the API's name, in any case.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// A trace of any format that holdup reads; "-" is standard input.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Table,
    /// Never shorten places.
    #[arg(long)]
    pub wide: bool,
    /// Only calls that end after this time from the trace's start.
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    from: Option<Ns>,
    /// Only calls that start before this time from the trace's start.
    #[arg(long, value_name = "TIME", value_parser = time::parse_end)]
    to: Option<Ns>,
    /// Only this thread: its id, or a part of its name.
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
    /// Only calls that a thread made within its ranges whose name contains this.
    #[arg(long, value_name = "PART")]
    range: Option<String>,
}

impl Where {
    pub fn selection(&self) -> Selection {
        let (thread, name, range) = (self.thread.clone(), Some(self.name.clone()), self.range.clone());
        Selection { from: self.from, to: self.to, thread, name, range }
    }
}

/// Writes a trace with its findings for other tools: Perfetto, Chrome's viewer, DuckDB, pandas, spreadsheets, speedscope.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup export trace.json.gz --format perfetto -o trace.pftrace
      open it at https://ui.perfetto.dev
  holdup export run.holdup --format chrome -o - | gzip > run.json.gz
  holdup export run.holdup --format parquet -o tables
      open tables/*.parquet with DuckDB
  holdup export run.holdup --format csv -o sheets --from 1s --to 2s
  holdup export run.holdup --format speedscope -o run.speedscope.json
      open it at https://www.speedscope.app
  holdup export run.holdup --format folded -o - | flamegraph.pl > run.svg

perfetto  processes, threads, devices and streams; arrows from a call to its
          GPU operations and from a holder's call to the call that waited,
          whose slice has the cause's name; counters of pending operations and
          copy bandwidth
chrome    the same as JSON, for chrome://tracing
parquet   a directory: one file per table of a .holdup file, findings and
          single losses
csv       the same with names instead of row numbers; a text that a
          spreadsheet would run as a formula (it begins with = + - or @) gets
          an apostrophe before it
speedscope, folded
          flame graphs of the samples of each thread: those that found the GPU
          idle apart from those that found it busy

Output is written atomically. Findings cover only the exported range.")]
pub struct Export {
    /// A trace of any format that holdup reads; "-" is standard input.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// The format to write.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Target,
    /// The file to write, for parquet and csv the directory; "-" is standard output.
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// In Parquet tables, names of threads and calls instead of row numbers, as in CSV.
    #[arg(long)]
    pub names: bool,
    /// Replace the file, or an export's directory, if it exists.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub filter: Filter,
}

/// Converts a trace to a .holdup file, which opens quickly and in any Parquet reader.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup import trace.json.gz -o trace.holdup
  holdup import night.json.gz -o stall.holdup --from 41.2s --to 41.4s
      only a part of it

Output is written atomically.")]
pub struct Import {
    /// A trace of any format that holdup reads; "-" is standard input.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// The file to write.
    #[arg(short, long, value_name = "OUT.holdup")]
    pub output: PathBuf,
    /// Replace the file if it exists.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub filter: Filter,
}

/// Checks what recording needs, and prints how to get what is missing.
#[cfg(target_os = "linux")]
#[derive(Args)]
#[command(after_help = "Examples:
  holdup doctor
  holdup doctor --format json | jq '.checks[] | select(.state != \"ok\")'

Checks holdup's own library, the driver and its devices, CUPTI, MPS, and other tools' variables; changes nothing.

Exit status: 0 programs can be recorded, 1 they cannot.")]
pub struct Doctor {
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Table,
}

/// Lists the causes that holdup knows: meaning, evidence and fixes.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup causes
      all of them
  holdup causes driver-lock
      one of them")]
pub struct Causes {
    /// The causes to list; all of them by default.
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Document,
}

/// Prints shell completions of holdup's commands and options.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup completions bash > ~/.local/share/bash-completion/completions/holdup
  holdup completions zsh > ~/.zfunc/_holdup
      where ~/.zfunc is in fpath
  holdup completions fish > ~/.config/fish/completions/holdup.fish")]
pub struct Completions {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// Prints the manual page of holdup or of one of its commands.
#[derive(Args)]
#[command(after_help = "Examples:
  holdup man | man -l -
  holdup man explain > ~/.local/share/man/man1/holdup-explain.1
  holdup man lab run | man -l -")]
pub struct Man {
    /// The command; default: holdup itself.
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Forms of an explanation, and of predictions.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Explanation {
    #[default]
    Text,
    Json,
    Markdown,
    /// One self-contained page.
    Html,
}

/// Forms of a document.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Document {
    #[default]
    Text,
    Json,
    Markdown,
}

/// Formats of other tools.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Target {
    /// Perfetto's native format.
    Perfetto,
    /// JSON for Chrome's trace viewer.
    Chrome,
    /// A directory of Parquet tables.
    Parquet,
    /// A directory of CSV tables.
    Csv,
    /// Flame graphs of samples, for speedscope.
    Speedscope,
    /// Flame graphs of samples, one line per stack.
    Folded,
}

/// Forms of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Rows {
    #[default]
    Text,
    Csv,
    Json,
}

/// Orders of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Sort {
    #[default]
    Start,
    Duration,
    Name,
}

/// Forms of a table.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Table {
    #[default]
    Text,
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, CommandFactory};

    /// Every command with its own name in full, as `lab run`.
    fn every(command: &Command, name: &str, found: &mut Vec<(String, Command)>) {
        for verb in command.get_subcommands() {
            let name = format!("{name} {}", verb.get_name());
            found.push((name.clone(), verb.clone()));
            every(verb, &name, found);
        }
    }

    #[test]
    fn the_grammar_holds_together() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn help_fits_the_page_and_shows_no_source() {
        let mut command = CommandLine::command();
        command.build();
        let mut all = vec![(String::from("holdup"), command.clone())];
        every(&command, "holdup", &mut all);
        assert!(all.iter().any(|(name, _)| name == "holdup lab run"));
        for (name, command) in &mut all {
            for help in [command.render_help(), command.render_long_help()] {
                let help = help.to_string();
                assert!(!help.contains('\\'), "{name}: {help}");
                let long = help.lines().find(|line| line.chars().count() > 100);
                assert_eq!(long, None, "{name}");
            }
        }
    }
}
