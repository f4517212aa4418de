//! Programs that a compiler of C does not build.

use crate::build::{library, ran};
use crate::packages;
use std::path::{Path, PathBuf};
use std::process::Command;

/// By the `python3` on `PATH`.
pub fn python(source: &Path) -> Result<Vec<String>, String> {
    let mut command = Command::new("python3");
    command.args(["-c", "import sys; print(sys.executable)"]);
    let python = ran(command)?;
    Ok(vec![python.trim().to_owned(), source.display().to_string()])
}

/// Linked with the ledger.
pub fn rust(source: &Path, folder: &Path, path: &Path) -> Result<Vec<String>, String> {
    let mut command = Command::new("rustc");
    command
        .args(["--edition", "2024", "-C", "opt-level=1", "-C", "debuginfo=1", "-l", "ledger", "-L"])
        .arg(folder);
    command.arg("-C").arg(format!("link-arg=-Wl,-rpath,{}", folder.display()));
    command.arg(source).arg("-o").arg(path);
    ran(command)?;
    Ok(vec![path.display().to_string()])
}

/// Linked with the ledger.
pub fn go(source: &Path, folder: &Path, path: &Path) -> Result<Vec<String>, String> {
    let mut command = Command::new("go");
    command.args(["build", "-o"]).arg(path).arg(source).env("GO111MODULE", "off");
    command.env("CGO_LDFLAGS", format!("-L{0} -Wl,-rpath,{0} -lledger", folder.display()));
    ran(command)?;
    Ok(vec![path.display().to_string()])
}

/// Linked with the ledger.
pub fn fortran(source: &Path, folder: &Path, path: &Path) -> Result<Vec<String>, String> {
    let mut command = Command::new("gfortran");
    command.args(["-g", "-O1", "-o"]).arg(path).arg(source);
    command.arg("-L").arg(folder).arg("-lledger").arg(format!("-Wl,-rpath,{}", folder.display()));
    ran(command)?;
    Ok(vec![path.display().to_string()])
}

/// A class, whose native methods are in `jni.c`.
pub fn java(source: &Path, folder: &Path) -> Result<Vec<String>, String> {
    let mut command = Command::new("javac");
    command.arg("-d").arg(folder).arg(source);
    ran(command)?;
    let include = java_home().ok_or("there is no jni.h")?.join("include");
    let flags = [&include, &include.join("linux")].map(|folder| format!("-I{}", folder.display()));
    library("languages/jni.c", &flags.each_ref().map(String::as_str), folder)?;
    let path = format!("-Djava.library.path={}", folder.display());
    let words = ["java", "-Xshare:auto", "-XX:+UseSerialGC", "-Xss512k", &path, "-cp"];
    let words = words.into_iter().map(str::to_owned);
    Ok(words.chain([folder.display().to_string(), "Adversary".to_owned()]).collect())
}

/// Where the compiler of Java lies, if its headers do, too.
fn java_home() -> Option<PathBuf> {
    let mut command = Command::new("java");
    command.args(["-XshowSettings:properties", "-version"]);
    let output = command.output().ok()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let home = said.lines().find_map(|line| line.trim().strip_prefix("java.home = "))?;
    Some(PathBuf::from(home)).filter(|home| home.join("include/jni.h").is_file())
}

/// A program of C with musl's loader and library.
pub fn musl(source: &Path, path: &Path) -> Result<PathBuf, String> {
    let target = format!("{}-linux-musl", std::env::consts::ARCH);
    let (runtime, development) = (packages::root("musl")?, packages::root("musl-dev")?);
    let library = runtime.join("lib").join(&target).join("libc.so");
    let [headers, starts] = ["usr/include", "usr/lib"].map(|folder| development.join(folder).join(&target));
    let mut command = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
    command
        .args(["-nostdinc", "-nostdlib", "-fno-stack-protector", "-fno-pie", "-no-pie", "-isystem"])
        .arg(headers);
    command.args([
        starts.join("crt1.o"),
        starts.join("crti.o"),
        source.to_owned(),
        library.clone(),
        starts.join("crtn.o"),
    ]);
    command.arg(format!("-Wl,--dynamic-linker={}", library.display())).arg("-o").arg(path);
    ran(command)?;
    Ok(path.to_owned())
}
