//! `search`: a regular expression over a tree of files.

mod run;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::names;
use crate::tools::reply::Reply;
use crate::tools::tool::{Call, Handler, ToolEffect};
use crate::tools::walk::Start;
use run::run;

pub(super) struct Search;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// Lines that match.
    #[default]
    Content,
    /// Names of files with a match.
    Files,
    /// How many lines match, per file.
    Count,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch that a model knows from rg")]
pub(super) struct Input {
    /// A regular expression in Rust syntax (as rg): no look-around, no back-references.
    pattern: String,
    /// A file or a folder. Default: the current folder.
    #[serde(default)]
    path: Option<String>,
    /// Globs that file names must match, such as `*.rs`; `!` in front excludes.
    #[serde(default)]
    globs: Vec<String>,
    /// File types as rg knows them, such as `rust`, `ts`, `py`.
    #[serde(default)]
    types: Vec<String>,
    /// What to return. Default content.
    #[serde(default)]
    mode: Mode,
    /// Take the pattern as plain text.
    #[serde(default)]
    literal: bool,
    #[serde(default)]
    ignore_case: bool,
    /// Match whole words only.
    #[serde(default)]
    word: bool,
    /// Let a match span lines; `.` then matches line breaks too.
    #[serde(default)]
    multiline: bool,
    /// Lines to show before and after each match. At most 20.
    #[serde(default)]
    context: usize,
    /// Include hidden files.
    #[serde(default)]
    hidden: bool,
    /// Include what .gitignore excludes.
    #[serde(default)]
    ignored: bool,
    /// The most matching lines or files to return. Default 200, up to 2000.
    #[serde(default)]
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

impl Handler for Search {
    const NAME: &'static str = names::SEARCH;
    const DESCRIPTION: &'static str = "Searches file contents with a regular expression, as fast as rg. Returns \
        path:line:text, context lines as path-line-text; or only file names (mode files) or counts (mode count). \
        Respects .gitignore, leaves out hidden and binary files. At most 200 results unless limit says more; what is \
        left out is said. Braces and parentheses are regular expression syntax: escape them or set literal.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    const EXAMPLE: &'static str = r#"{"pattern": "fn \\w+_error\\(", "path": "src", "types": ["rust"], "context": 2}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let context = &call.context;
        let start = match Start::find(input.path.as_deref(), &context.cwd.get(), &context.path_policy) {
            Ok(start) => start,
            Err(problem) => return Reply::error(format!("Could not search: {problem}")),
        };
        let (fence, tokens) = (Arc::clone(&context.path_policy), context.tokens.clone());
        let searched = tokio::task::spawn_blocking(move || run(&input, &start, fence, &tokens));
        match searched.await {
            Ok(Ok(text)) => Reply::text(text),
            Ok(Err(problem)) => Reply::error(format!("Could not search: {problem}")),
            Err(_) => Reply::error("Could not search: the search failed."),
        }
    }
}
