//! Builds the library for each machine, and disassembles it.

use super::Machine;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workspace.
pub(crate) fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A machine's library, as it is shipped.
pub(crate) fn build(machine: Machine) -> Result<PathBuf, String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--profile", "dist", "--package", "holdup-capture"]);
    cargo.arg("--message-format=json-render-diagnostics").current_dir(home());
    if !is_own(machine) {
        let target = machine.target();
        let variable = format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace('-', "_"));
        cargo.args(["--target", target]).env(variable, linker(machine)?);
        // Those of this machine, such as `target-cpu`, are not the other's.
        cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    }
    let messages = run(&mut cargo).map_err(|error| format!("cargo cannot build the library: {error}"))?;
    let path = messages.split('"').find(|text| text.ends_with("/libholdup_capture.so"));
    path.map(PathBuf::from).ok_or_else(|| "cargo does not say where the library is".to_owned())
}

/// Whether this program runs on such a machine.
pub(crate) fn is_own(machine: Machine) -> bool {
    std::env::consts::ARCH == machine.name()
}

/// Why libraries of a machine cannot be built here; `None` if they can.
pub(crate) fn missing(machine: Machine) -> Option<String> {
    if is_own(machine) {
        return None;
    }
    let target = machine.target();
    let libraries = rustc(&["--print", "target-libdir", "--target", target]);
    if !libraries.is_ok_and(|path| Path::new(path.trim()).is_dir()) {
        return Some(format!("no standard library of it: rustup target add {target}"));
    }
    tool("rust-lld").filter(|lld| lld.is_file()).is_none().then(|| "this Rust has no rust-lld".to_owned())
}

/// A linker of another machine's libraries: Rust's own, with empty libraries in place of that machine's. Nothing runs
/// them: the loader's names are enough.
pub(crate) fn linker(machine: Machine) -> Result<PathBuf, String> {
    const STUBS: [&str; 7] = ["c", "gcc_s", "m", "rt", "pthread", "util", "dl"];
    let lld = tool("rust-lld").ok_or("rustc does not say where its tools are")?;
    let folder =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| home().join("target"), |path| home().join(path));
    let folder = folder.join("hot").join(machine.name());
    let written = std::fs::create_dir_all(&folder).and_then(|()| {
        for stub in STUBS {
            std::fs::write(folder.join(format!("lib{stub}.so")), "INPUT()\n")?;
        }
        // By its name rustc knows which arguments it takes. Build scripts give those of a C compiler.
        write_program(
            &folder.join("ld.lld"),
            &format!(
                "#!/bin/sh\n\
                 for argument; do\n\
                     shift\n\
                     case $argument in\n\
                     -flavor | gnu) ;;\n\
                     -Wl,*) IFS=,; set -- \"$@\" ${{argument#-Wl,}}; unset IFS ;;\n\
                     *) set -- \"$@\" \"$argument\" ;;\n\
                     esac\n\
                 done\n\
                 exec '{}' -flavor gnu -L '{}' \"$@\"\n",
                lld.display(),
                folder.display(),
            ),
        )
    });
    written.map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder.join("ld.lld"))
}

/// Writes a program unless it is there; at once, since others may run it.
fn write_program(path: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if std::fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    let new = path.with_extension(std::process::id().to_string());
    std::fs::write(&new, text)?;
    std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o755))?;
    std::fs::rename(new, path)
}

/// The output of `llvm-objdump`: flags, sections, symbols, relocations, instructions and constants.
pub(crate) fn disassemble(library: &Path) -> Result<String, String> {
    let program = disassembler();
    let print = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        run(command.args(arguments).arg(library)).map_err(|error| format!("llvm-objdump: {error}"))
    };
    let code = print(&[
        "--private-headers",
        "--section-headers",
        "--syms",
        "--dynamic-reloc",
        "--disassemble",
        "--no-show-raw-insn",
    ])?;
    Ok(code + &print(&["--full-contents", "--section=.rodata"])?)
}

/// Rust's own disassembler if it is installed.
pub(crate) fn disassembler() -> OsString {
    let own = tool("llvm-objdump").filter(|path| path.is_file());
    own.map_or_else(|| "llvm-objdump".into(), PathBuf::into_os_string)
}

/// A program that comes with Rust.
fn tool(name: &str) -> Option<PathBuf> {
    let libraries = rustc(&["--print", "target-libdir"]).ok()?;
    Some(Path::new(libraries.trim()).parent()?.join("bin").join(name))
}

fn rustc(arguments: &[&str]) -> Result<String, String> {
    run(Command::new("rustc").args(arguments).current_dir(home()))
}

/// Runs a command: its output, or why it failed.
pub(crate) fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| {
        let hint = "rustup component add llvm-tools, or install Debian's llvm";
        let hint = if command.get_program().to_string_lossy().contains("objdump") { hint } else { "" };
        format!("does not start: {error}: {hint}")
    })?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}
