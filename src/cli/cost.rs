//! `mxd cost`: what was spent, by task, by model or by day. Only reads.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::base::{MicroUsd, TaskId, text};
use crate::cli::console::{Console, Outcome};
use crate::cli::place::{Here, home};
use crate::cli::tree::load;
use crate::model::event::Body;
use crate::model::usage::Tokens;

#[derive(clap::Args)]
pub struct Args {
    /// What to sum over.
    #[arg(long, value_enum, default_value = "task")]
    by: By,
    /// One row per line, as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum By {
    Task,
    Model,
    Day,
}

#[derive(Clone, Default, Serialize)]
struct Row {
    name: String,
    /// Whose it is, where it is summed over tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<TaskId>,
    responses: u64,
    tokens: u64,
    cost: MicroUsd,
    /// Responses whose price is not known: the cost is a lower bound.
    unpriced: u64,
}

impl Row {
    fn add(&mut self, tokens: &Tokens, cost: Option<MicroUsd>) {
        self.responses += 1;
        self.tokens = self.tokens.saturating_add(tokens.total());
        match cost {
            Some(cost) => self.cost += cost,
            None => self.unpriced += 1,
        }
    }
}

pub fn run(console: &mut Console, here: &Here, args: &Args) -> Outcome {
    let located = here.located(&home()?)?;
    let sessions = located.sessions();
    let titles: BTreeMap<_, _> = load(console, &located)?
        .map(|tree| tree.all().map(|node| (node.id, node.title.clone())).collect())
        .unwrap_or_default();
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let mut sum = Row { name: "all".to_owned(), ..Row::default() };
    let tasks = if sessions.folder().exists() { sessions.list()? } else { Vec::new() };
    for task in tasks {
        let title = titles.get(&task).map_or("(deleted)", String::as_str);
        let mut own: Vec<(String, Tokens, Option<MicroUsd>)> = Vec::new();
        // Whole files: what was rewound or summarised was paid for too.
        let read = sessions.stream(task, |event| match event.body {
            // What stands before this was spent by the task it was copied from.
            Body::ForkMarker(_) => own.clear(),
            Body::Usage(usage) => {
                let key = match args.by {
                    By::Task => format!("{task}"),
                    By::Model => usage.model.clone(),
                    By::Day => event.ts.to_seconds_string().chars().take(10).collect(),
                };
                own.push((key, usage.tokens, usage.cost));
            }
            _ => {}
        });
        if let Err(error) = read {
            console.note(&format!("warning: {error}; what it cost is not counted"));
        }
        for (key, tokens, cost) in own {
            let (name, whose) = match args.by {
                By::Task => (format!("{}  {}", task.short(), text::headline(title, 50)), Some(task)),
                By::Model | By::Day => (key.clone(), None),
            };
            let row = rows.entry(key).or_insert_with(|| Row { name, task: whose, ..Row::default() });
            row.add(&tokens, cost);
            sum.add(&tokens, cost);
        }
    }
    let mut rows: Vec<Row> = rows.into_values().collect();
    if args.by != By::Day {
        rows.sort_by_key(|row| std::cmp::Reverse(row.cost));
    }
    for row in rows.iter().chain((!args.json).then_some(&sum)) {
        if args.json {
            console.json(row)?;
        } else {
            let bound = if row.unpriced > 0 { "at least " } else { "" };
            console.line(&format!(
                "{:>12}  {:>12} tokens  {:>6}  {}",
                format!("{bound}{}", row.cost),
                row.tokens,
                text::count(usize::try_from(row.responses).unwrap_or(usize::MAX), "turn", "turns"),
                row.name
            ))?;
        }
    }
    console.finish()?;
    Ok(0)
}
