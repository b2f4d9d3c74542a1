//! Makes untrusted text safe for a terminal: no escape sequence, control, invisible or direction-changing character
//! survives.
//!
//! Logs and conversations store the original bytes. Only text that is displayed passes through here.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns `text` without anything a terminal would interpret. Line breaks and tabs stay.
pub fn lines(text: &str) -> Cow<'_, str> {
    clean(text, |c| c == '\n' || c == '\t')
}

/// Returns `text` as one line: like [`lines`], with line breaks and tabs as spaces.
pub fn line(text: &str) -> Cow<'_, str> {
    match clean(text, |c| c == '\n' || c == '\t') {
        Cow::Borrowed(clean) if !clean.contains(['\n', '\t']) => Cow::Borrowed(clean),
        clean => Cow::Owned(clean.replace(['\n', '\t'], " ")),
    }
}

/// Returns JSON text with every character that a terminal would interpret as a JSON escape. The values stay the same.
pub fn json(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(is_unsafe) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    for c in text[first..].chars() {
        // There may be line breaks between values, but not within strings.
        if c == '\n' || !is_unsafe(c) {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    Cow::Owned(out)
}

fn clean(text: &str, allowed: impl Fn(char) -> bool) -> Cow<'_, str> {
    let Some(first) = text.find(|c| !allowed(c) && is_unsafe(c)) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..first]);
    let mut rest = text[first..].chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_csi(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut rest),
            // A terminal treats CR LF as one line end; a lone CR would let later text overwrite earlier text.
            '\r' if !rest.as_str().starts_with('\n') && allowed('\n') => out.push('\n'),
            '\r' => {}
            c if allowed(c) || !is_unsafe(c) => out.push(c),
            _ => {}
        }
    }
    Cow::Owned(out)
}

/// Returns true if a character can control a terminal, is invisible, or changes the direction of text.
fn is_unsafe(c: char) -> bool {
    matches!(c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn skip_escape(rest: &mut std::str::Chars<'_>) {
    let ahead = rest.clone().next();
    match ahead {
        Some('[') => {
            rest.next();
            skip_csi(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            skip_string(rest);
        }
        // Two-character sequences, with intermediates: ESC SP..'/'* final.
        Some(' '..='~') => {
            while let Some(c @ ' '..='~') = rest.clone().next() {
                rest.next();
                if !(' '..='/').contains(&c) {
                    break;
                }
            }
        }
        _ => {}
    }
}

/// Skips to the final byte of a control sequence. An unterminated sequence ends at the first invalid byte.
fn skip_csi(rest: &mut std::str::Chars<'_>) {
    while let Some(c @ ' '..='~') = rest.clone().next() {
        rest.next();
        if ('@'..='~').contains(&c) {
            break;
        }
    }
}

/// The longest control string that is skipped. Real ones are short; a forged opening must not hide the rest of an
/// output.
const STRING_LIMIT: usize = 4096;

fn skip_string(rest: &mut std::str::Chars<'_>) {
    let mut ahead = rest.clone();
    for _ in 0..STRING_LIMIT {
        match ahead.next() {
            Some('\u{07}' | '\u{9c}') => {
                *rest = ahead;
                return;
            }
            Some('\u{1b}') => {
                if ahead.as_str().starts_with('\\') {
                    ahead.next();
                }
                *rest = ahead;
                return;
            }
            Some('\n') | None => return,
            Some(_) => {}
        }
    }
}

#[cfg(test)]
#[path = "sanitize_tests.rs"]
mod tests;
