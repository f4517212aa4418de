//! Instructions of x86-64, as `llvm-objdump` prints them: the destination last.

use super::flow::{Effect, Memory, Target, Word};
use super::machine::Register;

/// The effects of an instruction.
pub(crate) fn decode(text: &str) -> Vec<Effect> {
    let (text, comment) = text.split_once('#').map_or((text, ""), |(text, comment)| (text, comment.trim()));
    let text = text.trim();
    let (name, operands) = text.split_once(['\t', ' ']).unwrap_or((text, ""));
    let operands = split(operands);
    // `0x155200 <NAME+0x10>`, for operands relative to the instruction.
    let place = comment.split(' ').next().and_then(hex);
    match name {
        "lock" | "rep" | "repne" | "notrack" | "data16" | "bnd" => {
            // Printed before the instruction or alone.
            if operands.is_empty() { Vec::new() } else { decode(text[name.len()..].trim()) }
        }
        "callq" | "call" => vec![Effect::Call(target(&operands, place))],
        "jmpq" | "jmp" => vec![Effect::Jump(target(&operands, place))],
        "retq" | "ret" | "ud2" | "hlt" | "int3" => vec![Effect::Stop],
        "nop" | "nopw" | "nopl" | "nopq" => vec![Effect::Nothing],
        "syscall" | "sysenter" => vec![Effect::SystemCall],
        "int" => vec![Effect::SystemCall],
        _ if name.starts_with('j') || name.starts_with("loop") => {
            operands.first().and_then(|to| address(to)).map(Effect::Branch).into_iter().collect()
        }
        _ => compute(name, &operands, place),
    }
}

/// An instruction that leads nowhere.
fn compute(name: &str, operands: &[&str], place: Option<u64>) -> Vec<Effect> {
    let to = operands.last().and_then(|last| register(last));
    if name.starts_with("lea") {
        return match (to, place) {
            (Some(to), Some(place)) => vec![Effect::Set(to, Word::Address(place))],
            (to, _) => to.map(Effect::Lose).into_iter().collect(),
        };
    }
    if changes_nothing(name) {
        return place.map(|at| read(None, at, operands)).into_iter().collect();
    }
    let is_move = matches!(name, "mov" | "movq" | "movl" | "movabsq");
    let of = operands.first().copied().unwrap_or_default();
    if let (true, Some(to), None) = (is_move, to, place) {
        return vec![match (of.strip_prefix('$').and_then(hex), register(of)) {
            (Some(number), _) => Effect::Set(to, Word::Number(number)),
            (_, Some(of)) => Effect::Copy { to, of },
            _ => Effect::Lose(to),
        }];
    }
    if name == "addq"
        && let ([of, _], Some(to)) = (operands, to)
        && register(of).is_some()
    {
        return vec![Effect::Sum(to)];
    }
    if matches!(name, "xorl" | "xorq") && operands.len() == 2 && operands[0] == operands[1] {
        return to.map(|to| Effect::Set(to, Word::Number(0))).into_iter().collect();
    }
    let mut effects: Vec<Effect> = implied(name, operands).iter().copied().map(Effect::Lose).collect();
    let changed =
        if changes_all(name) { operands } else { operands.last().map_or(&[][..], std::slice::from_ref) };
    effects.extend(changed.iter().filter_map(|operand| register(operand)).map(Effect::Lose));
    effects.extend(place.map(|at| read(to.filter(|_| is_move), at, operands)));
    effects
}

/// A read of so many bytes as the widest operand has.
fn read(to: Option<Register>, at: u64, operands: &[&str]) -> Effect {
    let bytes = operands.iter().map(|operand| width(operand)).max().unwrap_or(8);
    Effect::Read { to, from: Memory::At(at), bytes }
}

/// Whether an instruction only reads the registers that it names, as `testq %r14, %r14`.
fn changes_nothing(name: &str) -> bool {
    let is_string = name.starts_with("cmps") || name.starts_with("cmpxchg");
    !is_string && ["cmp", "test", "push", "prefetch"].iter().any(|start| name.starts_with(start))
}

/// Whether an instruction changes more than its last operand.
fn changes_all(name: &str) -> bool {
    ["xchg", "xadd", "mulx", "cmpxchg"].iter().any(|start| name.starts_with(start))
}

/// Registers that an instruction changes without naming them: `rax`, `rcx`, `rdx`, `rsi`, `rdi`, `rbx`.
fn implied(name: &str, operands: &[&str]) -> &'static [Register] {
    const STARTS: [&str; 19] = [
        "cmpxchg", "mul", "div", "idiv", "cpuid", "rdtsc", "xgetbv", "rdmsr", "rdpmc", "cltq", "cltd",
        "cqto", "cwt", "cbt", "movs", "stos", "lods", "scas", "cmps",
    ];
    let widens = name.starts_with("movs") && operands.len() == 2 && register(operands[1]).is_some();
    let is_implied = STARTS.iter().any(|start| name.starts_with(start)) && !widens
        || name.starts_with("imul") && operands.len() == 1;
    if is_implied { &[0, 1, 2, 3, 6, 7] } else { &[] }
}

/// `*0xe10f2(%rip)`, `*%rax`, `0x74184 <NAME+0x84>`
fn target(operands: &[&str], place: Option<u64>) -> Target {
    let Some(operand) = operands.first() else { return Target::Unknown };
    match operand.strip_prefix('*') {
        Some(_) if place.is_some() => place.map_or(Target::Unknown, Target::Slot),
        Some(pointer) => register(pointer).map_or(Target::Unknown, Target::Register),
        None => address(operand).map_or(Target::Unknown, Target::Address),
    }
}

/// `0x74184 <NAME+0x84>`
fn address(operand: &str) -> Option<u64> {
    operand.split(' ').next().filter(|word| word.starts_with("0x")).and_then(hex)
}

fn hex(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Operands; commas within parentheses and names separate none.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_i32, 0, Vec::new());
    for (at, character) in text.char_indices() {
        match character {
            '(' | '<' => depth += 1,
            ')' | '>' => depth -= 1,
            ',' if depth <= 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(Some(text[start..].trim()).filter(|last| !last.is_empty()));
    parts
}

/// Bytes of an operand: those of vectors may be two addresses and more.
fn width(operand: &str) -> u64 {
    let named = |start| operand.starts_with(start);
    match () {
        () if named("%zmm") => 64,
        () if named("%ymm") => 32,
        () if named("%xmm") => 16,
        () => 8,
    }
}

/// The number of a general register, of whatever width.
fn register(operand: &str) -> Option<Register> {
    const NAMES: [[&str; 5]; 8] = [
        ["rax", "eax", "ax", "al", "ah"],
        ["rcx", "ecx", "cx", "cl", "ch"],
        ["rdx", "edx", "dx", "dl", "dh"],
        ["rbx", "ebx", "bx", "bl", "bh"],
        ["rsp", "esp", "sp", "spl", ""],
        ["rbp", "ebp", "bp", "bpl", ""],
        ["rsi", "esi", "si", "sil", ""],
        ["rdi", "edi", "di", "dil", ""],
    ];
    let name = operand.strip_prefix('%')?;
    match name.strip_prefix('r').map(|number| number.trim_end_matches(['d', 'w', 'b'])) {
        Some(number) if number.starts_with(|first: char| first.is_ascii_digit()) => number.parse().ok(),
        _ => NAMES.iter().position(|names| names.contains(&name)).map(|number| number as Register),
    }
}
