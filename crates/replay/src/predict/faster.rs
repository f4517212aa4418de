//! Changes that make something faster: kernels, copies, calls, or the program's own code at a place.

use crate::Recovered;
use crate::predict::fixes::Scene;
use crate::predict::pauses::{Remainder, shorten};
use sim::WorkKind;
use std::str::FromStr;
use trace::{Ns, Trace};

/// Something, and by what factor it is faster.
#[derive(Clone, Debug, PartialEq)]
pub struct Faster {
    what: Target,
    factor: f64,
    /// As it was written.
    text: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Target {
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
            None if what == "copies" => Target::Copies,
            Some(("kernel", name)) if !name.is_empty() => Target::Kernels(name.to_owned()),
            Some(("call", name)) if !name.is_empty() => Target::Calls(name.to_owned()),
            Some(("host", place)) => {
                let (file, line) =
                    place.rsplit_once(':').filter(|(file, _)| !file.is_empty()).ok_or(NotFaster)?;
                Target::Host { file: file.to_owned(), line: line.parse().map_err(|_| NotFaster)? }
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

    /// Whether it is about the program's own code: several such are applied at once, by [`hosts`].
    pub(crate) fn is_host(&self) -> bool {
        matches!(self.what, Target::Host { .. })
    }

    /// Applies it alone. Returns how many calls, operations or pauses it changed.
    pub(crate) fn apply(&self, scene: &Scene<'_>, to: &mut Recovered) -> usize {
        match &self.what {
            Target::Kernels(name) => self.kernels(scene, to, name),
            Target::Copies => {
                let copies =
                    to.recorded.works.iter_mut().filter(|work| matches!(work.kind, WorkKind::Copy { .. }));
                copies.map(|work| work.ns = self.of(work.ns)).count()
            }
            Target::Calls(name) => self.calls(scene, to, name),
            Target::Host { .. } => hosts(&[self], scene, to),
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
                work.meets.iter_mut().for_each(|meets| meets.ns = self.of(meets.ns));
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
}

/// Makes the program's own code faster at the places of `all`, in any frame of a stack. There are [`MOST`] places at most. Returns how
/// many pauses changed; 0 where one place is in none. The part of a pause that several lines leave is not the product of the parts that each leaves.
pub(crate) fn hosts(all: &[&Faster], scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let stacks = stacks(scene.trace, all);
    let left = |sample: usize| {
        let places = scene.trace.samples.stack[sample].some().map_or(0, |stack| stacks[stack.index()]);
        let there = all.iter().enumerate().filter(|(at, _)| places & 1 << at != 0);
        Remainder { part: there.map(|(_, faster)| 1.0 / faster.factor).product(), places }
    };
    let (changed, met) = shorten(left, scene, to);
    if met.count_ones() as usize == all.len() { changed } else { 0 }
}

/// The places that each stack is at: a bit each.
fn stacks(trace: &Trace, all: &[&Faster]) -> Vec<u64> {
    let frame = |frame: usize| {
        let is_there = |faster: &&Faster| match &faster.what {
            Target::Host { file, line } => is_at(trace, frame, file, *line),
            _ => false,
        };
        let there = all.iter().enumerate().filter(|(_, faster)| is_there(faster));
        there.fold(0, |places, (at, _)| places | 1 << at)
    };
    let frames: Vec<u64> = (0..trace.frames.len()).map(frame).collect();
    // The stack of a caller is an earlier row.
    let mut stacks: Vec<u64> = Vec::with_capacity(trace.stacks.len());
    for at in 0..trace.stacks.len() {
        let own = trace.stacks.frame[at].some().map_or(0, |frame| frames[frame.index()]);
        stacks.push(own | trace.stacks.caller[at].some().map_or(0, |caller| stacks[caller.index()]));
    }
    stacks
}

/// Places that are made faster at once.
pub(crate) const MOST: usize = u64::BITS as usize;

/// Whether a frame is at a line of a file, of whose path `file` is the end.
fn is_at(trace: &Trace, frame: usize, file: &str, line: u32) -> bool {
    let path = trace.text(trace.frames.file[frame]);
    let is_file = path.strip_suffix(file).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    trace.frames.line[frame] == line && is_file
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
        assert_eq!(host, Ok(Target::Host { file: String::from("src/serve.py"), line: 17 }));
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
