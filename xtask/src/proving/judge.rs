//! Judges what a tool says of a case.

use super::case::Case;
use super::tool::{Screen, Tool, has};
use std::collections::BTreeMap;
use std::fmt;

/// Judgement of a screen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Judgement {
    /// Cause and place are in the statement, a fix on the screen.
    Right,
    /// The cause is on the screen.
    InPart,
    /// Anything else.
    Wrong,
    /// A control of which the statement says that nothing is to be mended.
    Clear,
    /// A control of which it says something else.
    Accusation,
}

impl fmt::Display for Judgement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Judgement::Right => "right",
            Judgement::InPart => "in part",
            Judgement::Wrong => "wrong",
            Judgement::Clear => "clear",
            Judgement::Accusation => "accusation",
        })
    }
}

/// Parts of the truth that a screen has, and the judgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Judged {
    pub judgement: Judgement,
    /// Whether the statement has the cause, and the place, and the screen a fix.
    pub parts: [bool; 3],
}

/// Judges a screen.
pub(super) fn judge(case: &Case, tool: &Tool, screen: &Screen) -> Judged {
    let truth = &case.truth;
    let says = |text: &str, classes: &[String], words: &BTreeMap<String, Vec<String>>| {
        classes.iter().filter_map(|class| words.get(class)).any(|words| has(text, words))
    };
    let states = says(&screen.statement, &truth.cause, &tool.cause);
    let has_place = truth.place.is_empty() || has(&screen.statement, &truth.place);
    let has_fix = truth.fix.is_empty() || case.is_fix_implied || says(&screen.text, &truth.fix, &tool.fix);
    let parts = [states, has_place, has_fix];
    let judgement = match () {
        () if case.is_control() && states => Judgement::Clear,
        () if case.is_control() => Judgement::Accusation,
        () if parts == [true; 3] => Judgement::Right,
        () if says(&screen.text, &truth.cause, &tool.cause) => Judgement::InPart,
        () => Judgement::Wrong,
    };
    Judged { judgement, parts }
}

#[cfg(test)]
mod tests {
    use super::super::case::{Half, Truth};
    use super::*;

    fn judged(cause: &str, answer: &str) -> Judgement {
        let words = |class: &str, word: &str| BTreeMap::from([(class.to_owned(), vec![word.to_owned()])]);
        let mut causes = words("file", "files are written");
        causes.extend(words("nothing", "nothing holds it up"));
        let tool = Tool {
            command: Vec::new(),
            header: 0,
            cause: causes,
            fix: words("write-elsewhere", "async-save"),
        };
        let is_control = cause == "nothing";
        let texts = |text: &str| if is_control { Vec::new() } else { vec![text.to_owned()] };
        let truth =
            Truth { cause: vec![cause.to_owned()], place: texts("run.py:7"), fix: texts("write-elsewhere") };
        let (name, title) = (String::from("case"), String::new());
        let case =
            Case { name, half: Half::Open, title, input: "trace".into(), truth, is_fix_implied: false };
        judge(&case, &tool, &tool.screen(answer)).judgement
    }

    #[test]
    fn a_right_answer_has_cause_place_and_fix() {
        assert_eq!(judged("file", "40 %: files are written (run.py:7; async-save).\n"), Judgement::Right);
        assert_eq!(judged("file", "40 %: files are written (run.py:7).\n\nasync-save\n"), Judgement::Right);
        assert_eq!(judged("file", "40 %: files are written (run.py:7).\n"), Judgement::InPart);
        assert_eq!(judged("file", "40 %: files are written (run.py:8; async-save).\n"), Judgement::InPart);
        assert_eq!(
            judged("file", "GPU idle.\n40 %: files are written (run.py:7; async-save).\n"),
            Judgement::InPart
        );
        assert_eq!(judged("file", "GPU idle.\n"), Judgement::Wrong);
    }

    #[test]
    fn a_control_is_accused_by_anything_but_that_nothing_is_to_be_mended() {
        assert_eq!(judged("nothing", "busy: nothing holds it up.\n"), Judgement::Clear);
        assert_eq!(judged("nothing", "40 %: files are written.\n"), Judgement::Accusation);
    }
}
