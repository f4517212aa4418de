//! The parts of a comparison that text and Markdown share: sections of lines, each a label and four figures.

use crate::escape::visible;
use crate::{explanation, place, steps, units};
use explain::diff::{
    AccountChange, Change, Diff, FindingChange, FindingState, GpuChange, Rates, Row, Subject, ThreadsChange,
};
use explain::{AccountPart, Place};
use trace::Ns;

/// Lines under a title.
pub(super) struct Section {
    pub title: String,
    pub lines: Vec<Line>,
    /// Changes that are noise: their number and their sum, ns.
    pub folded: (u64, Ns),
}

impl Section {
    fn says_something(&self) -> bool {
        let is_unchanged = |line: &Line| line.change.change_ns == 0;
        self.title.is_empty()
            || self.lines.len() > 1
            || self.folded.0 > 0
            || !self.lines.iter().all(is_unchanged)
    }
}

/// A figure of both sides.
pub(super) struct Line {
    /// The cause; empty in a line of a whole.
    pub cause: String,
    /// The place, the call, or what the figure is of.
    pub of: String,
    /// The same without the folders of files.
    pub short: String,
    pub change: Change,
    /// Rates, where the figure is one and no time, in 1/s.
    pub rates: Option<Rates>,
    /// State of a finding after the change, compared with before.
    pub state: Option<FindingState>,
}

impl Line {
    /// Before, after, the change, and its share of what was before.
    pub fn figures(&self) -> [String; 4] {
        if let Some(rates) = self.rates {
            return of_rates(rates);
        }
        let Change { before, after, change_ns, .. } = self.change;
        let share = self.change.share().filter(|_| change_ns != 0).map_or(String::new(), signed_share);
        let share = match self.state {
            Some(FindingState::New) => String::from("new"),
            Some(FindingState::Gone) => String::from("gone"),
            Some(FindingState::Grown | FindingState::Shrunk | FindingState::Same) | None => share,
        };
        [units::duration(before.ns), units::duration(after.ns), units::signed(change_ns), share]
    }
}

/// Rates before and after, their change, and its share of the rate before.
fn of_rates(Rates { before_per_s, after_per_s }: Rates) -> [String; 4] {
    let change = after_per_s - before_per_s;
    let sign = if change < 0.0 { "-" } else { "+" };
    let share = if before_per_s > 0.0 { signed_share(change / before_per_s) } else { String::new() };
    [per_second(before_per_s), per_second(after_per_s), format!("{sign}{}", per_second(change.abs())), share]
}

/// `18,204/s`, or `37.2/s` of a slow one.
fn per_second(rate: f64) -> String {
    let number = if rate < 100.0 { units::number(rate) } else { units::count(rate.round() as u64) };
    format!("{number}/s")
}

fn signed_share(share: f64) -> String {
    // A percentage of that size says less.
    match share {
        share if share >= 10.0 => format!("× {}", units::count((share + 1.0).round() as u64)),
        share if share >= 0.0 => format!("+{}", units::percent(share)),
        share => format!("-{}", units::percent(-share)),
    }
}

/// The whole time, then GPUs, steps, threads and findings; with `all` the changes that are noise, too.
pub(super) fn sections(diff: &Diff, all: bool) -> Vec<Section> {
    let mut sections = vec![whole(diff)];
    sections.extend(diff.gpus.iter().map(|gpu| section(gpu_title(gpu), &gpu.account, all)));
    if let Some(of) = &diff.steps {
        let name = steps::name(of.source, &of.name);
        sections.push(section(format!("Mean step ({name})"), &of.account, all));
    }
    sections.extend(threads(&diff.threads, all));
    sections.extend(findings(&diff.findings, all));
    sections.retain(Section::says_something);
    sections
}

fn whole(diff: &Diff) -> Section {
    let line = |of: String, change| Line {
        cause: String::new(),
        short: of.clone(),
        of,
        change,
        rates: None,
        state: None,
    };
    let mut lines = vec![line(String::from("time of the program"), diff.wall)];
    if let Some(of) = &diff.steps {
        lines.push(line(format!("median step ({})", steps::name(of.source, &of.name)), of.median));
    }
    Section { title: String::new(), lines, folded: (0, 0) }
}

fn gpu_title(gpu: &GpuChange) -> String {
    format!("GPU {} {}", gpu.device, visible(&gpu.name)).trim_end().to_owned()
}

fn section(title: String, account: &AccountChange, all: bool) -> Section {
    let (cause, of, short) = (String::from("span"), String::new(), String::new());
    let span = Line { cause, of, short, change: account.span, rates: None, state: None };
    let (shown, folded) = split(&account.rows, all);
    let mut lines = vec![span];
    lines.extend(shown.into_iter().map(row));
    Section { title, lines, folded }
}

/// The rows that get a line, and the number and sum of the others that changed.
fn split(rows: &[Row], all: bool) -> (Vec<&Row>, (u64, Ns)) {
    let (shown, folded): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| all || !row.noise);
    let folded = folded.iter().filter(|row| row.change.change_ns != 0);
    (shown, folded.fold((0, 0), |(count, sum), row| (count + 1, sum + row.change.change_ns)))
}

fn row(row: &Row) -> Line {
    let of = |place: Option<Place>| match row.what {
        Subject::Busy | Subject::Idle => String::new(),
        Subject::Cause(cause) => {
            let (places, calls) = (place.into_iter().collect(), vec![row.call.clone()]);
            let part = AccountPart { cause, ns: 0, places, calls, finding: None, spent: Vec::new() };
            visible(&place::of_part(&part)).into_owned()
        }
    };
    let (cause, short) = (row.what.id().to_owned(), of(row.place.as_ref().map(without_folders)));
    Line { cause, of: of(row.place.clone()), short, change: row.change, rates: None, state: None }
}

/// The place with the name of its file alone.
fn without_folders(place: &Place) -> Place {
    let file = place.file.rsplit('/').next().unwrap_or_default();
    Place { file: file.to_owned(), ..place.clone() }
}

/// The threads with changes; those without are in one line.
fn threads(threads: &[ThreadsChange], all: bool) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut folded = (0, 0);
    for of in threads {
        let mut section = section(threads_title(of), &of.account, all);
        section.lines.extend(of.launches.differ().then(|| launches(of.launches)));
        if section.lines.len() > 1 {
            sections.push(section);
        } else if section.folded.0 > 0 {
            folded = (folded.0 + section.folded.0, folded.1 + section.folded.1);
        }
    }
    if folded.0 > 0 {
        sections.push(Section { title: String::from("Other threads"), lines: Vec::new(), folded });
    }
    sections
}

/// `launches of a thread   1,024/s   18,204/s`
fn launches(rates: Rates) -> Line {
    let of = String::from("launches of a thread");
    Line {
        cause: String::new(),
        short: of.clone(),
        of,
        change: Change::default(),
        rates: Some(rates),
        state: None,
    }
}

/// `4 threads worker-#`, `8 threads in cudaLaunchKernel, 4 before`
fn threads_title(of: &ThreadsChange) -> String {
    let number = of.before_count.max(of.after_count);
    let count = units::counted(number, "thread", "threads");
    let name = match (of.name.is_empty(), of.call.is_empty()) {
        (false, _) => format!(" {}", visible(&of.name)),
        (true, false) => format!(" in {}", visible(&of.call)),
        (true, true) => String::new(),
    };
    let no_calls = if of.calls_cuda { "" } else { " without CUDA calls" };
    let other = match (of.before_count, of.after_count) {
        (before, after) if before == after => String::new(),
        (before, after) if before < after => format!(", {} before", units::count(before)),
        (_, after) => format!(", {} after", units::count(after)),
    };
    let title = format!("{count}{name}{no_calls}{other}");
    match number {
        1 => title.replacen("1 thread", "Thread", 1),
        _ => title,
    }
}

fn findings(findings: &[FindingChange], all: bool) -> Option<Section> {
    let (shown, folded): (Vec<_>, Vec<_>) = findings.iter().partition(|finding| all || !finding.noise);
    let folded = folded.iter().filter(|finding| finding.change.change_ns != 0);
    let folded = folded.fold((0, 0), |(count, sum), of| (count + 1, sum + of.change.change_ns));
    let lines: Vec<Line> = shown.into_iter().map(finding).collect();
    let title = String::from("Findings, by time lost");
    (!lines.is_empty() || folded.0 > 0).then_some(Section { title, lines, folded })
}

fn finding(finding: &FindingChange) -> Line {
    let call = match finding.call.as_str() {
        "" => "outside calls".into(),
        call => visible(call),
    };
    let of = |place: Option<Place>| {
        let place = place.as_ref().map(explanation::place_text).unwrap_or_default();
        format!("{call} {place}").trim_end().to_owned()
    };
    let (cause, short) = (finding.cause.id().to_owned(), of(finding.place.as_ref().map(without_folders)));
    Line {
        cause,
        of: of(finding.place.clone()),
        short,
        change: finding.change,
        rates: None,
        state: Some(finding.state),
    }
}

/// `and 12 changes within the noise, -3.00 ms together`; `None` if there are none.
pub(super) fn folded((count, sum): (u64, Ns)) -> Option<String> {
    let changes = units::counted(count, "change", "changes");
    (count > 0).then(|| format!("and {changes} within the noise, {} together", units::signed(sum)))
}

/// `1,240 ms to 1,262 ms before, 1,301 ms to 1,315 ms after`; `None` for one trace a side.
pub(super) fn spread(change: &Change, counts: (usize, usize)) -> Option<String> {
    let range = |least, most| format!("{} to {}", units::duration(least), units::duration(most));
    (counts.0 > 1 || counts.1 > 1).then(|| {
        format!(
            "{} before, {} after",
            range(change.before.least_ns, change.before.most_ns),
            range(change.after.least_ns, change.after.most_ns)
        )
    })
}
