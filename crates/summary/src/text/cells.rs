//! The cells of a row, told apart by bars, by commas, or by what each column can hold.

use super::amount::{count, duration, is_share, unit};
use super::title::{Column, Form, Titles};
use crate::model::Tool;
use trace::Ns;

/// The values of a row that a summary keeps.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Values {
    pub(super) name: String,
    pub(super) first: String,
    pub(super) count: Option<u64>,
    pub(super) total_ns: Option<Ns>,
    pub(super) max_ns: Option<Ns>,
    pub(super) self_host_ns: Option<Ns>,
    pub(super) total_host_ns: Option<Ns>,
    pub(super) self_device_ns: Option<Ns>,
    pub(super) total_device_ns: Option<Ns>,
}

/// The values of a row; `None` if the line is none.
pub(super) fn row(line: &str, titles: &Titles) -> Option<Values> {
    match titles.form {
        Form::Bars if line.contains(['│', '|']) => separated(&by_bars(line), titles),
        Form::Csv => separated(&by_commas(line), titles),
        Form::Bars | Form::Plain => plain(line, titles),
    }
}

/// Whether a line begins as a row does, though it may not be one to its end.
pub(super) fn begins(line: &str, titles: &Titles) -> bool {
    let line = line.trim_start().trim_start_matches(['│', '|', '"', ' ']);
    let mut words = line.split_whitespace();
    match titles.tool {
        Tool::Torch => words.any(|word| word.ends_with('%') && is_share(word)),
        Tool::Nvprof | Tool::Julia => words.next().is_some_and(|word| word.ends_with('%') && is_share(word)),
        Tool::Nsys => {
            let is_number = |word: &str| duration(word, Some(1)).is_some();
            titles.columns.first() == Some(&Column::Share)
                && words.clone().take(3).filter(|word| is_number(word)).count() == 3
        }
    }
}

fn by_bars(line: &str) -> Vec<String> {
    let bar = if line.contains('│') { '│' } else { '|' };
    let inner = line.trim().trim_start_matches(bar);
    let inner = inner.strip_suffix(bar).unwrap_or(inner);
    inner.split(bar).map(|cell| cell.trim().to_owned()).collect()
}

/// The cells of a line of CSV; a quoted cell may hold commas and doubled quotation marks.
fn by_commas(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.trim().chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
    }
    cells.push(cell);
    cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
}

/// The values of cells. The last columns may be missing, and a name may have held a separator.
fn separated(cells: &[String], titles: &Titles) -> Option<Values> {
    let mut cells = cells.to_vec();
    let columns = &titles.columns;
    if cells.len() > columns.len() && columns.last() == Some(&Column::Name) {
        let name = cells.split_off(columns.len() - 1).join("|");
        cells.push(name);
    }
    let mut values = Values::default();
    for (at, (cell, column)) in cells.iter().zip(columns).enumerate() {
        let cell = cell.trim();
        let is_fit = match column {
            Column::Name => true,
            Column::Type => values.first.is_empty(),
            Column::Text | Column::Triple | Column::Number | Column::Size => true,
            Column::Share => cell.is_empty() || is_share(cell),
            Column::Count => count(cell).is_some(),
            Column::Distribution => true,
            Column::Total | Column::SelfHost | Column::TotalHost => {
                duration(cell, titles.units[at]).is_some()
            }
            Column::Time | Column::Maximum | Column::SelfDevice | Column::TotalDevice => true,
        };
        if !is_fit {
            return None;
        }
        values.take(*column, cell, titles.units[at]);
    }
    values.done()
}

/// The values of a line whose cells only spaces separate.
fn plain(line: &str, titles: &Titles) -> Option<Values> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if titles.columns.first() != Some(&Column::Name) {
        return walk(&words, titles, Values::default());
    }
    // The name has at least one word; the first place where all columns fit is its end.
    (1..words.len().min(LONGEST_NAME)).find_map(|end| {
        let values = Values { name: words[..end].join(" "), ..Values::default() };
        walk(&words[end..], titles, values)
    })
}

/// Words of the longest name before the columns of PyTorch's tables.
const LONGEST_NAME: usize = 64;

/// Takes the words of a row column by column.
fn walk(words: &[&str], titles: &Titles, mut values: Values) -> Option<Values> {
    let mut rest = words;
    for (at, column) in titles.columns.iter().enumerate() {
        if at == 0 && *column == Column::Name {
            continue;
        }
        if rest.is_empty() && matches!(column, Column::Text | Column::Number | Column::Size) {
            break;
        }
        match column {
            Column::Name => {
                values.name = rest.join(" ");
                rest = &[];
            }
            Column::Text => break,
            _ => {
                let taken = words_of(*column, rest, titles.units[at])?;
                values.take(*column, &rest[..taken].join(" "), titles.units[at]);
                rest = &rest[taken..];
            }
        }
    }
    values.done()
}

/// Number of words that a column has of a row; `None` if they do not fit it.
fn words_of(column: Column, words: &[&str], of_column: Option<Ns>) -> Option<usize> {
    let first = words.first().copied().unwrap_or_default();
    let second = words.get(1).copied().unwrap_or_default();
    let is_nothing = matches!(first, "-" | "--");
    match column {
        Column::Share if second == "%" && is_share(first) => Some(2),
        Column::Share => is_share(first).then_some(1),
        Column::Count => count(first).is_some().then_some(1),
        Column::Total | Column::Time | Column::Maximum | Column::SelfHost | Column::TotalHost => {
            time(first, second, of_column).or(is_nothing.then_some(1))
        }
        Column::SelfDevice | Column::TotalDevice => {
            time(first, second, of_column).or(is_nothing.then_some(1))
        }
        Column::Number => (is_nothing || first.parse::<f64>().is_ok()).then_some(1),
        Column::Size if is_nothing => Some(1),
        Column::Size if first.parse::<f64>().is_ok() => Some(2),
        Column::Size => first.starts_with(|c: char| c.is_ascii_digit() || c == '-').then_some(1),
        Column::Triple => Some(words.iter().take(3).take_while(|word| count(word).is_some()).count().max(1)),
        Column::Type => Some(words.iter().take_while(|word| !is_share(word)).count()),
        Column::Distribution if second == "ns" || unit(second).is_some() => {
            words.iter().position(|word| word.ends_with(')')).map(|end| end + 1)
        }
        Column::Distribution => Some(0),
        Column::Name | Column::Text => None,
    }
}

/// Number of words of a time: `4.95ms`, `4.95 ms`, or a number in a column with a unit.
fn time(first: &str, second: &str, of_column: Option<Ns>) -> Option<usize> {
    if of_column.is_none() && unit(second).is_some() && duration(first, Some(1)).is_some() {
        return Some(2);
    }
    let is_nan = first.eq_ignore_ascii_case("nan");
    (is_nan || duration(first, of_column).is_some()).then_some(1)
}

impl Values {
    fn take(&mut self, column: Column, text: &str, unit: Option<Ns>) {
        let ns = || duration(text, unit);
        match column {
            Column::Name => self.name = text.to_owned(),
            Column::Type => self.first = text.to_owned(),
            Column::Count => self.count = count(text),
            Column::Total => self.total_ns = ns(),
            Column::Maximum => self.max_ns = ns(),
            Column::Distribution => self.max_ns = longest(text),
            Column::SelfHost => self.self_host_ns = ns(),
            Column::TotalHost => self.total_host_ns = ns(),
            Column::SelfDevice => self.self_device_ns = ns(),
            Column::TotalDevice => self.total_device_ns = ns(),
            Column::Share | Column::Time | Column::Number | Column::Size | Column::Triple | Column::Text => {}
        }
    }

    /// The values, if there are enough of them: a name and a time.
    fn done(mut self) -> Option<Values> {
        self.name =
            self.name.trim_end_matches(['⋯', '…', ' ', '"']).trim_start_matches('"').trim().to_owned();
        let has_time = self.total_ns.is_some() || self.self_host_ns.is_some() || self.total_host_ns.is_some();
        (has_time && !self.name.is_empty()).then_some(self)
    }
}

/// The longest of `2.48 ms ± 3.49 (0.01 ‥ 4.94)`, which has the unit of the mean.
fn longest(text: &str) -> Option<Ns> {
    let unit = unit(text.split_whitespace().nth(1)?)?;
    let range = text.rsplit_once('(')?.1.trim_end_matches(')');
    let (_, longest) = range.rsplit_once(['‥', '…']).or_else(|| range.rsplit_once(".."))?;
    duration(longest, Some(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(titles: &str, line: &str) -> Option<Values> {
        row(line, &Titles::of(titles).expect("titles"))
    }

    #[test]
    fn rows_of_every_layout_are_told_apart() {
        let nvprof = "Type  Time(%)      Time     Calls       Avg       Min       Max  Name";
        let values = read(
            nvprof,
            " GPU activities:   70.36%  77.0104s    810000  95.074us  74.113us  279.72us  f(int, int)",
        );
        let values = values.expect("a row");
        assert_eq!((values.name.as_str(), values.first.as_str()), ("f(int, int)", "GPU activities:"));
        assert_eq!(
            (values.count, values.total_ns, values.max_ns),
            (Some(810_000), Some(77_010_400_000), Some(279_720))
        );
        let julia = "│ Time (%) │ Total time │ Calls │ Time distribution │ Name │";
        let line =
            "│   98.38% │    4.95 ms │     2 │   2.48 ms ± 3.49   (  0.01 ‥ 4.94)   │ cudaMemcpyAsync │";
        let with_bars = read(julia, line).expect("a row");
        assert_eq!(with_bars.max_ns, Some(4_940_000));
        assert_eq!(read(julia, &line.replace('│', " ")).as_ref(), Some(&with_bars), "bars lost");
        assert_eq!(
            read(julia, "    0.75%     37.67 µs    1      cudaFuncGetAttributes").unwrap().max_ns,
            None
        );
        let torch = "Name Self CPU % Self CPU CPU total % CPU total CPU time avg CPU Mem Self CUDA Self CUDA % CUDA total CUDA time avg # of Calls";
        let line = "Memcpy HtoD (Pageable -> Device)  0.00%  0.000us  0.00%  0.000us  0.000us  -1.50 Kb  12.3us  NaN%  12.3us  12.3us  1  ";
        let values = read(torch, line).expect("a row");
        assert_eq!(
            (values.name.as_str(), values.self_device_ns),
            ("Memcpy HtoD (Pageable -> Device)", Some(12_300))
        );
        let nsys = "Time (%),Total Time (ns),Num Calls,Name";
        assert_eq!(read(nsys, r#"100.0,5,1,"f(int, ""g"")""#).unwrap().name, r#"f(int, "g")"#);
        for line in ["", "│", "│ a │ b │", "1 2 3", "98.38% 4.95 ms", "the 3 rows took 5 ms"] {
            assert_eq!(read(julia, line), None, "{line}");
        }
    }
}
