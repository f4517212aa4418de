//! The project's own chores, run as `cargo xtask …`.

mod hot;
mod house;
mod proving;
mod tests;

use clap::Parser;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// The project's own chores.
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Chore {
    /// Writes a made-up trace with a known number of stalls in it: a program of its own, which is built first.
    #[command(disable_help_flag = true)]
    Generate {
        /// Form of the trace, and its options.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
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
        Chore::Generate { words } => generate(&words),
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

/// Runs the program that makes up traces. It stands apart because it needs crates of the project, without which the checks build in seconds.
fn generate(words: &[OsString]) -> ExitCode {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let generator = ["run", "--release", "--quiet", "--package", "holdup-generate", "--"];
    let status = std::process::Command::new(cargo).args(generator).args(words).status();
    match status {
        Ok(status) => {
            status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
        }
        Err(error) => {
            eprintln!("cargo xtask generate: {error}");
            ExitCode::FAILURE
        }
    }
}
