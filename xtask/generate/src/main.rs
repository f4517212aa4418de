//! Makes up traces with a known number of stalls, for benchmarks: run as `cargo xtask generate …`.

mod fleet;
mod kineto;
mod random;
mod size;
mod spools;

use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;

/// Writes a made-up trace with a known number of stalls in it.
#[derive(Parser)]
#[command(name = "cargo xtask generate", bin_name = "cargo xtask generate")]
enum Format {
    /// A trace as PyTorch 2.11's profiler writes it.
    Kineto {
        /// About how large: bytes, or a number with KB, MB or GB (powers of ten).
        #[arg(long, value_parser = size::parse)]
        size: u64,
        /// Where to write it.
        #[arg(short, long)]
        output: PathBuf,
        /// Two traces of one seed and size are the same to the byte.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// With Python functions, as `with_stack=True` records them.
        #[arg(long)]
        stacks: bool,
        /// Only calls and their operations, with few arguments: as many events as so many bytes can have.
        #[arg(long, conflicts_with = "stacks")]
        dense: bool,
    },
    /// A folder of .holdup files of the ranks of a program, one of which is late at each collective.
    Fleet {
        /// Ranks of the program.
        #[arg(long)]
        ranks: i64,
        /// The first rank to write.
        #[arg(long, default_value_t = 0)]
        from: i64,
        /// The rank after the last one to write; all of them if none is given.
        #[arg(long)]
        to: Option<i64>,
        /// About how many calls and operations each trace has.
        #[arg(long, default_value_t = 250_000)]
        events: usize,
        /// Why the late rank is late.
        #[arg(long, value_enum, default_value = "host-code")]
        cause: fleet::Plant,
        /// The late rank.
        #[arg(long, default_value_t = 1)]
        late: i64,
        /// How late it is in each step, microseconds.
        #[arg(long, default_value_t = 3_000)]
        late_us: i64,
        /// A rank whose clock jumps by 5 ms in the middle.
        #[arg(long, default_value_t = -1)]
        jumps: i64,
        /// The folder to write.
        #[arg(short, long)]
        output: PathBuf,
        /// Two fleets of one seed and size are the same to the byte.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// A directory as a recorded program leaves it.
    Spool {
        /// About how many events.
        #[arg(long)]
        events: u64,
        /// The directory to make.
        #[arg(short, long)]
        output: PathBuf,
        /// Two spools of one seed and size are the same to the byte.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// So many threads whose every launch waits for another's, at level light, instead of four that rarely wait.
        #[arg(long, default_value_t = 0)]
        convoy: u32,
        /// So many threads recorded at level full: calls by wrappers, in their short forms, and operations by CUPTI.
        #[arg(long, default_value_t = 0, conflicts_with = "convoy")]
        full: u32,
    },
}

fn main() -> ExitCode {
    let (output, made) = match Format::parse() {
        Format::Kineto { size, output, seed, stacks, dense } => {
            let made = kineto::generate(&output, &kineto::Options { size, seed, stacks, dense });
            (output, made.map(|summary| summary.to_string()))
        }
        Format::Fleet { ranks, from, to, events, cause, late, late_us, jumps, output, seed } => {
            let (some, late_ns) = (from..to.unwrap_or(ranks), late_us * 1_000);
            let options = fleet::Options { ranks, some, events, seed, plant: cause, late, late_ns, jumps };
            let made = fleet::generate(&output, &options);
            (output, made)
        }
        Format::Spool { events, output, seed, convoy, full } => {
            let made = spools::generate(&output, &spools::Options { events, seed, convoy, full });
            (output, made)
        }
    };
    match made {
        Ok(summary) => {
            print!("{summary}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("cargo xtask generate: {}: {error}", output.display());
            ExitCode::from(2)
        }
    }
}
