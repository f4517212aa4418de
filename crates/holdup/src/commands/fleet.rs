//! `holdup fleet`: becomes the package's `holdup.fleet`, run by the Python of the environment that has this program.

use crate::args::Fleet;
use crate::failure::Failure;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Names another Python.
const PYTHON: &str = "HOLDUP_PYTHON";

/// As `python -m holdup.fleet`, and one line if there is no such package. The working folder's files are not imported.
const START: &str = "import sys
sys.path[:] = [path for path in sys.path if path]
try:
    from holdup.fleet.__main__ import main
except ImportError as error:
    sys.stderr.write(f\"holdup: {sys.executable}: {error}: pip install 'holdup[fleet]', or name another Python in HOLDUP_PYTHON\\n\")
    sys.exit(2)
main()
";

/// Runs the comparison in Python, with DuckDB.
pub fn run(arguments: &Fleet) -> Result<ExitCode, Failure> {
    let python = python();
    let mut command = Command::new(&python);
    command.args(["-c", START]).args(arguments.arguments());
    if let Ok(program) = std::env::current_exe() {
        command.env("HOLDUP_PROGRAM", program);
    }
    #[cfg(unix)]
    let error = std::os::unix::process::CommandExt::exec(&mut command);
    #[cfg(not(unix))]
    let error = match command.status() {
        Ok(status) => return Ok(ExitCode::from(u8::try_from(status.code().unwrap_or(2)).unwrap_or(2))),
        Err(error) => error,
    };
    let what = crate::failure::operating_system(&error);
    let what = what.split(':').next().unwrap_or_default();
    let hint = format!("install Python and the package `holdup[fleet]`, or name a Python in {PYTHON}");
    Err(Failure::Message(format!("{}: {what}: {hint}", python.display())))
}

/// The Python beside this program, as in a virtual environment, else the one in the path.
fn python() -> PathBuf {
    if let Some(named) = std::env::var_os(PYTHON) {
        return PathBuf::from(named);
    }
    let beside = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.join("python3")));
    beside.filter(|python| python.is_file()).unwrap_or_else(|| PathBuf::from("python3"))
}
