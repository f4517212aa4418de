//! Planted violations: in small texts, and in a library that is compiled for them.

mod kinds;
mod planted;
mod texts;

use super::*;
use texts::Text;

const LISTED: &str = r#"
    [[never]]
    what = "a panic"
    why = "it would unwind through C"
    names = ["core::panicking::*"]

    [[never]]
    what = "an allocation"
    why = "the program may hold the allocator's lock"
    names = ["malloc"]

    [[never]]
    what = "a lock"
    why = "its holder may wait for this thread"
    names = ["pthread_mutex_lock"]

    [[allowed]]
    names = ["getpid"]
    why = "a child is recognized by it"
    bound = "returns at once"

    [[allowed]]
    names = ["open"]
    from = ["ours::file"]
    why = "a file"
    bound = "once"

    [[allowed]]
    roots = "start"
    names = ["atexit"]
    why = "the end"
    bound = "once"

    [[harmless]]
    why = "arithmetic"
    names = ["memcpy"]

    [[passes]]
    roots = ["ours::pthread_*"]
    through = ["ours::waited"]
    why = "the program called it"

    [[pointers]]
    from = ["ours::waited"]
    to = "a hook"
    why = "it is a root"

    [[roots]]
    what = "launches"
    why = "most calls"
    names = ["ours::launch", "ours::table"]

    [[roots]]
    what = "waits"
    why = "the program's own"
    names = ["ours::pthread_mutex_lock"]

    [[roots]]
    what = "start"
    why = "once"
    never = ["a panic"]
    callbacks = ["ours::at_start"]
    names = ["ours::start"]

    [[stop]]
    name = "ours::start"
    why = "once"
    held = "the program has no thread yet"
"#;

/// Instructions that do the same on both machines.
struct Both {
    x86: &'static str,
    arm: &'static str,
}

impl Both {
    fn of(&self, machine: Machine) -> &'static str {
        match machine {
            Machine::X86 => self.x86,
            Machine::Arm => self.arm,
        }
    }
}

const GETPID: Both =
    call("callq *0x2ff0(%rip) # {s:getpid}", "adrp x8, 0x9000\nldr x8, [x8, {p:getpid}]\nblr x8");
const OPEN: Both =
    call("callq *0x2ff0(%rip) # {s:open64}", "adrp x8, 0x9000\nldr x8, [x8, {p:open64}]\nblr x8");
const LOCK: Both = call(
    "callq *0x2ff0(%rip) # {s:pthread_mutex_lock}",
    "adrp x8, 0x9000\nldr x8, [x8, {p:pthread_mutex_lock}]\nblr x8",
);
const ATEXIT: Both =
    call("jmpq *0x2ff0(%rip) # {s:atexit}", "adrp x16, 0x9000\nldr x16, [x16, {p:atexit}]\nbr x16");
const INNER: Both = call("jmp {f:ours::inner}", "b {f:ours::inner}");
const WAITED: Both = call("jmp {f:ours::waited}", "b {f:ours::waited}");
const START: Both = call("callq {f:ours::start}", "bl {f:ours::start}");
const PANIC: Both =
    call("callq {f:core::panicking::panic_bounds_check}", "bl {f:core::panicking::panic_bounds_check}");
const TABLE: Both = call("leaq 0x2000(%rip), %rax # 0xa000 <T>", "adrp x8, 0xa000\nadd x8, x8, #0x0");
/// A call of what another function, or nobody in the library, put into a register.
const HOOK: Both = call("callq *%rax", "blr x8");
const RETURN: Both = call("retq", "ret");

const fn call(x86: &'static str, arm: &'static str) -> Both {
    Both { x86, arm }
}

/// Instructions one after the other.
fn join(machine: Machine, all: &[&Both]) -> String {
    all.iter().map(|both| both.of(machine)).collect::<Vec<_>>().join("\n")
}

/// A library that passes.
fn clean(machine: Machine) -> Text {
    let mut text = Text::new(machine);
    let mut add = |name: &str, all: &[&Both]| text.function(name, &join(machine, all));
    add("ours::launch", &[&START, &INNER]);
    add("ours::inner", &[&GETPID, &RETURN]);
    add("ours::start", &[&ATEXIT]);
    add("core::panicking::panic_bounds_check", &[&RETURN]);
    add("ours::table::<3>", &[&TABLE, &RETURN]);
    add("ours::by_table", &[&RETURN]);
    add("ours::pthread_mutex_lock::<1>", &[&WAITED]);
    add("ours::waited", &[&HOOK, &LOCK, &RETURN]);
    add("ours::file", &[&OPEN, &RETURN]);
    text.table = vec!["ours::by_table".to_owned(), "ours::file".to_owned()];
    text
}

/// The faults of a library by a list.
fn faults(list: &List, library: &str) -> Vec<String> {
    let code = Code::read(library).expect("code");
    let Found { faults, used, .. } = verdict(list, &code);
    faults.into_iter().chain(unused(list, &used)).map(|fault| fault.text).collect()
}

/// Checks the faults of the library that passes after a change, on each machine.
fn expect(change: impl Fn(Machine, &mut Text), expected: &[&str]) {
    let list = List::read(LISTED).expect("a list");
    for machine in Machine::ALL {
        let mut text = clean(machine);
        change(machine, &mut text);
        assert_eq!(faults(&list, &text.print()), expected, "{}:\n{}", machine.name(), text.print());
    }
}

/// Checks the faults if a function of the library that passes does something else.
fn expect_with(name: &str, all: &[&Both], expected: &[&str]) {
    expect(|machine, text| text.function(name, &join(machine, all)), expected);
}

#[test]
fn clean_code_passes() {
    expect(|_, _| (), &[]);
}

#[test]
fn a_panic_is_found_through_a_tail_jump() {
    let found =
        "launches reaches a panic: ours::launch -> ours::inner -> core::panicking::panic_bounds_check";
    expect_with("ours::inner", &[&PANIC, &GETPID, &RETURN], &[found]);
}

#[test]
fn a_call_is_found_however_it_is_made() {
    const WAYS: [Both; 5] = [
        call("callq *0x2fe0(%rip) # {s:malloc}", "adrp x8, 0x9000\nldr x8, [x8, {p:malloc}]\nblr x8"),
        // The address alone: it may be called elsewhere.
        call("movq 0x2fe0(%rip), %rax # {s:malloc}", "adrp x0, 0x9000\nldr x0, [x0, {p:malloc}]"),
        call("pushq 0x2fe0(%rip) # {s:malloc}", "adrp x0, 0x9000\nadd x0, x0, {p:malloc}\nldp x0, x1, [x0]"),
        // A page that another register has meanwhile, behind a branch and a call.
        call(
            "movq 0x2fe0(%rip), %r14 # {s:malloc}\ncallq *%r14",
            "adrp x20, 0x9000\nbl {f:ours::by_table}\nmov x9, x20\ncbz x0, {f:ours::inner}\nldr x8, [x9, {p:malloc}]\nblr x8",
        ),
        call("callq {f:malloc@plt}", "bl {f:malloc@plt}"),
    ];
    for way in &WAYS {
        expect(
            |machine, text| {
                text.function("malloc@plt", RETURN.of(machine));
                text.function("ours::inner", &join(machine, &[&GETPID, way, &RETURN]));
            },
            &["launches reaches an allocation: ours::launch -> ours::inner -> malloc"],
        );
    }
}

#[test]
fn functions_in_tables_are_followed() {
    let found =
        "launches reaches a panic: ours::table::<3> -> ours::by_table -> core::panicking::panic_bounds_check";
    expect_with("ours::by_table", &[&PANIC, &RETURN], &[found]);
    // A table of offsets, as the compiler makes of a table that it alone knows.
    let offsets = call("leaq 0x3000(%rip), %rax # 0xb000 <O>", "adrp x8, 0xb000\nadd x8, x8, #0x0");
    expect(
        |machine, text| {
            text.function("ours::by_offset", &join(machine, &[&PANIC, &RETURN]));
            text.offsets = vec!["ours::by_table".to_owned(), "ours::by_offset".to_owned()];
            text.function("ours::inner", &join(machine, &[&GETPID, &offsets, &RETURN]));
        },
        &[
            "launches reaches a panic: ours::launch -> ours::inner -> ours::by_offset -> core::panicking::panic_bounds_check",
        ],
    );
}

#[test]
fn a_pass_is_for_the_function_that_the_program_called() {
    let lock = "launches reaches a lock: ours::launch -> ours::inner -> pthread_mutex_lock";
    expect_with("ours::inner", &[&GETPID, &LOCK, &RETURN], &[lock]);
    // By the functions that are named alone.
    let deeper = "waits reaches a lock: ours::pthread_mutex_lock::<1> -> ours::waited -> ours::deeper -> pthread_mutex_lock";
    expect(
        |machine, text| {
            let further = call("callq {f:ours::deeper}", "bl {f:ours::deeper}");
            text.function("ours::deeper", &join(machine, &[&LOCK, &RETURN]));
            text.function("ours::waited", &join(machine, &[&HOOK, &LOCK, &further, &RETURN]));
        },
        &[deeper],
    );
    let unused = "pass of ours::pthread_*: no root needs it: remove it from crates/capture/hot.toml";
    expect_with("ours::waited", &[&HOOK, &RETURN], &[unused]);
}

#[test]
fn a_call_by_a_pointer_is_found() {
    const FOUND: &str = "launches reaches a call by a pointer that is not on a list: ours::launch -> ours::inner -> a pointer";
    const WAYS: [Both; 4] = [
        HOOK,
        // From memory that an argument leads to, and from a variable that is written at run time.
        call("callq *0x8(%rdi)", "ldr x8, [x0, #0x8]\nblr x8"),
        call("callq *0x10(%rip) # 0xc010 <V>", "adrp x8, 0xc000\nldr x8, [x8, #0x10]\nblr x8"),
        // A tail call.
        call("movq 0x8(%rdi), %rax\njmpq *%rax", "ldr x8, [x0, #0x8]\nbr x8"),
    ];
    for way in &WAYS {
        expect_with("ours::inner", &[&GETPID, way, &RETURN], &[FOUND]);
    }
    // A jump by a table within the function, and a call of what is read from a slot.
    let table = call(
        "leaq 0x10(%rip), %rcx # 0xd000 <J>\nmovslq (%rcx,%rax,4), %rdx\naddq %rcx, %rdx\njmpq *%rdx",
        "adr x9, {f:ours::inner}\nldrb w10, [x8, x9]\nadd x9, x9, x10, lsl #2\nbr x9",
    );
    expect_with("ours::inner", &[&GETPID, &table, &RETURN], &[]);
    let unused = "pointers of ours::waited: no hot code has one: remove it from crates/capture/hot.toml";
    expect_with("ours::waited", &[&LOCK, &RETURN], &[unused]);
}

#[test]
fn a_system_call_is_allowed_where_the_list_says() {
    let elsewhere =
        "launches reaches a call that is allowed elsewhere only: ours::launch -> ours::inner -> open64";
    expect_with("ours::inner", &[&GETPID, &OPEN, &RETURN], &[elsewhere]);
    let once =
        "launches reaches a call that is allowed elsewhere only: ours::launch -> ours::inner -> atexit";
    expect_with("ours::inner", &[&GETPID, &ATEXIT], &[once]);
    let unused = "allowed getpid: no hot code calls it: remove it from crates/capture/hot.toml";
    expect_with("ours::inner", &[&RETURN], &[unused]);
}

#[test]
fn a_name_that_is_gone_fails() {
    let rename = |machine, text: &mut Text| {
        text.function("ours::table::<3>", RETURN.of(machine));
        text.function("ours::launch", &join(machine, &[&START, &INNER, &TABLE]));
    };
    expect(
        |machine, text| {
            rename(machine, text);
            text.remove("ours::table::<3>");
        },
        &["ours::table: not in the library: rename or remove it in crates/capture/hot.toml"],
    );
    let unused = "ours::start: no hot code calls it: remove it from crates/capture/hot.toml";
    expect_with("ours::launch", &[&INNER], &[unused]);
}

#[test]
fn a_function_that_others_can_call_must_be_a_root() {
    expect(
        |_, text| text.publish("ours::file"),
        &["ours::file: programs can call it: add it to the roots in crates/capture/hot.toml"],
    );
    // Its address alone is taken by what is not hot.
    let take = call("leaq 0x10(%rip), %rax # {f:ours::hook}", "adr x0, {f:ours::hook}");
    expect(
        |machine, text| {
            text.function("ours::hook", RETURN.of(machine));
            text.function("ours::start", &join(machine, &[&take, &ATEXIT]));
        },
        &[
            "ours::hook: `start` takes its address: add it to the roots of hot code in crates/capture/hot.toml, or to \
           `callbacks`",
        ],
    );
    let take = call("leaq 0x10(%rip), %rax # {f:ours::at_start}", "adr x0, {f:ours::at_start}");
    expect(
        |machine, text| {
            text.function("ours::at_start", RETURN.of(machine));
            text.function("ours::start", &join(machine, &[&take, &ATEXIT]));
        },
        &[],
    );
}

#[test]
fn a_library_must_be_bound_when_it_is_loaded() {
    let found = "not linked with `-z now`: the first call of a function looks it up in the loader";
    expect(|_, text| text.is_bound = false, &[found]);
}

#[test]
fn a_library_without_symbols_is_refused() {
    assert!(Code::read("SYMBOL TABLE:\nno symbols\n").is_err());
    assert!(Code::read("lib.so:\tfile format elf64-x86-64\n\nSYMBOL TABLE:\n").is_err());
    assert!(Code::read(&clean(Machine::X86).print().replace("x86-64", "riscv")).is_err());
}

#[test]
fn a_list_has_its_reasons() {
    let without = |line: &str| List::read(&LISTED.replacen(line, "", 1)).err().unwrap_or_default();
    let empty = |line: &str, field: &str| {
        let line_empty = format!("{field} = \"\"");
        List::read(&LISTED.replacen(line, &line_empty, 1)).err().unwrap_or_default()
    };
    assert!(without("held = \"the program has no thread yet\"").contains("held"));
    assert_eq!(empty("held = \"the program has no thread yet\"", "held"), "ours::start: `held` is empty");
    assert!(without("bound = \"returns at once\"").contains("bound"));
    assert_eq!(empty("bound = \"returns at once\"", "bound"), "getpid: `bound` is empty");
    assert_eq!(empty("why = \"the program called it\"", "why"), "ours::pthread_*: `why` is empty");
    assert_eq!(empty("why = \"arithmetic\"", "why"), "memcpy: `why` is empty");
    assert_eq!(empty("to = \"a hook\"", "to"), "ours::waited: `to` is empty");
    // What is forbidden or has no name is allowed to some only.
    let free = |name: &str| List::read(&LISTED.replacen("getpid", name, 1)).err().unwrap_or_default();
    assert_eq!(free("malloc"), "malloc: `allowed` must say who may call it: add `from`");
    assert_eq!(free("syscall"), "syscall: `allowed` must say who may call it: add `from`");
    let unknown = LISTED.replacen("never = [\"a panic\"]", "never = [\"a fall\"]", 1);
    assert_eq!(List::read(&unknown).err().unwrap_or_default(), "no `never` is called `a fall`");
    let unknown = LISTED.replacen("roots = \"start\"", "roots = \"end\"", 1);
    assert_eq!(List::read(&unknown).err().unwrap_or_default(), "no roots are called `end`");
}
