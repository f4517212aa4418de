//! The library must never leave a process: slots all over it point into it.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
