//! The two commands.

use crate::error::Problem;
use std::ffi::{OsStr, OsString};

/// A variable of a command's environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl Variable {
    /// Parses `NAME=VALUE`. The value may be empty.
    ///
    /// # Errors
    /// A text without `=` or with nothing before it.
    pub fn parse(text: &str) -> Result<Variable, Problem> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() && !text.contains('\0') => {
                Ok(Variable { name: name.to_owned(), value: value.to_owned() })
            }
            _ => Err(Problem::Variable),
        }
    }
}

/// A command: a program with its arguments, and variables beside those that it inherits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arm {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its own variables.
    pub environment: Vec<Variable>,
}

impl Arm {
    /// The command of these words, with no variables of its own.
    ///
    /// # Errors
    /// No words.
    pub fn new(words: impl IntoIterator<Item = OsString>) -> Result<Arm, Problem> {
        let mut words = words.into_iter();
        let program = words.next().filter(|program| !program.is_empty()).ok_or(Problem::NoCommand)?;
        Ok(Arm { program, arguments: words.collect(), environment: Vec::new() })
    }

    /// Splits a line as a shell does: words, quotes and backslashes, and nothing else. No shell runs.
    ///
    /// # Errors
    /// A quote that is not closed, or a line without words.
    pub fn parse(line: &str) -> Result<Arm, Problem> {
        let words = shlex::split(line).ok_or(Problem::Quotes)?;
        Arm::new(words.into_iter().map(OsString::from))
    }

    /// The same command with these variables besides its own.
    #[must_use]
    pub fn with(mut self, variables: &[Variable]) -> Arm {
        self.environment.extend_from_slice(variables);
        self
    }

    /// The command as a shell takes it, its own variables first.
    pub fn line(&self) -> String {
        let variable = |of: &Variable| format!("{}={}", of.name, quoted(&of.value));
        let words = [&self.program].into_iter().chain(&self.arguments);
        let words = words.map(|word| quoted(&word.to_string_lossy()));
        self.environment.iter().map(variable).chain(words).collect::<Vec<_>>().join(" ")
    }

    /// The value of the command's own variable.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let mut own = self.environment.iter().rev();
        own.find(|of| of.name == name).map(|of| OsStr::new(&of.value))
    }
}

fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), |quoted| quoted.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_as_by_a_shell() {
        let arm = Arm::parse(r#"python 'my serve.py' --name "a b" c\ d"#).expect("a command");
        assert_eq!(arm.program, "python");
        assert_eq!(arm.arguments, ["my serve.py", "--name", "a b", "c d"]);
        assert_eq!(Arm::parse("a 'b"), Err(Problem::Quotes));
        assert_eq!(Arm::parse("  "), Err(Problem::NoCommand));
    }

    #[test]
    fn a_line_has_variables_and_quotes() {
        let variables = ["A=1 2", "B="].map(|text| Variable::parse(text).expect("a variable"));
        let arm = Arm::parse("run 'x y'").expect("a command").with(&variables);
        assert_eq!(arm.line(), "A='1 2' B='' run 'x y'");
        assert_eq!(arm.variable("A"), Some(OsStr::new("1 2")));
    }

    #[test]
    fn a_variable_has_a_name() {
        assert_eq!(Variable::parse("A=b=c").map(|of| of.value), Ok(String::from("b=c")));
        for wrong in ["A", "=b", ""] {
            assert_eq!(Variable::parse(wrong), Err(Problem::Variable), "{wrong}");
        }
    }
}
