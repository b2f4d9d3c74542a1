//! Words: quotes, expansions, substitutions.

use super::parser::{self, End, Parsed, Parser, is_name};
use super::{DYNAMIC, MAX_DEPTH, Opaque, Word};

/// The variable with the home folder.
const HOME: &str = "HOME";

impl Parser<'_, '_> {
    /// Parses a word, or returns `None` if none is next.
    pub(super) fn word(&mut self) -> Parsed<Option<Word>> {
        let start = self.at;
        let mut word = Word::default();
        let mut bytes: Vec<u8> = Vec::new();
        // Whether an unquoted brace is open, which a comma turns into an expansion.
        let mut brace = false;
        if self.peek() == Some(b'~') {
            let name =
                self.rest().split(['/', ' ', '\t', '\n', ';', '&', '|', '<', '>', '(', ')']).next().unwrap_or_default();
            word.is_dynamic = name != "~";
        }
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' => break,
                b'<' | b'>' => {
                    if !self.rest()[1..].starts_with('(') {
                        break;
                    }
                    self.at += 2;
                    self.substitution()?;
                    push_dynamic(&mut word, &mut bytes, false);
                    continue;
                }
                b'(' => break,
                b'\\' => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'\n') => self.at += 1,
                        Some(escaped) => {
                            word.is_quoted = true;
                            bytes.push(escaped);
                            self.at += 1;
                        }
                        None => return self.stop(Opaque::Unbalanced),
                    }
                    continue;
                }
                b'\'' => {
                    self.at += 1;
                    let Some(length) = self.rest().find('\'') else { return self.stop(Opaque::Unbalanced) };
                    bytes.extend_from_slice(&self.rest().as_bytes()[..length]);
                    word.is_quoted = true;
                    self.at += length + 1;
                    continue;
                }
                b'"' => {
                    self.at += 1;
                    word.is_quoted = true;
                    self.double_quotes(&mut word, &mut bytes)?;
                    continue;
                }
                b'$' => {
                    self.dollar(&mut word, &mut bytes, true)?;
                    continue;
                }
                b'`' => {
                    self.backticks()?;
                    push_dynamic(&mut word, &mut bytes, true);
                    continue;
                }
                b'*' | b'?' | b'[' => {
                    word.is_glob = true;
                    if self.rest()[1..].starts_with('(') {
                        return self.stop(Opaque::Syntax("an extended pattern"));
                    }
                }
                b'{' => brace = true,
                b',' if brace => self.script.refuse(Opaque::Syntax("a brace expansion")),
                b'.' if brace && self.rest().starts_with("..") => {
                    self.script.refuse(Opaque::Syntax("a brace expansion"));
                }
                _ => {}
            }
            bytes.push(byte);
            self.at += 1;
        }
        if self.at == start {
            return Ok(None);
        }
        match String::from_utf8(bytes) {
            Ok(text) => word.text = text,
            Err(_) => return self.stop(Opaque::Syntax("a broken character")),
        }
        Ok(Some(word))
    }

    /// Parses the inside of double quotes, up to and including the closing one.
    fn double_quotes(&mut self, word: &mut Word, bytes: &mut Vec<u8>) -> Parsed<()> {
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'\n') => {}
                        Some(escaped @ (b'$' | b'`' | b'"' | b'\\')) => bytes.push(escaped),
                        Some(other) => bytes.extend([b'\\', other]),
                        None => return self.stop(Opaque::Unbalanced),
                    }
                    self.at += 1;
                }
                b'$' => self.dollar(word, bytes, false)?,
                b'`' => {
                    self.backticks()?;
                    push_dynamic(word, bytes, false);
                }
                _ => {
                    bytes.push(byte);
                    self.at += 1;
                }
            }
        }
        self.stop(Opaque::Unbalanced)
    }

    /// Parses what begins with a dollar sign.
    fn dollar(&mut self, word: &mut Word, bytes: &mut Vec<u8>, splits: bool) -> Parsed<()> {
        let after = &self.rest()[1..];
        if let Some(inside) = after.strip_prefix("((") {
            let length = inside.find(|c: char| !(c.is_ascii_digit() || " \t+-*/%".contains(c))).unwrap_or(inside.len());
            if !inside[length..].starts_with("))") {
                return self.stop(Opaque::Syntax("arithmetic with variables"));
            }
            self.at += 3 + length + 2;
        } else if after.starts_with('(') {
            self.at += 2;
            self.substitution()?;
        } else if let Some(braced) = after.strip_prefix('{') {
            let Some((name, _)) = braced.split_once('}').filter(|(name, _)| is_parameter(name)) else {
                return self.stop(Opaque::Syntax("a parameter expansion"));
            };
            self.at += 2 + name.len() + 1;
            if name == HOME {
                push_home(word, bytes, splits);
                return Ok(());
            }
        } else if after.starts_with('[') {
            return self.stop(Opaque::Syntax("arithmetic"));
        } else if splits && after.starts_with(['\'', '"']) {
            return self.stop(Opaque::Syntax("a quote with escapes (`$'`)"));
        } else if after.starts_with(|c: char| "@*#?-$!".contains(c) || c.is_ascii_digit()) {
            self.at += 2;
        } else {
            let length = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(after.len());
            self.at += 1;
            if length == 0 {
                // `$` followed by a continued line joins with the next one.
                if after.starts_with("\\\n") {
                    return self.stop(Opaque::Syntax("a divided expansion"));
                }
                bytes.push(b'$');
                return Ok(());
            }
            self.at += length;
            if self.rest().starts_with("\\\n") {
                return self.stop(Opaque::Syntax("a divided expansion"));
            }
            if &after[..length] == HOME {
                push_home(word, bytes, splits);
                return Ok(());
            }
        }
        push_dynamic(word, bytes, splits);
        Ok(())
    }

    /// Parses the commands of `$(…)` or `<(…)`, after the opening parenthesis.
    fn substitution(&mut self) -> Parsed<()> {
        if self.depth >= MAX_DEPTH {
            return self.stop(Opaque::TooDeep);
        }
        if !self.documents.is_empty() {
            return self.stop(Opaque::Syntax("a substitution after a here-document"));
        }
        self.depth += 1;
        let parsed = self.list(End::Parenthesis);
        self.depth -= 1;
        parsed.map(drop)
    }

    fn backticks(&mut self) -> Parsed<()> {
        let inside = &self.rest()[1..];
        let Some(length) = inside.find('`') else { return self.stop(Opaque::Unbalanced) };
        let inside = inside[..length].to_owned();
        if inside.contains(['\\', '"']) {
            return self.stop(Opaque::Syntax("quotes in backticks"));
        }
        self.at += length + 2;
        parser::parse(&inside, self.depth + 1, self.script);
        Ok(())
    }
}

/// Adds the home folder, as `~` if the path begins with it. The variable may have been changed, so it is dynamic.
fn push_home(word: &mut Word, bytes: &mut Vec<u8>, splits: bool) {
    if !bytes.is_empty() {
        return push_dynamic(word, bytes, splits);
    }
    word.is_dynamic = true;
    word.splits |= splits;
    bytes.push(b'~');
}

fn push_dynamic(word: &mut Word, bytes: &mut Vec<u8>, splits: bool) {
    word.is_dynamic = true;
    word.splits |= splits;
    let mut encoded = [0; 4];
    bytes.extend_from_slice(DYNAMIC.encode_utf8(&mut encoded).as_bytes());
}

fn is_parameter(text: &str) -> bool {
    is_name(text)
        || (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
        || ["@", "*", "?", "$", "!", "-", "#"].contains(&text)
}
