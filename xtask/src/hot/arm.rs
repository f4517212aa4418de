//! Instructions of 64-bit Arm, as `llvm-objdump` prints them: the destination first.

use super::flow::{Effect, Memory, Target, Word};
use super::machine::Register;

/// The effects of the instruction at an address.
pub(crate) fn decode(at: u64, text: &str) -> Vec<Effect> {
    let text = text.split_once("//").map_or(text, |(text, _)| text).trim();
    let (name, operands) = text.split_once(['\t', ' ']).unwrap_or((text, ""));
    let operands = split(operands);
    let operand = |number: usize| operands.get(number).copied().unwrap_or_default();
    let pointer = || register(operand(0)).map_or(Target::Unknown, Target::Register);
    match name {
        "bl" => vec![Effect::Call(code(operand(0)))],
        "b" => vec![Effect::Jump(code(operand(0)))],
        _ if name.starts_with("blr") => vec![Effect::Call(pointer())],
        "br" | "braa" | "brab" | "braaz" | "brabz" => vec![Effect::Jump(pointer())],
        "ret" | "retaa" | "retab" | "eret" | "brk" | "udf" | "hlt" => vec![Effect::Stop],
        "nop" => vec![Effect::Nothing],
        "svc" => vec![Effect::SystemCall],
        "cbz" | "cbnz" | "tbz" | "tbnz" => branch(operands.last()),
        _ if name.starts_with("b.") || name.starts_with("bc.") => branch(operands.last()),
        "adrp" => set(operand(0), address(operand(1)).map(|page| Word::Page(page, at))),
        "adr" => set(operand(0), near(at, operand(1)).map(Word::Address)),
        "add" => add(&operands),
        "mov" => copy(operand(0), operand(1)),
        _ if name.starts_with("ld") => load(at, name, &operands),
        _ if name.starts_with("swp") => load(at, name, &operands),
        _ if name.starts_with("st") || name.starts_with("cas") || name.starts_with("prf") => {
            store(name, &operands)
        }
        _ if is_quiet(name) => Vec::new(),
        _ => lose(operand(0)),
    }
}

/// Whether an instruction changes no register that it names.
fn is_quiet(name: &str) -> bool {
    const STARTS: [&str; 13] =
        ["cmp", "cmn", "ccm", "tst", "fcmp", "fccmp", "hint", "dmb", "dsb", "isb", "msr", "bti", "yield"];
    STARTS.iter().any(|start| name.starts_with(start))
}

fn lose(operand: &str) -> Vec<Effect> {
    register(operand).map(Effect::Lose).into_iter().collect()
}

fn set(to: &str, word: Option<Word>) -> Vec<Effect> {
    match (register(to), word) {
        (Some(to), Some(word)) => vec![Effect::Set(to, word)],
        _ => lose(to),
    }
}

fn branch(to: Option<&&str>) -> Vec<Effect> {
    to.and_then(|to| address(to)).map(Effect::Branch).into_iter().collect()
}

fn code(to: &str) -> Target {
    address(to).map_or(Target::Unknown, Target::Address)
}

/// `add x8, x8, #0x200`, with `lsl #12` behind it or without.
fn add(operands: &[&str]) -> Vec<Effect> {
    match operands {
        [to, of, more, ..] => match (register(to), register(of), immediate(more)) {
            (Some(to), Some(of), Some(more)) => {
                let shift = if operands.get(3) == Some(&"lsl #12") { 12 } else { 0 };
                vec![Effect::Add { to, of, more: more << shift }]
            }
            (Some(to), Some(_), None) if register(more).is_some() => vec![Effect::Sum(to)],
            _ => lose(to),
        },
        _ => Vec::new(),
    }
}

/// `mov x0, x1`, `mov w0, #0xb2`, `mov w0, wzr`
fn copy(to: &str, of: &str) -> Vec<Effect> {
    match (register(to), register(of), immediate(of)) {
        (Some(to), Some(of), _) => vec![Effect::Copy { to, of }],
        (Some(to), _, Some(number)) => vec![Effect::Set(to, Word::Number(number))],
        (Some(to), ..) if matches!(of, "wzr" | "xzr") => vec![Effect::Set(to, Word::Number(0))],
        _ => lose(to),
    }
}

/// `ldr x8, [x9, #0x10]`, `ldp q0, q1, [x9]`, `ldr x8, 0x1000 <NAME>`; also atomic ones, that read and change memory.
fn load(at: u64, name: &str, operands: &[&str]) -> Vec<Effect> {
    let changed = operands.iter().filter_map(|operand| register(operand));
    let mut effects: Vec<Effect> = changed.map(Effect::Lose).collect();
    let memory = operands.iter().position(|operand| operand.starts_with('['));
    let bytes = operands[..memory.unwrap_or(operands.len())].iter().map(|operand| width(operand)).sum();
    let to = operands.first().filter(|_| matches!(name, "ldr" | "ldur")).and_then(|to| register(to));
    match memory {
        Some(number) => {
            let (from, moved) = place(&operands[number..]);
            // Before the loss of a base that is the destination as well.
            effects.insert(0, Effect::Read { to: None, from, bytes });
            if let Some(to) = to {
                effects = vec![Effect::Read { to: Some(to), from, bytes }];
            }
            effects.extend(moved.map(Effect::Lose));
        }
        None => {
            let from = operands.last().and_then(|last| near(at, last)).map(Memory::At);
            effects.extend(from.map(|from| Effect::Read { to, from, bytes }));
        }
    }
    effects
}

/// `str x8, [x9, #0x10]`; `cas x0, x1, [x2]` reads into its first register.
fn store(name: &str, operands: &[&str]) -> Vec<Effect> {
    let Some(number) = operands.iter().position(|operand| operand.starts_with('[')) else {
        return Vec::new();
    };
    let (to, moved) = place(&operands[number..]);
    let is_changed = name.starts_with("cas") || name.starts_with("stx") || name.starts_with("stlx");
    let changed = operands.first().filter(|_| is_changed).and_then(|first| register(first));
    let lost = changed.into_iter().chain(moved).map(Effect::Lose);
    std::iter::once(Effect::Write(to)).chain(lost).collect()
}

/// `[x8, #0x10]`, and the base if the instruction moves it: `[x8, #0x10]!`, `[x8], #0x10`.
fn place(operands: &[&str]) -> (Memory, Option<Register>) {
    let inner = operands[0].trim_end_matches('!').trim_start_matches('[').trim_end_matches(']');
    let mut parts = inner.split(',').map(str::trim);
    let base = parts.next().and_then(register);
    let offset = parts.next().and_then(immediate).unwrap_or(0);
    let is_moved = operands[0].ends_with('!') || operands.len() > 1;
    // The stack's pointer is no base that is known: its number is none of a register.
    (Memory::Behind(base.unwrap_or(Register::MAX), offset), base.filter(|_| is_moved))
}

/// `#0x10`, `#-16`
fn immediate(operand: &str) -> Option<u64> {
    let number = operand.strip_prefix('#')?;
    let (sign, digits) = number.strip_prefix('-').map_or((1, number), |digits| (-1, digits));
    let size = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if sign < 0 { size.wrapping_neg() } else { size })
}

/// `0x74184 <NAME+0x84>`
fn address(operand: &str) -> Option<u64> {
    let word = operand.split(' ').next()?;
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

/// An address, or the distance to it from the instruction, as LLVM 14 prints it.
fn near(at: u64, operand: &str) -> Option<u64> {
    address(operand).or_else(|| immediate(operand).map(|distance| at.wrapping_add(distance)))
}

/// Operands; commas within brackets and names separate none.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_i32, 0, Vec::new());
    for (at, character) in text.char_indices() {
        match character {
            '[' | '<' | '{' => depth += 1,
            ']' | '>' | '}' => depth -= 1,
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

/// Bytes of a register: those of vectors may be two addresses.
fn width(operand: &str) -> u64 {
    match operand.as_bytes().first() {
        Some(b'q') => 16,
        Some(b'{') => 64,
        _ => 8,
    }
}

/// The number of a general register.
fn register(operand: &str) -> Option<Register> {
    let number = operand.strip_prefix(['x', 'w'])?;
    number.parse().ok().filter(|number| *number <= 30)
}
