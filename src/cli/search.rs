//! `mxd search`: words, over everything that was ever said in this project.

use crate::base::{Clock as _, Fault, SystemClock, text};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::place::Here;
use crate::cli::viewer::Viewer;
use crate::model::search::{Hit, Question, moment};

#[derive(clap::Args)]
pub struct Args {
    /// What to look for. All words must be there; the start of a word is enough; "words in quotes" stand together.
    #[arg(required = true)]
    words: Vec<String>,
    /// Only in this task and what is below it.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Not before: 3h, 2d or 1w ago, a day such as 2026-11-01, or a moment.
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Before: as --since.
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// How many places to show.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// One place per line, as JSON, best first.
    #[arg(long)]
    json: bool,
}

pub fn run(console: &mut Console, here: &Here, args: &Args) -> Outcome {
    if args.words.iter().all(|word| word.trim().is_empty()) {
        return Err(Fault::user("there is nothing to look for").hint("`mxd search WORDS`").into());
    }
    let viewer = Viewer::open(console, here)?;
    let below = args.task.as_ref().map(|name| viewer.find(name)).transpose()?;
    let question = Question {
        // An argument with spaces was quoted in the shell: its words stand together.
        words: args.words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        below,
        since: args.since.as_deref().map(when).transpose()?,
        until: args.until.as_deref().map(when).transpose()?,
        limit: args.limit.max(1),
    };
    let found = viewer.ask(async |handle| handle.search(question).await)?;
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
            console.note("nothing was found");
        } else if found.more {
            console.note(&format!("there is more: -n {} shows twice as much", args.limit.saturating_mul(2)));
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

fn when(text: &str) -> Result<crate::base::Timestamp, Fault> {
    moment(text, SystemClock.now(), &jiff::tz::TimeZone::system()).ok_or_else(|| {
        Fault::user(format!("\"{text}\" is no moment"))
            .hint("say 3h, 2d or 1w for so long ago, a day such as 2026-11-01, or 2026-11-01T08:00:00Z")
    })
}

fn show(console: &mut Console, hit: &Hit) -> Result<(), Failure> {
    let title = if hit.title.is_empty() { "a task that is not in the tree" } else { &hit.title };
    let rewound = if hit.rewound { ", rewound" } else { "" };
    let event = hit.event.map(|event| format!("  {event}")).unwrap_or_default();
    console.line(&format!(
        "{}  {}  {}{rewound}  {}{event}",
        hit.at.to_seconds_string(),
        text::headline(title, 48),
        hit.place,
        hit.task.short(),
    ))?;
    console.line(&format!("    {}", hit.excerpt))
}
