//! A finding in a few lines of a terminal. `--all` shows it in full.

use super::paragraph::{HANGING, INDENT, is_unknown, list, painted_verdict};
use super::sentence::spoken;
use super::{gain, phrases};
use crate::escape::visible;
use crate::layout::{cut, elide, width, wrap};
use crate::page::Page;
use crate::place::{below, short};
use crate::style::Role;
use crate::units;
use explain::{Finding, Fix, Gains};

/// Most lines of a fix with what it is; without room for that, its name alone.
const FIX_LINES: usize = 2;

/// A finding that is written to the page.
pub(super) struct Brief<'a> {
    pub finding: &'a Finding,
    pub gains: &'a Gains,
    pub page: Page,
    pub many_processes: bool,
    pub knows_costs: bool,
}

impl Brief<'_> {
    pub fn write(&self, text: &mut String) {
        let finding = self.finding;
        self.headline(text);
        let sentence = phrases::brief_sentence(finding, self.many_processes);
        let longest = finding.examples.first().map_or_else(String::new, phrases::example);
        let with_longest = format!("{sentence}; longest {longest}");
        let room = self.page.columns - INDENT;
        let with_longest = (finding.count > 1).then_some(with_longest);
        let short = phrases::short_sentence(finding, self.many_processes);
        let fitting = with_longest.into_iter().chain([sentence]).find(|sentence| width(sentence) <= room);
        let sentence = fitting.unwrap_or_else(|| elide(&short, room));
        text.push_str(&format!("{:INDENT$}{sentence}\n", ""));
        self.field(text, "waits for", &self.holders());
        if is_unknown(finding) {
            self.field(text, "why", &phrases::because(finding));
        }
        self.field(text, "where", &self.place());
        self.fixes(text);
    }

    /// The places with the functions below them: as much of the path, and as many places, as fit whole.
    fn place(&self) -> String {
        let (places, below) = (&self.finding.places, below(self.finding));
        let Some(first) = places.first() else { return String::new() };
        let room = self.page.columns - HANGING;
        let others = places.len() - 1;
        let more = if others == 0 { String::new() } else { format!("; {others} more") };
        let forms = [
            format!("{}{below}", list(places)),
            format!("{}{below}{more}", phrases::place(first)),
            format!("{}{below}{more}", short(first)),
            format!("{}{below}", short(first)),
        ];
        forms.into_iter().find(|form| width(form) <= room).unwrap_or_else(|| short(first))
    }

    /// The id, what it costs, and to its right the cause with the confidence.
    fn headline(&self, text: &mut String) {
        let (finding, style) = (self.finding, self.page.style);
        let cost = if self.knows_costs { phrases::cost(finding) } else { String::new() };
        let lost = || format!("{} of host time", units::duration(finding.lost_ns));
        let headline = if cost.is_empty() { lost() } else { cost };
        let indent = width(&finding.id).max(INDENT - 2) + 2;
        let taken = indent + width(&headline) + width(&phrases::verdict(finding));
        let gap = self.page.columns.saturating_sub(taken).max(1);
        let (id, after_id) = (style.paint(Role::Strong, &finding.id), indent - width(&finding.id));
        let headline = style.paint(Role::Strong, &headline);
        let verdict = painted_verdict(finding, self.page);
        text.push_str(&format!("{id}{:after_id$}{headline}{:gap$}{verdict}\n", "", ""));
    }

    /// The thread that was waited for and where it was, the chain if there are more, or two threads that both fit.
    fn holders(&self) -> String {
        let finding = self.finding;
        let Some(holder) = &finding.holder else { return String::new() };
        let chain = phrases::chain(finding);
        match (finding.or.first(), chain.is_empty()) {
            (Some(other), _) => {
                let both = format!(
                    "{}, or {}",
                    phrases::party_in_call(holder, false),
                    phrases::party_in_call(other, false)
                );
                elide(&both, self.page.columns - HANGING)
            }
            (None, false) => chain,
            (None, true) => {
                let place =
                    holder.places.first().map_or_else(String::new, |place| format!(" at {}", short(place)));
                let detail = spoken(holder);
                let colon = if detail.is_empty() { "" } else { ": " };
                format!("{}{place}{colon}{detail}", phrases::party_in_call(holder, self.many_processes))
            }
        }
    }

    /// The names of the fixes with their gains, and what the first one is if there is room in two lines.
    fn fixes(&self, text: &mut String) {
        let Some((first, others)) = self.finding.fixes.split_first() else { return };
        let with_gain = |fix: &Fix| match self.gains.of(fix).and_then(gain::brief) {
            Some(gain) => format!("{} ({gain})", fix.id),
            None => fix.id.to_owned(),
        };
        let others: Vec<String> = others.iter().map(with_gain).collect();
        let or = if others.is_empty() { String::new() } else { format!("; or {}", others.join(", ")) };
        let gain = self.gains.of(first).map_or_else(String::new, gain::phrase);
        let dash = if gain.is_empty() { "" } else { " – " };
        let room = self.page.columns - HANGING;
        // What a fix is may have further parts, after a colon or a semicolon, and what is in brackets.
        let part = first.text.split([':', ';', '(']).next().unwrap_or_default().trim();
        let forms = [first.text, part].map(|what| format!("{}: {what}{dash}{gain}{or}", first.id));
        let colon = if gain.is_empty() { "" } else { ": " };
        let fix = forms.into_iter().find(|form| wrap(form, room).len() <= FIX_LINES);
        let fix = fix.unwrap_or_else(|| format!("{}{colon}{gain}{or}", first.id));
        for (at, line) in wrap(&fix, room).iter().enumerate() {
            match at {
                0 => self.field(text, "fix", line),
                _ => text.push_str(&format!("{:HANGING$}{line}\n", "")),
            }
        }
    }

    /// A label and its text in one line; nothing if the text is empty.
    fn field(&self, text: &mut String, label: &str, value: &str) {
        if value.is_empty() {
            return;
        }
        let label = format!("{label:<width$}", width = HANGING - INDENT);
        let label = self.page.style.paint(Role::Dim, &label);
        text.push_str(&format!(
            "{:INDENT$}{label}{}\n",
            "",
            cut(&visible(value), self.page.columns - HANGING)
        ));
    }
}
