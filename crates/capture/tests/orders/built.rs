//! The programs, built with the machine's C compiler, or brought along.

use crate::compile::{Binding, build_library, cc};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The files of the program.
const SOURCES: [&str; 12] = [
    "main",
    "allocator",
    "calls",
    "children",
    "facts",
    "handlers",
    "loading",
    "locks",
    "print",
    "scenes",
    "text",
    "threads",
];

/// How many small libraries the program loads: `MOST_LIBRARIES` of orders.h.
const LIBRARIES: usize = 6;

/// The folder with the program of a way of building it.
pub fn folder(binding: Binding) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let root = BUILT.get_or_init(|| match std::env::var_os("HOLDUP_ORDERS_BUILT") {
        Some(given) => PathBuf::from(given),
        None => build(),
    });
    root.join(name(binding))
}

fn name(binding: Binding) -> &'static str {
    match binding {
        Binding::Lazy => "lazy",
        Binding::Now => "now",
    }
}

fn build() -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("orders");
    for binding in [Binding::Lazy, Binding::Now] {
        let folder = root.join(name(binding));
        fs::create_dir_all(folder.join("inner")).expect("a folder for C programs");
        build_library(&folder, binding, &("cuda.c", "libcuda.so.1", &["-Wl,--default-symver"]));
        build_library(&folder, binding, &("cupti.c", "inner/libcupti.so.13", &["-DCUDA=13"]));
        for number in 0..LIBRARIES {
            let (name, number) = (format!("liborder{number}.so"), format!("-DNUMBER={number}"));
            cc(&folder, binding, "../orders/library.c", &name, &["-shared", "-fPIC", &number]);
        }
        build_program(&folder, binding);
    }
    root
}

fn build_program(folder: &Path, binding: Binding) {
    let [main, others @ ..] = SOURCES.map(|name| format!("../orders/{name}.c"));
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/standin");
    let others = others.map(|name| sources.join(name).display().to_string());
    let search = format!("-L{}", folder.display());
    let mut how: Vec<&str> = others.iter().map(String::as_str).collect();
    how.extend(["-rdynamic", &search, "-Wl,-rpath,$ORIGIN", "-l:libcuda.so.1"]);
    cc(folder, binding, &main, "orders", &how);
}
