//! Cases of the proving ground, with their truth.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Classes of causes and fixes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Classes {
    /// Fixes that follow from the cause and its place.
    pub implied: Vec<String>,
    /// Causes: name and meaning.
    pub cause: BTreeMap<String, String>,
    /// Fixes: name and meaning.
    pub fix: BTreeMap<String, String>,
}

/// The class of a control's cause.
const NOTHING: &str = "nothing";

impl Classes {
    pub fn read(path: &Path) -> Result<Classes, String> {
        let classes: Classes = read_toml(path)?;
        let stray = classes.implied.iter().find(|fix| !classes.fix.contains_key(*fix));
        stray.map_or(Ok(()), |fix| Err(format!("{}: no fix `{fix}`", path.display())))?;
        Ok(classes)
    }
}

/// Half of the cases.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Half {
    /// Rules may be changed for its cases.
    Open,
    /// Rules may not be changed for its cases.
    Sealed,
}

impl Half {
    /// The half of a case: by the CRC-32 of its name, so that nobody chooses it.
    pub fn of(name: &str) -> Half {
        if crc32fast::hash(name.as_bytes()).is_multiple_of(2) { Half::Open } else { Half::Sealed }
    }
}

impl fmt::Display for Half {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Half::Open => "open",
            Half::Sealed => "sealed",
        })
    }
}

/// A case.
pub(super) struct Case {
    pub name: String,
    pub half: Half,
    pub title: String,
    /// The file that a tool is given; of a program it may not be recorded yet.
    pub input: PathBuf,
    pub truth: Truth,
    /// Whether a screen that has cause and place has the fix.
    pub is_fix_implied: bool,
}

impl Case {
    /// Whether nothing is to be mended.
    pub fn is_control(&self) -> bool {
        self.truth.cause == [NOTHING]
    }
}

/// The answer that is right.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Truth {
    /// Classes, any of which is right.
    pub cause: Vec<String>,
    /// Texts, any of which is the place; none if the input cannot tell.
    #[serde(default)]
    pub place: Vec<String>,
    /// Classes, any of which is right; none if nothing is to be mended.
    #[serde(default)]
    pub fix: Vec<String>,
}

/// `case.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    /// A person's reading; nothing here uses it.
    #[serde(default, rename = "source")]
    _source: String,
    input: String,
    #[serde(default)]
    program: Option<Program>,
    truth: Truth,
    #[serde(default, rename = "measured")]
    _measured: Option<toml::Table>,
}

/// A program to record, as `proving/measure` reads it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    #[serde(default, rename = "build")]
    _build: String,
    command: String,
    #[serde(default)]
    fixed: String,
    #[serde(default, rename = "needs")]
    _needs: Vec<String>,
}

/// All cases in order of their names; each is checked.
pub(super) fn all(ground: &Path, classes: &Classes) -> Result<Vec<Case>, String> {
    let mut cases = BTreeMap::new();
    for part in ["reports", "programs", "controls"] {
        let folder = ground.join(part);
        let listing = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for entry in listing {
            let path = entry.map_err(|error| error.to_string())?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let case = read(&path, name.clone(), part, classes)?;
            if cases.insert(name, case).is_some() {
                return Err(format!("{}: another case has this name", path.display()));
            }
        }
    }
    Ok(cases.into_values().collect())
}

fn read(folder: &Path, name: String, part: &str, classes: &Classes) -> Result<Case, String> {
    let path = folder.join("case.toml");
    let file: File = read_toml(&path)?;
    let problem = |what: String| Err(format!("{}: {what}", path.display()));
    let truth = file.truth;
    if let Some(cause) = truth.cause.iter().find(|cause| !classes.cause.contains_key(*cause)) {
        return problem(format!("no cause `{cause}` in classes.toml"));
    }
    if let Some(fix) = truth.fix.iter().find(|fix| !classes.fix.contains_key(*fix)) {
        return problem(format!("no fix `{fix}` in classes.toml"));
    }
    if truth.cause.is_empty() || (part == "controls") != (truth.cause == [NOTHING]) {
        return problem("controls, and they alone, have the cause `nothing`".to_owned());
    }
    let input = folder.join(&file.input);
    match &file.program {
        Some(program) if part == "programs" && program.fixed.is_empty() => {
            return problem("no fixed twin".to_owned());
        }
        Some(program) if program.command.is_empty() => return problem("an empty command".to_owned()),
        None if !input.exists() => return problem(format!("{} is not there", input.display())),
        _ => {}
    }
    let is_fix_implied = truth.fix.iter().any(|fix| classes.implied.contains(fix));
    Ok(Case { half: Half::of(&name), name, title: file.title, input, truth, is_fix_implied })
}

/// Reads a file whose form is `T`.
pub(super) fn read_toml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    toml::from_str(&text).map_err(|error| format!("{}: {}", path.display(), error.message()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_half_of_a_case_is_that_of_its_name_s_crc_32() {
        // The check value of CRC-32's specification.
        assert_eq!(crc32fast::hash(b"123456789"), 0xcbf4_3926);
        assert_eq!(Half::of("123456789"), Half::Open);
        assert_eq!(Half::of("a"), Half::Sealed);
    }
}
