//! A finding in a few lines of a terminal. `--all` shows it in full.

use super::full::{HANGING, INDENT, field, headline, is_unknown, list};
use super::sentence::spoken;
use super::{gain, phrases};
use crate::document::{Fit, Line, Paragraph};
use crate::layout::{elide, width, wrap};
use crate::page::Page;
use crate::place::{below, short};
use crate::style::Role;
use crate::units;
use explain::{Finding, Fix, Gains};

/// Most lines of a fix with what it is; without room for that, its name alone.
const FIX_LINES: usize = 2;

/// A finding in a few lines of a page.
pub(super) struct Brief<'a> {
    pub finding: &'a Finding,
    pub gains: &'a Gains,
    pub page: Page,
    pub many_processes: bool,
    pub knows_costs: bool,
}

impl Brief<'_> {
    pub fn paragraphs(&self) -> Vec<Paragraph> {
        let finding = self.finding;
        let sentence = phrases::brief_sentence(finding, self.many_processes);
        let longest = finding.examples.first().map_or_else(String::new, phrases::example);
        let with_longest = format!("{sentence}; longest {longest}");
        let room = self.page.columns - INDENT;
        let with_longest = (finding.count > 1).then_some(with_longest);
        let short = phrases::short_sentence(finding, self.many_processes);
        let fitting = with_longest.into_iter().chain([sentence]).find(|sentence| width(sentence) <= room);
        let sentence = fitting.unwrap_or_else(|| elide(&short, room));
        let mut paragraphs = vec![self.headline(), Paragraph::new(sentence).indented(INDENT).fit(Fit::Stay)];
        let why = if is_unknown(finding) { phrases::because(finding) } else { String::new() };
        let fields = [("waits for", self.holders()), ("why", why), ("where", self.place())];
        paragraphs
            .extend(fields.into_iter().filter_map(|(label, text)| Some(field(label, text)?.fit(Fit::Cut))));
        paragraphs.extend(self.fixes().and_then(|fixes| field("fix", fixes)));
        paragraphs
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
    fn headline(&self) -> Paragraph {
        let finding = self.finding;
        let cost = if self.knows_costs { phrases::cost(finding) } else { String::new() };
        let lost = || format!("{} of host time", units::duration(finding.lost_ns));
        headline(finding, Line::of(Role::Strong, if cost.is_empty() { lost() } else { cost }))
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
    fn fixes(&self) -> Option<String> {
        let (first, others) = self.finding.fixes.split_first()?;
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
        Some(fix.unwrap_or_else(|| format!("{}{colon}{gain}{or}", first.id)))
    }
}
