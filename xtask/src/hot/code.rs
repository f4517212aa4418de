//! A library's functions and what each refers to, from the text that `llvm-objdump` prints.

use super::data::Data;
use super::flow::{Body, Reference, Step, references};
use super::list::{BY_NUMBER, matches};
use super::text::{Line, Symbol, Value, lines};
use super::{Machine, arm, x86};
use std::collections::{BTreeMap, BTreeSet};

/// The destination of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Place {
    /// A function of the library, by its number.
    Function(usize),
    /// A function of another library, by its number.
    Foreign(usize),
    /// The system, by the number of the call where it is known.
    System(Option<u64>),
    /// A function whose address is found at run time.
    Pointer,
}

/// A call, a jump to another function, or a reference that a call may use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Call {
    /// The instruction's address.
    pub(crate) at: u64,
    pub(crate) to: Place,
    /// Only the address is made or read here.
    pub(crate) is_address: bool,
}

/// The code of a library.
pub(crate) struct Code {
    pub(crate) machine: Machine,
    functions: Vec<Function>,
    foreign: Vec<String>,
    /// Whether the loader looks up other libraries' functions before the first call.
    pub(crate) is_bound: bool,
}

struct Function {
    start: u64,
    /// All its names: the linker folds equal functions.
    names: Vec<String>,
    is_public: bool,
    calls: BTreeSet<Call>,
}

/// The name of a call for memory of the thread's own.
const THREAD_LOCAL: &str = "__tls_get_addr";
/// `DF_BIND_NOW` of `DT_FLAGS`, and `DF_1_NOW` of `DT_FLAGS_1`.
const BOUND: [(&str, u64); 2] = [("FLAGS", 8), ("FLAGS_1", 1)];

/// The parts of the text, before anything is connected.
#[derive(Default)]
struct Parts {
    machine: Option<Machine>,
    is_bound: bool,
    symbols: BTreeMap<u64, Vec<Symbol>>,
    functions: Vec<(u64, String, Vec<Step>)>,
    data: Data,
}

impl Parts {
    fn read(text: &str) -> Parts {
        let mut parts = Parts::default();
        for line in lines(text) {
            match line {
                Line::Format(machine) => parts.machine = Some(machine),
                Line::Flags { name, value } => {
                    parts.is_bound |= BOUND.iter().any(|(flags, bit)| *flags == name && value & bit != 0)
                        || name == "BIND_NOW";
                }
                Line::Section { name, addresses } => parts.data.add_section(name, addresses),
                Line::Symbol(symbol) if symbol.is_function => {
                    parts.symbols.entry(symbol.start).or_default().push(symbol);
                }
                Line::Symbol(Symbol { start, size, .. }) => parts.data.add_variable(start..start + size),
                Line::Relocation { place, value } => parts.data.add(place, value),
                Line::Head { start, name } => parts.functions.push((start, name, Vec::new())),
                Line::Instruction { at, text } => parts.add_step(at, text),
                Line::Bytes { at, bytes } => parts.data.add_constants(at, bytes),
            }
        }
        parts
    }

    fn add_step(&mut self, at: u64, text: &str) {
        let Some((_, _, steps)) = self.functions.last_mut() else { return };
        let effects = match self.machine {
            Some(Machine::X86) => x86::decode(text),
            Some(Machine::Arm) => arm::decode(at, text),
            None => return,
        };
        steps.push(Step { at, effects });
    }
}

impl Code {
    /// Reads what `llvm-objdump` prints of symbols, relocations, instructions and constants.
    pub(crate) fn read(text: &str) -> Result<Code, String> {
        let Parts { machine, is_bound, mut symbols, mut functions, mut data } = Parts::read(text);
        let machine = machine.ok_or("not a library of x86-64 or 64-bit Arm")?;
        functions.retain(|(_, _, steps)| !steps.is_empty());
        functions.sort_by_key(|(start, ..)| *start);
        if symbols.is_empty() || functions.is_empty() {
            return Err("the library has no symbols or no code: build it with symbols".to_owned());
        }
        let (functions, steps): (Vec<Function>, Vec<Vec<Step>>) = functions
            .into_iter()
            .map(|(start, name, steps)| {
                let symbols = symbols.remove(&start).unwrap_or_default();
                let is_public = symbols.iter().any(|symbol| symbol.is_public);
                let mut names: Vec<String> = symbols.into_iter().map(|symbol| symbol.name).collect();
                names.extend((!names.contains(&name)).then_some(name));
                (Function { start, names, is_public, calls: BTreeSet::new() }, steps)
            })
            .unzip();
        let mut code = Code { machine, functions, foreign: Vec::new(), is_bound };
        code.functions.iter().for_each(|function| data.add_function(function.start));
        let thread_local = data.thread_local();
        let bodies = steps.iter().map(|steps| Body { machine, steps, thread_local: &thread_local });
        let found: Vec<BTreeSet<(u64, Reference)>> = bodies.map(|body| references(&body)).collect();
        for (_, reference) in found.iter().flatten() {
            if let Reference::Address(address) = reference {
                data.add_border(*address);
            }
        }
        let end = steps.iter().filter_map(|steps| steps.last()).map(|step| step.at + 1).max().unwrap_or(0);
        let connect = Connect { data, end };
        for (from, references) in found.iter().enumerate() {
            connect.function(&mut code, from, references);
        }
        Ok(code)
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
        let has = |function: &Function| function.names.iter().any(|name| matches(pattern, name));
        (0..self.functions.len()).filter(|at| has(&self.functions[*at])).collect()
    }

    /// The functions that other libraries can find.
    pub(crate) fn public(&self) -> impl Iterator<Item = usize> {
        (0..self.functions.len()).filter(|at| self.is_public(*at))
    }

    /// Whether other libraries can find a function.
    pub(crate) fn is_public(&self, function: usize) -> bool {
        self.functions[function].is_public
    }

    pub(crate) fn calls(&self, function: usize) -> impl Iterator<Item = Call> {
        self.functions[function].calls.iter().copied()
    }

    pub(crate) fn names(&self, function: usize) -> &[String] {
        &self.functions[function].names
    }

    pub(crate) fn name(&self, place: Place) -> String {
        match place {
            Place::Function(at) => self.functions[at].names.first().cloned().unwrap_or_default(),
            Place::Foreign(at) => self.foreign[at].clone(),
            Place::System(Some(number)) => self.machine.name_system_call(number),
            Place::System(None) => BY_NUMBER.to_owned(),
            Place::Pointer => "a pointer".to_owned(),
        }
    }
}

/// Finds where references lead.
struct Connect {
    data: Data,
    /// Behind the code.
    end: u64,
}

impl Connect {
    fn function(&self, code: &mut Code, from: usize, references: &BTreeSet<(u64, Reference)>) {
        let called: BTreeSet<u64> = references
            .iter()
            .filter_map(|(_, reference)| match reference {
                Reference::Slot { at, .. } => Some(*at),
                _ => None,
            })
            .collect();
        let mut calls = BTreeSet::new();
        for (at, reference) in references {
            let places = match *reference {
                Reference::Code { to, number } => self.called(code, to, number).into_iter().collect(),
                Reference::Slot { at, number } => self.slot(code, at, number),
                Reference::Address(address) => match self.is_code(code, address) {
                    true => self.code(code, address).into_iter().collect(),
                    false => self.values(code, &self.data.behind(address)),
                },
                // The calls by what was read say more.
                Reference::Read { at, .. } if called.contains(&at) => Vec::new(),
                Reference::Read { at, bytes } => self.values(code, &self.data.read(at, bytes)),
                Reference::SystemCall(number) => vec![Place::System(number)],
                Reference::Pointer => vec![Place::Pointer],
            };
            let is_address = matches!(reference, Reference::Address(_) | Reference::Read { .. });
            calls.extend(places.into_iter().map(|to| Call { at: *at, to, is_address }));
        }
        calls.retain(|call| call.to != Place::Function(from));
        code.functions[from].calls = calls;
    }

    fn is_code(&self, code: &Code, address: u64) -> bool {
        (code.functions[0].start..self.end).contains(&address)
    }

    /// The function at an address of the code, or that a stub there jumps to.
    fn code(&self, code: &mut Code, to: u64) -> Option<Place> {
        let function = code.around(to).filter(|_| self.is_code(code, to))?;
        let stub = code.functions[function].names.iter().find_map(|name| name.strip_suffix("@plt"));
        match stub.map(str::to_owned) {
            Some(name) => Some(self.named(code, &name)),
            None => Some(Place::Function(function)),
        }
    }

    /// The destination of a call. The library's own `syscall` passes on what it is called with.
    fn called(&self, code: &mut Code, to: u64, number: Option<u64>) -> Option<Place> {
        let place = self.code(code, to)?;
        let is_own =
            |at: usize| code.is_public(at) && code.functions[at].names.iter().any(|name| name == BY_NUMBER);
        match place {
            Place::Function(at) if is_own(at) => Some(Place::System(number)),
            Place::System(_) => Some(Place::System(number)),
            place => Some(place),
        }
    }

    /// The destinations of a call by a slot.
    fn slot(&self, code: &mut Code, slot: u64, number: Option<u64>) -> Vec<Place> {
        match self.data.at(slot) {
            Some(Value::Name(name)) if name == BY_NUMBER => vec![Place::System(number)],
            None => vec![Place::Pointer],
            Some(_) => self.values(code, &self.data.read(slot, 8)),
        }
    }

    fn named(&self, code: &mut Code, name: &str) -> Place {
        // Mostly the loader finds the library's own before others.
        let is_own = |at: &usize| code.functions[*at].names.iter().any(|own| own == name);
        let own = code.public().find(is_own).map(Place::Function);
        match own {
            Some(own) => own,
            None if name == BY_NUMBER => Place::System(None),
            None => code.foreign(name),
        }
    }

    fn values(&self, code: &mut Code, values: &[Value]) -> Vec<Place> {
        let mut places = Vec::new();
        for value in values {
            match value {
                Value::Name(name) => places.push(self.named(code, name)),
                Value::ThreadLocal => places.push(code.foreign(THREAD_LOCAL)),
                // Only beginnings: a table may hold addresses within a function for its jumps.
                Value::Address(address) => {
                    let found = code.functions.binary_search_by_key(address, |function| function.start);
                    places.extend(found.ok().map(Place::Function));
                }
            }
        }
        places
    }
}
