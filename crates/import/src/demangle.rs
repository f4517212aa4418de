//! Names of kernels and functions as the program's source has them.

use cpp_demangle::{DemangleOptions, Symbol};
use rustc_hash::FxHashMap;
use trace::{Sym, Trace};

/// A function's name without its parameters: `at::native::copy_` for `_ZN2at6native5copy_E…`. A name
/// that does not demangle stays as it is.
pub(crate) fn function(mangled: &str) -> String {
    let plain = || {
        let symbol = Symbol::new(mangled).ok()?;
        symbol.demangle_with_options(&DemangleOptions::new().no_params().no_return_type()).ok()
    };
    if mangled.starts_with("_Z") { plain().unwrap_or_else(|| mangled.to_owned()) } else { mangled.to_owned() }
}

/// Demangles the names of GPU operations: nvprof writes them as the compiler does (`_Z4axpyPf`).
/// A name that does not demangle stays as it is.
pub(crate) fn kernels(trace: &mut Trace) {
    let mut demangled = FxHashMap::<Sym, Sym>::default();
    for name in &mut trace.ops.name {
        if !trace.strings.text(*name).starts_with("_Z") {
            continue;
        }
        *name = *demangled.entry(*name).or_insert_with(|| {
            let plain = Symbol::new(trace.strings.text(*name)).ok().and_then(|symbol| symbol.demangle().ok());
            plain.map_or(*name, |plain| trace.strings.intern(&plain))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::Op;

    #[test]
    fn mangled_names_become_readable_and_others_stay() {
        let mut trace = Trace::default();
        for name in ["_Z4axpyPff", "_Zfoo", "axpy(float*, float)"] {
            let name = trace.strings.intern(name);
            trace.ops.push(Op { name, ..Op::default() });
        }
        assert_eq!(function("_ZN2at6native5copy_EPff"), "at::native::copy_");
        assert_eq!((function("_Zfoo"), function("main")), ("_Zfoo".to_owned(), "main".to_owned()));
        kernels(&mut trace);
        let names: Vec<_> = trace.ops.name.iter().map(|name| trace.text(*name)).collect();
        assert_eq!(names, ["axpy(float*, float)", "_Zfoo", "axpy(float*, float)"]);
    }
}
