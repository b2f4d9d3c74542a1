//! `mxd cost`: sums up costs by task, model or day. Read-only.

use crate::base::{TaskId, text};
use crate::cli::console::{Console, Outcome};
use crate::cli::locate::ProjectLocator;
use crate::cli::open_read_only::Viewer;
use crate::cli::paint::{Span, Style};
use crate::cli::table::{Column, Fit, Table, cell};
use crate::engine::query::{CostRow, CostsBy};

#[derive(clap::Args)]
pub struct Args {
    /// Group costs by.
    #[arg(long, value_enum, default_value = "task")]
    by: By,
    /// Print one JSON row per line.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum By {
    Task,
    Model,
    Day,
}

impl From<By> for CostsBy {
    fn from(by: By) -> Self {
        match by {
            By::Task => Self::Task,
            By::Model => Self::Model,
            By::Day => Self::Day,
        }
    }
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    let viewer = Viewer::open(console, here)?;
    let rows = viewer.list(console, async |handle| handle.costs(args.by.into()).await)?;
    if args.json {
        rows.iter().try_for_each(|row| console.json(row))?;
    } else if console.is_terminal() && rows.is_empty() {
        console.line("no costs yet")?;
    } else if console.is_terminal() {
        console.table(&table(args.by, &rows))?;
    } else {
        rows.iter().chain([&total(&rows)]).try_for_each(|row| console.line(&line(row)))?;
    }
    let total = total(&rows);
    if total.asked > 0 && !args.json {
        console.line(&asked(&total))?;
    }
    console.finish()?;
    Ok(0)
}

/// Says how often agents asked for permission.
fn asked(total: &CostRow) -> String {
    let per_hundred = total.asked as f64 * 100.0 / total.calls.max(1) as f64;
    let asked = text::count(usize::try_from(total.asked).unwrap_or(usize::MAX), "call", "calls");
    format!("{asked} of {} asked for permission ({per_hundred:.1} per 100)", grouped(total.calls))
}

fn total(rows: &[CostRow]) -> CostRow {
    let mut total = CostRow { name: "total".to_owned(), ..CostRow::default() };
    for row in rows {
        total.merge(row);
    }
    total
}

/// Returns the costs as a table for a terminal, with their total.
fn table(by: By, rows: &[CostRow]) -> Table {
    let name = match by {
        By::Task => "Task",
        By::Model => "Model",
        By::Day => "Day (UTC)",
    };
    let mut table = Table::new(&[
        Column::right("Cost"),
        Column::right("Tokens"),
        Column::right("Turns"),
        Column::right("#"),
        Column::left(name).fit(Fit::Flexible),
        Column::left("Id").fit(Fit::Optional),
    ]);
    let total = total(rows);
    for (row, style) in rows.iter().map(|row| (row, Style::Plain)).chain([(&total, Style::Strong)]) {
        table.push(vec![
            cell(cost(row), style),
            cell(grouped(row.tokens), style),
            cell(grouped(row.responses), style),
            cell(row.number.map_or_else(String::new, |number| number.get().to_string()), Style::Dim),
            vec![if row.name.is_empty() { Span::dim("(deleted)") } else { Span::new(title(row), style) }],
            cell(row.task.map_or_else(String::new, TaskId::short), Style::Dim),
        ]);
    }
    table
}

fn title(row: &CostRow) -> String {
    text::headline(&row.name, 200)
}

fn cost(row: &CostRow) -> String {
    let bound = if row.unpriced > 0 { "at least " } else { "" };
    format!("{bound}{}", row.cost)
}

/// Returns a number with a comma between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

fn line(row: &CostRow) -> String {
    let cost = cost(row);
    let name = match row.task {
        Some(task) if row.name.is_empty() => format!("{}  (deleted)", task.short()),
        Some(task) => format!("{}  {}", task.short(), text::headline(&row.name, 50)),
        None => row.name.clone(),
    };
    let turns = text::count(usize::try_from(row.responses).unwrap_or(usize::MAX), "turn", "turns");
    format!("{cost:>12}  {:>12} tokens  {turns:>6}  {name}", row.tokens)
}

#[cfg(test)]
#[path = "cost_tests.rs"]
mod tests;
