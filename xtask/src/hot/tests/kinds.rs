//! One violation of each kind, by the list itself: each is found, on both machines.

use super::*;

/// The list, with a root of these tests in place of its own.
pub(super) fn list(roots: &str) -> List {
    let path = library::home().join(LIST);
    let text = std::fs::read_to_string(&path).expect("the list");
    let own: toml::Table = text.parse().expect("a list");
    let mut list: toml::Table = roots.parse().expect("roots");
    for part in ["never", "harmless"] {
        list.insert(part.to_owned(), own[part].clone());
    }
    let allowed = own["allowed"].as_array().expect("allowed").iter();
    let allowed = allowed.filter(|allowed| allowed.get("roots").is_none()).cloned().collect();
    list.insert("allowed".to_owned(), toml::Value::Array(allowed));
    list.try_into().expect("a list")
}

const ROOT: &str = r#"
    [[roots]]
    what = "calls"
    why = "all"
    names = ["ours::call"]
"#;

/// The faults of a function that makes a call.
fn found(machine: Machine, call: &Both, own: &str) -> Vec<String> {
    let mut text = Text::new(machine);
    text.function("ours::call", &join(machine, &[call, &RETURN]));
    text.function("ours::other", RETURN.of(machine));
    if !own.is_empty() {
        text.function(own, RETURN.of(machine));
    }
    let code = Code::read(&text.print()).expect("code");
    verdict(&list(ROOT), &code).faults.into_iter().map(|fault| fault.text).collect()
}

/// Another library's function, by its slot.
fn of_slot(name: &str) -> (String, String) {
    let arm = format!("adrp x8, 0x9000\nldr x8, [x8, {{p:{name}}}]\nblr x8");
    (format!("callq *0x10(%rip) # {{s:{name}}}"), arm)
}

#[test]
fn every_kind_of_foreign_function_is_found() {
    const KINDS: [(&str, &[&str]); 8] = [
        ("a panic", &["abort", "__stack_chk_fail"]),
        ("an allocation", &["malloc", "free", "posix_memalign", "pthread_setspecific"]),
        (
            "an unwinding",
            &[
                "_Unwind_Backtrace",
                "_Unwind_RaiseException",
                "_Unwind_Find_FDE",
                "_Unwind_GetIP",
                "backtrace",
            ],
        ),
        (
            "a lock",
            &[
                "pthread_mutex_lock",
                "pthread_mutex_timedlock",
                "pthread_rwlock_rdlock",
                "pthread_rwlock_timedwrlock",
                "pthread_spin_lock",
                "pthread_cond_wait",
                "pthread_cond_timedwait",
                "pthread_once",
                "pthread_join",
                "sem_wait",
                "flockfile",
            ],
        ),
        (
            "the loader",
            &["dlopen", "dlsym", "dladdr", "dl_iterate_phdr", "dlinfo", "dlerror", "_dl_find_object"],
        ),
        ("a memory of the thread's own that the loader may have to allocate", &["__tls_get_addr", "TLS"]),
        ("a call that is not on a list", &["qsort", "fsync", "nanosleep"]),
        ("a call that is allowed elsewhere only", &["open", "read", "mmap64", "process_vm_readv"]),
    ];
    for (what, names) in KINDS {
        for name in names {
            let (x86, arm) = of_slot(name);
            let (x86, arm): (&'static str, &'static str) = (x86.leak(), arm.leak());
            let shown = if *name == "TLS" { "__tls_get_addr" } else { name };
            for machine in Machine::ALL {
                let expected = format!("calls reaches {what}: ours::call -> {shown}");
                assert_eq!(found(machine, &call(x86, arm), ""), [expected], "{}", machine.name());
            }
        }
    }
}

#[test]
fn what_the_list_allows_passes() {
    for name in [
        "memcpy",
        "pthread_mutex_trylock",
        "pthread_rwlock_tryrdlock",
        "_Unwind_Resume",
        "clock_gettime",
        "getpid",
    ] {
        let (x86, arm) = of_slot(name);
        let (x86, arm): (&'static str, &'static str) = (x86.leak(), arm.leak());
        for machine in Machine::ALL {
            assert_eq!(found(machine, &call(x86, arm), ""), Vec::<String>::new(), "{name}");
        }
    }
}

#[test]
fn every_kind_of_own_function_is_found() {
    const KINDS: [(&str, &str); 5] = [
        ("a panic", "core::panicking::panic_fmt"),
        ("a panic", "core::option::unwrap_failed"),
        ("an allocation", "__rustc::__rust_alloc"),
        ("an allocation", "alloc::raw_vec::finish_grow"),
        ("a lock", "std::sys::sync::mutex::futex::Mutex::lock_contended"),
    ];
    for (what, name) in KINDS {
        let (x86, arm) = (format!("callq {{f:{name}}}"), format!("bl {{f:{name}}}"));
        for machine in Machine::ALL {
            let expected = format!("calls reaches {what}: ours::call -> {name}");
            assert_eq!(found(machine, &call(x86.clone().leak(), arm.clone().leak()), name), [expected]);
        }
    }
}

#[test]
fn system_calls_are_known_by_their_numbers() {
    const WAYS: [(Both, &str); 7] = [
        // By an instruction: `fsync`, `getpid`.
        (call("movl $0x4a, %eax\nsyscall", "mov w8, #0x52\nsvc #0"), "not on a list: ours::call -> fsync"),
        (call("movl $0x27, %eax\nsyscall", "mov x8, #0xac // =172\nsvc #0"), ""),
        // By the C library's function.
        (
            call(
                "movl $0x4a, %edi\nxorl %eax, %eax\ncallq *0x10(%rip) # {s:syscall}",
                "mov w0, #0x52\nadrp x8, 0x9000\nldr x8, [x8, {p:syscall}]\nblr x8",
            ),
            "not on a list: ours::call -> fsync",
        ),
        // Two ways with a number each.
        (
            call(
                "movl $0x27, %eax\ntestq %rsi, %rsi\nje {f:ours::call}\nmovl $0x4a, %eax\nsyscall",
                "mov w8, #0xac\ncbz x1, 0x100c <ours::call+0xc>\nmov w8, #0x52\nsvc #0",
            ),
            "not on a list: ours::call -> fsync",
        ),
        // By a number that is nowhere in the code.
        (call("movq %rsi, %rax\nsyscall", "mov x8, x1\nsvc #0"), "not on a list: ours::call -> syscall"),
        // A call between changes the register.
        (
            call(
                "movl $0x27, %eax\ncallq {f:ours::other}\nsyscall",
                "mov w8, #0xac\nbl {f:ours::other}\nsvc #0",
            ),
            "not on a list: ours::call -> syscall",
        ),
        (
            call("movl $0x27, %eax\nincl %eax\nsyscall", "mov w8, #0xac\nmovk w8, #1, lsl #16\nsvc #0"),
            "not on a list: ours::call -> syscall",
        ),
    ];
    for (way, expected) in &WAYS {
        for machine in Machine::ALL {
            let expected = if expected.is_empty() {
                vec![]
            } else {
                vec![format!("calls reaches a call that is {expected}")]
            };
            assert_eq!(found(machine, way, ""), expected, "{}: {}", machine.name(), way.of(machine));
        }
    }
}

#[test]
fn a_number_that_is_not_named_is_shown() {
    assert_eq!(Machine::X86.name_system_call(1000), "system call 1000");
    assert_eq!(Machine::Arm.name_system_call(172), "getpid");
}

#[test]
fn the_list_of_system_calls_fits_on_a_screen() {
    const SCREEN: usize = 55;
    let text = std::fs::read_to_string(library::home().join(LIST)).expect("the list");
    let start = text.find("[[allowed]]").expect("allowed");
    let end = text.find("[[allowed]]\nroots = ").expect("those of start and end");
    assert!(text[start..end].lines().count() <= SCREEN, "{}", text[start..end].lines().count());
}

#[test]
fn the_list_is_in_order() {
    let text = std::fs::read_to_string(library::home().join(LIST)).expect("the list");
    assert!(List::read(&text).is_ok(), "{:?}", List::read(&text).err());
}
