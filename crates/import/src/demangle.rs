//! Names of kernels and functions as in the program's source: C++, Rust, and Fortran where the name itself or the
//! language of the object makes it certain.

use addr2line::gimli::{self, DwLang};
use cpp_demangle::{DemangleOptions, Symbol};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use trace::{Sym, Trace};

/// A function's name without its parameters: `at::native::copy_` for `_ZN2at6native5copy_E…`. A name
/// that does not demangle stays as it is.
pub(crate) fn function(mangled: &str) -> String {
    let plain = || {
        let symbol = Symbol::new(mangled).ok()?;
        symbol.demangle_with_options(&DemangleOptions::new().no_params().no_return_type()).ok()
    };
    // Rust's older names are C++'s.
    let rust = || rustc_demangle::try_demangle(mangled).ok().map(|name| format!("{name:#}"));
    let plain = match mangled.get(..2) {
        Some("_Z") => plain().map(without_tags),
        Some("_R") => rust(),
        _ => module_procedure(mangled),
    };
    plain.unwrap_or_else(|| mangled.to_owned())
}

/// A name without its ABI tags: `f` for `f[abi:cxx11]`. Numba puts the types that it compiled a function for there.
fn without_tags(mut name: String) -> String {
    while let Some(start) = name.find("[abi:")
        && let Some(length) = name[start..].find(']')
    {
        name.replace_range(start..=start + length, "");
    }
    name
}

/// The name of a function whose language is known from debugging information.
pub(crate) fn function_in(mangled: &str, language: Option<DwLang>) -> String {
    let is_fortran = matches!(
        language,
        Some(
            gimli::DW_LANG_Fortran77
                | gimli::DW_LANG_Fortran90
                | gimli::DW_LANG_Fortran95
                | gimli::DW_LANG_Fortran03
                | gimli::DW_LANG_Fortran08
                | gimli::DW_LANG_Fortran18
        )
    );
    match mangled {
        "MAIN__" if is_fortran => "main program".to_owned(),
        _ if is_fortran => function(&procedure(mangled)),
        _ => function(mangled),
    }
}

/// The Fortran name of an external or a contained procedure. Compilers append an underscore to an external one
/// (`saxpy_`, and nvfortran's `simpleops_m_increment_`); gfortran appends a number to a contained one (`inner.0`).
pub(crate) fn procedure(symbol: &str) -> Cow<'_, str> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = match symbol.rsplit_once('.') {
        Some((name, number)) if digits(number) => name,
        _ => symbol,
    };
    let plain = name.strip_suffix('_').filter(|plain| is_fortran_name(plain));
    Cow::Borrowed(plain.unwrap_or(name))
}

/// `simpleops_m::increment` for gfortran's `__simpleops_m_MOD_increment` and Flang's
/// `_QMsimpleops_mPincrement`: no other language has such names.
fn module_procedure(symbol: &str) -> Option<String> {
    if let Some((module, name)) = symbol.strip_prefix("__").and_then(|rest| rest.split_once("_MOD_")) {
        let end = name.find('.').unwrap_or(name.len());
        return (is_fortran_name(module) && is_fortran_name(&name[..end]))
            .then(|| format!("{module}::{name}"));
    }
    let mut rest = symbol.strip_prefix("_Q")?;
    let mut parts = Vec::new();
    while !rest.is_empty() {
        // A module, a submodule, a procedure around it, or the procedure itself.
        let behind = ["M", "S", "F", "P"].iter().find_map(|kind| rest.strip_prefix(kind))?;
        let (name, others) =
            behind.split_at(behind.find(|c: char| c.is_ascii_uppercase()).unwrap_or(behind.len()));
        if !is_fortran_name(name) {
            return None;
        }
        parts.push(name);
        rest = others;
    }
    (!parts.is_empty()).then(|| parts.join("::"))
}

/// Whether a name can be Fortran's: its names have no capital letters.
fn is_fortran_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    name.starts_with(|first: char| first.is_ascii_lowercase()) && name.bytes().all(is_part)
}

/// Demangles the names of GPU operations: nvprof writes the compiler's names (`_Z4axpyPf`).
/// A name that does not demangle stays as it is.
pub(crate) fn kernels(trace: &mut Trace) {
    let mut demangled = FxHashMap::<Sym, Sym>::default();
    // A look at each text and not at each operation's.
    let is_mangled: Vec<bool> = trace.strings.iter().map(|(_, text)| text.starts_with("_Z")).collect();
    for name in &mut trace.ops.name {
        if !is_mangled[*name] {
            continue;
        }
        *name = *demangled.entry(*name).or_insert_with(|| {
            let plain = Symbol::new(trace.strings.text(*name)).ok().and_then(|symbol| symbol.demangle().ok());
            plain.map_or(*name, |plain| trace.strings.intern(&plain))
        });
    }
}

/// Removes the compiler's suffix from the kernel names of a process that runs CUDA Fortran, from the operation `first`
/// on: `simpleops_m_increment` for `simpleops_m_increment_`.
pub(crate) fn fortran_kernels(trace: &mut Trace, first: usize) {
    for name in &mut trace.ops.name[first..] {
        let symbol = trace.strings.text(*name);
        if let Some(plain) = symbol.strip_suffix('_').filter(|plain| is_fortran_name(plain)) {
            let plain = plain.to_owned();
            *name = trace.strings.intern(&plain);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::Op;

    #[test]
    fn fortran_names_are_recognized_by_the_name_or_the_language() {
        let (fortran, c) = (Some(gimli::DW_LANG_Fortran08), Some(gimli::DW_LANG_C11));
        // Symbol; its name in an object of C or an unknown language; its name in one of Fortran.
        for (symbol, any, known) in [
            ("__simpleops_m_MOD_increment", "simpleops_m::increment", "simpleops_m::increment"),
            ("__m_MOD_step._omp_fn.0", "m::step._omp_fn.0", "m::step._omp_fn"),
            ("_QMsimpleops_mPincrement", "simpleops_m::increment", "simpleops_m::increment"),
            ("_QMmSsubFhostPinner", "m::sub::host::inner", "m::sub::host::inner"),
            ("_QPsaxpy", "saxpy", "saxpy"),
            ("_QQmain", "_QQmain", "_QQmain"),
            ("_QéP", "_QéP", "_QéP"),
            ("saxpy_", "saxpy_", "saxpy"),
            ("simpleops_m_increment_", "simpleops_m_increment_", "simpleops_m_increment"),
            ("inner.0", "inner.0", "inner"),
            ("MAIN__", "MAIN__", "main program"),
            ("cuda_MOD_", "cuda_MOD_", "cuda_MOD_"),
            ("__Mod_MOD_f", "__Mod_MOD_f", "__Mod_MOD_f"),
            ("__x_MOD_", "__x_MOD_", "__x_MOD_"),
            ("__libc_start_main", "__libc_start_main", "__libc_start_main"),
            ("Init_", "Init_", "Init_"),
            ("_", "_", "_"),
            ("", "", ""),
        ] {
            assert_eq!(function_in(symbol, None), any);
            assert_eq!(function_in(symbol, c), any);
            assert_eq!(function_in(symbol, fortran), known);
        }
    }

    #[test]
    fn mangled_names_become_readable_and_others_stay() {
        let mut trace = Trace::default();
        for name in ["_Z4axpyPff", "_Zfoo", "axpy(float*, float)"] {
            let name = trace.strings.intern(name);
            trace.ops.push(Op { name, ..Op::default() });
        }
        assert_eq!(function("_ZN2at6native5copy_EPff"), "at::native::copy_");
        assert_eq!(function("_ZN8__main__4stepB2v1B4x_3dEd"), "__main__::step");
        assert_eq!(
            function("_RNvNtCsbMyw4onJl1C_13watch_planted7planted5futex"),
            "watch_planted::planted::futex"
        );
        assert_eq!((function("_RNv"), function("_Réa")), ("_RNv".to_owned(), "_Réa".to_owned()));
        assert_eq!(without_tags("f[abi:".to_owned()), "f[abi:");
        assert_eq!((function("_Zfoo"), function("main")), ("_Zfoo".to_owned(), "main".to_owned()));
        kernels(&mut trace);
        let names: Vec<_> = trace.ops.name.iter().map(|name| trace.text(*name)).collect();
        assert_eq!(names, ["axpy(float*, float)", "_Zfoo", "axpy(float*, float)"]);
    }
}
