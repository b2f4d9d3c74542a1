//! `mxd cost`: sums up costs by task, model or day. Read-only.

use crate::base::text;
use crate::cli::console::{Console, Outcome};
use crate::cli::locate::ProjectLocator;
use crate::cli::open_read_only::Viewer;
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
    let mut rows = viewer.list(console, async |handle| handle.costs(args.by.into()).await)?;
    for row in &mut rows {
        if let Some(task) = row.task {
            let title = if row.name.is_empty() { "(deleted)" } else { &row.name };
            row.name = format!("{}  {}", task.short(), text::headline(title, 50));
        }
    }
    if args.json {
        rows.iter().try_for_each(|row| console.json(row))?;
    } else {
        rows.iter().chain([&total(&rows)]).try_for_each(|row| console.line(&line(row)))?;
    }
    console.finish()?;
    Ok(0)
}

fn total(rows: &[CostRow]) -> CostRow {
    let mut total = CostRow { name: "total".to_owned(), ..CostRow::default() };
    for row in rows {
        total.responses += row.responses;
        total.tokens = total.tokens.saturating_add(row.tokens);
        total.cost += row.cost;
        total.unpriced += row.unpriced;
    }
    total
}

fn line(row: &CostRow) -> String {
    let bound = if row.unpriced > 0 { "at least " } else { "" };
    let cost = format!("{bound}{}", row.cost);
    let turns = text::count(usize::try_from(row.responses).unwrap_or(usize::MAX), "turn", "turns");
    format!("{cost:>12}  {:>12} tokens  {turns:>6}  {}", row.tokens, row.name)
}
