//! A program before and after changes: for each change the accounts side by side, and both timelines on one scale.
//!
//! The page shows one change at a time: that whose [`choice`] is selected. Without scripts it shows all, one below the other.

mod accounts;

use crate::account;
use crate::document::{Data, Section};
use crate::html::Html;
use crate::timeline::{self, Beside};
use explain::{Explanation, Loss};
use trace::Trace;

/// Most deflated data of all timelines together, bytes: a choice, which keeps the page at a few MB.
const ROOM: usize = 4 << 20;

/// A trace and the result of [`explain::explain_each`] for it.
#[derive(Clone, Copy)]
pub struct Explained<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// Its explanation.
    pub explanation: &'a Explanation,
    /// Each single loss.
    pub losses: &'a [Loss],
}

/// The program after a change.
pub struct Change<'a> {
    /// The name of the change.
    pub name: &'a str,
    /// Effect on the program's time, in a sentence.
    pub summary: &'a str,
    /// Trace of the program with the change, explained.
    pub after: Explained<'a>,
    /// Text in place of its timeline; `None` if it has one.
    pub instead: Option<&'a str>,
}

/// A program before some changes and after each of them.
pub struct BeforeAfter<'a> {
    before: &'a Explanation,
    timeline: Beside,
    /// Room of one timeline, bytes.
    room: usize,
    changes: usize,
    accounts: Html,
    timelines: Html,
    data: Vec<Data>,
}

impl<'a> BeforeAfter<'a> {
    /// A program before changes, of which so many are going to have a timeline.
    pub fn new(before: Explained<'a>, timelines: usize) -> BeforeAfter<'a> {
        let room = ROOM / (timelines + 1);
        let Explained { trace, explanation, losses } = before;
        let timeline = timeline::beside((trace, explanation, losses), None, "before-", room);
        BeforeAfter {
            before: explanation,
            timeline,
            room,
            changes: 0,
            accounts: account::patterns(),
            timelines: Html::new(),
            data: Vec::new(),
        }
    }

    /// Adds the program after a change.
    pub fn push(&mut self, change: &Change<'_>) {
        let number = self.changes.to_string();
        self.changes += 1;
        let label = format!("Before and after {}", change.name);
        for html in [&mut self.accounts, &mut self.timelines] {
            html.open(
                "div",
                &[("class", "change"), ("data-change", &number), ("role", "group"), ("aria-label", &label)],
            );
            html.leaf("h3", &[], &label);
        }
        self.accounts.leaf("p", &[("class", "lede")], change.summary);
        self.accounts.push(&accounts::both(&self.before.accounts, &change.after.explanation.accounts));
        self.accounts.close("div");
        match change.instead {
            Some(instead) => {
                self.timelines.leaf("p", &[("class", "remark")], instead);
            }
            None => self.pair(change, &number),
        }
        self.timelines.close("div");
    }

    /// The timelines before and after.
    fn pair(&mut self, change: &Change<'_>, number: &str) {
        let Explained { trace, explanation, losses } = change.after;
        let (start, prefix) = (self.timeline.start, format!("after-{number}-"));
        let after = timeline::beside((trace, explanation, losses), Some(start), &prefix, self.room);
        let length = after.length.max(self.timeline.length).to_string();
        let html = &mut self.timelines;
        html.open("div", &[("class", "pair"), ("data-after", &prefix), ("data-length", &length)]);
        for (class, title) in [("timeline before", "Before"), ("timeline after", "After")] {
            html.open("div", &[("class", class), ("data-title", title)]);
            html.leaf("p", &[("class", "noscript")], &format!("{title}: the timeline needs JavaScript."));
            html.close("div");
        }
        html.close("div");
        for (title, remarks) in [("Before", &self.timeline.remarks), ("After", &after.remarks)] {
            for remark in remarks {
                html.leaf("p", &[("class", "remark")], &format!("{title}: {remark}"));
            }
        }
        // The page reads those of a change when it is selected.
        self.data.extend(after.data.into_iter().map(|data| Data { first: false, ..data }));
    }

    /// The sections of all changes: accounts, and timelines.
    pub fn sections(self) -> Vec<Section> {
        let mut data = self.timeline.data;
        data.extend(self.data);
        let lede = "Before is the replay of the unchanged program, and after that of the changed one. Both have one time scale: zoom and \
                    pan move both.";
        let mut timelines = Html::new();
        timelines.leaf("p", &[("class", "lede")], lede).push(&self.timelines);
        let section =
            |id, title: &str, body, script, data| Section { id, title: title.to_owned(), body, script, data };
        vec![
            section("accounts", "Accounts", self.accounts, "accounts", Vec::new()),
            section("timelines", "Timelines", timelines, "timelines", data),
        ]
    }
}

/// The button that selects the change with this number, counted in the order of [`BeforeAfter::push`].
pub fn choice(number: usize, is_selected: bool, name: &str) -> Html {
    let value = number.to_string();
    let mut attributes = vec![("type", "radio"), ("name", "change"), ("value", &*value)];
    attributes.extend(is_selected.then_some(("checked", "")));
    let mut html = Html::new();
    html.open("label", &[("class", "choice")])
        .open("input", &attributes)
        .text(" ")
        .leaf("b", &[], name)
        .close("label");
    html
}
