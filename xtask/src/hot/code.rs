//! A library's functions and what each refers to, from the text that `objdump` prints.

use std::collections::{BTreeMap, BTreeSet};

/// Where a call leads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Place {
    /// A function of the library, by its number.
    Function(usize),
    /// A function of another library, by its number.
    Foreign(usize),
}

/// A call, a jump to another function, or a reference that a call may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Call {
    /// The instruction's address.
    pub(crate) at: u64,
    pub(crate) to: Place,
}

/// The code of a library.
pub(crate) struct Code {
    functions: Vec<Function>,
    foreign: Vec<String>,
}

struct Function {
    start: u64,
    /// All its names: the linker folds equal functions.
    names: Vec<String>,
    calls: Vec<Call>,
}

/// An instruction's reference to an address, with the name that `objdump` has for it.
struct Reference<'a> {
    from: usize,
    at: u64,
    to: u64,
    name: &'a str,
}

impl Code {
    /// From what `objdump --syms --dynamic-reloc --disassemble --demangle` prints.
    pub(crate) fn read(text: &str) -> Result<Code, String> {
        let mut names = BTreeMap::<u64, Vec<String>>::new();
        let mut pointers = Pointers::default();
        let mut code = Code { functions: Vec::new(), foreign: Vec::new() };
        let (mut references, mut end) = (Vec::new(), 0);
        for line in text.lines() {
            if let Some((address, name)) = symbol(line) {
                names.entry(address).or_default().push(name);
            } else if let Some((place, value)) = relocation(line) {
                pointers.add(place, value);
            } else if let Some((start, name)) = header(line) {
                let mut all = names.get(&start).cloned().unwrap_or_default();
                all.extend((!all.contains(&name)).then_some(name));
                code.functions.push(Function { start, names: all, calls: Vec::new() });
            } else if let (Some((at, instruction)), Some(from)) =
                (instruction(line), code.functions.len().checked_sub(1))
            {
                end = end.max(at + 1);
                let target = target(instruction);
                references.extend(target.map(|(to, name)| Reference { from, at, to, name }));
            }
        }
        if names.is_empty() || code.functions.is_empty() {
            return Err("the library has no symbols or no code: build it with symbols".to_owned());
        }
        code.connect(&references, &mut pointers, end);
        Ok(code)
    }

    /// Finds out where references lead; `end` lies behind the code.
    fn connect(&mut self, references: &[Reference<'_>], pointers: &mut Pointers, end: u64) {
        references.iter().for_each(|reference| pointers.border(reference.to));
        let text = self.functions[0].start..end;
        for reference in references {
            let mut places = Vec::new();
            if let Some((name, _)) = reference.name.split_once('@') {
                places.push(self.foreign(name));
            } else if let Some(function) =
                text.contains(&reference.to).then(|| self.around(reference.to)).flatten()
            {
                places.push(Place::Function(function));
            } else {
                for value in pointers.behind(reference.to) {
                    match value {
                        Value::Name(name) => places.push(self.foreign(&name)),
                        // Only beginnings: a table may hold addresses within a function for its jumps.
                        Value::Address(address) => {
                            let found =
                                self.functions.binary_search_by_key(&address, |function| function.start);
                            places.extend(found.ok().map(Place::Function));
                        }
                    }
                }
            }
            let calls = &mut self.functions[reference.from].calls;
            let other = |to: &Place| *to != Place::Function(reference.from);
            calls.extend(places.into_iter().filter(other).map(|to| Call { at: reference.at, to }));
        }
    }

    fn foreign(&mut self, name: &str) -> Place {
        let known = self.foreign.iter().position(|known| known == name);
        Place::Foreign(known.unwrap_or_else(|| {
            self.foreign.push(name.to_owned());
            self.foreign.len() - 1
        }))
    }

    /// The function that an address lies in.
    fn around(&self, address: u64) -> Option<usize> {
        self.functions.partition_point(|function| function.start <= address).checked_sub(1)
    }

    /// The functions with a name of the list.
    pub(crate) fn named(&self, pattern: &str) -> Vec<usize> {
        let has = |function: &Function| function.names.iter().any(|name| super::list::matches(pattern, name));
        (0..self.functions.len()).filter(|at| has(&self.functions[*at])).collect()
    }

    pub(crate) fn calls(&self, function: usize) -> &[Call] {
        &self.functions[function].calls
    }

    pub(crate) fn name(&self, place: Place) -> &str {
        match place {
            Place::Function(at) => self.functions[at].names.first().map_or("", String::as_str),
            Place::Foreign(at) => &self.foreign[at],
        }
    }
}

/// What the loader puts into the library's data.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Value {
    Address(u64),
    Name(String),
}

/// Pointers in the library's data: tables of functions, tables of methods, slots for foreign functions.
#[derive(Default)]
struct Pointers {
    values: BTreeMap<u64, Value>,
    /// Addresses that something refers to: there a table begins, and the one before ends.
    borders: BTreeSet<u64>,
}

impl Pointers {
    fn add(&mut self, place: u64, value: Value) {
        if let Value::Address(address) = &value {
            self.borders.insert(*address);
        }
        self.values.insert(place, value);
    }

    fn border(&mut self, address: u64) {
        self.borders.insert(address);
    }

    /// What is in the table that begins at an address, and in those that it points to.
    fn behind(&self, start: u64) -> Vec<Value> {
        let (mut found, mut seen, mut next) = (Vec::new(), BTreeSet::new(), vec![start]);
        while let Some(start) = next.pop() {
            let end = self.borders.range(start + 1..).next().copied().unwrap_or(u64::MAX);
            for value in self.values.range(start..end).map(|(_, value)| value) {
                if let Value::Address(address) = value
                    && seen.insert(*address)
                {
                    next.push(*address);
                }
                found.push(value.clone());
            }
        }
        found
    }
}

/// An address, flags, the section, a tab, a size and the name.
fn symbol(line: &str) -> Option<(u64, String)> {
    let (head, tail) = line.split_once('\t')?;
    let mut words = head.split_whitespace();
    let address = u64::from_str_radix(words.next().filter(|word| word.len() == 16)?, 16).ok()?;
    if !words.any(|word| word == "F") {
        return None;
    }
    let name = tail.get(16..)?.trim_start();
    let name = [".hidden ", ".internal ", ".protected "]
        .iter()
        .find_map(|how| name.strip_prefix(how))
        .unwrap_or(name);
    Some((address, plain(name)))
}

/// `00000000000e6e90 R_X86_64_GLOB_DAT  free@GLIBC_2.2.5`
fn relocation(line: &str) -> Option<(u64, Value)> {
    let mut words = line.split_whitespace();
    let place = u64::from_str_radix(words.next()?, 16).ok()?;
    let value = words.next().filter(|kind| kind.starts_with("R_"))?;
    let value = words.next().filter(|_| !value.ends_with("TPOFF64") && !value.ends_with("DTPMOD64"))?;
    let value = match value.strip_prefix("*ABS*+0x") {
        Some(address) => Value::Address(u64::from_str_radix(address, 16).ok()?),
        None => Value::Name(value.split('@').next().unwrap_or_default().to_owned()),
    };
    Some((place, value))
}

/// `0000000000033068 <NAME>:`
fn header(line: &str) -> Option<(u64, String)> {
    let (address, name) = line.strip_suffix(">:")?.split_once(" <")?;
    Some((u64::from_str_radix(address, 16).ok()?, plain(name)))
}

/// An address, a colon, a tab and the instruction.
fn instruction(line: &str) -> Option<(u64, &str)> {
    let (at, instruction) = line.split_once(":\t")?;
    Some((u64::from_str_radix(at.trim(), 16).ok()?, instruction))
}

/// `call   e6e90 <NAME+0x10>`, or the same behind a `#`.
fn target(instruction: &str) -> Option<(u64, &str)> {
    let (front, name) = instruction.strip_suffix('>')?.split_once(" <")?;
    Some((u64::from_str_radix(front.rsplit([' ', '\t']).next()?, 16).ok()?, name))
}

/// A name without the hashes that differ from compiler to compiler: `core[c1f1a40a060b9bfa]::…`, `…::h0123456789abcdef`.
fn plain(name: &str) -> String {
    let is_hash = |text: &str| text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let name = name.rsplit_once("::h").filter(|(_, hash)| is_hash(hash)).map_or(name, |(path, _)| path);
    let mut parts = name.split('[');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(']').filter(|(hash, _)| {
            (8..=16).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
        }) {
            Some((_, rest)) => plain.push_str(rest),
            None => {
                plain.push('[');
                plain.push_str(part);
            }
        }
    }
    plain
}
