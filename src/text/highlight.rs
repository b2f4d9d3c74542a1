//! Syntax highlighting: the role of each part of a line of code.
//!
//! The grammars are loaded on first use, which takes tens of milliseconds ([`warm`] does it early), and never change.
//! The colours of a line depend only on the lines before it, so growing text is highlighted incrementally
//! ([`lines_from`]). The cost is bounded: very long lines and very long texts stay plain.

mod scopes;

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::rc::Rc;
use std::sync::OnceLock;

use syntect::parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet};
use unicode_segmentation::UnicodeSegmentation as _;

use crate::theme::Role;

/// A longer line is plain, and so is everything after it: the state of the parser is unknown from there.
pub const MAX_LINE: usize = 4 * 1024;
/// The number of lines and bytes that are highlighted; the rest is plain.
pub const MAX_LINES: usize = 10_000;
pub const MAX_BYTES: usize = 512 * 1024;

fn grammars() -> &'static SyntaxSet {
    static GRAMMARS: OnceLock<SyntaxSet> = OnceLock::new();
    GRAMMARS.get_or_init(two_face::syntax::extra_newlines)
}

/// Loads the grammars.
pub fn warm() {
    grammars();
}

#[derive(Clone, Copy, Debug)]
pub struct Language(&'static SyntaxReference);

impl PartialEq for Language {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Language {}

impl Language {
    /// Finds a language by the info string of a fenced code block: a name, an extension, an alias.
    pub fn named(word: &str) -> Option<Self> {
        let word = word.split([',', ' ', '{', ':']).next().unwrap_or_default().to_ascii_lowercase();
        let word = match word.as_str() {
            "" | "text" | "txt" | "plain" | "plaintext" | "output" => return None,
            "shell" | "console" | "shell-session" | "terminal" | "zsh" => "sh",
            "jsonc" | "json5" | "jsonl" | "ndjson" => "json",
            "c++" | "cxx" => "cpp",
            "c#" => "cs",
            "golang" => "go",
            "dockerfile" | "containerfile" => "Dockerfile",
            "make" => "Makefile",
            "patch" => "diff",
            "objective-c" | "objc" => "m",
            "mts" | "cts" => "ts",
            word => word,
        };
        grammars().find_syntax_by_token(word).map(Self)
    }

    /// Finds a language by a file name.
    pub fn of_path(path: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        let by_name = grammars().find_syntax_by_extension(name);
        let by_extension = || {
            let (_, extension) = name.rsplit_once('.')?;
            grammars().find_syntax_by_extension(extension).map(Self).or_else(|| Self::named(extension))
        };
        by_name.map(Self).or_else(by_extension).filter(|language| !language.is_plain())
    }

    /// Finds a language by the first line of a text, such as `#!/bin/sh`.
    pub fn of_first_line(text: &str) -> Option<Self> {
        let line = text.lines().next().unwrap_or_default();
        if line.len() > MAX_LINE {
            return None;
        }
        grammars().find_syntax_by_first_line(line).map(Self).filter(|language| !language.is_plain())
    }

    pub fn name(self) -> &'static str {
        &self.0.name
    }

    fn is_plain(self) -> bool {
        self.0.name == "Plain Text"
    }
}

/// The roles of the parts of one line, in order and without gaps, as ranges of its bytes.
pub type Parts = Vec<(Range<usize>, Role)>;

/// Highlights the lines of one text, one after the other.
#[derive(Clone)]
struct Highlighter {
    state: ParseState,
    stack: ScopeStack,
    lines: usize,
    bytes: usize,
    plain: bool,
    known: HashMap<syntect::parsing::Scope, Option<Role>>,
}

impl Highlighter {
    fn new(language: Language) -> Self {
        Self {
            state: ParseState::new(language.0),
            stack: ScopeStack::new(),
            lines: 0,
            bytes: 0,
            plain: false,
            known: HashMap::new(),
        }
    }

    /// Returns the roles of the next line, given without its line end.
    fn line(&mut self, line: &str) -> Parts {
        self.lines += 1;
        self.bytes += line.len() + 1;
        self.plain |= line.len() > MAX_LINE || self.lines > MAX_LINES || self.bytes > MAX_BYTES;
        if self.plain {
            return plain(line);
        }
        let with_end = format!("{line}\n");
        let Ok(changes) = self.state.parse_line(&with_end, grammars()) else {
            self.plain = true;
            return plain(line);
        };
        let mut parts: Parts = Vec::new();
        let mut at = 0;
        for (position, change) in &changes {
            let position = (*position).min(line.len());
            if position > at {
                self.part(at..position, &mut parts);
                at = position;
            }
            if self.stack.apply(change).is_err() {
                self.plain = true;
                return plain(line);
            }
        }
        if at < line.len() {
            self.part(at..line.len(), &mut parts);
        }
        whole_graphemes(line, parts)
    }

    fn part(&mut self, range: Range<usize>, parts: &mut Parts) {
        let known = &mut self.known;
        let role_of = |scope: &syntect::parsing::Scope| *known.entry(*scope).or_insert_with(|| scopes::role(*scope));
        let role = self.stack.as_slice().iter().rev().find_map(role_of).unwrap_or(Role::Text);
        match parts.last_mut() {
            Some((last, same)) if *same == role => last.end = range.end,
            _ => parts.push((range, role)),
        }
    }
}

/// Moves boundaries that a grammar put inside a grapheme behind it: a grapheme is drawn and measured as one.
fn whole_graphemes(line: &str, parts: Parts) -> Parts {
    if line.is_ascii() {
        return parts;
    }
    let mut ends = line.grapheme_indices(true).map(|(at, grapheme)| at + grapheme.len());
    let (mut end, mut start) = (0, 0);
    let mut whole = Parts::with_capacity(parts.len());
    for (range, role) in parts {
        while end < range.end {
            end = ends.next().unwrap_or(line.len());
        }
        if end > start {
            whole.push((start..end, role));
            start = end;
        }
    }
    whole
}

fn plain(line: &str) -> Parts {
    if line.is_empty() { Vec::new() } else { vec![(0..line.len(), Role::Text)] }
}

thread_local! {
    /// The state of a grammar cannot be sent to other threads, so each thread has its own cache. It caches a pure
    /// function.
    static MEMO: RefCell<Memo> = const { RefCell::new(Memo { entries: Vec::new(), bytes: 0, growing: Vec::new() }) };
}

/// Returns the roles of all lines of `text`. Recent blocks are cached, because they are laid out again at every
/// change of width.
pub fn lines(language: Language, text: &str) -> Rc<[Parts]> {
    let mut hasher = DefaultHasher::new();
    (language.name(), text).hash(&mut hasher);
    let key = (language.name(), hasher.finish(), text.len());
    MEMO.with_borrow_mut(|memo| {
        memo.find(key).unwrap_or_else(|| {
            let parts = memo.growing(language, text).lines_from(text, 0).into();
            memo.keep(key, &parts);
            parts
        })
    })
}

/// Returns the roles of the lines of `text` after the first `skip`. If `text` extends an earlier one, only the added
/// lines are parsed.
pub fn lines_from(language: Language, text: &str, skip: usize) -> Vec<Parts> {
    MEMO.with_borrow_mut(|memo| memo.growing(language, text).lines_from(text, skip))
}

/// A recently highlighted block that may still grow.
struct Growing {
    language: Language,
    /// The complete lines, their parts, and the state after them.
    text: String,
    parts: Vec<Parts>,
    highlighter: Highlighter,
}

impl Growing {
    fn new(language: Language) -> Self {
        Self { language, text: String::new(), parts: Vec::new(), highlighter: Highlighter::new(language) }
    }

    fn continues(&self, language: Language, text: &str) -> bool {
        self.language == language && text.starts_with(&self.text)
    }

    fn lines_from(&mut self, text: &str, skip: usize) -> Vec<Parts> {
        let whole = text.rfind('\n').map_or(0, |at| at + 1).max(self.text.len());
        for line in text[self.text.len()..whole].lines() {
            self.parts.push(self.highlighter.line(line));
        }
        self.text.push_str(&text[self.text.len()..whole]);
        let known = self.parts.get(skip..).unwrap_or_default();
        let open = text[whole..].lines().map(|line| self.highlighter.clone().line(line));
        let open = open.skip(skip.saturating_sub(self.parts.len()));
        known.iter().cloned().chain(open).collect()
    }
}

type Key = (&'static str, u64, usize);

/// The cached blocks, the newest at the end.
struct Memo {
    entries: Vec<(Key, Rc<[Parts]>)>,
    bytes: usize,
    growing: Vec<Growing>,
}

impl Memo {
    const MAX_BYTES: usize = 2 * 1024 * 1024;
    const MAX_GROWING: usize = 4;

    /// Returns the block that `text` continues, or a new one.
    fn growing(&mut self, language: Language, text: &str) -> &mut Growing {
        let fitting = self.growing.iter().enumerate().filter(|(_, block)| block.continues(language, text));
        let at = fitting.max_by_key(|(_, block)| block.text.len()).map(|(at, _)| at);
        let block = at.map_or_else(|| Growing::new(language), |at| self.growing.remove(at));
        if self.growing.len() == Self::MAX_GROWING {
            self.growing.remove(0);
        }
        let last = self.growing.len();
        self.growing.push(block);
        &mut self.growing[last]
    }

    fn find(&mut self, key: Key) -> Option<Rc<[Parts]>> {
        let at = self.entries.iter().position(|(known, _)| *known == key)?;
        let entry = self.entries.remove(at);
        let parts = Rc::clone(&entry.1);
        self.entries.push(entry);
        Some(parts)
    }

    fn keep(&mut self, key: Key, parts: &Rc<[Parts]>) {
        if self.entries.iter().any(|(known, _)| *known == key) {
            return;
        }
        self.bytes += key.2;
        self.entries.push((key, Rc::clone(parts)));
        while self.bytes > Self::MAX_BYTES && self.entries.len() > 1 {
            self.bytes -= self.entries.remove(0).0.2;
        }
    }
}

#[cfg(test)]
#[path = "highlight_tests.rs"]
mod tests;
