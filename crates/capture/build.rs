//! The library must never leave a process: slots all over it point into it. It begins before all others:
//! they may take addresses of the driver's functions as they begin.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete,-z,initfirst");
}
