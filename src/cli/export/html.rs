//! The story as a page that stands for itself: one file, no script, nothing loaded from anywhere.

use std::borrow::Cow;
use std::fmt::Write as _;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, html};

use super::story::{Part, Picture, What};
use super::{facts, title};
use crate::engine::query::TaskSummary;

const STYLE: &str = include_str!("../../../assets/export.css");
/// Nothing may be loaded or run, whatever stands in the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

pub(super) const END: &str = "</main>\n</body>\n</html>\n";

/// Returns what stands above the conversation.
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
        out.push_str(&rendered(&node.description));
        for round in &node.results {
            let _ = writeln!(out, "<blockquote>{}</blockquote>", rendered(&round.result));
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
    match &part.what {
        What::Said { who, by_person, text, pictures } => {
            let class = if *by_person { "person" } else { "agent" };
            let _ = writeln!(out, "<section class=\"{class}\">\n<h2>{} {time}</h2>\n{}", escape(who), rendered(text));
            show_pictures(out, pictures);
            out.push_str("</section>\n");
        }
        What::Folded { summary, text } => {
            let _ = writeln!(
                out,
                "<details><summary>{} {time}</summary>\n<pre>{}</pre>\n</details>",
                escape(summary),
                escape(text)
            );
        }
        What::Tool { name, input, outcome } => {
            let (class, ended) = match outcome {
                None => ("unknown", "no outcome is known".to_owned()),
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
        What::Note(note) => {
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

/// Returns text so that a page shows it as it is, between tags and in attributes.
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

/// Returns somebody's Markdown as HTML. HTML in it is only text, links lead only where a browser asks nobody, and
/// pictures from elsewhere are links.
fn rendered(text: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let events = Parser::new_ext(text, options).map(|event| match event {
        Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            Event::Start(Tag::Link { link_type, dest_url: harmless(dest_url), title, id })
        }
        Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
            Event::Start(Tag::Link { link_type, dest_url: harmless(dest_url), title, id })
        }
        Event::End(pulldown_cmark::TagEnd::Image) => Event::End(pulldown_cmark::TagEnd::Link),
        other => other,
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

/// Returns an address that a page may lead to, or one that leads nowhere.
fn harmless(address: CowStr<'_>) -> CowStr<'_> {
    let lower = address.trim().to_ascii_lowercase();
    let allowed = ["http://", "https://", "mailto:", "#"].iter().any(|start| lower.starts_with(start));
    if allowed { address } else { CowStr::Borrowed("#") }
}

#[cfg(test)]
#[path = "html_tests.rs"]
mod tests;
