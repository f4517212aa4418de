//! The project's own chores, run as `cargo xtask …`.

mod fleet;
mod hot;
mod house;
mod kineto;
mod proving;
mod random;
mod size;
mod spools;
mod tests;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// The project's own chores.
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Chore {
    /// Writes a made-up trace with a known number of stalls in it.
    #[command(subcommand)]
    Generate(Format),
    /// Checks that nothing of the capture library that runs within a program's own calls can panic, allocate, unwind, wait
    /// for a lock, ask the loader, or call the system except as crates/capture/hot.toml allows.
    Hot {
        /// Libraries of x86-64 or 64-bit Arm; if none is given, that of each machine is built as it is shipped.
        libraries: Vec<PathBuf>,
        /// Fail if the library of one of the machines cannot be built; as in CI.
        #[arg(long, conflicts_with = "libraries")]
        both: bool,
    },
    /// Runs all tests: of Rust, of the page in a browser (Node 20 or later and Chromium), and of the Python package.
    Test {
        /// Fail if some cannot be run; as in CI.
        #[arg(long)]
        all: bool,
    },
    /// Tries a tool on the cases of proving/, whose truth is known, and prints its scores.
    Proving(proving::Options),
    /// Checks that doc comments begin with a noun or a verb.
    Comments,
    /// Prints the circles of modules in each crate: files that use names of each other.
    Circles {
        /// Crates that may have some, by folder.
        #[arg(long, value_name = "FOLDER")]
        except: Vec<String>,
    },
    /// Prints the arms for whatever else in each `match` over causes, evidence and kinds of records.
    Wildcards {
        /// Crates that may have some, by folder.
        #[arg(long, value_name = "FOLDER")]
        except: Vec<String>,
    },
    /// Prints long files and functions, wide tuples in signatures, and names that say nothing.
    Shapes,
    /// Prints the files of each crate with what each says of itself first.
    Map,
}

/// Form of the trace to make up.
#[derive(Subcommand)]
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
    match Chore::parse() {
        Chore::Test { all } => match tests::run(&house::root(), all || std::env::var_os("CI").is_some()) {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        },
        Chore::Comments => {
            done("comments", house::comments::headless(&house::root()).map(|found| found.join("\n")))
        }
        Chore::Circles { except } => {
            let circles = house::circles::circles(&house::root());
            let held = |circle: &&house::circles::Circle| !except.contains(&circle.member);
            done("circles", circles.map(|found| found.iter().filter(held).map(ToString::to_string).collect()))
        }
        Chore::Wildcards { except } => {
            let found = house::wildcards::wildcards(&house::root(), &except);
            if let Ok(found) = &found {
                eprintln!("{} uses of matches! over the same enums", found.questions);
            }
            done("wildcards", found.map(|found| found.arms.join("\n")))
        }
        Chore::Shapes => done("shapes", house::shapes::shapes(&house::root()).map(|found| found.join("\n"))),
        Chore::Map => match house::map::text(&house::root()) {
            Ok(text) => {
                print!("{text}");
                ExitCode::SUCCESS
            }
            Err(error) => done("map", Err(error)),
        },
        Chore::Proving(options) => proving::run(&house::root(), &options),
        Chore::Generate(format) => generate(format),
        Chore::Hot { libraries, both } => {
            match hot::check(&libraries, both || std::env::var_os("CI").is_some()) {
                Ok(summary) => {
                    print!("{summary}");
                    ExitCode::SUCCESS
                }
                Err(error) => {
                    eprintln!("cargo xtask hot: {error}");
                    ExitCode::FAILURE
                }
            }
        }
    }
}

/// Prints what a check found: nothing is success.
fn done(check: &str, found: std::io::Result<String>) -> ExitCode {
    match found {
        Ok(found) if found.is_empty() => return ExitCode::SUCCESS,
        Ok(found) => println!("{}", found.trim_end()),
        Err(error) => eprintln!("cargo xtask {check}: {error}"),
    }
    ExitCode::FAILURE
}

fn generate(format: Format) -> ExitCode {
    let (output, made) = match format {
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
            eprintln!("cargo xtask: {}: {error}", output.display());
            ExitCode::from(2)
        }
    }
}
