//! Runs searches: one searcher per thread, results collected per file, sorted and cut at the end.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::{DirEntry, WalkState};
use rustix::fs::OFlags;

use super::{Input, Mode};
use crate::base::sanitize;
use crate::base::text::{self, count};
use crate::tools::context::CancelTokens;
use crate::tools::fence::PathPolicy;
use crate::tools::path_display::spelled;
use crate::tools::walk::{SkippedFolders, Start, WalkFilter, walk};

const DEFAULT_LIMIT: usize = 200;
const LARGEST_LIMIT: usize = 2000;
const MAX_CONTEXT: usize = 20;
/// The most matching and context lines that are collected, to bound memory.
const MAX_COLLECTED: usize = 20_000;
/// The most bytes of a result.
const BUDGET: usize = 30_000;
const LONGEST_LINE: usize = 400;
/// The longest line, and with multiline the largest file, that a thread buffers.
const MAX_BUFFER: usize = 64 << 20;

/// Searches, and returns the text for the model, or why the search failed.
pub(super) fn run(
    input: &Input,
    start: &Start,
    fence: Arc<PathPolicy>,
    tokens: &CancelTokens,
) -> Result<String, String> {
    let matcher = matcher(input)?;
    let scope = WalkFilter {
        globs: input.globs.clone(),
        types: input.types.clone(),
        hidden: input.hidden,
        ignored: input.ignored,
    };
    let collector = MatchCollector::default();
    let is_one_file = start.path.is_file();
    let refused = Arc::<SkippedFolders>::default();
    walk(start, &scope, fence, &refused)?.run(|| {
        let mut searcher = searcher(input, is_one_file);
        let (matcher, collector) = (matcher.clone(), &collector);
        Box::new(move |entry| {
            if tokens.is_cancelled() || collector.is_full() {
                return WalkState::Quit;
            }
            match entry {
                Ok(entry) => search_entry(&entry, &mut searcher, &matcher, start, input.mode, tokens, collector),
                Err(error) => collector.fail(&sanitize::line(&error.to_string())),
            }
            WalkState::Continue
        })
    });
    if tokens.is_cancelled() {
        return Err("interrupted.".to_owned());
    }
    refused.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|problem| collector.fail(problem));
    collector.render(input, start)
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
    let around = if input.mode == Mode::Content { input.context.min(MAX_CONTEXT) } else { 0 };
    // A file that was named is searched even if it is binary; its matches are reported without their text.
    let binary = if is_one_file { BinaryDetection::convert(0) } else { BinaryDetection::quit(0) };
    SearcherBuilder::new()
        .line_number(input.mode == Mode::Content)
        .multi_line(input.multiline)
        .before_context(around)
        .after_context(around)
        .binary_detection(binary)
        .heap_limit(Some(MAX_BUFFER))
        .build()
}

fn search_entry(
    entry: &DirEntry,
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    start: &Start,
    mode: Mode,
    tokens: &CancelTokens,
    collector: &MatchCollector,
) {
    if !entry.file_type().is_some_and(|kind| kind.is_file()) {
        return;
    }
    let mut hits =
        MatchSink { lines: Vec::new(), count: 0, taken: 0, stored: 0, is_binary: false, mode, tokens, collector };
    // It was a regular file when it was listed: its replacement must neither lead elsewhere nor block.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let searched = File::options()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(entry.path())
        .and_then(|file| searcher.search_reader(matcher, Interruptible { file, tokens }, &mut hits));
    match searched {
        Ok(()) => {
            collector.files.fetch_add(1, Ordering::Relaxed);
        }
        Err(error) => collector.fail(&format!("{}: {error}", spelled(start.shown(entry.path())))),
    }
    if hits.count > 0 {
        let (lines, count, is_binary) = (hits.lines, hits.count, hits.is_binary);
        collector.lock().push(FileHits { path: start.shown(entry.path()).to_owned(), lines, count, is_binary });
    }
}

/// A file whose reads fail after a cancellation: a file without matches would otherwise be read to its end.
struct Interruptible<'a> {
    file: File,
    tokens: &'a CancelTokens,
}

impl Read for Interruptible<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.tokens.is_cancelled() {
            return Err(io::Error::other("interrupted"));
        }
        self.file.read(buffer)
    }
}

/// The matches of all threads.
#[derive(Default)]
struct MatchCollector {
    found: Mutex<Vec<FileHits>>,
    /// Files that were searched completely, or as far as requested.
    files: AtomicUsize,
    lines: AtomicUsize,
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
    /// Omitted lines.
    Gap,
}

impl MatchCollector {
    fn lock(&self) -> MutexGuard<'_, Vec<FileHits>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_full(&self) -> bool {
        self.lines.load(Ordering::Relaxed) >= MAX_COLLECTED
    }

    fn fail(&self, what: &str) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.0 += 1;
        if failures.1.is_empty() {
            what.clone_into(&mut failures.1);
        }
    }

    fn render(self, input: &Input, start: &Start) -> Result<String, String> {
        let ended_early = self.is_full();
        let files = self.files.load(Ordering::Relaxed);
        let (failures, first) = self.failures.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_by(|a, b| a.path.cmp(&b.path));
        if files == 0 && failures > 0 && found.is_empty() {
            return Err(match failures {
                1 => format!("{first}."),
                _ => format!("none of {failures} files could be searched; the first: {first}."),
            });
        }
        let mut out = String::new();
        if start.is_outside {
            let _ = writeln!(out, "[{} is outside the worktree]", spelled(&start.path));
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
        if failures > 0 {
            let _ = write!(out, "\n[{} could not be searched; the first: {first}]", count(failures, "file", "files"));
        }
        Ok(out)
    }
}

fn write_found(out: &mut String, found: &[FileHits], input: &Input, ended_early: bool) {
    let limit = input.limit.unwrap_or(DEFAULT_LIMIT).min(LARGEST_LIMIT);
    let matches: usize = found.iter().map(|file| file.count).sum();
    let unit = if input.mode == Mode::Content { "matching lines" } else { "files" };
    let mut shown = 0;
    'files: for file in found {
        let path = spelled(&file.path);
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

/// Collects the matches of one file.
struct MatchSink<'a> {
    lines: Vec<Line>,
    count: usize,
    /// How many of all collected lines belong to this file.
    taken: usize,
    /// The number of bytes of stored text. Text beyond the budget is never shown.
    stored: usize,
    is_binary: bool,
    mode: Mode,
    tokens: &'a CancelTokens,
    collector: &'a MatchCollector,
}

impl MatchSink<'_> {
    /// Counts one more line. Returns false if the limit is reached or the search is over. Where lines are only
    /// counted, a file counts as one line.
    fn take(&mut self) -> bool {
        if self.tokens.is_cancelled() {
            return false;
        }
        if self.mode == Mode::Count && self.taken > 0 {
            return true;
        }
        if self.collector.lines.fetch_add(1, Ordering::Relaxed) >= MAX_COLLECTED {
            return false;
        }
        self.taken += 1;
        true
    }

    fn add_line(&mut self, line: impl FnOnce(String) -> Line, bytes: &[u8]) {
        if self.mode == Mode::Content && !self.is_binary && self.stored < BUDGET {
            let text = shown(bytes);
            self.stored += text.len() + 1;
            self.lines.push(line(text));
        }
    }
}

impl Sink for MatchSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        for (line, number) in found.lines().zip(found.line_number().unwrap_or(0)..) {
            if !self.take() {
                return Ok(false);
            }
            self.count += 1;
            self.add_line(|text| Line::Match(number, text), line);
        }
        Ok(self.mode != Mode::Files)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, Self::Error> {
        if !self.take() {
            return Ok(false);
        }
        let number = line.line_number().unwrap_or(0);
        self.add_line(|text| Line::Context(number, text), line.bytes());
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        if self.stored < BUDGET {
            self.lines.push(Line::Gap);
        }
        Ok(true)
    }

    fn binary_data(&mut self, searcher: &Searcher, _: u64) -> Result<bool, Self::Error> {
        self.is_binary = true;
        // In a walk, a binary file is not a result.
        if searcher.binary_detection().quit_byte().is_some() {
            self.count = 0;
            self.lines.clear();
            self.collector.lines.fetch_sub(std::mem::take(&mut self.taken), Ordering::Relaxed);
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
