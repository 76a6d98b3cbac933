//! What a run found, for people and for programs.

use crate::aim::{Aim, Bound};
use crate::machine::Machine;
use crate::repeats::REPEATS;
use crate::report::times;
use serde::Serialize;
use std::fmt;

/// Everything that a run found.
#[derive(Debug, Serialize)]
pub struct Report {
    pub(crate) machine: Machine,
    pub(crate) repeats: usize,
    pub(crate) tables: Vec<Table>,
    pub(crate) verdicts: Vec<Verdict>,
}

/// Figures of several candidates.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) note: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Row>,
}

/// Figures of one candidate.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) is_ours: bool,
    pub(crate) cells: Vec<Cell>,
}

/// A figure.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Cell {
    /// Without decimals.
    Whole(f64),
    /// With as many decimals as say something.
    Fine(f64),
    /// In times of something else.
    Times(f64),
    /// The least and the most.
    Range(f64, f64),
}

impl Cell {
    const fn value(self) -> f64 {
        match self {
            Self::Whole(value) | Self::Fine(value) | Self::Times(value) | Self::Range(value, _) => value,
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Fine(value) if value < 10.0 => write!(f, "{value:.2}"),
            Self::Fine(value) if value < 100.0 => write!(f, "{value:.1}"),
            Self::Whole(value) | Self::Fine(value) => write!(f, "{value:.0}"),
            Self::Times(ratio) => f.write_str(&times(ratio)),
            Self::Range(least, most) => write!(f, "{}-{}", times(least), times(most)),
        }
    }
}

/// Whether an aim was reached.
#[derive(Debug, Serialize)]
pub(crate) struct Verdict {
    #[serde(flatten)]
    aim: Aim,
    value: f64,
    is_reached: bool,
}

impl Report {
    /// Puts together what was found, and judges it.
    pub(crate) fn new(tables: Vec<Table>, aims: &[Aim]) -> Self {
        let verdicts = aims.iter().filter_map(|&aim| verdict(aim, &tables)).collect();
        Self { machine: Machine::current(), repeats: REPEATS, tables, verdicts }
    }
}

/// The names of columns.
pub(crate) fn columns(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Nothing if we have no row in that table, or it was not measured.
fn verdict(aim: Aim, tables: &[Table]) -> Option<Verdict> {
    let table = tables.iter().find(|table| table.title.starts_with(aim.table))?;
    let column = table.columns.iter().position(|column| column == aim.column)?;
    let row = table.rows.iter().find(|row| row.is_ours)?;
    let value = row.cells.get(column)?.value();
    let is_reached = match aim.bound {
        Bound::AtLeast(bound) => value >= bound,
        Bound::AtMost(bound) => value <= bound,
    };
    Some(Verdict { aim, value, is_reached })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { machine, repeats, tables, verdicts } = self;
        writeln!(f, "Machine: {machine}.\n")?;
        writeln!(
            f,
            "Figures are medians of {repeats} repeats; ratios are taken within one of them. Bold is ours."
        )?;
        for table in tables {
            write!(f, "{table}")?;
        }
        if !verdicts.is_empty() {
            writeln!(f, "\n## Aims\n")?;
        }
        for Verdict { aim: Aim { table, column, bound }, value, is_reached } in verdicts {
            let verdict = if *is_reached { "PASS" } else { "MISS" };
            writeln!(f, "- {verdict}: {table}: {column}: {} (aim: {bound})", Cell::Fine(*value))?;
        }
        Ok(())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, note, columns, rows } = self;
        writeln!(f, "\n## {title}\n\n{note}\n")?;
        writeln!(f, "| | {} |", columns.join(" | "))?;
        writeln!(f, "|---|{}", "--:|".repeat(columns.len()))?;
        for Row { name, is_ours, cells } in rows {
            let name = if *is_ours { format!("**{name}**") } else { (*name).to_owned() };
            let cells: String = cells.iter().map(|cell| format!(" {cell} |")).collect();
            writeln!(f, "| {name} |{cells}")?;
        }
        Ok(())
    }
}
