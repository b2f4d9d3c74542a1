//! HTML export: one self-contained file without scripts or external resources.

use std::borrow::Cow;
use std::fmt::Write as _;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, html};

use super::narrative::{Part, PartKind, Picture};
use super::{facts, title};
use crate::engine::query::TaskSummary;

const STYLE: &str = include_str!("../../../assets/export.css");
/// The page may not load or run anything.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

pub(super) const END: &str = "</main>\n</body>\n</html>\n";

/// Returns the part of the page above the conversation.
pub(super) fn head(head: &TaskSummary) -> String {
    let title = escape(&title(head)).into_owned();
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n<dl>\n"
    );
    for (name, value) in facts(head) {
        let _ = writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escape(&value));
    }
    out.push_str("</dl>\n");
    if let Some(node) = &head.node {
        out.push_str(&render_markdown(&node.description));
        for run in &node.results {
            let _ = writeln!(out, "<blockquote>{}</blockquote>", render_markdown(&run.result));
        }
    }
    out.push_str("</header>\n<main>\n");
    out
}

pub(super) fn part(part: &Part) -> String {
    let mut out = String::new();
    write_part(&mut out, part);
    out
}

fn write_part(out: &mut String, part: &Part) {
    let at = part.at.to_seconds_string();
    let time = format!("<time datetime=\"{at}\">{at}</time>");
    match &part.kind {
        PartKind::Message { author, is_user, text, pictures } => {
            let class = if *is_user { "user" } else { "agent" };
            let _ = writeln!(
                out,
                "<section class=\"{class}\">\n<h2>{} {time}</h2>\n{}",
                escape(author),
                render_markdown(text)
            );
            show_pictures(out, pictures);
            out.push_str("</section>\n");
        }
        PartKind::Folded { summary, text } => {
            let _ = writeln!(
                out,
                "<details><summary>{} {time}</summary>\n<pre>{}</pre>\n</details>",
                escape(summary),
                escape(text)
            );
        }
        PartKind::Tool { name, input, outcome } => {
            let (class, ended) = match outcome {
                None => ("unknown", "outcome unknown".to_owned()),
                Some(outcome) if outcome.failed => ("failed", format!("failed after {} ms", outcome.millis)),
                Some(outcome) => ("done", format!("{} ms", outcome.millis)),
            };
            let first = crate::base::text::headline(input.lines().next().unwrap_or_default(), 100);
            let _ = writeln!(
                out,
                "<details class=\"{class}\"><summary><b>{}</b> <code>{}</code> <i>{ended}</i> {time}</summary>",
                escape(name),
                escape(&first)
            );
            if !input.is_empty() {
                let _ = writeln!(out, "<pre class=\"input\">{}</pre>", escape(input));
            }
            if let Some(outcome) = outcome {
                let _ = writeln!(out, "<pre>{}</pre>", escape(&outcome.text));
                show_pictures(out, &outcome.pictures);
            }
            out.push_str("</details>\n");
        }
        PartKind::Note(note) => {
            let _ = writeln!(out, "<p class=\"note\">{} {time}</p>", escape(note));
        }
    }
}

fn show_pictures(out: &mut String, pictures: &[Picture]) {
    for Picture { name, data } in pictures {
        let _ = match data {
            Some(data) => writeln!(out, "<img src=\"{}\" alt=\"{}\">", escape(data), escape(name)),
            None => writeln!(out, "<p class=\"note\">[picture: {}]</p>", escape(name)),
        };
    }
}

/// Escapes text for use between tags and in attributes.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Renders Markdown as HTML. HTML in it becomes text, unsafe links lead nowhere, and images become links.
fn render_markdown(text: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let events = Parser::new_ext(text, options).map(|event| match event {
        Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            Event::Start(Tag::Link { link_type, dest_url: safe_link(dest_url), title, id })
        }
        Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
            Event::Start(Tag::Link { link_type, dest_url: safe_link(dest_url), title, id })
        }
        Event::End(pulldown_cmark::TagEnd::Image) => Event::End(pulldown_cmark::TagEnd::Link),
        other => other,
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

/// Returns the address if its scheme is allowed, and `#` otherwise.
fn safe_link(address: CowStr<'_>) -> CowStr<'_> {
    let lower = address.trim().to_ascii_lowercase();
    let allowed = ["http://", "https://", "mailto:", "#"].iter().any(|start| lower.starts_with(start));
    if allowed { address } else { CowStr::Borrowed("#") }
}

#[cfg(test)]
#[path = "html_tests.rs"]
mod tests;
