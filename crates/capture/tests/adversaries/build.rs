//! Builds an adversary in a folder of its own.

use crate::adversary::{Adversary, Preload};
use crate::{compile, packages};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What there is to run.
pub struct Built {
    /// The program's words: the first is what to start.
    pub line: Vec<String>,
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
        library(source, &folder);
    }
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for preload in adversary.preloads {
        match *preload {
            Preload::Built(source) => after.push(library(source, &folder)),
            Preload::Package { package, file } => after.push(packages::file(package, file)?),
            Preload::First(source) => before.push(library(source, &folder)),
        }
    }
    let driver = compile::driver();
    let folders = vec![driver.to_owned(), driver.join("inner"), folder.clone()];
    Ok(Built { line: program(adversary, &folder)?, folders, before, after })
}

/// Where the sources lie.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/adversaries/programs")
}

/// The program's words.
fn program(adversary: &Adversary, folder: &Path) -> Result<Vec<String>, String> {
    let source = sources().join(adversary.source);
    let mut line = vec![compiled(&source, adversary.flags, folder)?.display().to_string()];
    line.extend(adversary.words.iter().map(|word| (*word).to_owned()));
    Ok(line)
}

fn compiled(source: &Path, flags: &[&str], folder: &Path) -> Result<PathBuf, String> {
    let driver = compile::driver().display().to_string();
    let libraries = [format!("-L{driver}"), format!("-Wl,-rpath,{driver}")];
    let libraries: Vec<&str> = libraries.iter().map(String::as_str).chain(["-l:libcuda.so.1"]).collect();
    let name = source.file_stem().and_then(|name| name.to_str()).expect("a source has a name");
    cc(source, &[&libraries[..], flags].concat(), &folder.join(name))
}

/// A library that is linked with nothing.
fn library(source: &str, folder: &Path) -> PathBuf {
    let source = sources().join(source);
    let name = source.file_stem().and_then(|name| name.to_str()).expect("a source has a name");
    let path = folder.join(format!("lib{name}.so"));
    cc(&source, &["-shared", "-fPIC"], &path).expect("a library of C")
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
    // Libraries after what needs them.
    command.arg(source).args(flags).arg("-o").arg(path);
    let output = command.output().map_err(|error| format!("`{compiler}` does not start: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{compiler}` cannot build {}:\n{said}", source.display());
    Ok(path.to_owned())
}
