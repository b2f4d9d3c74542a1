//! Front matter: the subset of YAML that agent files use, with the line of every value.
//!
//! Supports bare, quoted and block strings, and inline and block lists. The content of nested mappings is not parsed.

/// The fields and the body of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedProfile<'a> {
    pub entries: Vec<Entry>,
    pub body: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub key: String,
    pub value: Value,
    pub line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Text(String),
    /// Items, each with its line.
    List(Vec<(String, usize)>),
    /// A nested mapping, not parsed.
    Nested,
}

/// The line of an error, and its message.
pub type FrontMatterError = (usize, &'static str);

const NO_START: &str = "a profile starts with a line --- and its fields";
const NO_END: &str = "the front matter is not closed: the second line --- is missing";
const NO_KEY: &str = "this line is not a field: write name: value";
const NOT_CLOSED: &str = "a quote is not closed";
const LIST_NOT_CLOSED: &str = "a list is not closed: ] is missing";
const TAB: &str = "a tab cannot indent a line: use spaces";

/// Splits a file into fields and body.
pub fn parse(text: &str) -> Result<ParsedProfile<'_>, FrontMatterError> {
    let mut lines = Vec::new();
    let mut rest = text;
    let mut next = || {
        let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let (line, left) = rest.split_at(end);
        rest = left;
        (!line.is_empty()).then(|| (line.trim_end_matches(['\n', '\r']), left))
    };
    if next().is_none_or(|(line, _)| line.trim_end() != "---") {
        return Err((1, NO_START));
    }
    let body = loop {
        let Some((line, left)) = next() else { return Err((lines.len() + 1, NO_END)) };
        if matches!(line.trim_end(), "---" | "...") {
            break left;
        }
        lines.push(line);
    };
    let mut reader = Lines { lines: &lines, at: 0 };
    let mut entries = Vec::new();
    while let Some(entry) = reader.entry()? {
        entries.push(entry);
    }
    Ok(ParsedProfile { entries, body })
}

struct Lines<'a> {
    lines: &'a [&'a str],
    at: usize,
}

impl<'a> Lines<'a> {
    /// Returns the line number of the current line. Line 1 is `---`.
    fn number(&self) -> usize {
        self.at + 2
    }

    fn entry(&mut self) -> Result<Option<Entry>, FrontMatterError> {
        while self.lines.get(self.at).is_some_and(|line| is_blank_or_comment(line)) {
            self.at += 1;
        }
        let Some(line) = self.lines.get(self.at) else { return Ok(None) };
        let number = self.number();
        if line.starts_with([' ', '\t', '-']) {
            return Err((number, NO_KEY));
        }
        let (key, rest) = line.split_once(':').ok_or((number, NO_KEY))?;
        if !(rest.is_empty() || rest.starts_with([' ', '\t'])) || key.trim().is_empty() {
            return Err((number, NO_KEY));
        }
        self.at += 1;
        let value = self.value(rest.trim(), number)?;
        let key = key.trim().trim_matches(['"', '\'']).to_owned();
        Ok(Some(Entry { key, value, line: number }))
    }

    fn value(&mut self, rest: &str, number: usize) -> Result<Value, FrontMatterError> {
        match rest.chars().next() {
            Some('"') => quoted(rest, '"').map(Value::Text).ok_or((number, NOT_CLOSED)),
            Some('\'') => quoted(rest, '\'').map(Value::Text).ok_or((number, NOT_CLOSED)),
            Some('[') => self.line_list(rest, number),
            Some('|') if is_block_mark(rest) => Ok(Value::Text(self.block("\n"))),
            Some('>') if is_block_mark(rest) => Ok(Value::Text(self.block(" "))),
            Some(first) if first != '#' => {
                let mut text = uncommented(rest).to_owned();
                // Indented lines continue a bare string.
                while let Some(line) = self.indented() {
                    text.push(' ');
                    text.push_str(uncommented(line.trim()));
                }
                Ok(Value::Text(text))
            }
            Some(_) | None => self.below(),
        }
    }

    /// Consumes the next line if it is indented.
    fn indented(&mut self) -> Option<&'a str> {
        let line = self.lines.get(self.at).filter(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty())?;
        self.at += 1;
        Some(line)
    }

    /// Reads the lines below a key without an inline value.
    fn below(&mut self) -> Result<Value, FrontMatterError> {
        let mut items = Vec::new();
        let mut nested = false;
        while let Some(line) = self.lines.get(self.at) {
            let number = self.number();
            if is_blank_or_comment(line) {
                self.at += 1;
                continue;
            }
            if line.starts_with('\t') {
                return Err((number, TAB));
            }
            let inner = line.trim_start();
            let item = inner.strip_prefix('-').filter(|item| item.is_empty() || item.starts_with(' '));
            match item {
                Some(item) => items.push((scalar(item.trim()).ok_or((number, NOT_CLOSED))?, number)),
                None if line.starts_with(' ') => nested = true,
                None => break,
            }
            self.at += 1;
        }
        Ok(match (nested, items.is_empty()) {
            (true, _) => Value::Nested,
            (false, true) => Value::Text(String::new()),
            (false, false) => Value::List(items),
        })
    }

    fn line_list(&mut self, rest: &str, number: usize) -> Result<Value, FrontMatterError> {
        let mut whole = uncommented(rest).to_owned();
        while !whole.ends_with(']') {
            let Some(line) = self.lines.get(self.at).filter(|line| line.starts_with([' ', '\t', ']'])) else {
                return Err((number, LIST_NOT_CLOSED));
            };
            whole.push(' ');
            whole.push_str(uncommented(line.trim()));
            self.at += 1;
        }
        let inner = whole.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or_default();
        let items = inner.split(',').map(str::trim).filter(|item| !item.is_empty());
        let items = items.map(|item| scalar(item).map(|item| (item, number)).ok_or((number, NOT_CLOSED)));
        Ok(Value::List(items.collect::<Result<_, _>>()?))
    }

    fn block(&mut self, joint: &str) -> String {
        let mut lines: Vec<&str> = Vec::new();
        let mut depth = None;
        while let Some(line) = self.lines.get(self.at) {
            let indent = line.len() - line.trim_start_matches(' ').len();
            if line.trim().is_empty() {
                lines.push("");
            } else if indent == 0 {
                break;
            } else {
                let depth = *depth.get_or_insert(indent);
                lines.push(line.get(depth.min(indent)..).unwrap_or_default());
            }
            self.at += 1;
        }
        lines.join(joint).trim().to_owned()
    }
}

fn is_blank_or_comment(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn is_block_mark(rest: &str) -> bool {
    uncommented(rest)[1..].chars().all(|c| matches!(c, '+' | '-') || c.is_ascii_digit())
}

/// Returns a bare string without its trailing comment.
fn uncommented(text: &str) -> &str {
    text.find(" #").map_or(text, |at| &text[..at]).trim()
}

fn scalar(text: &str) -> Option<String> {
    match text.chars().next() {
        Some(mark @ ('"' | '\'')) => quoted(text, mark),
        Some(_) | None => Some(uncommented(text).to_owned()),
    }
}

/// Returns the content of a quoted string, or `None` if it is not closed.
fn quoted(text: &str, mark: char) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.chars().skip(1).peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' if mark == '\'' && chars.peek() == Some(&'\'') => {
                chars.next();
                out.push('\'');
            }
            c if c == mark => return Some(out),
            '\\' if mark == '"' => match chars.next()? {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                other => out.push(other),
            },
            c => out.push(c),
        }
    }
    None
}

#[cfg(test)]
#[path = "front_matter_tests.rs"]
mod tests;
