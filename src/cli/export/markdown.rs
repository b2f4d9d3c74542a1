//! Markdown export. Messages keep their own Markdown; HTML in them becomes text.

use std::fmt::Write as _;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use super::narrative::{Part, PartKind, Picture};
use super::{facts, title};
use crate::engine::query::TaskSummary;

/// Returns the part of the document above the conversation.
pub(super) fn head(head: &TaskSummary) -> String {
    let mut out = format!("# {}\n\n", escape_line(&title(head)));
    for (name, value) in facts(head) {
        let _ = writeln!(out, "- {name}: {}", escape_line(&value));
    }
    out.push('\n');
    if let Some(node) = &head.node {
        if !node.description.trim().is_empty() {
            let _ = writeln!(out, "{}\n", safe_markdown(&node.description));
        }
        for run in &node.results {
            let _ = writeln!(out, "> Result: {}\n", escape_line(&run.result));
        }
    }
    out
}

pub(super) fn part(part: &Part) -> String {
    let mut out = String::new();
    let at = part.at.to_seconds_string();
    match &part.kind {
        PartKind::Message { author, text, pictures, .. } => {
            let _ = writeln!(out, "## {}\n\n*{at}*\n\n{}\n", escape_line(author), safe_markdown(text));
            name_pictures(&mut out, pictures);
        }
        PartKind::Folded { summary, text } => fold(&mut out, &format!("{summary} · {at}"), &[text]),
        PartKind::Tool { name, input, outcome } => {
            let ended = outcome.as_ref().map_or_else(
                || "outcome unknown".to_owned(),
                |outcome| format!("{} after {} ms", if outcome.failed { "failed" } else { "done" }, outcome.millis),
            );
            let first = input.lines().next().unwrap_or_default();
            let summary = format!("{name} {} · {ended} · {at}", crate::base::text::headline(first, 80));
            let output = outcome.as_ref().map_or("", |outcome| outcome.text.as_str());
            fold(&mut out, &summary, &[input, output]);
            name_pictures(&mut out, outcome.as_ref().map_or(&[][..], |outcome| &outcome.pictures));
        }
        PartKind::Note(note) => {
            let _ = writeln!(out, "*{at} {}*\n", escape_line(note));
        }
    }
    out
}

fn name_pictures(out: &mut String, pictures: &[Picture]) {
    for picture in pictures {
        let _ = writeln!(out, "[picture: {}]\n", escape_line(&picture.name));
    }
}

/// Writes texts verbatim in a folded block.
fn fold(out: &mut String, summary: &str, texts: &[&str]) {
    let _ = writeln!(out, "<details><summary>{}</summary>\n", super::html::escape(summary));
    for text in texts.iter().filter(|text| !text.trim().is_empty()) {
        let fence = fence(text);
        let _ = writeln!(out, "{fence}text\n{}\n{fence}\n", text.trim_end());
    }
    out.push_str("</details>\n\n");
}

/// Returns a code fence that is longer than any in `text`.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// Returns a text as one line with all Markdown escaped.
fn escape_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in crate::base::sanitize::line(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// Returns Markdown with HTML escaped and an open code block closed.
fn safe_markdown(text: &str) -> String {
    let text = text.trim_end();
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    let mut open_fence = None;
    for (event, Range { start, end }) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Html(_) | Event::InlineHtml(_) if start >= copied => {
                out.push_str(&text[copied..start]);
                out.push_str(&text[start..end].replace('<', "&lt;"));
                copied = end;
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) if end == text.len() => {
                open_fence = missing_fence(&text[start..end]);
            }
            _ => {}
        }
    }
    out.push_str(&text[copied..]);
    if let Some(fence) = open_fence {
        let _ = write!(out, "\n{fence}");
    }
    out
}

/// Returns the closing fence that a code block lacks, or `None` if it is closed.
fn missing_fence(block: &str) -> Option<String> {
    let first = block.trim_start();
    let mark = first.chars().next()?;
    let length = first.chars().take_while(|c| *c == mark).count();
    let last = block.lines().skip(1).last().unwrap_or_default().trim();
    let is_closed = last.len() >= length && last.chars().all(|c| c == mark);
    (!is_closed).then(|| mark.to_string().repeat(length))
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
