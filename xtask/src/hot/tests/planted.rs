//! A real library with one violation of each kind, compiled for each machine whose standard library is here.

use super::*;
use std::process::Command;

/// The functions of `planted/library.rs`, with the fault of each and the function that it calls.
const PLANTED: [(&str, &str, &str); 20] = [
    ("planted_panic", "a panic", "core::panicking::panic_bounds_check"),
    ("planted_box", "an allocation", "__rustc::__rust_alloc"),
    ("planted_malloc", "an allocation", "malloc"),
    ("planted_unwinding", "an unwinding", "_Unwind_Backtrace"),
    ("planted_lock", "a lock", "pthread_mutex_lock"),
    ("planted_rust_lock", "a lock", "std::sys::sync::mutex::futex::Mutex>::lock_contended"),
    ("planted_once", "a lock", "pthread_once"),
    ("planted_semaphore", "a lock", "sem_wait"),
    ("planted_key", "an allocation", "pthread_setspecific"),
    ("planted_objects", "the loader", "dl_iterate_phdr"),
    ("planted_look_up", "the loader", "dlsym"),
    (
        "planted_thread_local",
        "a memory of the thread's own that the loader may have to allocate",
        "__tls_get_addr",
    ),
    ("planted_read", "a call that is allowed elsewhere only", "read"),
    ("planted_number", "a call that is not on a list", "fsync"),
    ("planted_unknown_number", "a call that is not on a list", "syscall"),
    ("planted_instruction", "a call that is not on a list", "fsync"),
    ("planted_unlisted", "a call that is not on a list", "qsort"),
    ("planted_pointer", "a call by a pointer that is not on a list", "a pointer"),
    ("planted_in_a_table", "an allocation", "malloc"),
    ("planted_deeper", "an allocation", "malloc"),
];

/// Compiles the library; why it cannot be, where that is.
fn compile(machine: Machine, folder: &Path) -> Result<PathBuf, String> {
    if let Some(why) = library::missing(machine) {
        return Err(why);
    }
    let (source, out) =
        (library::home().join("xtask/src/hot/tests/planted/library.rs"), folder.join("library.so"));
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "-O", "-C", "codegen-units=1", "--target", machine.target()]);
    if !library::is_own(machine) {
        rustc.arg(format!("-Clinker={}", library::linker(machine)?.display()));
    }
    rustc.arg("-o").arg(&out).arg(source).current_dir(folder);
    library::run(&mut rustc).map(|_| out)
}

/// Whether a machine that lacks something is a failure: CI has all.
fn must_have_all() -> bool {
    std::env::var_os("CI").is_some()
}

fn check_planted(machine: Machine) {
    let folder =
        std::env::temp_dir().join(format!("holdup-planted-{}-{}", machine.name(), std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let text = compile(machine, &folder).and_then(|library| library::disassemble(&library));
    std::fs::remove_dir_all(&folder).expect("the folder");
    let text = match text {
        Ok(text) => text,
        Err(why) if !must_have_all() => return eprintln!("{}: not checked: {why}", machine.name()),
        Err(why) => panic!("{}: {why}", machine.name()),
    };
    let names: Vec<String> = PLANTED.iter().map(|(name, ..)| format!("{name:?}")).collect();
    let roots = format!(
        "[[roots]]\nwhat = \"calls\"\nwhy = \"all\"\nnames = [\"planted_nothing\", {}]\n",
        names.join(", ")
    );
    let code = Code::read(&text).expect("code");
    assert_eq!(code.machine, machine);
    let found: Vec<String> =
        verdict(&kinds::list(&roots), &code).faults.into_iter().map(|fault| fault.text).collect();
    for (name, what, called) in PLANTED {
        let is_it = |fault: &&String| {
            fault.starts_with(&format!("calls reaches {what}: {name} -> ")) && fault.contains(called)
        };
        assert!(found.iter().any(|fault| is_it(&fault)), "{}: {name}: {found:#?}", machine.name());
    }
    let clean: Vec<&String> = found.iter().filter(|fault| fault.contains("planted_nothing")).collect();
    assert!(clean.is_empty(), "{clean:#?}");
}

#[test]
fn each_planted_function_is_found_on_x86() {
    check_planted(Machine::X86);
}

#[test]
fn each_planted_function_is_found_on_arm() {
    check_planted(Machine::Arm);
}
