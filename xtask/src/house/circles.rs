//! Circles of modules: files of a crate that use names of each other, directly or by way of others.

use super::modules::Source;
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::path::Path;

/// Files that lead from each to each.
pub struct Circle {
    /// Folder of the crate.
    pub member: String,
    /// Paths of the files from its folder `src`, in order.
    pub files: Vec<String>,
    /// Arrows between them: from, to, and a name that the first has from the second.
    pub arrows: Vec<(String, String, String)>,
}

impl fmt::Display for Circle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}: {} files: {}", self.member, self.files.len(), self.files.join(", "))?;
        self.arrows.iter().try_for_each(|(from, to, name)| writeln!(out, "    {from} -> {to}: {name}"))
    }
}

/// The circles of every crate, the largest first.
pub fn circles(root: &Path) -> io::Result<Vec<Circle>> {
    let mut crates = BTreeMap::<String, Vec<String>>::new();
    for name in super::sources(root)? {
        if let Some((member, file)) = name.split_once("/src/") {
            crates.entry(member.to_owned()).or_default().push(file.to_owned());
        }
    }
    let mut found = Vec::new();
    for (member, files) in crates {
        let source = Source::read(&root.join(&member).join("src"), &files)?;
        found.extend(of_crate(&member, &source));
    }
    found.sort_by_key(|circle| (std::cmp::Reverse(circle.files.len()), circle.member.clone()));
    Ok(found)
}

fn of_crate(member: &str, source: &Source) -> Vec<Circle> {
    let arrows = source.arrows();
    let graph: DiGraphMap<usize, ()> = arrows.keys().map(|(from, to)| (*from, *to, ())).collect();
    let rounds = tarjan_scc(&graph).into_iter().filter(|files| files.len() > 1);
    rounds.map(|files| circle(member, source, &files, &arrows)).collect()
}

fn circle(
    member: &str,
    source: &Source,
    files: &[usize],
    arrows: &HashMap<(usize, usize), String>,
) -> Circle {
    let name = |file: &usize| source.files[*file].clone();
    let inside = arrows.iter().filter(|((from, to), _)| files.contains(from) && files.contains(to));
    let mut arrows: Vec<_> = inside.map(|((from, to), used)| (name(from), name(to), used.clone())).collect();
    arrows.sort();
    let mut files: Vec<String> = files.iter().map(name).collect();
    files.sort();
    Circle { member: member.to_owned(), files, arrows }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let names: Vec<String> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
        let source = Source::read(folder.path(), &names).unwrap();
        of_crate("x", &source).into_iter().map(|circle| circle.files).collect()
    }

    #[test]
    fn files_that_use_each_other_are_a_circle() {
        let lib = ("lib.rs", "mod a;\nmod b;\npub use a::A;");
        let a = ("a.rs", "use crate::b::B;\npub struct A(B);");
        let b = ("b.rs", "pub struct B;");
        assert!(of(&[lib, a, b]).is_empty());
        // By way of what the root hands on, by a path in a body, and by a parent's import.
        for other in [
            "pub struct B;\nfn f(_: crate::A) {}",
            "use crate::A;\npub struct B(A);",
            "use super::a;\npub struct B;\nfn f() -> a::A { loop {} }",
        ] {
            assert_eq!(of(&[lib, a, ("b.rs", other)]), [["a.rs", "b.rs"]], "{other}");
        }
    }

    #[test]
    fn a_module_that_hands_names_on_and_tests_are_no_circle() {
        let parent = ("p/mod.rs", "mod c;\npub use c::C;");
        let child = ("p/c.rs", "pub struct C;\n#[cfg(test)]\nmod tests { use crate::user::f; }");
        let user = ("user.rs", "use crate::p::C;\npub fn f(_: C) {}");
        assert!(of(&[("lib.rs", "mod p;\nmod user;"), parent, child, user]).is_empty());
    }

    #[test]
    fn a_parent_and_its_child_may_be_a_circle() {
        let parent = ("p/mod.rs", "mod c;\nuse c::C;\npub struct P(C);");
        let child = ("p/c.rs", "use super::P;\npub struct C(Box<P>);");
        assert_eq!(of(&[("lib.rs", "mod p;"), parent, child]), [["p/c.rs", "p/mod.rs"]]);
    }
}
