//! Reads out of a source file which rooms it names, and out of prose which files it names.

use std::path::Path;

/// A room that a file names, and what of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Import {
    pub room: String,
    /// The module of the room, where one is named.
    pub door: Option<String>,
    pub line: usize,
}

/// Returns every `crate::…` path of a file, and every `super::…` that leaves its room.
pub fn imports(path: &Path, text: &str) -> Vec<Import> {
    let tokens = tokens(text);
    let depth = depth(path);
    let mut found = Vec::new();
    for (at, (word, line)) in tokens.iter().enumerate() {
        let rest = &tokens[at + 1..];
        match word.as_str() {
            "crate" if is(rest, 0, "::") => collect(&rest[1..], *line, &mut found),
            "super" if is(rest, 0, "::") && !(at >= 2 && is(&tokens, at - 1, "::")) => {
                let mut supers = 1;
                let mut next = 1;
                while is(rest, next, "super") && is(rest, next + 1, "::") {
                    supers += 1;
                    next += 2;
                }
                if supers >= depth {
                    collect(&rest[next..], *line, &mut found);
                }
            }
            _ => {}
        }
    }
    found
}

/// How many `super` lead from a file's module to the crate.
fn depth(path: &Path) -> usize {
    path.strip_prefix("src").map_or(usize::MAX, |inner| inner.components().count())
}

/// Reads `room::door…`, `room::{door…, door…}` or `{room::door…, room…}`.
fn collect(tokens: &[(String, usize)], line: usize, found: &mut Vec<Import>) {
    if !is(tokens, 0, "{") {
        import(tokens, line, found);
        return;
    }
    each_of_group(tokens, |item| import(item, line, found));
}

/// Calls `each` with what follows the start of every item of a `{…}`.
fn each_of_group(tokens: &[(String, usize)], mut each: impl FnMut(&[(String, usize)])) {
    let mut level = 0_usize;
    for (at, (word, _)) in tokens.iter().enumerate() {
        match word.as_str() {
            "{" => level += 1,
            "}" => level -= 1,
            _ => {}
        }
        if level == 0 {
            return;
        }
        if level == 1 && matches!(word.as_str(), "{" | ",") {
            each(&tokens[at + 1..]);
        }
    }
}

fn import(tokens: &[(String, usize)], line: usize, found: &mut Vec<Import>) {
    let name = |tokens: &[(String, usize)]| {
        let word = &tokens.first()?.0;
        word.starts_with(|c: char| c.is_alphabetic() || c == '_').then(|| word.clone())
    };
    let Some(room) = name(tokens) else { return };
    let mut push = |door| found.push(Import { room: room.clone(), door, line });
    match tokens.get(2..).filter(|_| is(tokens, 1, "::")) {
        Some(group) if is(group, 0, "{") => each_of_group(group, |item| push(name(item))),
        Some(path) => push(name(path)),
        None => push(None),
    }
}

fn is(tokens: &[(String, usize)], at: usize, word: &str) -> bool {
    tokens.get(at).is_some_and(|(token, _)| token == word)
}

/// Splits a source into words and the punctuation that matters, without comments and literals.
fn tokens(text: &str) -> Vec<(String, usize)> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if let Some(len) = raw_string(rest) {
            len
        } else if c == '"' {
            string(rest)
        } else if c == '\'' {
            char_literal(rest)
        } else if c.is_alphanumeric() || c == '_' {
            let len = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push((rest[..len].to_owned(), line));
            len
        } else if rest.starts_with("::") {
            tokens.push(("::".to_owned(), line));
            2
        } else {
            if matches!(c, '{' | '}' | ',') {
                tokens.push((c.to_string(), line));
            }
            c.len_utf8()
        };
        line += rest[..len].matches('\n').count();
        rest = &rest[len..];
    }
    tokens
}

fn block_comment(text: &str) -> usize {
    let mut level = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            level += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            level -= 1;
            at += 2;
            if level == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

fn raw_string(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = inner.len() - inner.trim_start_matches('#').len();
    let body = inner[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(text.len() - body.len() + length)
}

fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A quote starts a character or a lifetime; a lifetime has no second quote where a character must have it.
fn char_literal(text: &str) -> usize {
    let inner = &text[1..];
    if let Some(escape) = inner.strip_prefix('\\') {
        let skip = escape.chars().next().map_or(0, char::len_utf8);
        return escape[skip..].find('\'').map_or(1, |at| 2 + skip + at + 1);
    }
    match inner.chars().next() {
        Some(c) if inner[c.len_utf8()..].starts_with('\'') => 1 + c.len_utf8() + 1,
        _ => 1,
    }
}

/// Returns the targets of Markdown links that are files.
pub fn links(prose: &str) -> Vec<String> {
    let targets = prose.match_indices("](").filter_map(|(at, _)| {
        let target = &prose[at + 2..];
        let target = target[..target.find(')')?].split_whitespace().next()?;
        let elsewhere = target.contains("://") || target.starts_with('#') || target.starts_with("mailto:");
        let in_code = target.contains("::") || !target.contains(['.', '/']);
        (!elsewhere && !in_code).then(|| target.to_owned())
    });
    targets.collect()
}

/// Returns the files of this project that prose names in backticks.
pub fn named_files(prose: &str) -> Vec<String> {
    const FOLDERS: [&str; 5] = ["docs/", "src/", "tests/", "assets/", "themes/"];
    let quoted = prose.split('`').skip(1).step_by(2);
    let paths = quoted.filter(|text| FOLDERS.iter().any(|folder| text.starts_with(folder)));
    paths.filter(|text| !text.contains([' ', '*', '<', '…', '{', ':'])).map(str::to_owned).collect()
}
