//! Follows calls from every root, and compares what they reach with the list.

use super::code::{Call, Code, Place};
use super::list::{Answer, HotCall, LIST, List, Roots, matches};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;

/// A call that hot code must not make, or a mistake in the list.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Fault {
    pub(crate) text: String,
    /// The calls, where there are any.
    pub(crate) at: BTreeSet<u64>,
}

/// The result of a library's check.
pub(crate) struct Found {
    pub(crate) faults: Vec<Fault>,
    pub(crate) summary: String,
    pub(crate) used: Used,
}

/// The entries of the list that were of use, by their numbers.
#[derive(Default)]
pub(crate) struct Used {
    stops: BTreeSet<usize>,
    passes: BTreeSet<usize>,
    allowed: BTreeSet<usize>,
    pointers: BTreeSet<usize>,
}

impl Used {
    pub(crate) fn add(&mut self, other: &Used) {
        self.stops.extend(&other.stops);
        self.passes.extend(&other.passes);
        self.allowed.extend(&other.allowed);
        self.pointers.extend(&other.pointers);
    }
}

/// One fault, of any number of roots.
struct Reached {
    /// The way from the first root.
    path: String,
    /// The roots, each with its group.
    roots: BTreeSet<(String, String)>,
    at: BTreeSet<u64>,
}

/// The functions that a fault is between, and what it is.
type Edge = (String, String, String);

struct Verdict<'a> {
    list: &'a List,
    code: &'a Code,
    /// Roots whose address hot code may hand out: what is wrong with them is found from themselves.
    handed_out: BTreeSet<usize>,
    reached: BTreeMap<Edge, Reached>,
    /// In the order in which they were found.
    order: Vec<Edge>,
    faults: Vec<Fault>,
    used: Used,
}

/// Follows calls from every root of a library.
pub(crate) fn verdict(list: &List, code: &Code) -> Found {
    let (reached, order, faults, used) = Default::default();
    let mut handed_out = BTreeSet::new();
    for roots in &list.roots {
        let found = roots.names.iter().flat_map(|name| code.named(name));
        handed_out.extend(found.filter(|root| roots.is_strict() || code.is_public(*root)));
    }
    let mut verdict = Verdict { list, code, handed_out, reached, order, faults, used };
    let mut summary = String::new();
    verdict.check_library();
    let mut groups = Vec::new();
    for roots in &list.roots {
        let mut all = BTreeSet::new();
        for name in &roots.names {
            let starts = code.named(name);
            if starts.is_empty() {
                verdict.mistake(format!("{name}: not in the library: rename or remove it in {LIST}"));
            }
            all.extend(starts.into_iter().flat_map(|start| verdict.walk(roots, start)));
        }
        let count = roots.names.len();
        _ = writeln!(summary, "{}: {} functions from {count} roots", roots.what, all.len());
        groups.push((roots, all));
    }
    verdict.check_addresses(&groups);
    let Verdict { mut reached, order, mut faults, used, .. } = verdict;
    for edge in order {
        let Some(Reached { path, roots, at }) = reached.remove(&edge) else { continue };
        let mut text = path;
        if roots.len() > 1 {
            let mut groups = BTreeMap::<&str, usize>::new();
            roots.iter().for_each(|(group, _)| *groups.entry(group).or_default() += 1);
            let groups: Vec<String> =
                groups.iter().map(|(group, count)| format!("{group} ({count})")).collect();
            _ = write!(text, "\n    from roots of {}", groups.join(", "));
        }
        faults.push(Fault { text, at });
    }
    Found { faults, summary, used }
}

/// Entries of the list that no library has a use for.
pub(crate) fn unused(list: &List, used: &Used) -> Vec<Fault> {
    let stops = list.stop.iter().enumerate().filter(|(number, _)| !used.stops.contains(number));
    let stops = stops.map(|(_, stop)| format!("{}: no hot code calls it", stop.name));
    let passes = list.passes.iter().enumerate().filter(|(number, _)| !used.passes.contains(number));
    let passes = passes.map(|(_, pass)| format!("pass of {}: no root needs it", pass.roots.join(", ")));
    let allowed = list.allowed.iter().enumerate().filter(|(number, _)| !used.allowed.contains(number));
    let allowed =
        allowed.map(|(_, allowed)| format!("allowed {}: no hot code calls it", allowed.names.join(", ")));
    let pointers = list.pointers.iter().enumerate().filter(|(number, _)| !used.pointers.contains(number));
    let pointers =
        pointers.map(|(_, entry)| format!("pointers of {}: no hot code has one", entry.from.join(", ")));
    let texts = stops.chain(passes).chain(allowed).chain(pointers);
    let texts = texts.map(|text| format!("{text}: remove it from {LIST}"));
    texts.map(|text| Fault { text, at: BTreeSet::new() }).collect()
}

impl Verdict<'_> {
    fn mistake(&mut self, text: String) {
        self.faults.push(Fault { text, at: BTreeSet::new() });
    }

    /// Checks the library as a whole.
    fn check_library(&mut self) {
        if !self.code.is_bound {
            self.mistake(
                "not linked with `-z now`: the first call of a function looks it up in the loader".to_owned(),
            );
        }
        let patterns: Vec<&String> = self.list.roots.iter().flat_map(|roots| &roots.names).collect();
        for function in self.code.public() {
            let names = self.code.names(function);
            if !names.iter().any(|name| patterns.iter().any(|pattern| matches(pattern, name))) {
                let name = names.first().map_or("", String::as_str);
                self.mistake(format!("{name}: programs can call it: add it to the roots in {LIST}"));
            }
        }
    }

    /// Functions whose address is taken by code that is not hot may be called through a pointer by code that is.
    fn check_addresses(&mut self, groups: &[(&Roots, BTreeSet<usize>)]) {
        let strict = groups.iter().filter(|(roots, _)| roots.is_strict());
        let mut known: BTreeSet<usize> = strict.flat_map(|(_, all)| all.iter().copied()).collect();
        known.extend(
            self.list.roots.iter().flat_map(|roots| &roots.names).flat_map(|name| self.code.named(name)),
        );
        for (roots, all) in groups.iter().filter(|(roots, _)| !roots.is_strict()) {
            for call in all.iter().flat_map(|function| self.code.calls(*function)) {
                let Place::Function(to) = call.to else { continue };
                let names = self.code.names(to);
                if call.is_address && !names.iter().any(|name| roots.calls_back(name)) && known.insert(to) {
                    let text = format!(
                        "{}: `{}` takes its address: add it to the roots of hot code in {LIST}, or to `callbacks`",
                        names.first().map_or("", String::as_str),
                        roots.what,
                    );
                    self.faults.push(Fault { text, at: BTreeSet::from([call.at]) });
                }
            }
        }
    }

    /// Follows calls from a root; the functions that hot code reaches.
    fn walk(&mut self, roots: &Roots, root: usize) -> BTreeSet<usize> {
        let mut walk = Walk::default();
        walk.come(root, None);
        while let Some(function) = walk.next.pop_front() {
            for call in self.code.calls(function) {
                self.call(roots, root, &mut walk, function, call);
            }
        }
        walk.from.into_keys().collect()
    }

    fn call(&mut self, roots: &Roots, root: usize, walk: &mut Walk, caller: usize, call: Call) {
        let name = self.code.name(call.to);
        let fault = match call.to {
            Place::Function(to) => {
                let names = self.code.names(to);
                let is = |pattern: &str| names.iter().any(|name| matches(pattern, name));
                if let Some(stop) = self.list.stop.iter().position(|stop| is(&stop.name)) {
                    self.used.stops.insert(stop);
                    return;
                }
                if call.is_address && self.handed_out.contains(&to) {
                    return;
                }
                // One that programs can call only has the name of another library's function.
                let is_own = self.code.is_public(to);
                match names.iter().filter(|_| !is_own).find_map(|name| self.list.never(roots, name)) {
                    Some(never) => format!("{} reaches {}", roots.what, never.what),
                    None => return walk.come(to, Some(caller)),
                }
            }
            // Code that may reach what is forbidden may do so by pointers.
            Place::Pointer if !roots.is_strict() => return,
            Place::Pointer => match self.list.pointers(self.code.names(caller)) {
                Some(entry) => {
                    self.used.pointers.insert(entry);
                    return;
                }
                None => format!("{} reaches a call by a pointer that is not on a list", roots.what),
            },
            Place::Foreign(_) | Place::System(_) => {
                let root = self.code.names(root).first().map_or("", String::as_str);
                let root = root.split("::<").next().unwrap_or_default();
                let asked = HotCall { roots, root, caller: self.code.names(caller), name: &name };
                match self.list.ask(&asked) {
                    Answer::Harmless => return,
                    Answer::Passed(pass) => {
                        self.used.passes.insert(pass);
                        return;
                    }
                    Answer::Allowed(allowed) => {
                        self.used.allowed.insert(allowed);
                        return;
                    }
                    Answer::Never(never) => format!("{} reaches {}", roots.what, never.what),
                    Answer::Elsewhere => {
                        format!("{} reaches a call that is allowed elsewhere only", roots.what)
                    }
                    Answer::Unlisted => format!("{} reaches a call that is not on a list", roots.what),
                }
            }
        };
        self.reach(roots, fault, walk, caller, &name, call.at);
    }

    fn reach(&mut self, roots: &Roots, fault: String, walk: &Walk, caller: usize, name: &str, at: u64) {
        let name_of = |function| self.code.name(Place::Function(function));
        let what = fault.strip_prefix(&roots.what).unwrap_or_default().to_owned();
        let edge = (what, name_of(caller), name.to_owned());
        let path: Vec<String> = walk.path(caller).map(name_of).collect();
        let path: Vec<&str> = path.iter().rev().map(String::as_str).collect();
        let reached = self.reached.entry(edge.clone()).or_insert_with(|| {
            self.order.push(edge);
            let path = format!("{fault}: {} -> {name}", path.join(" -> "));
            Reached { path, roots: BTreeSet::new(), at: BTreeSet::new() }
        });
        reached.roots.insert((roots.what.clone(), path[0].to_owned()));
        reached.at.insert(at);
    }
}

/// A walk over functions, and how it got to each.
#[derive(Default)]
struct Walk {
    from: BTreeMap<usize, Option<usize>>,
    next: VecDeque<usize>,
}

impl Walk {
    fn come(&mut self, to: usize, from: Option<usize>) {
        self.from.entry(to).or_insert_with(|| {
            self.next.push_back(to);
            from
        });
    }

    /// From a function back to a root.
    fn path(&self, function: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(function), |at| self.from.get(at).copied().flatten())
    }
}
