//! The registers of a function, as far as calls can be followed by them: addresses, and numbers of system calls.
//!
//! Values are followed along every way through the function. A register may hold any value that one of the ways left
//! there.

use super::machine::{Machine, Register};
use std::collections::{BTreeMap, BTreeSet};

/// A value that is of interest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Word {
    Number(u64),
    /// The beginning of a page, as the instruction at the second address makes it: half of an address.
    Page(u64, u64),
    Address(u64),
    /// A value that was read at this address.
    Read(u64),
    /// The sum of two registers: mostly an address that was found by a table of jumps.
    Sum,
}

/// Memory that an instruction reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Memory {
    At(u64),
    /// So far behind the address in a register.
    Behind(Register, u64),
}

/// The destination of a call or jump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    Address(u64),
    /// The address that is read there.
    Slot(u64),
    Register(Register),
    /// An address that is nowhere in the code.
    Unknown,
}

/// One effect of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    Set(Register, Word),
    Copy {
        to: Register,
        of: Register,
    },
    Add {
        to: Register,
        of: Register,
        more: u64,
    },
    Sum(Register),
    /// Reads so many bytes, all of them into a register or into others.
    Read {
        to: Option<Register>,
        from: Memory,
        bytes: u64,
    },
    Write(Memory),
    /// The register holds something else.
    Lose(Register),
    Call(Target),
    Jump(Target),
    Branch(u64),
    /// A return, or a trap.
    Stop,
    /// Padding.
    Nothing,
    SystemCall,
}

/// An instruction.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) at: u64,
    pub(crate) effects: Vec<Effect>,
}

/// A reference of a function to something outside of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Reference {
    /// A call or jump, with the number that the first argument may be.
    Code { to: u64, number: Option<u64> },
    /// A call or jump to the address that is read there.
    Slot { at: u64, number: Option<u64> },
    /// A call or jump by a pointer that was found at run time.
    Pointer,
    /// The address is made.
    Address(u64),
    /// So many bytes are read there.
    Read { at: u64, bytes: u64 },
    /// The system is called by this number, where it is known.
    SystemCall(Option<u64>),
}

/// The values that a register may hold.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Values {
    words: BTreeSet<Word>,
    /// Whether it may hold others.
    others: bool,
}

/// The values that registers may hold; others are unknown.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct State {
    registers: BTreeMap<Register, Values>,
}

impl State {
    fn words(&self, register: Register) -> impl Iterator<Item = Word> {
        self.registers.get(&register).into_iter().flat_map(|values| values.words.iter().copied())
    }

    fn set(&mut self, register: Register, words: BTreeSet<Word>, others: bool) {
        match words.is_empty() {
            true => _ = self.registers.remove(&register),
            false => _ = self.registers.insert(register, Values { words, others }),
        }
    }

    /// Adds what another way leaves; whether that is more.
    fn join(&mut self, other: &State) -> bool {
        let before = self.clone();
        for (register, values) in &mut self.registers {
            values.others |= !other.registers.contains_key(register);
        }
        for (register, values) in &other.registers {
            let known = self.registers.contains_key(register);
            let here = self.registers.entry(*register).or_default();
            here.words.extend(&values.words);
            here.others |= values.others || !known;
        }
        *self != before
    }

    /// The numbers that a register may hold; `None` among them for any other.
    fn numbers(&self, register: Register) -> Vec<Option<u64>> {
        let Some(values) = self.registers.get(&register) else { return vec![None] };
        let number = |word: &Word| match word {
            Word::Number(number) => Some(*number),
            _ => None,
        };
        let mut numbers: Vec<Option<u64>> = values.words.iter().map(number).collect();
        numbers.extend(values.others.then_some(None));
        numbers
    }
}

/// A function's instructions, and what is known of the library around it.
pub(crate) struct Body<'a> {
    pub(crate) machine: Machine,
    pub(crate) steps: &'a [Step],
    /// Slots by which memory of the thread's own is found: a call by one keeps nearly all registers.
    pub(crate) thread_local: &'a BTreeSet<u64>,
}

/// The references of a function, with the instruction of each.
pub(crate) fn references(body: &Body<'_>) -> BTreeSet<(u64, Reference)> {
    let blocks = blocks(body.steps);
    let mut starts: Vec<Option<State>> = vec![None; blocks.len()];
    let ways: Vec<Ways> = blocks.iter().map(|block| ways(body.steps, &blocks, block)).collect();
    let led_to: BTreeSet<usize> = ways.iter().flat_map(|ways| ways.to.iter().copied()).chain([0]).collect();
    let is_padding = |block: &usize| {
        body.steps[blocks[*block].clone()].iter().all(|step| step.effects == [Effect::Nothing])
    };
    // No instruction names these: jumps by a table lead there, and the unwinder out of any call.
    let unnamed: Vec<usize> =
        (0..blocks.len()).filter(|block| !led_to.contains(block) && !is_padding(block)).collect();
    let mut run = Run::new(body);
    // Others are found by nothing, such as code without a name of its own.
    for first in std::iter::once(0).chain(unnamed.iter().copied()) {
        let mut next = Vec::new();
        if starts[first].is_none() {
            starts[first] = Some(State::default());
            next.push(first);
        }
        while let Some(block) = next.pop() {
            run.state = starts[block].clone().unwrap_or_default();
            body.steps[blocks[block].clone()].iter().for_each(|step| run.step(step));
            let mut come = |to: usize, state: &State| {
                let changed = match &mut starts[to] {
                    Some(start) => start.join(state),
                    none => none.replace(state.clone()).is_none(),
                };
                if changed && !next.contains(&to) {
                    next.push(to);
                }
            };
            ways[block].to.iter().for_each(|to| come(*to, &run.state));
            let out = std::mem::take(&mut run.out);
            let by_table = ways[block].by_table.then_some(&run.state);
            for state in out.iter().chain(by_table) {
                unnamed.iter().for_each(|to| come(*to, state));
            }
        }
    }
    let Run { mut found, used, .. } = run;
    // A page that no instruction completes to an address is one itself.
    for effect in body.steps.iter().flat_map(|step| &step.effects) {
        if let Effect::Set(_, Word::Page(page, at)) = effect
            && !used.contains(at)
        {
            found.insert((*at, Reference::Address(*page)));
        }
    }
    found
}

type Block = std::ops::Range<usize>;

/// The parts of a function that run from their beginning to their end.
fn blocks(steps: &[Step]) -> Vec<Block> {
    let find = |address: u64| steps.binary_search_by_key(&address, |step| step.at).ok();
    let mut starts = BTreeSet::from([0]);
    for (number, step) in steps.iter().enumerate() {
        for effect in &step.effects {
            match effect {
                Effect::Branch(to) => {
                    starts.extend(find(*to));
                    starts.insert(number + 1);
                }
                Effect::Jump(Target::Address(to)) => {
                    starts.extend(find(*to));
                    starts.insert(number + 1);
                }
                Effect::Jump(_) | Effect::Stop => _ = starts.insert(number + 1),
                _ => {}
            }
        }
    }
    starts.remove(&steps.len());
    let ends = starts.iter().skip(1).copied().chain([steps.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

/// The blocks after a block.
struct Ways {
    to: Vec<usize>,
    /// Whether it ends in a jump that may be by a table.
    by_table: bool,
}

fn ways(steps: &[Step], blocks: &[Block], block: &Block) -> Ways {
    let find = |address: u64| {
        let step = steps.binary_search_by_key(&address, |step| step.at).ok()?;
        blocks.binary_search_by_key(&step, |block| block.start).ok()
    };
    let behind = blocks.binary_search_by_key(&block.end, |block| block.start).ok();
    let (mut to, mut goes_on, mut by_table) = (Vec::new(), true, false);
    for effect in steps[block.clone()].last().into_iter().flat_map(|step| &step.effects) {
        match effect {
            Effect::Branch(address) => to.extend(find(*address)),
            Effect::Jump(target) => {
                goes_on = false;
                match target {
                    Target::Address(address) => to.extend(find(*address)),
                    Target::Register(_) | Target::Unknown => by_table = true,
                    Target::Slot(_) => {}
                }
            }
            Effect::Stop => goes_on = false,
            _ => {}
        }
    }
    to.extend(behind.filter(|_| goes_on));
    Ways { to, by_table }
}

/// A run through a block.
struct Run<'a> {
    body: &'a Body<'a>,
    state: State,
    /// The registers after each call of the block: the unwinder may go on with them.
    out: Vec<State>,
    found: BTreeSet<(u64, Reference)>,
    /// The instructions that made pages which others completed to addresses.
    used: BTreeSet<u64>,
}

impl<'a> Run<'a> {
    fn new(body: &'a Body<'a>) -> Run<'a> {
        let (state, out, found, used) = Default::default();
        Run { body, state, out, found, used }
    }

    fn step(&mut self, step: &Step) {
        for effect in &step.effects {
            self.effect(step.at, effect);
        }
    }

    fn effect(&mut self, at: u64, effect: &Effect) {
        match *effect {
            Effect::Set(to, word) => {
                if let Word::Address(address) = word {
                    self.found.insert((at, Reference::Address(address)));
                }
                self.state.set(to, BTreeSet::from([word]), false);
            }
            Effect::Copy { to, of } => {
                let Values { words, others } = self.state.registers.get(&of).cloned().unwrap_or_default();
                self.state.set(to, words, others);
            }
            Effect::Add { to, of, more } => {
                let others = self.has_others(Memory::Behind(of, more));
                let made = self.places(Memory::Behind(of, more), false);
                self.found.extend(made.iter().map(|address| (at, Reference::Address(*address))));
                self.state.set(to, made.into_iter().map(Word::Address).collect(), others);
            }
            Effect::Read { to, from, bytes } => {
                let others = self.has_others(from);
                let places = self.places(from, true);
                self.found.extend(places.iter().map(|place| (at, Reference::Read { at: *place, bytes })));
                if let Some(to) = to {
                    self.state.set(to, places.into_iter().map(Word::Read).collect(), others);
                }
            }
            Effect::Sum(to) => self.state.set(to, BTreeSet::from([Word::Sum]), false),
            // Completes a page's address, by which nothing is called.
            Effect::Write(memory) => _ = self.places(memory, true),
            Effect::Lose(register) => _ = self.state.registers.remove(&register),
            Effect::Call(target) => {
                self.lead(at, target, false);
                self.clobber(target);
                self.out.push(self.state.clone());
            }
            Effect::Jump(target) => self.lead(at, target, true),
            Effect::Branch(to) => self.lead(at, Target::Address(to), true),
            Effect::SystemCall => {
                let numbers = self.state.numbers(self.body.machine.system_call());
                self.found.extend(numbers.into_iter().map(|number| (at, Reference::SystemCall(number))));
                self.state.registers.remove(&self.body.machine.result());
            }
            Effect::Stop | Effect::Nothing => {}
        }
    }

    /// The addresses that memory may have; of pages, or of whole addresses as well.
    fn places(&mut self, memory: Memory, whole: bool) -> BTreeSet<u64> {
        let (register, offset) = match memory {
            Memory::At(address) => return BTreeSet::from([address]),
            Memory::Behind(register, offset) => (register, offset),
        };
        let mut places = BTreeSet::new();
        for word in self.state.words(register) {
            match word {
                Word::Page(page, at) => {
                    self.used.insert(at);
                    places.insert(page.wrapping_add(offset));
                }
                Word::Address(base) if whole => _ = places.insert(base.wrapping_add(offset)),
                _ => {}
            }
        }
        places
    }

    /// Whether memory may have other addresses than those that are known.
    fn has_others(&self, memory: Memory) -> bool {
        let Memory::Behind(register, _) = memory else { return false };
        let is_base = |word: &Word| matches!(word, Word::Page(..) | Word::Address(_));
        let values = self.state.registers.get(&register);
        values.is_none_or(|values| values.others || !values.words.iter().all(is_base))
    }

    /// Whether a call or jump may lead to an address that is nowhere in the code.
    fn is_pointer(&self, target: Target, is_jump: bool) -> bool {
        let register = match target {
            Target::Address(_) | Target::Slot(_) => return false,
            Target::Unknown => return true,
            Target::Register(register) => register,
        };
        let is_known = |word: &Word| matches!(word, Word::Read(_) | Word::Address(_));
        let values = self.state.registers.get(&register);
        values.is_none_or(|values| {
            let is_table = is_jump && values.words.contains(&Word::Sum);
            !is_table && (values.others || !values.words.iter().all(is_known))
        })
    }

    /// A call or a jump.
    fn lead(&mut self, at: u64, target: Target, is_jump: bool) {
        if self.is_pointer(target, is_jump) {
            self.found.insert((at, Reference::Pointer));
        }
        let steps = self.body.steps;
        let inside = steps.first().map_or(0, |step| step.at)..=steps.last().map_or(0, |step| step.at);
        let slots: Vec<u64> = match target {
            Target::Address(to) if inside.contains(&to) => return,
            Target::Slot(slot) => vec![slot],
            Target::Register(register) => self.read_at(register).collect(),
            Target::Address(_) | Target::Unknown => Vec::new(),
        };
        for number in self.state.numbers(self.body.machine.first_argument()) {
            if let Target::Address(to) = target {
                self.found.insert((at, Reference::Code { to, number }));
            }
            self.found.extend(slots.iter().map(|slot| (at, Reference::Slot { at: *slot, number })));
        }
    }

    /// The addresses at which a register's value may have been read.
    fn read_at(&self, register: Register) -> impl Iterator<Item = u64> {
        self.state.words(register).filter_map(|word| match word {
            Word::Read(slot) => Some(slot),
            _ => None,
        })
    }

    /// Forgets the registers that a call changes.
    fn clobber(&mut self, target: Target) {
        let is_quiet = match target {
            Target::Register(register) => {
                self.read_at(register).any(|slot| self.body.thread_local.contains(&slot))
            }
            _ => false,
        };
        let machine = self.body.machine;
        self.state.registers.retain(|register, _| match is_quiet {
            true => *register > 1,
            false => machine.survives(*register),
        });
    }
}
