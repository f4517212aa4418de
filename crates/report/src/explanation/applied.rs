//! The lines that apply a fix, with the program's own line that they change.

use crate::escape::visible;
use crate::place::short;
use explain::{Explanation, Finding, Fix, Form, Place};

/// The lines that apply a fix of a finding.
pub struct Applied<'a> {
    /// The lines.
    pub form: &'static Form,
    /// Where they apply.
    pub place: Option<&'a Place>,
    /// The program's own line there, if it was read.
    pub source: Option<&'a str>,
}

impl<'a> Applied<'a> {
    /// The lines that apply a fix; `None` if it has none for the finding's framework.
    pub fn of(explanation: &'a Explanation, finding: &'a Finding, fix: &Fix) -> Option<Applied<'a>> {
        let (form, place) = (finding.form(fix)?, finding.place_of(fix));
        Some(Applied { form, place, source: place.and_then(|place| explanation.source_line(place)) })
    }

    /// `serve.py:34: out = model(x)`, with names escaped; `None` if the place has no line.
    pub fn heading(&self) -> Option<String> {
        let place = self.place.filter(|place| place.line > 0)?;
        let source = self.source.map_or_else(String::new, |line| format!(" {}", visible(line)));
        Some(format!("{}:{source}", short(place)))
    }
}
