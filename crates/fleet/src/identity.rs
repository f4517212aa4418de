//! Which run and which rank a trace is of, and how that is known.

use std::path::{Component, Path};
use trace::Trace;

/// How a run or a rank is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From {
    /// An option stated it.
    Option,
    /// The trace states it.
    Trace,
    /// The name of the file or its folder.
    Name,
    /// It is not known.
    Nothing,
}

impl From {
    /// The name in files.
    pub fn id(self) -> &'static str {
        match self {
            From::Option => "option",
            From::Trace => "trace",
            From::Name => "name",
            From::Nothing => "unknown",
        }
    }
}

/// Run and rank that options state.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The run.
    pub run: Option<String>,
    /// The rank.
    pub rank: Option<i64>,
}

/// Which trace of which run a digest is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The trace's path or address.
    pub name: String,
    /// The run.
    pub run: String,
    /// How the run is known.
    pub run_from: From,
    /// The rank; `None` if it is unknown.
    pub rank: Option<i64>,
    /// How the rank is known.
    pub rank_from: From,
    /// The rank that the name has, if the trace states another one.
    pub other_rank: Option<i64>,
    /// The machine; empty if the trace does not state it.
    pub host: String,
}

/// The run of traces in no folder.
const NO_RUN: &str = "unknown";

impl Identity {
    /// The identity of a trace, or of one that cannot be read.
    pub fn of(name: &str, trace: Option<&Trace>, given: &Given) -> Identity {
        let stated = trace.and_then(|trace| trace.meta.rank);
        let named = rank_of_name(name);
        let (rank, rank_from) = match (given.rank, stated, named) {
            (Some(rank), _, _) => (Some(rank), From::Option),
            (None, Some(rank), _) => (Some(rank), From::Trace),
            (None, None, Some(rank)) => (Some(rank), From::Name),
            (None, None, None) => (None, From::Nothing),
        };
        let (run, run_from) = match (&given.run, run_of_name(name)) {
            (Some(run), _) => (run.clone(), From::Option),
            (None, Some(run)) => (run, From::Name),
            (None, None) => (NO_RUN.to_owned(), From::Nothing),
        };
        Identity {
            name: name.to_owned(),
            run,
            run_from,
            rank,
            rank_from,
            other_rank: named.filter(|named| Some(*named) != rank),
            host: trace.map_or_else(String::new, |trace| trace.meta.host.clone()),
        }
    }
}

/// The rank in `rank12.json`, `trace_rank-12.json.gz` or `rank=12/trace.json`: of the file's name, else of a folder's.
fn rank_of_name(name: &str) -> Option<i64> {
    let parts: Vec<&str> = name.split(['/', '\\']).collect();
    parts.iter().rev().find_map(|part| {
        let part = part.to_lowercase();
        let after = &part[part.rfind("rank")? + "rank".len()..];
        let digits = after.trim_start_matches(['-', '_', '.', '=']);
        let digits = &digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())];
        digits.parse().ok()
    })
}

/// The folder of a trace that is not one of a rank.
fn run_of_name(name: &str) -> Option<String> {
    let folders: Vec<_> = Path::new(name).parent()?.components().collect();
    let folders = folders.iter().rev().filter_map(|part| match part {
        Component::Normal(part) => part.to_str(),
        _ => None,
    });
    let run =
        folders.skip_while(|folder| rank_of_name(folder).is_some()).find(|folder| !folder.contains(':'))?;
    Some(run.strip_prefix("run=").unwrap_or(run).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_that_of_the_name_only_where_nothing_else_states_it() {
        let cases = [
            ("/runs/a/rank12.json.gz", Some(12), "a"),
            ("s3://bucket/day=3/rank=7/trace.json", Some(7), "day=3"),
            ("/runs/run=b/worker_RANK-003.json", Some(3), "b"),
            ("/runs/c/trace.json", None, "c"),
            ("/runs/frank/trace12.json", None, "frank"),
            ("rank.json", None, "unknown"),
            ("rank99999999999999999999.json", None, "unknown"),
        ];
        for (name, rank, run) in cases {
            let identity = Identity::of(name, None, &Given::default());
            assert_eq!((identity.rank, identity.run.as_str()), (rank, run), "{name}");
        }
        let mut trace = Trace::default();
        trace.meta.rank = Some(5);
        let of = |given| Identity::of("/x/rank12.json", Some(&trace), &given);
        let stated = of(Given::default());
        assert_eq!((stated.rank, stated.rank_from, stated.other_rank), (Some(5), From::Trace, Some(12)));
        let given = of(Given { rank: Some(12), run: Some(String::from("r")) });
        assert_eq!((given.rank, given.rank_from, given.other_rank), (Some(12), From::Option, None));
        assert_eq!((given.run.as_str(), given.run_from), ("r", From::Option));
    }
}
