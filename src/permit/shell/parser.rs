//! The parser: commands, compound commands, redirections, here-documents. Words are in `words`.
//!
//! Recursive descent over bytes. What it does not know ends the parse and makes the script opaque. What it knows to be
//! dangerous makes the script opaque and the parse goes on, so that deny rules see the rest.

use super::wrappers;
use super::{Command, DYNAMIC, MAX_DEPTH, Opaque, Redirect, Script, Word};

/// The rest cannot be parsed. The reason is in the script.
pub(super) struct Stop;

pub(super) type Parsed<T> = Result<T, Stop>;

pub(super) fn parse(text: &str, depth: usize, script: &mut Script) {
    if depth > MAX_DEPTH {
        return script.refuse(Opaque::TooDeep);
    }
    if text.chars().any(|c| (c.is_control() && c != '\n' && c != '\t') || c == DYNAMIC) {
        return script.refuse(Opaque::Syntax("a control character"));
    }
    let mut parser = Parser { text, at: 0, depth, documents: Vec::new(), script };
    // A stop has left its reason in the script.
    if parser.list(End::Text).is_ok() && !parser.documents.is_empty() {
        parser.script.refuse(Opaque::Unbalanced);
    }
}

/// What ends a list of commands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Text,
    Parenthesis,
    Keywords(&'static [&'static str]),
}

/// A here-document whose body begins at the next line.
pub(super) struct Document {
    delimiter: String,
    is_literal: bool,
    strips_tabs: bool,
}

pub(super) struct Parser<'t, 's> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) documents: Vec<Document>,
    pub(super) script: &'s mut Script,
}

/// Words that begin something which is not a simple command, and are not parsed.
const UNKNOWN_KEYWORDS: [(&str, &str); 6] = [
    ("case", "`case`"),
    ("select", "`select`"),
    ("function", "a function definition"),
    ("coproc", "`coproc`"),
    ("[[", "`[[`"),
    ("]]", "`]]`"),
];
const CLOSING_KEYWORDS: [&str; 8] = ["then", "do", "done", "fi", "else", "elif", "}", "esac"];

impl<'t> Parser<'t, '_> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn takes(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    pub(super) fn stop<T>(&mut self, why: Opaque) -> Parsed<T> {
        self.script.refuse(why);
        Err(Stop)
    }

    /// Skips blanks, continued lines and comments, but no newline.
    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.rest().starts_with("\\\n") => self.at += 2,
                Some(b'#') => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                _ => return,
            }
        }
    }

    /// Skips to the next command: blanks and newlines, with the here-documents that begin there.
    fn skip_lines(&mut self) -> Parsed<()> {
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.at += 1;
            self.read_documents()?;
        }
    }

    fn read_documents(&mut self) -> Parsed<()> {
        for document in std::mem::take(&mut self.documents) {
            loop {
                if self.at >= self.text.len() {
                    return self.stop(Opaque::Unbalanced);
                }
                let line = self.rest().split('\n').next().unwrap_or_default().to_owned();
                self.at = (self.at + line.len() + 1).min(self.text.len());
                let line = if document.strips_tabs { line.trim_start_matches('\t') } else { &line };
                if line == document.delimiter {
                    break;
                }
                if !document.is_literal && line.contains(['$', '`', '\\']) {
                    return self.stop(Opaque::Syntax("a here-document with expansions"));
                }
            }
        }
        Ok(())
    }

    /// Parses commands up to `end`, which is consumed. Returns the keyword that ended it.
    pub(super) fn list(&mut self, end: End) -> Parsed<String> {
        let mut is_empty = true;
        loop {
            self.skip_lines()?;
            if self.peek().is_none() {
                return if end == End::Text { Ok(String::new()) } else { self.stop(Opaque::Unbalanced) };
            }
            if self.peek() == Some(b')') {
                if end != End::Parenthesis {
                    return self.stop(Opaque::Unbalanced);
                }
                self.at += 1;
                return Ok(String::new());
            }
            if let End::Keywords(words) = end
                && let Some(word) = self.keyword(words)
            {
                return if is_empty { self.stop(Opaque::Unbalanced) } else { Ok(word.to_owned()) };
            }
            self.command()?;
            is_empty = false;
            self.skip_blanks();
            match self.peek() {
                None | Some(b')' | b'\n') => {}
                Some(b';') if self.rest().starts_with(";;") => return self.stop(Opaque::Syntax("`;;`")),
                Some(b';') => self.at += 1,
                Some(b'&' | b'|') => {
                    let _ =
                        self.takes("&&") || self.takes("||") || self.takes("|&") || self.takes("&") || self.takes("|");
                }
                Some(_) => return self.stop(Opaque::Syntax("an unexpected token")),
            }
        }
    }

    /// Consumes one of `words` if it is next as a whole, unquoted word.
    fn keyword(&mut self, words: &[&'static str]) -> Option<&'static str> {
        let word = *words.iter().find(|word| self.is_next_word(word))?;
        self.at += word.len();
        Some(word)
    }

    fn is_next_word(&self, word: &str) -> bool {
        let Some(after) = self.rest().strip_prefix(word) else { return false };
        // A continued line could join it with the next one.
        after.chars().next().is_none_or(|c| " \t\n;&|<>()".contains(c))
    }

    fn command(&mut self) -> Parsed<()> {
        loop {
            self.skip_blanks();
            if self.keyword(&["!"]).is_none() {
                if self.keyword(&["time"]).is_none() {
                    break;
                }
                self.skip_blanks();
                if self.keyword(&["-p"]).is_none() && self.peek() == Some(b'-') {
                    return self.stop(Opaque::Syntax("an option of `time`"));
                }
            }
        }
        if let Some((_, what)) = UNKNOWN_KEYWORDS.iter().find(|(word, _)| self.is_next_word(word)) {
            return self.stop(Opaque::Syntax(what));
        }
        if CLOSING_KEYWORDS.iter().any(|word| self.is_next_word(word)) {
            return self.stop(Opaque::Unbalanced);
        }
        if self.rest().starts_with("((") {
            return self.stop(Opaque::Syntax("arithmetic"));
        }
        if self.takes("(") {
            self.list(End::Parenthesis)?;
            return self.redirects();
        }
        if self.keyword(&["{"]).is_some() {
            self.list(End::Keywords(&["}"]))?;
            return self.redirects();
        }
        if self.keyword(&["if"]).is_some() {
            self.list(End::Keywords(&["then"]))?;
            loop {
                match self.list(End::Keywords(&["fi", "else", "elif"]))?.as_str() {
                    "elif" => self.list(End::Keywords(&["then"]))?,
                    "else" => {
                        self.list(End::Keywords(&["fi"]))?;
                        break;
                    }
                    _ => break,
                };
            }
            return self.redirects();
        }
        if self.keyword(&["while", "until"]).is_some() {
            self.list(End::Keywords(&["do"]))?;
            self.list(End::Keywords(&["done"]))?;
            return self.redirects();
        }
        if self.keyword(&["for"]).is_some() {
            return self.for_loop();
        }
        self.simple_command()
    }

    /// Parses `NAME in WORDS; do LIST; done`.
    fn for_loop(&mut self) -> Parsed<()> {
        self.skip_blanks();
        let name = self.word()?;
        if !name.is_some_and(|name| !name.is_quoted && is_name(&name.text) && !is_dangerous_variable(&name.text)) {
            return self.stop(Opaque::Syntax("an unusual `for`"));
        }
        self.skip_blanks();
        if self.keyword(&["in"]).is_none() {
            return self.stop(Opaque::Syntax("an unusual `for`"));
        }
        loop {
            self.skip_blanks();
            if self.word()?.is_none() {
                break;
            }
        }
        if !(self.takes(";") || self.peek() == Some(b'\n')) {
            return self.stop(Opaque::Syntax("an unusual `for`"));
        }
        self.skip_lines()?;
        if self.keyword(&["do"]).is_none() {
            return self.stop(Opaque::Syntax("an unusual `for`"));
        }
        self.list(End::Keywords(&["done"]))?;
        self.redirects()
    }

    fn redirects(&mut self) -> Parsed<()> {
        loop {
            self.skip_blanks();
            if !self.redirect()? {
                return Ok(());
            }
        }
    }

    fn simple_command(&mut self) -> Parsed<()> {
        let mut command = Command::default();
        let mut is_empty = true;
        loop {
            self.skip_blanks();
            if self.redirect()? {
                is_empty = false;
                continue;
            }
            if command.words.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                is_empty = false;
                command.assignments.push(assignment);
                continue;
            }
            let Some(word) = self.word()? else { break };
            is_empty = false;
            if self.peek() == Some(b'(') {
                return self.stop(Opaque::Syntax("a function definition or a pattern"));
            }
            // A keyword that a continued line divides.
            if command.words.is_empty() && !word.is_quoted && is_keyword(&word.text) {
                return self.stop(Opaque::Syntax("a divided keyword"));
            }
            command.words.push(word);
        }
        if is_empty {
            return self.stop(Opaque::Syntax("an unexpected token"));
        }
        if !command.words.is_empty() || !command.assignments.is_empty() {
            wrappers::add(command, self.depth, self.script);
        }
        Ok(())
    }

    /// Parses `NAME=VALUE` or `NAME+=VALUE`, or returns `None` if something else is next.
    fn assignment(&mut self) -> Parsed<Option<(String, Word)>> {
        let rest = self.rest();
        let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let name = &rest[..length];
        if !is_name(name) {
            return Ok(None);
        }
        let after = &rest[length..];
        // A continued line may hide the equals sign.
        if after.starts_with('[') || after.starts_with("\\\n") {
            return self.stop(Opaque::Syntax("an array"));
        }
        let sign = if after.starts_with('=') {
            1
        } else if after.starts_with("+=") {
            2
        } else {
            return Ok(None);
        };
        let name = name.to_owned();
        self.at += length + sign;
        if self.peek() == Some(b'(') || self.rest().starts_with("\\\n") {
            return self.stop(Opaque::Syntax("an array"));
        }
        let value = self.word()?.unwrap_or_default();
        Ok(Some((name, value)))
    }

    /// Parses one redirection. Returns false if none is next.
    fn redirect(&mut self) -> Parsed<bool> {
        let start = self.at;
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        if self.rest().as_bytes().get(digits).is_some_and(|byte| matches!(byte, b'<' | b'>')) {
            self.at += digits;
        } else if self.rest().starts_with('{')
            && self
                .rest()
                .split_once('}')
                .is_some_and(|(name, after)| is_name(&name[1..]) && after.starts_with(['<', '>']))
        {
            return self.stop(Opaque::Syntax("a redirection to a variable"));
        }
        // A process substitution is a word.
        if self.rest().starts_with("<(") || self.rest().starts_with(">(") {
            self.at = start;
            return Ok(false);
        }
        for (operator, writes) in [
            ("<<<", false),
            ("&>>", true),
            ("&>", true),
            (">>", true),
            (">|", true),
            ("<>", true),
            (">&", true),
            ("<&", false),
            (">", true),
        ] {
            if self.takes(operator) {
                return self.redirect_target(operator, writes);
            }
        }
        if self.rest().starts_with("<<") {
            return self.document();
        }
        if self.takes("<") {
            return self.redirect_target("<", false);
        }
        self.at = start;
        Ok(false)
    }

    fn redirect_target(&mut self, operator: &str, writes: bool) -> Parsed<bool> {
        self.skip_blanks();
        let Some(target) = self.word()? else { return self.stop(Opaque::Unbalanced) };
        let is_descriptor = |text: &str| {
            let number = text.strip_suffix('-').unwrap_or(text);
            number.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty()
        };
        let duplicates = operator.ends_with('&') && !target.is_dynamic && is_descriptor(&target.text);
        if operator != "<<<" && !duplicates {
            self.script.redirects.push(Redirect { target, writes });
        }
        Ok(true)
    }

    /// Parses the operator and the delimiter of a here-document. The body is read at the next line.
    fn document(&mut self) -> Parsed<bool> {
        let strips_tabs = self.takes("<<-");
        if !strips_tabs {
            self.at += 2;
        }
        self.skip_blanks();
        let Some(word) = self.word()? else { return self.stop(Opaque::Unbalanced) };
        if word.is_dynamic || self.depth > 0 {
            return self.stop(Opaque::Syntax("a here-document in a substitution"));
        }
        self.documents.push(Document { delimiter: word.text, is_literal: word.is_quoted, strips_tabs });
        Ok(true)
    }
}

fn is_keyword(text: &str) -> bool {
    CLOSING_KEYWORDS.contains(&text)
        || UNKNOWN_KEYWORDS.iter().any(|(word, _)| *word == text)
        || ["if", "while", "until", "for", "in", "{", "!", "time"].contains(&text)
}

/// Returns true for the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns true for a variable that makes a shell run something, or read commands differently.
pub(super) fn is_dangerous_variable(name: &str) -> bool {
    const DANGEROUS: [&str; 10] = [
        "BASH_ENV",
        "ENV",
        "PS4",
        "PS0",
        "PROMPT_COMMAND",
        "SHELLOPTS",
        "BASHOPTS",
        "IFS",
        "POSIXLY_CORRECT",
        "BASH_COMPAT",
    ];
    DANGEROUS.contains(&name) || name.starts_with("BASH_")
}
