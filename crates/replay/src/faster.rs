//! What if something were faster: kernels, copies, calls, or the program's own code at a place.

use crate::fixes::Scene;
use crate::{Recovered, StepOf};
use rustc_hash::FxHashMap;
use sim::{RecordedStep, WorkKind};
use std::str::FromStr;
use trace::{Ns, StackId, Sym, ThreadId, Trace};

/// Something, and by what factor it is faster.
#[derive(Clone, Debug, PartialEq)]
pub struct Faster {
    what: What,
    factor: f64,
    /// As it was written.
    text: String,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    /// Kernels whose names match.
    Kernels(String),
    /// Calls whose names match: what they cost by themselves.
    Calls(String),
    Copies,
    /// Time outside of calls at a file's line.
    Host {
        file: String,
        line: u32,
    },
}

/// A text that is not `WHAT=FACTORx`.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "expected WHAT=FACTORx, as in kernel:sgemm*=1.5x, copies=2x, call:cudaMalloc=10x or host:serve.py:17=2x"
)]
pub struct NotFaster;

impl FromStr for Faster {
    type Err = NotFaster;

    fn from_str(text: &str) -> Result<Faster, NotFaster> {
        let (what, factor) = text.rsplit_once('=').ok_or(NotFaster)?;
        let factor: f64 = factor.strip_suffix('x').and_then(|factor| factor.parse().ok()).ok_or(NotFaster)?;
        let what = match what.split_once(':') {
            None if what == "copies" => What::Copies,
            Some(("kernel", name)) if !name.is_empty() => What::Kernels(name.to_owned()),
            Some(("call", name)) if !name.is_empty() => What::Calls(name.to_owned()),
            Some(("host", place)) => {
                let (file, line) =
                    place.rsplit_once(':').filter(|(file, _)| !file.is_empty()).ok_or(NotFaster)?;
                What::Host { file: file.to_owned(), line: line.parse().map_err(|_| NotFaster)? }
            }
            _ => return Err(NotFaster),
        };
        let is_possible = factor.is_finite() && factor > 0.0;
        is_possible.then(|| Faster { what, factor, text: text.to_owned() }).ok_or(NotFaster)
    }
}

impl Faster {
    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Applies it. Returns how many calls, operations or pauses it changed.
    pub(crate) fn apply(&self, scene: &Scene<'_>, to: &mut Recovered) -> usize {
        match &self.what {
            What::Kernels(name) => self.kernels(scene, to, name),
            What::Copies => {
                let copies =
                    to.recorded.works.iter_mut().filter(|work| matches!(work.kind, WorkKind::Copy { .. }));
                copies.map(|work| work.ns = self.of(work.ns)).count()
            }
            What::Calls(name) => self.calls(scene, to, name),
            What::Host { file, line } => self.host(scene, to, file, *line),
        }
    }

    /// The time that is left of one.
    fn of(&self, ns: Ns) -> Ns {
        (ns as f64 / self.factor) as Ns
    }

    fn kernels(&self, scene: &Scene<'_>, to: &mut Recovered, name: &str) -> usize {
        let mut changed = 0;
        for (row, work) in (0..).zip(&mut to.recorded.works) {
            let op = scene.op(row).some().filter(|_| matches!(work.kind, WorkKind::Kernel { .. }));
            let of = op.map(|op| scene.trace.text(scene.trace.ops.name[op.index()]));
            if of.is_some_and(|of| matches(name, of)) {
                work.ns = self.of(work.ns);
                changed += 1;
            }
        }
        changed
    }

    fn calls(&self, scene: &Scene<'_>, to: &mut Recovered, name: &str) -> usize {
        let mut changed = 0;
        for at in scene.calls().filter(|at| matches(name, scene.name(at.id))) {
            let Some(call) = to.call_mut(at) else { continue };
            for part in [&mut call.before_ns, &mut call.held_ns, &mut call.after_ns] {
                *part = self.of(*part);
            }
            changed += 1;
        }
        changed
    }

    /// Shortens time outside of calls by the share of its samples that are at the place, in any of their frames. Pauses of a thread
    /// between calls of the same names share their samples: most are too short to have one.
    fn host(&self, scene: &Scene<'_>, to: &mut Recovered, file: &str, line: u32) -> usize {
        let samples = Samples::of(scene.trace, file, line);
        let mut changed = 0;
        for row in 0..to.steps.len() {
            let Some(thread) = to.threads[row] else { continue };
            let pauses = pauses(scene, row);
            let mut found: FxHashMap<[Sym; 2], [usize; 2]> = FxHashMap::default();
            for (at, between) in &pauses {
                let [from, until] = [*at, at + 1].map(|at| to.begins[row][at] + to.start);
                let [there, all] = samples.count(thread, from, until);
                let sum = found.entry(*between).or_default();
                *sum = [sum[0] + there, sum[1] + all];
            }
            for (at, between) in pauses {
                let [there, all] = found[&between];
                let RecordedStep::Host(ns) = &mut to.recorded.threads[row][at] else { continue };
                if there > 0 {
                    let share = there as f64 / all as f64;
                    *ns -= (*ns as f64 * share * (1.0 - 1.0 / self.factor)) as Ns;
                    changed += 1;
                }
            }
        }
        changed
    }
}

/// The pauses of a thread: the step, and the names of the calls before and after it.
fn pauses(scene: &Scene<'_>, row: usize) -> Vec<(usize, [Sym; 2])> {
    let (mut pauses, mut open, mut last) = (Vec::new(), 0, Sym::EMPTY);
    for (at, step) in scene.base.steps[row].iter().enumerate() {
        match step {
            StepOf::Outside => pauses.push((at, [last, Sym::EMPTY])),
            StepOf::Call(call) => {
                last = scene.trace.calls.name[call.index()];
                pauses[open..].iter_mut().for_each(|(_, between)| between[1] = last);
                open = pauses.len();
            }
            StepOf::Part | StepOf::Wait(_) | StepOf::Ends(_) | StepOf::Takes | StepOf::Issues(_) => {}
        }
    }
    pauses
}

/// The samples of each thread, in order: when, and whether at the place.
struct Samples(FxHashMap<ThreadId, Vec<(Ns, bool)>>);

impl Samples {
    fn of(trace: &Trace, file: &str, line: u32) -> Samples {
        let is_there = |frame: usize| {
            let path = trace.text(trace.frames.file[frame]);
            let is_file = path.strip_suffix(file).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
            trace.frames.line[frame] == line && is_file
        };
        let frames: Vec<bool> = (0..trace.frames.len()).map(is_there).collect();
        // The stack of a caller is an earlier row.
        let mut stacks: Vec<bool> = Vec::with_capacity(trace.stacks.len());
        for at in 0..trace.stacks.len() {
            let own = trace.stacks.frame[at].some().is_some_and(|frame| frames[frame.index()]);
            stacks.push(own || trace.stacks.caller[at].some().is_some_and(|caller| stacks[caller.index()]));
        }
        let at_place = |stack: StackId| stack.some().is_some_and(|stack| stacks[stack.index()]);
        let mut samples: FxHashMap<ThreadId, Vec<(Ns, bool)>> = FxHashMap::default();
        for at in 0..trace.samples.len() {
            let sample = (trace.samples.at[at], at_place(trace.samples.stack[at]));
            samples.entry(trace.samples.thread[at]).or_default().push(sample);
        }
        samples.values_mut().for_each(|samples| samples.sort_unstable());
        Samples(samples)
    }

    /// How many of a thread's samples between two moments are at the place, and how many there are.
    fn count(&self, thread: ThreadId, from: Ns, until: Ns) -> [usize; 2] {
        let Some(samples) = self.0.get(&thread) else { return [0, 0] };
        let [first, end] = [from, until].map(|moment| samples.partition_point(|(at, _)| *at < moment));
        [samples[first..end].iter().filter(|(_, there)| *there).count(), end - first]
    }
}

/// Whether a name matches a pattern, in which `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let all = [
            ("sgemm*", "sgemm_128x64"),
            ("*gemm*64", "sgemm_128x64"),
            ("copy", "copy"),
            ("*", "x"),
            ("a*b*c", "a_b_b_c"),
        ];
        assert!(all.iter().all(|(pattern, name)| matches(pattern, name)));
        let none =
            [("sgemm", "sgemm_128x64"), ("*gemm", "sgemm_128x64"), ("a*bb*c", "a_b_b_c"), ("xy*yx", "xyx")];
        assert!(none.iter().all(|(pattern, name)| !matches(pattern, name)));
    }

    #[test]
    fn texts() {
        let host = "host:src/serve.py:17=2x".parse::<Faster>().map(|faster| faster.what);
        assert_eq!(host, Ok(What::Host { file: String::from("src/serve.py"), line: 17 }));
        assert_eq!("kernel:a=b*=1.5x".parse::<Faster>().map(|faster| faster.factor), Ok(1.5));
        for text in [
            "copies",
            "copies=2",
            "copies=0x",
            "copies=-1x",
            "copies=infx",
            "kernel:=2x",
            "host:17=2x",
            "gpu=2x",
        ] {
            assert_eq!(text.parse::<Faster>(), Err(NotFaster), "{text}");
        }
    }
}
