//! `mxd search`: full-text search over all tasks of a project.

use crate::base::{Clock as _, Fault, SystemClock, text};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::local_time;
use crate::cli::locate::ProjectLocator;
use crate::cli::open_read_only::Viewer;
use crate::model::search::{Hit, SearchQuery, moment};

#[derive(clap::Args)]
pub struct Args {
    /// Words to find (all must match; prefixes match).
    ///
    /// "Quoted words" must follow each other.
    #[arg(required = true)]
    words: Vec<String>,
    /// Search only this task and its subtasks.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only since 3h, 2d, 1w, 2026-11-01 or 2026-11-01T08:00:00Z.
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only before this time (format: see --since).
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// Show at most N results.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print one JSON result per line, best first.
    #[arg(long)]
    json: bool,
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    if args.words.iter().all(|word| word.trim().is_empty()) {
        return Err(Fault::user("no search words given").hint("`mxd search WORDS`").into());
    }
    let viewer = Viewer::open(console, here)?;
    let below = args.task.as_ref().map(|name| viewer.find(name)).transpose()?;
    let query = SearchQuery {
        // An argument with spaces was quoted in the shell, so it is a phrase.
        words: args.words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        below,
        since: args.since.as_deref().map(parse_time).transpose()?,
        until: args.until.as_deref().map(parse_time).transpose()?,
        limit: args.limit.max(1),
    };
    let found = viewer.ask(async |handle| handle.search(query).await)?;
    for hit in &found.hits {
        if args.json {
            console.json(hit)?;
        } else {
            show(console, hit)?;
        }
    }
    console.finish()?;
    if !args.json {
        if found.hits.is_empty() {
            console.note("no results");
        } else if found.more {
            console.note(&format!("there are more results; use -n {} to see them", args.limit.saturating_mul(2)));
        }
    }
    Ok(0)
}

fn quoted(word: &str) -> String {
    if word.trim().contains(char::is_whitespace) && !word.contains('"') {
        format!("\"{word}\"")
    } else {
        word.to_owned()
    }
}

fn parse_time(text: &str) -> Result<crate::base::Timestamp, Fault> {
    moment(text, SystemClock.now(), &jiff::tz::TimeZone::system()).ok_or_else(|| {
        Fault::user(format!("\"{text}\" is not a time"))
            .hint("use 3h, 2d or 1w (ago), a day such as 2026-11-01, or 2026-11-01T08:00:00Z")
    })
}

fn show(console: &mut Console, hit: &Hit) -> Result<(), Failure> {
    let title = if hit.title.is_empty() { "a task that is not in the tree" } else { &hit.title };
    let rewound = if hit.rewound { ", rewound" } else { "" };
    let event = hit.event.map(|event| format!("  {event}")).unwrap_or_default();
    console.line(&format!(
        "{}  {}  {}{rewound}  {}{event}",
        local_time::moment(hit.at),
        text::headline(title, 48),
        hit.place,
        hit.task.short(),
    ))?;
    console.line(&format!("    {}", hit.excerpt))
}
