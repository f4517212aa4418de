//! Builds an adversary in a folder of its own.

use crate::adversary::{Adversary, Beside, Preload};
use crate::{compile, languages, packages};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program with its libraries, ready to run.
pub struct Built {
    /// The program's words: the first is what to start.
    pub line: Vec<String>,
    /// Where all of it lies.
    pub folder: PathBuf,
    /// Where libraries are looked for.
    pub folders: Vec<PathBuf>,
    /// Preloaded before holdup's library.
    pub before: Vec<PathBuf>,
    /// And after it.
    pub after: Vec<PathBuf>,
}

/// Builds it; why it cannot be done on this machine.
pub fn build(adversary: &Adversary) -> Result<Built, String> {
    // SAFETY: a plain question.
    if adversary.is_for_root && unsafe { libc::geteuid() } != 0 {
        return Err("only root may do this".to_owned());
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("adversaries").join(adversary.name);
    fs::create_dir_all(&folder).expect("a folder for the program");
    for source in adversary.libraries {
        library(source, &[], &folder)?;
    }
    for beside in adversary.beside {
        match *beside {
            Beside::Static(source) => {
                let path = folder.join(stem(source));
                can_compile(&["-static"], &path)
                    .and_then(|()| cc(&sources().join(source), &["-static"], &path))?
            }
            Beside::Musl(source) => languages::musl(&sources().join(source), &folder.join(stem(source)))?,
        };
    }
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for preload in adversary.preloads {
        match *preload {
            Preload::Built(source) => after.push(library(source, &[], &folder)?),
            Preload::First(source) => before.push(library(source, &[], &folder)?),
            Preload::Package { package, file } => after.push(packages::file(package, file)?),
        }
    }
    let driver = compile::driver();
    let folders = vec![driver.to_owned(), driver.join("inner"), folder.clone()];
    let mut line = program(adversary, &folder)?;
    line.extend(adversary.words.iter().map(|word| (*word).to_owned()));
    Ok(Built { line, folder, folders, before, after })
}

/// Where the sources lie.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/adversaries/programs")
}

fn stem(source: &str) -> &str {
    Path::new(source).file_stem().and_then(|name| name.to_str()).expect("a source has a name")
}

/// Builds the program; the words that start it.
fn program(adversary: &Adversary, folder: &Path) -> Result<Vec<String>, String> {
    let source = sources().join(adversary.source);
    let path = folder.join(stem(adversary.source));
    match source.extension().and_then(|suffix| suffix.to_str()) {
        Some("py") => languages::python(&source),
        Some("rs") => languages::rust(&source, folder, &path),
        Some("f90") => languages::fortran(&source, folder, &path),
        Some("go") => languages::go(&source, folder, &path),
        Some("java") => languages::java(&source, folder),
        _ => compiled(adversary, &source, &path).map(|path| vec![path.display().to_string()]),
    }
}

/// A program of C or C++, linked with the driver unless it is static.
fn compiled(adversary: &Adversary, source: &Path, path: &Path) -> Result<PathBuf, String> {
    let is_static = adversary.flags.iter().any(|flag| matches!(*flag, "-static" | "-static-pie"));
    let driver = linked(compile::driver());
    let driver = if is_static { &[] } else { &driver[..] };
    let flags: Vec<&str> = driver.iter().map(String::as_str).chain(adversary.flags.iter().copied()).collect();
    if !adversary.flags.is_empty() {
        can_compile(adversary.flags, path)?;
    }
    cc(source, &flags, path)
}

/// Whether the compiler has what its flags ask for, such as a sanitizer's runtime.
fn can_compile(flags: &[&str], path: &Path) -> Result<(), String> {
    let empty = path.with_extension("empty");
    let mut command = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
    command.args(["-xc", "-", "-o"]).arg(&empty).args(flags).stdin(Stdio::piped()).stderr(Stdio::null());
    let mut compiler = command.spawn().map_err(|error| format!("no C compiler starts: {error}"))?;
    let mut input = compiler.stdin.take().expect("it is piped");
    let written = input.write_all(b"int main(void) { return 0; }\n");
    drop(input);
    let is_done = written.is_ok() && compiler.wait().is_ok_and(|status| status.success());
    if is_done { Ok(()) } else { Err(format!("the C compiler cannot do {}", flags.join(" "))) }
}

/// Links with the driver, and finds it at run time.
fn linked(driver: &Path) -> [String; 3] {
    let driver = driver.display();
    [format!("-L{driver}"), format!("-Wl,-rpath,{driver}"), "-l:libcuda.so.1".to_owned()]
}

/// A library, which is linked with the driver if it calls it.
pub fn library(source: &str, flags: &[&str], folder: &Path) -> Result<PathBuf, String> {
    let driver = linked(compile::driver());
    let shared = ["-shared", "-fPIC", "-Wl,--as-needed"].into_iter().chain(driver.iter().map(String::as_str));
    let flags: Vec<&str> = shared.chain(flags.iter().copied()).collect();
    cc(&sources().join(source), &flags, &folder.join(format!("lib{}.so", stem(source))))
}

/// Compiles C or C++.
fn cc(source: &Path, flags: &[&str], path: &Path) -> Result<PathBuf, String> {
    let is_cpp = source.extension().is_some_and(|suffix| suffix == "cpp");
    let (variable, compiler, standard) =
        if is_cpp { ("CXX", "c++", "-std=c++17") } else { ("CC", "cc", "-std=gnu11") };
    let compiler = std::env::var(variable).unwrap_or_else(|_| compiler.to_owned());
    let include = |folder: &Path| format!("-I{}", folder.display());
    let mut command = Command::new(&compiler);
    command.args([standard, "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]);
    command.args([include(&sources()), include(&sources().join("../../standin"))]);
    // A run that began before keeps what it has: the new program replaces the name.
    let fresh = path.with_extension(std::process::id().to_string());
    // Libraries after what needs them.
    command.arg(source).args(flags).arg("-o").arg(&fresh);
    ran(command)?;
    fs::rename(&fresh, path).expect("the program gets its name");
    Ok(path.to_owned())
}

/// Runs a compiler, which must not complain; what it prints.
pub fn ran(mut command: Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("`{name}` does not start: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}:\n{said}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
