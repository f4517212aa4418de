//! Arguments of `record`.

use super::duration;
use crate::time;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Runs a program and records its calls, GPU operations and waits for locks.
///
/// The program keeps its output and exit status and gets its signals.
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
