//! Embeds every `models/*.toml`, so that a new model is one new file, and every `models/base/*.toml`, which only models are made of.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=models");
    let models = Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("models");
    embed(&models, "models.rs");
    embed(&models.join("base"), "bases.rs");
}

/// Writes a list of the folder's files, `(NAME, TEXT)` each.
fn embed(folder: &Path, to: &str) {
    let files = std::fs::read_dir(folder).expect("the folder of models is readable");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("readable").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
    let mut list = String::from("&[\n");
    for file in &files {
        let name = file.file_stem().and_then(|name| name.to_str()).expect("a model's file name is UTF-8");
        writeln!(list, "    ({name:?}, include_str!({file:?})),").expect("writing to memory");
    }
    list.push_str("]\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    std::fs::write(out.join(to), list).expect("the output folder is writable");
}
