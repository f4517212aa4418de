//! Habits of a process, which its calls show together: launches that wait for their own kernels, objects that are made and destroyed again
//! and again, memory that is freed into pools.

use super::Facts;
use super::churn::{Churn, Object, bare, launches_graph, object};
use crate::Class;
use crate::result::framework::runs_python;
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{CallId, Ns, OpId, OpKind, ProcessId, StackId, Sym, ThreadId, Trace};

/// How the names of the calls begin between which a graph is captured: they make it as well.
const CAPTURE: [&str; 2] = ["StreamBeginCapture", "StreamEndCapture"];

/// Fewest launches that show whether launches wait: a choice.
const LAUNCHES: u64 = 20;

/// How many of 100 launches wait for their kernels where all are asked to. Without that a launch returns before its kernel starts, but
/// for those that the system interrupts.
const WAITING: u64 = 95;

/// Most calls of a thread before a synchronization that are looked at.
const MOST: usize = 10_000;

impl Facts<'_> {
    /// Whether the program is Python's, as far as the trace shows it.
    pub fn runs_python(&self) -> bool {
        *self.habits.runs_python.get_or_init(|| runs_python(self.trace))
    }

    /// The stack of a call, by which its time is told from that of others. Where few short calls have one, they are a sample, whose places
    /// are found together.
    pub fn own_stack(&self, call: CallId) -> StackId {
        let is_sampled = || {
            *self.habits.samples_stacks.get_or_init(|| {
                let stacks = &self.trace.calls.stack;
                stacks.iter().filter(|stack| stack.is_some()).count() * 2 < stacks.len()
            })
        };
        match self.is_slow(call) || !is_sampled() {
            true => self.trace.calls.stack[call.index()],
            false => StackId::NONE,
        }
    }

    /// The stacks that were recorded of a thread's calls of a function in `[from, to)`.
    pub fn recorded_stacks(
        &self,
        thread: ThreadId,
        name: Sym,
        (from, to): (Ns, Ns),
    ) -> impl Iterator<Item = StackId> {
        let calls = &self.trace.calls;
        let own = self.calls_by_thread()[thread.index()].iter().map(|call| call.index());
        let is_of = move |at: &usize| calls.name[*at] == name && (from..to).contains(&calls.start[*at]);
        own.filter(is_of).map(|at| calls.stack[at]).filter(|stack| stack.is_some())
    }

    /// Whether at least half of the samples of a call's thread meanwhile, two or more, lie in the driver's compiler of PTX.
    pub fn compiles_within(&self, call: CallId) -> bool {
        let compiles = self.habits.compiles.get_or_init(|| self.compiles());
        let moments = &compiles[self.thread(call).index()];
        let from = moments.partition_point(|(at, _)| *at < self.start(call));
        let within = moments[from..].iter().take_while(|(at, _)| *at < self.end(call));
        let (all, compiling) = within.fold((0, 0), |(all, some), (_, is)| (all + 1, some + usize::from(*is)));
        compiling >= 2 && compiling * 2 >= all
    }

    /// The samples of each thread by time, and whether each lies in the driver's compiler; none where no sample does.
    fn compiles(&self) -> Vec<Vec<(Ns, bool)>> {
        let Trace { frames, stacks, samples, .. } = self.trace;
        let is_compiler = |module: &str| module.contains("ptxjitcompiler");
        let known: Vec<bool> = self.trace.strings.iter().map(|(_, text)| is_compiler(text)).collect();
        let mut by_thread = vec![Vec::new(); self.trace.threads.len()];
        if !known.contains(&true) {
            return by_thread;
        }
        let is_in = |stack: StackId| {
            let mut all = std::iter::successors(stack.some(), |stack| stacks.caller[stack.index()].some());
            let frame = |stack: StackId| stacks.frame[stack.index()].some();
            all.any(|stack| frame(stack).is_some_and(|frame| known[frames.module[frame.index()].index()]))
        };
        for at in 0..samples.len() {
            if let Some(thread) = samples.thread[at].some() {
                by_thread[thread.index()].push((samples.at[at], is_in(samples.stack[at])));
            }
        }
        by_thread.iter_mut().for_each(|moments| moments.sort_unstable());
        by_thread
    }

    /// The operation for which a launch waits, in a process whose launches wait for their kernels.
    pub fn blocks_for(&self, call: CallId) -> Option<OpId> {
        let blocking = self.habits.blocking.get_or_init(|| self.blocking());
        let waits = !blocking.is_empty() && blocking.contains(&self.process(call));
        if waits { self.last_within(call) } else { None }
    }

    /// The kernel or graph of a launch that ends last, if the launch returns after its end.
    fn last_within(&self, call: CallId) -> Option<OpId> {
        if self.class(call) != Class::Launch || !self.one_clock() {
            return None;
        }
        let ops = &self.trace.ops;
        let is_work = |op: &&OpId| matches!(ops.kind[op.index()], OpKind::Kernel | OpKind::Graph);
        let last = self.ops(call).iter().filter(is_work).max_by_key(|op| ops.end[op.index()])?;
        (ops.end[last.index()] <= self.end(call)).then_some(*last)
    }

    /// The processes whose launches wait for their kernels.
    fn blocking(&self) -> FxHashSet<ProcessId> {
        let mut launches = FxHashMap::<ProcessId, (u64, u64)>::default();
        for call in self.calls_by_thread().iter().flatten().copied() {
            if self.class(call) == Class::Launch && !self.ops(call).is_empty() {
                let (all, waiting) = launches.entry(self.process(call)).or_default();
                *all += 1;
                *waiting += u64::from(self.last_within(call).is_some());
            }
        }
        let wait = |(all, waiting): &(u64, u64)| *all >= LAUNCHES && waiting * 100 >= all * WAITING;
        launches.into_iter().filter(|(_, counts)| wait(counts)).map(|(process, _)| process).collect()
    }

    /// How often a call's process made and destroyed objects of the kind that the call makes or destroys, if it does so again and again; of
    /// contexts, how often processes did that come and go.
    pub fn churn(&self, call: CallId) -> Option<Churn> {
        let (kind, _) = object(self.trace.text(self.trace.calls.name[call.index()]))?;
        let churns = self.habits.churns.get_or_init(|| self.churns());
        let own = churns.get(&(self.process(call), kind)).filter(|churn| churn.is_habit());
        let of_processes = || churns.get(&(ProcessId::NONE, kind)).filter(|churn| churn.is_of_generations());
        own.or_else(of_processes).copied()
    }

    /// Whether processes come and go that each make a context.
    pub fn makes_processes(&self) -> bool {
        let churns = self.habits.churns.get_or_init(|| self.churns());
        churns.get(&(ProcessId::NONE, Object::Context)).is_some_and(Churn::is_of_generations)
    }

    /// Whether a call captures a part of a graph, or launches one for the first time, in a process that makes and destroys graphs again
    /// and again: a graph is brought to the GPU when it is first launched.
    pub fn is_of_new_graph(&self, call: CallId) -> bool {
        let churns = self.habits.churns.get_or_init(|| self.churns());
        let Some(graphs) = churns.get(&(self.process(call), Object::Graph)).filter(|churn| churn.is_habit())
        else {
            return false;
        };
        let is_launch = launches_graph(self.trace.text(self.trace.calls.name[call.index()]));
        is_launch && graphs.launched <= graphs.made * 2
            || self.capture(self.thread(call), self.start(call)).is_some()
    }

    /// The call that began the capture in which a thread is at a moment, in a process that makes and destroys graphs again and again: all
    /// that it does meanwhile makes the graph.
    pub fn captures_anew(&self, thread: ThreadId, at: Ns) -> Option<CallId> {
        let begin = self.capture(thread, at)?;
        let churns = self.habits.churns.get_or_init(|| self.churns());
        churns.get(&(self.process(begin), Object::Graph)).filter(|churn| churn.is_habit()).map(|_| begin)
    }

    /// The call that began the capture in which a thread is at a moment.
    fn capture(&self, thread: ThreadId, at: Ns) -> Option<CallId> {
        let captures = &self.habits.captures.get_or_init(|| self.captures())[thread.index()];
        let begun = captures.partition_point(|(begin, _)| self.start(*begin) <= at).checked_sub(1)?;
        Some(captures[begun]).filter(|(_, end)| at < *end).map(|(begin, _)| begin)
    }

    /// The captures of each thread: the call that begins one, and when the call returns that ends it, ns.
    fn captures(&self) -> Vec<Vec<(CallId, Ns)>> {
        let [begins, ends] = CAPTURE.map(|name| -> Vec<bool> {
            let is_it = |text: &str| bare(text).is_some_and(|bare| bare.starts_with(name));
            self.trace.strings.iter().map(|(_, text)| is_it(text)).collect()
        });
        let name = |call: &CallId| self.trace.calls.name[call.index()].index();
        let of_thread = |calls: &Vec<CallId>| {
            let mut began = None;
            let capture = |call: &CallId| {
                if begins[name(call)] {
                    began = Some(*call);
                }
                began.take_if(|_| ends[name(call)]).map(|began| (began, self.end(*call)))
            };
            calls.iter().filter_map(capture).collect()
        };
        self.calls_by_thread().iter().map(of_thread).collect()
    }

    /// Whether an allocation from a pool finds it empty because a synchronization before it gave back what had been freed.
    pub fn refills_pool(&self, call: CallId) -> bool {
        if !self.allocates_from_pool(call) {
            return false;
        }
        let own = &self.calls_by_thread()[self.thread(call).index()];
        let at = own.partition_point(|other| self.start(*other) < self.start(call));
        let before = own[..at].iter().rev().take(MOST).find(|other| self.class(**other) == Class::Sync);
        before.is_some_and(|sync| self.frees_into_pool(*sync))
    }

    fn allocates_from_pool(&self, call: CallId) -> bool {
        let name = bare(self.trace.text(self.trace.calls.name[call.index()]));
        let starts = ["MallocAsync", "MallocFromPoolAsync", "MemAllocAsync", "MemAllocFromPoolAsync"];
        name.is_some_and(|name| starts.iter().any(|start| name.starts_with(start)))
    }

    /// Whether the thread of a synchronization freed memory into a pool since the one before.
    pub fn frees_into_pool(&self, call: CallId) -> bool {
        let own = &self.calls_by_thread()[self.thread(call).index()];
        let at = own.partition_point(|other| self.start(*other) < self.start(call));
        let since = own[..at].iter().rev().take(MOST).take_while(|other| self.class(**other) != Class::Sync);
        let frees =
            |other: &CallId| self.trace.text(self.trace.calls.name[other.index()]).contains("FreeAsync");
        since.into_iter().any(frees)
    }

    fn churns(&self) -> FxHashMap<(ProcessId, Object), Churn> {
        let objects: Vec<_> = self.trace.strings.iter().map(|(_, name)| object(name)).collect();
        let launches: Vec<bool> = self.trace.strings.iter().map(|(_, name)| launches_graph(name)).collect();
        let mut churns = FxHashMap::<_, Churn>::default();
        if objects.iter().all(Option::is_none) {
            return churns;
        }
        for call in self.index.calls.by_start().iter().copied() {
            let name = self.trace.calls.name[call.index()].index();
            let object = objects[name];
            if launches[name] && self.outermost(call) == call {
                churns.entry((self.process(call), Object::Graph)).or_default().launched += 1;
            }
            if let Some((kind, destroys)) = object.filter(|_| self.outermost(call) == call) {
                churns.entry((self.process(call), kind)).or_default().add(destroys);
            }
            let modules = churns.get_mut(&(self.process(call), Object::Module));
            if let Some(modules) = modules.filter(|_| self.class(call) == Class::Launch) {
                modules.launched += u64::from(self.outermost(call) == call);
            }
        }
        self.count_kernels(&mut churns);
        churns.insert((ProcessId::NONE, Object::Context), self.contexts_of_processes(&objects));
        churns
    }

    /// Counts the different kernels of each process with modules.
    fn count_kernels(&self, churns: &mut FxHashMap<(ProcessId, Object), Churn>) {
        if churns.keys().all(|(_, kind)| *kind != Object::Module) {
            return;
        }
        let ops = &self.trace.ops;
        let kernels = ops.ids().filter(|op| ops.kind[op.index()] == OpKind::Kernel);
        let of_process =
            |op: OpId| (self.trace.process_of_stream(ops.stream[op.index()]), ops.name[op.index()]);
        for (process, _) in kernels.map(of_process).collect::<FxHashSet<_>>() {
            if let Some(modules) = churns.get_mut(&(process, Object::Module)) {
                modules.kernels += 1;
            }
        }
    }

    /// The contexts that processes make, one each, and that go with them.
    fn contexts_of_processes(&self, objects: &[Option<(Object, bool)>]) -> Churn {
        let mut lives = FxHashMap::<ProcessId, (Option<Ns>, Ns)>::default();
        for call in self.index.calls.by_start().iter().copied() {
            let (made, end) = lives.entry(self.process(call)).or_insert((None, Ns::MIN));
            let makes =
                objects[self.trace.calls.name[call.index()].index()] == Some((Object::Context, false));
            *made = made.or_else(|| makes.then(|| self.start(call)));
            *end = self.end(call).max(*end);
        }
        let lives = lives.into_values().filter_map(|(made, end)| Some([(made?, false), (end, true)]));
        let mut moments: Vec<(Ns, bool)> = lives.flatten().collect();
        moments.sort_unstable();
        let mut churn = Churn::default();
        moments.into_iter().for_each(|(_, destroys)| churn.add(destroys));
        churn
    }
}
