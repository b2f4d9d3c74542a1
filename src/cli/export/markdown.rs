//! The story as Markdown. What people and agents wrote keeps its own Markdown; HTML in it becomes text.

use std::fmt::Write as _;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use super::story::{Part, Picture, What};
use super::{facts, title};
use crate::engine::query::TaskSummary;

/// Returns what stands above the conversation.
pub(super) fn head(head: &TaskSummary) -> String {
    let mut out = format!("# {}\n\n", line(&title(head)));
    for (name, value) in facts(head) {
        let _ = writeln!(out, "- {name}: {}", line(&value));
    }
    out.push('\n');
    if let Some(node) = &head.node {
        if !node.description.trim().is_empty() {
            let _ = writeln!(out, "{}\n", own(&node.description));
        }
        for round in &node.results {
            let _ = writeln!(out, "> Result: {}\n", line(&round.result));
        }
    }
    out
}

pub(super) fn part(part: &Part) -> String {
    let mut out = String::new();
    let at = part.at.to_seconds_string();
    match &part.what {
        What::Said { who, text, pictures, .. } => {
            let _ = writeln!(out, "## {}\n\n*{at}*\n\n{}\n", line(who), own(text));
            name_pictures(&mut out, pictures);
        }
        What::Folded { summary, text } => fold(&mut out, &format!("{summary} · {at}"), &[text]),
        What::Tool { name, input, outcome } => {
            let ended = outcome.as_ref().map_or_else(
                || "no outcome is known".to_owned(),
                |outcome| format!("{} after {} ms", if outcome.failed { "failed" } else { "done" }, outcome.millis),
            );
            let first = input.lines().next().unwrap_or_default();
            let summary = format!("{name} {} · {ended} · {at}", crate::base::text::headline(first, 80));
            let given = outcome.as_ref().map_or("", |outcome| outcome.text.as_str());
            fold(&mut out, &summary, &[input, given]);
            name_pictures(&mut out, outcome.as_ref().map_or(&[][..], |outcome| &outcome.pictures));
        }
        What::Note(note) => {
            let _ = writeln!(out, "*{at} {}*\n", line(note));
        }
    }
    out
}

fn name_pictures(out: &mut String, pictures: &[Picture]) {
    for picture in pictures {
        let _ = writeln!(out, "[picture: {}]\n", line(&picture.name));
    }
}

/// Writes texts as they are, in a fold.
fn fold(out: &mut String, summary: &str, texts: &[&str]) {
    let _ = writeln!(out, "<details><summary>{}</summary>\n", super::html::escape(summary));
    for text in texts.iter().filter(|text| !text.trim().is_empty()) {
        let fence = fence(text);
        let _ = writeln!(out, "{fence}text\n{}\n{fence}\n", text.trim_end());
    }
    out.push_str("</details>\n\n");
}

/// Returns a fence that nothing in `text` can end.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// Returns a text as one line in which nothing means anything to Markdown.
fn line(text: &str) -> String {
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

/// Returns somebody's own Markdown, in which HTML is only text and no block is left open.
fn own(text: &str) -> String {
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
                open_fence = unclosed(&text[start..end]);
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

/// Returns the fence that ends a block of code, if the block lacks it.
fn unclosed(block: &str) -> Option<String> {
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
