//! The search itself: one searcher per thread, results gathered per file, sorted and cut at the end.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::{DirEntry, WalkState};

use super::{Input, Mode};
use crate::base::text::{self, count};
use crate::tools::context::Tokens;
use crate::tools::fence::Fence;
use crate::tools::walk::{Scope, Start, walk};

const DEFAULT_LIMIT: usize = 200;
const LARGEST_LIMIT: usize = 2000;
const MOST_CONTEXT: usize = 20;
/// Matching lines gathered before the search ends: memory stays bounded whatever is searched for.
const GATHERED: usize = 20_000;
/// Results longer than this are cut, however few lines they are.
const BUDGET: usize = 30_000;
const LONGEST_LINE: usize = 400;

/// Searches, and returns what the model reads, or why there was no search.
pub(super) fn run(input: &Input, start: &Start, fence: Arc<Fence>, tokens: &Tokens) -> Result<String, String> {
    let matcher = matcher(input)?;
    let scope =
        Scope { globs: input.globs.clone(), types: input.types.clone(), hidden: input.hidden, ignored: input.ignored };
    let gathered = Gathered::default();
    let is_one_file = start.path.is_file();
    walk(start, &scope, fence)?.run(|| {
        let mut searcher = searcher(input, is_one_file);
        let (matcher, gathered) = (matcher.clone(), &gathered);
        Box::new(move |entry| {
            if tokens.is_cancelled() || gathered.matches.load(Ordering::Relaxed) >= GATHERED {
                return WalkState::Quit;
            }
            match entry {
                Ok(entry) => search_entry(&entry, &mut searcher, &matcher, start, input.mode, tokens, gathered),
                Err(error) => gathered.fail(&error.to_string()),
            }
            WalkState::Continue
        })
    });
    if tokens.is_cancelled() {
        return Err("interrupted.".to_owned());
    }
    Ok(gathered.said(input, start))
}

fn matcher(input: &Input) -> Result<RegexMatcher, String> {
    if input.pattern.is_empty() {
        return Err("the pattern is empty.".to_owned());
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(input.ignore_case)
        .fixed_strings(input.literal)
        .word(input.word)
        .multi_line(true)
        .dot_matches_new_line(input.multiline);
    if !input.multiline {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(&input.pattern).map_err(|error| {
        let hint = if error.to_string().contains("\\n") || input.pattern.contains("\\n") {
            "To match across lines set multiline"
        } else {
            "To look for the text as it stands set literal"
        };
        format!("the pattern is not valid: {error}. {hint}.")
    })
}

fn searcher(input: &Input, is_one_file: bool) -> Searcher {
    let around = if input.mode == Mode::Content { input.context.min(MOST_CONTEXT) } else { 0 };
    // A file that was named is searched even if it is binary; its matches are told without their text.
    let binary = if is_one_file { BinaryDetection::convert(0) } else { BinaryDetection::quit(0) };
    SearcherBuilder::new()
        .line_number(input.mode == Mode::Content)
        .multi_line(input.multiline)
        .before_context(around)
        .after_context(around)
        .binary_detection(binary)
        .build()
}

fn search_entry(
    entry: &DirEntry,
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    start: &Start,
    mode: Mode,
    tokens: &Tokens,
    gathered: &Gathered,
) {
    if !entry.file_type().is_some_and(|kind| kind.is_file()) {
        return;
    }
    gathered.files.fetch_add(1, Ordering::Relaxed);
    let mut hits = Hits { lines: Vec::new(), count: 0, is_binary: false, mode, tokens, gathered };
    if let Err(error) = searcher.search_path(matcher, entry.path(), &mut hits) {
        gathered.fail(&format!("{}: {error}", start.shown(entry.path()).display()));
    }
    if hits.count > 0 {
        let (lines, count, is_binary) = (hits.lines, hits.count, hits.is_binary);
        gathered.lock().push(FileHits { path: start.shown(entry.path()).to_owned(), lines, count, is_binary });
    }
}

/// What was found so far, by all threads.
#[derive(Default)]
struct Gathered {
    found: Mutex<Vec<FileHits>>,
    files: AtomicUsize,
    matches: AtomicUsize,
    failures: Mutex<(usize, String)>,
}

struct FileHits {
    path: PathBuf,
    lines: Vec<Line>,
    count: usize,
    is_binary: bool,
}

enum Line {
    Match(u64, String),
    Context(u64, String),
    /// Lines were left out here.
    Gap,
}

impl Gathered {
    fn lock(&self) -> MutexGuard<'_, Vec<FileHits>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, what: &str) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.0 += 1;
        if failures.1.is_empty() {
            what.clone_into(&mut failures.1);
        }
    }

    fn said(self, input: &Input, start: &Start) -> String {
        let ended_early = self.matches.load(Ordering::Relaxed) >= GATHERED;
        let files = self.files.load(Ordering::Relaxed);
        let mut found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_by(|a, b| a.path.cmp(&b.path));
        let mut out = String::new();
        if start.is_outside {
            let _ = writeln!(out, "[{} is outside the worktree]", start.path.display());
        }
        let searched = count(files, "file", "files");
        if found.is_empty() {
            let _ = write!(out, "No match for \"{}\" in {searched} searched.", text::headline(&input.pattern, 100));
            if files == 0 {
                out.push_str(" No file fits path, globs and types; hidden and ignored files count only if asked for.");
            }
        } else {
            write_found(&mut out, &found, input, ended_early);
        }
        let (failures, first) = self.failures.into_inner().unwrap_or_else(PoisonError::into_inner);
        if failures > 0 {
            let _ = write!(out, "\n[{} could not be searched; the first: {first}]", count(failures, "file", "files"));
        }
        out
    }
}

fn write_found(out: &mut String, found: &[FileHits], input: &Input, ended_early: bool) {
    let limit = input.limit.unwrap_or(DEFAULT_LIMIT).min(LARGEST_LIMIT);
    let matches: usize = found.iter().map(|file| file.count).sum();
    let unit = if input.mode == Mode::Content { "matching lines" } else { "files" };
    let mut shown = 0;
    'files: for file in found {
        let path = file.path.display();
        match input.mode {
            Mode::Files | Mode::Count => {
                if shown >= limit || out.len() >= BUDGET {
                    break 'files;
                }
                shown += 1;
                let _ = match input.mode {
                    Mode::Count => writeln!(out, "{path}:{}", file.count),
                    Mode::Files | Mode::Content => writeln!(out, "{path}"),
                };
            }
            Mode::Content if file.is_binary => {
                let _ = writeln!(out, "{path}: binary file with {}", count(file.count, "match", "matches"));
                shown += file.count;
            }
            Mode::Content => {
                if input.context > 0 && shown > 0 && shown < limit {
                    out.push_str("--\n");
                }
                for line in &file.lines {
                    let _ = match line {
                        Line::Match(..) | Line::Context(..) if shown >= limit || out.len() >= BUDGET => break 'files,
                        Line::Match(number, text) => {
                            shown += 1;
                            writeln!(out, "{path}:{number}:{text}")
                        }
                        Line::Context(number, text) => writeln!(out, "{path}-{number}-{text}"),
                        Line::Gap => writeln!(out, "--"),
                    };
                }
            }
        }
    }
    let total = if input.mode == Mode::Content { matches } else { found.len() };
    out.truncate(out.trim_end_matches('\n').len());
    if shown < total || ended_early {
        let more = if ended_early { "more than " } else { "" };
        let _ = write!(
            out,
            "\n[{shown} of {more}{total} {unit} shown; narrow it with path, globs or types, or use mode files]"
        );
    } else if input.mode == Mode::Count {
        let _ = write!(out, "\n[{matches} in all]");
    }
}

/// Gathers the matches of one file.
struct Hits<'a> {
    lines: Vec<Line>,
    count: usize,
    is_binary: bool,
    mode: Mode,
    tokens: &'a Tokens,
    gathered: &'a Gathered,
}

impl Sink for Hits<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        if self.tokens.is_cancelled() {
            return Ok(false);
        }
        let before = self.count;
        for (offset, line) in found.lines().enumerate() {
            self.count += 1;
            if self.mode == Mode::Content && !self.is_binary {
                let number = found.line_number().unwrap_or(0) + offset as u64;
                self.lines.push(Line::Match(number, shown(line)));
            }
        }
        let all = self.gathered.matches.fetch_add(self.count - before, Ordering::Relaxed);
        Ok(self.mode != Mode::Files && all < GATHERED)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, Self::Error> {
        self.lines.push(Line::Context(line.line_number().unwrap_or(0), shown(line.bytes())));
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        self.lines.push(Line::Gap);
        Ok(true)
    }

    fn binary_data(&mut self, searcher: &Searcher, _: u64) -> Result<bool, Self::Error> {
        self.is_binary = true;
        // In a walk, a file that turns out to be binary is not a result at all.
        if searcher.binary_detection().quit_byte().is_some() {
            self.count = 0;
            self.lines.clear();
            return Ok(false);
        }
        Ok(true)
    }
}

fn shown(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line);
    let line = line.trim_end_matches(['\n', '\r']);
    if line.len() <= LONGEST_LINE {
        return line.to_owned();
    }
    format!("{}… [line cut: {}]", text::prefix(line, LONGEST_LINE), text::size(line.len() as u64))
}
