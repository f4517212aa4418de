//! The columns of a printed table, recognized by their titles.

use super::amount::time_unit;
use trace::Ns;

/// The meaning of a column. Titles of nvprof, of its CSV, and of nsys in all its versions are mapped to one set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub(super) enum Column {
    Start,
    End,
    Duration,
    Name,
    Correlation,
    Result,
    Process,
    Thread,
    ThreadName,
    Grid,
    GridX,
    GridY,
    GridZ,
    Block,
    BlockX,
    BlockY,
    BlockZ,
    Registers,
    StaticShared,
    DynamicShared,
    Size,
    Rate,
    Source,
    Destination,
    Device,
    Context,
    Stream,
    /// The nesting depth of an NVTX range: only a table of ranges has it.
    Level,
}

const COUNT: usize = Column::Level as usize + 1;

/// The column of a title, without its unit and in lower case.
fn column(title: &str) -> Option<Column> {
    Some(match title {
        "start" => Column::Start,
        "end" => Column::End,
        "duration" => Column::Duration,
        "name" | "range" => Column::Name,
        "correlation_id" | "corrid" => Column::Correlation,
        "result" => Column::Result,
        "pid" => Column::Process,
        "tid" => Column::Thread,
        "thread name" => Column::ThreadName,
        "grid size" => Column::Grid,
        "grid x" | "grdx" => Column::GridX,
        "grid y" | "grdy" => Column::GridY,
        "grid z" | "grdz" => Column::GridZ,
        "block size" => Column::Block,
        "block x" | "blkx" => Column::BlockX,
        "block y" | "blky" => Column::BlockY,
        "block z" | "blkz" => Column::BlockZ,
        "regs" | "registers per thread" | "reg/trd" => Column::Registers,
        "ssmem" | "static smem" | "stcsmem" => Column::StaticShared,
        "dsmem" | "dynamic smem" | "dymsmem" => Column::DynamicShared,
        "size" | "bytes" => Column::Size,
        "throughput" => Column::Rate,
        "srcmemtype" | "srcmemkd" => Column::Source,
        "dstmemtype" | "dstmemkd" => Column::Destination,
        "device" => Column::Device,
        "context" | "ctx" => Column::Context,
        "stream" | "strm" => Column::Stream,
        "lvl" | "rangestack" => Column::Level,
        _ => return None,
    })
}

/// The tool that printed a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Printer {
    Nvprof,
    Nsys,
}

/// The kind of a table's rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rows {
    Calls,
    /// GPU operations; in nvprof's merged listing also calls.
    Ops,
    Ranges,
}

/// How the cells of a row are separated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// By two spaces or more.
    Text,
    Csv,
}

/// A table, declared by its titles.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) printer: Printer,
    pub(super) rows: Rows,
    pub(super) form: Form,
    /// Number of columns, including unknown ones.
    pub(super) width: usize,
    at: [Option<usize>; COUNT],
    units: [Option<String>; COUNT],
    /// Whether a row of units may follow: nvprof's CSV has one after the titles.
    wants_units: bool,
}

impl Table {
    /// The table whose titles these are; `None` for any other line.
    pub(super) fn of_titles(titles: &[String], form: Form) -> Option<Table> {
        let (mut at, mut units) = ([None; COUNT], [const { None }; COUNT]);
        for (index, title) in titles.iter().enumerate() {
            let (title, unit) = apart(title);
            let Some(column) = column(&title.to_lowercase()) else { continue };
            at[column as usize] = Some(index);
            units[column as usize] = unit;
        }
        let has = |column: Column| at[column as usize].is_some();
        if !has(Column::Start) || !has(Column::Duration) || !has(Column::Name) {
            return None;
        }
        // Only nsys has units in its titles.
        let printer = if units[0].is_some() { Printer::Nsys } else { Printer::Nvprof };
        let rows = match () {
            () if has(Column::Level) => Rows::Ranges,
            () if has(Column::Stream) || has(Column::Device) => Rows::Ops,
            () => Rows::Calls,
        };
        let wants_units = form == Form::Csv && printer == Printer::Nvprof;
        Some(Table { printer, rows, form, width: titles.len(), at, units, wants_units })
    }

    /// Takes the columns' units from the row after the titles; returns whether the row held units.
    pub(super) fn take_units(&mut self, row: &[String]) -> bool {
        let start = row.get(self.at[0].unwrap_or(0)).map_or("", |unit| unit);
        if !std::mem::take(&mut self.wants_units) || time_unit(start).is_none() {
            return false;
        }
        for (unit, at) in self.units.iter_mut().zip(self.at) {
            *unit = at.and_then(|at| row.get(at)).filter(|unit| !unit.is_empty()).cloned();
        }
        true
    }

    /// The cell of a row in a column; `None` if it is `-` or the table lacks the column.
    pub(super) fn cell<'r>(&self, row: &'r [String], column: Column) -> Option<&'r str> {
        let text = row.get(self.at[column as usize]?)?.trim();
        (!text.is_empty() && text != "-").then_some(text)
    }

    /// The unit that a column's title or the row of units states.
    pub(super) fn unit(&self, column: Column) -> Option<&str> {
        self.units[column as usize].as_deref()
    }

    pub(super) fn time_unit(&self, column: Column) -> Option<Ns> {
        time_unit(self.unit(column)?)
    }
}

/// The title and the unit of `Start (ns)` or `Regs*`.
fn apart(title: &str) -> (&str, Option<String>) {
    let title = title.trim().trim_end_matches('*');
    match title.split_once('(') {
        Some((title, unit)) => (title.trim_end(), Some(unit.trim_end_matches(')').to_owned())),
        None => (title, None),
    }
}

/// Whether titles are those of a summary, whose rows are sums, not events.
pub(super) fn is_summary(line: &str) -> bool {
    let line = line.trim_start_matches(['"', ' ', '>', '│', '|', '\t']);
    let first = line.strip_prefix("Type").map_or(line, |rest| rest.trim_start_matches(['"', ',', ' ', '\t']));
    let has = |words: &[&str]| words.iter().all(|word| line.contains(word));
    let is_share = first.starts_with("Time(%)") || first.starts_with("Time (%)");
    is_share
        || line.starts_with("Host-side activity")
        || (has(&["Self CPU", "CPU total"]) && !line.starts_with(['{', '[']))
}
