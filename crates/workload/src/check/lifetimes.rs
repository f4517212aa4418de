//! Everything exists while it is used: buffers are allocated, graphs captured, streams not destroyed.
//!
//! A thing begins and ends in one thread, its owner, whose order of calls is known. Between two threads, all of `before`
//! precedes all bodies. If both meet at a barrier in a part, the check assumes that the barrier orders them there.

use std::collections::{BTreeMap, BTreeSet};

use super::walk::{At, Name, names};
use crate::error::{Checked, Part, Place, Problem};
use crate::model::*;

/// Checks the things of every process.
pub fn check(workload: &Workload) -> Checked {
    (0..workload.processes.len()).try_for_each(|process| Lives::new(workload, process).check())
}

/// Something that begins and ends by calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Thing {
    Buffer(BufferId),
    /// The registration of a buffer.
    Registration(BufferId),
    Stream(StreamId),
    Event(EventId),
    Graph(GraphId),
}

/// Effect of a step on a thing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Transition {
    Begin,
    End,
    Use,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Unborn,
    Alive,
    Ended,
}

/// Effects of the owner on a thing in one part.
#[derive(Clone, Copy)]
struct Chapter {
    begins: bool,
    ends: bool,
    /// Whether it exists at the end of the part.
    alive: bool,
}

struct Lives<'w> {
    workload: &'w Workload,
    process: usize,
    /// The thread that begins or ends each thing.
    owners: BTreeMap<Thing, usize>,
    /// Things that some call begins.
    begun: BTreeSet<Thing>,
    /// The buffers that each graph's captures name.
    captured: BTreeMap<GraphId, BTreeSet<BufferId>>,
    /// The deeds of owners, by part.
    chapters: BTreeMap<(Thing, Part), Chapter>,
    /// The first use of things by other threads than their owner.
    visits: BTreeMap<(Thing, usize, Part), Place>,
    /// The barriers that each thread meets at in each part.
    meets: BTreeMap<(usize, Part), BTreeSet<BarrierId>>,
}

impl<'w> Lives<'w> {
    fn new(workload: &'w Workload, process: usize) -> Lives<'w> {
        Lives {
            workload,
            process,
            owners: BTreeMap::new(),
            begun: BTreeSet::new(),
            captured: BTreeMap::new(),
            chapters: BTreeMap::new(),
            visits: BTreeMap::new(),
            meets: BTreeMap::new(),
        }
    }

    fn check(&mut self) -> Checked {
        let threads = 0..self.workload.processes[self.process].threads.len();
        for thread in threads.clone() {
            for part in Part::ALL {
                let mut at = At::new(self.workload, self.process, thread, part);
                self.gather(part.of(at.thread()), &mut at, None)?;
            }
        }
        for thread in threads {
            Life { lives: self, thread, states: BTreeMap::new(), again: false }.live()?;
        }
        self.visits.iter().try_for_each(|((thing, thread, part), place)| {
            self.visit(*thing, *thread, *part).map_err(|what| Problem { place: place.clone(), what })
        })
    }

    /// Finds owners, captured buffers and meetings.
    fn gather(&mut self, steps: &'w [Step], at: &mut At<'w>, graph: Option<GraphId>) -> Checked {
        at.each_in(steps, |step, at| {
            for (deed, thing) in deeds(step) {
                if deed != Transition::Use {
                    self.own(thing, deed, at)?;
                }
                if let (Some(graph), Thing::Buffer(buffer)) = (graph, thing) {
                    self.captured.entry(graph).or_default().insert(buffer);
                }
            }
            match step {
                Step::Call(Call::Meet { barrier }) => {
                    self.meets.entry((at.whose().1, at.part)).or_default().insert(*barrier);
                    Ok(())
                }
                Step::Call(_) => Ok(()),
                Step::Loop { steps, .. } => self.gather(steps, at, graph),
                Step::Capture { graph, steps, .. } => self.gather(steps, at, Some(*graph)),
            }
        })
    }

    fn own(&mut self, thing: Thing, deed: Transition, at: &At<'_>) -> Checked {
        let thread = at.whose().1;
        let owner = *self.owners.entry(thing).or_insert(thread);
        if owner != thread {
            let words = Words::of(thing, at.process());
            let other = &at.process().threads[owner].name;
            let deed = if deed == Transition::Begin { words.begin } else { words.end };
            let Words { kind, name, .. } = words;
            let what = format!("{kind} {name:?} belongs to thread {other:?}: {deed} it only there");
            return Err(at.problem(what));
        }
        if deed == Transition::Begin {
            self.begun.insert(thing);
        }
        Ok(())
    }

    /// Streams and events exist from the start, unless some call begins them.
    fn first(&self, thing: Thing) -> State {
        let given = matches!(thing, Thing::Stream(_) | Thing::Event(_));
        if given && !self.begun.contains(&thing) { State::Alive } else { State::Unborn }
    }

    /// Checks that a thing exists whenever a thread that does not own it uses it in a part.
    fn visit(&self, thing: Thing, thread: usize, part: Part) -> Result<(), String> {
        let Some(&owner) = self.owners.get(&thing) else {
            return match self.first(thing) {
                State::Alive => Ok(()),
                State::Unborn | State::Ended => Err(self.words(thing).never()),
            };
        };
        let chapter = |part| self.chapters[&(thing, part)];
        let [before, body, after] = Part::ALL.map(chapter);
        match part {
            Part::Before => {
                let changes = before.begins || before.ends;
                let cared_for = changes && self.both_meet((owner, &[part]), (thread, &[part]));
                if cared_for || (!changes && before.alive) {
                    return Ok(());
                }
                Err(self.unordered(thing, owner))
            }
            Part::Body | Part::After => {
                const TIMED: &[Part] = &[Part::Body, Part::After];
                let changes = body.begins || body.ends;
                if !changes && !before.alive {
                    return Err(self.unordered(thing, owner));
                }
                if changes && !self.both_meet((owner, TIMED), (thread, TIMED)) {
                    return Err(self.unordered(thing, owner));
                }
                let outlived = part == Part::Body && self.waits_for(owner, thread);
                if after.ends && !outlived && !self.both_meet((owner, &[Part::After]), (thread, TIMED)) {
                    return Err(self.unordered(thing, owner));
                }
                Ok(())
            }
        }
    }

    /// Whether two threads meet at one barrier in some of their parts.
    fn both_meet(&self, one: (usize, &[Part]), other: (usize, &[Part])) -> bool {
        let barriers = |(thread, parts): (usize, &[Part])| -> BTreeSet<BarrierId> {
            parts.iter().filter_map(|part| self.meets.get(&(thread, *part))).flatten().copied().collect()
        };
        !barriers(one).is_disjoint(&barriers(other))
    }

    /// Whether a thread starts its `after` only when the other has finished its bodies.
    fn waits_for(&self, thread: usize, other: usize) -> bool {
        let repeat = |row: usize| self.workload.processes[self.process].threads[row].repeat;
        repeat(thread) == Repeat::WhileOthers && repeat(other) != Repeat::WhileOthers
    }

    fn unordered(&self, thing: Thing, owner: usize) -> String {
        let process = &self.workload.processes[self.process];
        let Words { kind, name, begun, ended, .. } = self.words(thing);
        let owner = &process.threads[owner].name;
        format!(
            "{kind} {name:?} may not be {begun} yet or be {ended} already by thread {owner:?}: \
             let both meet at a barrier between"
        )
    }

    fn words(&self, thing: Thing) -> Words<'w> {
        Words::of(thing, &self.workload.processes[self.process])
    }
}

/// Effects of a step on things, in order; not those of the steps inside it.
fn deeds(step: &Step) -> Vec<(Transition, Thing)> {
    let call = match step {
        Step::Call(call) => call,
        Step::Loop { .. } => return vec![],
        Step::Capture { graph, stream, .. } => {
            return vec![
                (Transition::Use, Thing::Stream(*stream)),
                (Transition::Begin, Thing::Graph(*graph)),
            ];
        }
    };
    names(call)
        .into_iter()
        .filter_map(|name| {
            let thing = match name {
                Name::Buffer(id) if matches!(call, Call::Unregister { .. }) => Thing::Registration(id),
                Name::Buffer(id) => Thing::Buffer(id),
                Name::Stream(id) => Thing::Stream(id),
                Name::Event(id) => Thing::Event(id),
                Name::Graph(id) => Thing::Graph(id),
                Name::Barrier(_) => return None,
            };
            Some((deed(call, thing), thing))
        })
        .chain(match call {
            Call::Register { buffer } => Some((Transition::Begin, Thing::Registration(*buffer))),
            _ => None,
        })
        .collect()
}

/// Effect of a call on one of the things it names.
fn deed(call: &Call, thing: Thing) -> Transition {
    // Pool memory begins and ends in the order of a stream.
    let of_buffer = |deed| if matches!(thing, Thing::Buffer(_)) { deed } else { Transition::Use };
    match call {
        Call::Allocate { .. } => of_buffer(Transition::Begin),
        Call::Free { .. } => of_buffer(Transition::End),
        Call::CreateStream { .. } | Call::CreateEvent { .. } => Transition::Begin,
        Call::Unregister { .. } | Call::DestroyStream { .. } | Call::DestroyEvent { .. } => Transition::End,
        Call::Register { .. }
        | Call::Copy { .. }
        | Call::CopyRows { .. }
        | Call::Fill { .. }
        | Call::Check { .. }
        | Call::Launch { .. }
        | Call::BlasNorm { .. }
        | Call::LaunchGraph { .. }
        | Call::RecordEvent { .. }
        | Call::WaitEvent { .. }
        | Call::QueryEvent { .. }
        | Call::SynchronizeEvent { .. }
        | Call::Elapsed { .. }
        | Call::QueryStream { .. }
        | Call::SynchronizeStream { .. }
        | Call::SynchronizeContext
        | Call::LoadModule
        | Call::Sleep { .. }
        | Call::Work { .. }
        | Call::Hold { .. }
        | Call::Meet { .. } => Transition::Use,
    }
}

/// The execution of one thread's parts.
struct Life<'l, 'w> {
    lives: &'l mut Lives<'w>,
    thread: usize,
    /// The states of its own things that differ from the initial one.
    states: BTreeMap<Thing, State>,
    /// Whether this is a second round.
    again: bool,
}

impl<'w> Life<'_, 'w> {
    /// Executes all parts, and records the state of its things after each.
    fn live(&mut self) -> Checked {
        let mine: Vec<Thing> =
            self.lives.owners.iter().filter(|(_, of)| **of == self.thread).map(|(thing, _)| *thing).collect();
        for part in Part::ALL {
            let mut at = At::new(self.lives.workload, self.lives.process, self.thread, part);
            let steps = part.of(at.thread());
            let repeats = part == Part::Body && at.thread().repeat != Repeat::Times(1);
            for thing in &mine {
                let none = Chapter { begins: false, ends: false, alive: false };
                self.lives.chapters.insert((*thing, part), none);
            }
            self.steps(steps, &mut at)?;
            if repeats {
                self.second_round(steps, &mut at)?;
            }
            for thing in &mine {
                let alive = self.state(*thing) == State::Alive;
                self.lives.chapters.entry((*thing, part)).and_modify(|chapter| chapter.alive = alive);
            }
        }
        Ok(())
    }

    /// Two rounds of a loop find the problems of all: the last deed of a round is the state at the start of the next. Inside a
    /// second round one round is enough, so that nested loops do not double the work each.
    fn steps(&mut self, steps: &'w [Step], at: &mut At<'w>) -> Checked {
        at.each_in(steps, |step, at| {
            let own = deeds(step);
            match step {
                Step::Call(call) => {
                    self.also(call, at)?;
                    own.into_iter().try_for_each(|(deed, thing)| self.does(deed, thing, at))
                }
                Step::Loop { times, steps } => {
                    self.steps(steps, at)?;
                    if *times > 1 && !self.again { self.second_round(steps, at) } else { Ok(()) }
                }
                // The graph exists after its capture.
                Step::Capture { steps, .. } => {
                    self.steps(steps, at)?;
                    own.into_iter().try_for_each(|(deed, thing)| self.does(deed, thing, at))
                }
            }
        })
    }

    fn second_round(&mut self, steps: &'w [Step], at: &mut At<'w>) -> Checked {
        self.again = true;
        let done = self.steps(steps, at);
        self.again = false;
        done
    }

    /// Applies a call to things that it does not name: the launch of a graph uses its captured buffers, a registered buffer
    /// cannot be freed, and the free of a buffer ends the graphs with its address.
    fn also(&mut self, call: &Call, at: &At<'w>) -> Checked {
        match call {
            Call::LaunchGraph { graph, .. } => {
                let buffers = self.lives.captured.get(graph).cloned().unwrap_or_default();
                buffers
                    .into_iter()
                    .try_for_each(|buffer| self.does(Transition::Use, Thing::Buffer(buffer), at))
            }
            Call::Free { buffer, .. } if self.state(Thing::Registration(*buffer)) == State::Alive => {
                let name = &at.process().buffers[*buffer].name;
                Err(at
                    .problem(format!("buffer {name:?} is freed while it is registered: unregister it first")))
            }
            Call::Free { buffer, .. } => {
                let captured = self.lives.captured.iter().filter(|(_, buffers)| buffers.contains(buffer));
                let graphs: Vec<Thing> = captured.map(|(graph, _)| Thing::Graph(*graph)).collect();
                graphs.into_iter().for_each(|graph| self.outlives(graph, at.part));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Ends a graph of this thread because something in it ends.
    fn outlives(&mut self, graph: Thing, part: Part) {
        if self.lives.owners.get(&graph) == Some(&self.thread) && self.state(graph) == State::Alive {
            self.states.insert(graph, State::Ended);
            self.lives.chapters.entry((graph, part)).and_modify(|chapter| chapter.ends = true);
        }
    }

    fn state(&self, thing: Thing) -> State {
        self.states.get(&thing).copied().unwrap_or_else(|| self.lives.first(thing))
    }

    fn does(&mut self, deed: Transition, thing: Thing, at: &At<'w>) -> Checked {
        if self.lives.owners.get(&thing) != Some(&self.thread) {
            self.lives.visits.entry((thing, self.thread, at.part)).or_insert_with(|| at.place());
            return Ok(());
        }
        let words = self.lives.words(thing);
        let replaced = matches!(thing, Thing::Graph(_));
        let next = match (deed, self.state(thing)) {
            (Transition::Begin, State::Alive) if !replaced => Err(words.twice()),
            (Transition::Begin, _) => Ok(State::Alive),
            (Transition::End, State::Alive) => Ok(State::Ended),
            (Transition::Use, State::Alive) => Ok(State::Alive),
            (_, State::Unborn) if !self.lives.begun.contains(&thing) => Err(words.never()),
            (Transition::End, State::Ended) => Err(words.ended_twice()),
            (Transition::Use, State::Ended) => Err(words.too_late()),
            (Transition::End | Transition::Use, State::Unborn) => Err(words.too_early(deed)),
        };
        let round = if self.again { " (in a second round)" } else { "" };
        let state = next.map_err(|what| at.problem(what.replacen(": ", &format!("{round}: "), 1)))?;
        self.states.insert(thing, state);
        if let Some(chapter) = self.lives.chapters.get_mut(&(thing, at.part)) {
            chapter.begins |= deed == Transition::Begin;
            chapter.ends |= deed == Transition::End;
        }
        Ok(())
    }
}

/// The name of a thing in an error.
struct Words<'w> {
    kind: &'static str,
    name: &'w str,
    begin: &'static str,
    begun: &'static str,
    end: &'static str,
    ended: &'static str,
}

impl<'w> Words<'w> {
    fn of(thing: Thing, process: &'w Process) -> Words<'w> {
        let words = |kind, name: &'w String, [begin, begun, end, ended]: [&'static str; 4]| Words {
            kind,
            name,
            begin,
            begun,
            end,
            ended,
        };
        let created = ["create", "created", "destroy", "destroyed"];
        match thing {
            Thing::Buffer(id) => {
                words("buffer", &process.buffers[id].name, ["allocate", "allocated", "free", "freed"])
            }
            Thing::Registration(id) => words(
                "buffer",
                &process.buffers[id].name,
                ["register", "registered", "unregister", "unregistered"],
            ),
            Thing::Stream(id) => words("stream", &process.streams[id].name, created),
            Thing::Event(id) => words("event", &process.events[id].name, created),
            Thing::Graph(id) => {
                words("graph", &process.graphs[id].name, ["capture", "captured", "replace", "replaced"])
            }
        }
    }

    fn never(&self) -> String {
        let Words { kind, name, begin, begun, .. } = self;
        format!("{kind} {name:?} is never {begun}: {begin} it first")
    }

    fn twice(&self) -> String {
        let Words { kind, name, begun, end, .. } = self;
        format!("{kind} {name:?} is {begun} already: {end} it first")
    }

    fn ended_twice(&self) -> String {
        let Words { kind, name, begin, ended, .. } = self;
        format!("{kind} {name:?} is {ended} already: leave this out or {begin} it again")
    }

    fn too_early(&self, deed: Transition) -> String {
        let Words { kind, name, begin, begun, ended, .. } = self;
        let done = if deed == Transition::End { ended } else { "used" };
        format!("{kind} {name:?} is {done} before it is {begun}: {begin} it first")
    }

    fn too_late(&self) -> String {
        let Words { kind, name, ended, end, .. } = self;
        match *kind {
            "graph" => format!("graph {name:?} is launched after a buffer in it was freed: capture it again"),
            _ => format!("{kind} {name:?} is used after it was {ended}: {end} it later"),
        }
    }
}
