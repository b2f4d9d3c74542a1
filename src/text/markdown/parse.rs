//! Builds blocks from the parser's events. Nothing here recurses, and deep nesting is flattened, so that no text can
//! exhaust the stack.

use std::mem;
use std::ops::Range;

use pulldown_cmark::{Alignment, BlockQuoteKind, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use ratatui::style::Modifier;

use super::block::{Alert, Block, Inlines, Item, Table};
use crate::base::sanitize;
use crate::text::row::{Ink, Span};
use crate::text::width::{self, Align};
use crate::theme::Role;

/// The deepest nesting of quotes, lists and footnotes.
const MAX_DEPTH: usize = 12;

/// A parsed text.
pub struct Parsed {
    /// The top-level blocks, each with its byte offset.
    pub blocks: Vec<(usize, Block)>,
    /// Set if the text has definitions that other places may refer to: then no part can be parsed alone.
    pub definitions: bool,
}

pub fn parse(source: &str) -> Parsed {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM;
    let parser = Parser::new_ext(source, options);
    let definitions = parser.reference_definitions().iter().next().is_some();
    let mut builder = Builder { definitions, ..Builder::default() };
    for (event, range) in parser.into_offset_iter() {
        builder.event(event, &range);
    }
    builder.finish_words();
    Parsed { blocks: builder.top, definitions: builder.definitions }
}

/// An open block that contains blocks.
enum Open {
    Quote(Option<Alert>, Vec<Block>),
    List {
        start: Option<u64>,
        loose: bool,
        items: Vec<Item>,
    },
    Item(Item),
    Footnote(String, Vec<Block>),
    /// Nested too deep: its content goes to the enclosing block.
    Flat,
}

#[derive(Default)]
struct Builder {
    top: Vec<(usize, Block)>,
    open: Vec<Open>,
    /// The offset of the current top-level block.
    start: Option<usize>,
    definitions: bool,
    words: Words,
    heading: Option<u8>,
    code: Option<(String, String)>,
    html: Option<String>,
    table: Option<Table>,
    row: Vec<Inlines>,
}

/// The inline text of the current block, and its open markup.
#[derive(Default)]
struct Words {
    spans: Inlines,
    emphasis: usize,
    strong: usize,
    strike: usize,
    in_head: bool,
    heading: Option<u8>,
    quotes: usize,
    /// The open link: its address, and the index of its first span.
    link: Option<(String, usize)>,
}

impl Words {
    fn ink(&self) -> Ink {
        let base = match self.heading {
            Some(1) => Role::HeadingTop,
            Some(2) => Role::Heading,
            Some(_) => Role::HeadingMinor,
            None if self.in_head => Role::TableHeader,
            None if self.quotes > 0 => Role::Quote,
            None => Role::Text,
        };
        let plain = base == Role::Text;
        let mut ink = Ink::new(base);
        if self.emphasis > 0 {
            ink.role = if plain { Role::Emphasis } else { ink.role };
            ink = ink.with(Modifier::ITALIC);
        }
        if self.strong > 0 {
            ink.role = if plain { Role::Strong } else { ink.role };
            ink = ink.with(Modifier::BOLD);
        }
        if self.strike > 0 {
            ink.role = if plain { Role::Strike } else { ink.role };
            ink = ink.with(Modifier::CROSSED_OUT);
        }
        if self.link.is_some() {
            ink.role = Role::Link;
        }
        ink
    }

    fn push(&mut self, text: &str, ink: Ink) {
        match self.spans.last_mut() {
            Some(last) if last.ink == ink => last.text.to_mut().push_str(text),
            _ => self.spans.push(Span::new(text.to_owned(), ink)),
        }
    }

    fn end_link(&mut self) {
        let Some((address, from)) = self.link.take() else { return };
        let address = sanitize::line(&address).into_owned();
        let words: String = self.spans.iter().skip(from).map(|span| span.text.as_ref()).collect();
        let bare = |text: &str| {
            let text = text.trim().trim_end_matches('/');
            let text = text.strip_prefix("mailto:").unwrap_or(text);
            text.trim_start_matches("https://").trim_start_matches("http://").to_owned()
        };
        if !address.is_empty() && !address.starts_with('#') && bare(&words) != bare(&address) {
            self.push(&format!(" ({address})"), Role::LinkUrl.into());
        }
    }

    fn take(&mut self) -> Inlines {
        let spans = mem::take(&mut self.spans);
        let cleaned = spans.into_iter().map(|span| Span { text: clean(&span.text).into(), ..span });
        cleaned.filter(|span| !span.text.is_empty()).collect()
    }
}

/// Returns text without anything that a terminal would interpret.
fn clean(text: &str) -> String {
    width::visible(&sanitize::lines(text)).into_owned()
}

impl Builder {
    fn event(&mut self, event: Event<'_>, range: &Range<usize>) {
        if self.start.is_none() {
            self.start = Some(range.start);
        }
        match event {
            Event::Start(tag) => self.begin(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match (&mut self.code, &mut self.html) {
                (Some((_, code)), _) => code.push_str(&text),
                (_, Some(html)) => html.push_str(&text),
                _ => self.words.push(&text, self.words.ink()),
            },
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                let ink = Ink { role: Role::Code, ..self.words.ink() };
                self.words.push(&text, ink);
            }
            Event::Html(text) => match &mut self.html {
                Some(html) => html.push_str(&text),
                None => self.words.push(&text, Role::Html.into()),
            },
            Event::InlineHtml(text) => {
                let tag = text.to_ascii_lowercase();
                if matches!(tag.as_str(), "<br>" | "<br/>" | "<br />") {
                    self.words.push("\n", self.words.ink());
                } else {
                    self.words.push(&text, Role::Html.into());
                }
            }
            Event::FootnoteReference(label) => self.words.push(&format!("[{label}]"), Role::Footnote.into()),
            Event::SoftBreak => self.words.push(" ", self.words.ink()),
            Event::HardBreak => self.words.push("\n", self.words.ink()),
            Event::Rule => self.add(Block::Rule),
            Event::TaskListMarker(done) => {
                if let Some(Open::Item(item)) = self.open.last_mut() {
                    item.done = Some(done);
                }
            }
        }
    }

    fn begin(&mut self, tag: Tag<'_>) {
        match tag {
            // Only items of loose lists have paragraphs.
            Tag::Paragraph => {
                if let [.., Open::List { loose, .. }, Open::Item(_)] = self.open.as_mut_slice() {
                    *loose = true;
                }
            }
            Tag::Heading { level, .. } => {
                self.heading = Some(level as u8);
                self.words.heading = self.heading;
            }
            Tag::BlockQuote(kind) => {
                self.finish_words();
                let alert = kind.map(|kind| match kind {
                    BlockQuoteKind::Note => Alert::Note,
                    BlockQuoteKind::Tip => Alert::Tip,
                    BlockQuoteKind::Important => Alert::Important,
                    BlockQuoteKind::Warning => Alert::Warning,
                    BlockQuoteKind::Caution => Alert::Caution,
                });
                self.words.quotes += 1;
                self.nest(Open::Quote(alert, Vec::new()));
            }
            Tag::CodeBlock(kind) => {
                self.finish_words();
                let info = match kind {
                    CodeBlockKind::Fenced(info) => sanitize::line(&info).trim().to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((info, String::new()));
            }
            Tag::HtmlBlock => {
                self.finish_words();
                self.html = Some(String::new());
            }
            Tag::List(start) => {
                self.finish_words();
                self.nest(Open::List { start, loose: false, items: Vec::new() });
            }
            Tag::Item => {
                let flat = matches!(self.open.last(), Some(Open::Flat));
                self.open.push(if flat { Open::Flat } else { Open::Item(Item::default()) });
            }
            Tag::FootnoteDefinition(label) => {
                self.definitions = true;
                self.nest(Open::Footnote(sanitize::line(&label).into_owned(), Vec::new()));
            }
            Tag::Table(aligns) => {
                self.finish_words();
                let aligns = aligns.into_iter().map(|align| match align {
                    Alignment::None | Alignment::Left => Align::Left,
                    Alignment::Center => Align::Centre,
                    Alignment::Right => Align::Right,
                });
                self.table = Some(Table { aligns: aligns.collect(), ..Table::default() });
            }
            Tag::TableHead => self.words.in_head = true,
            Tag::Emphasis => self.words.emphasis += 1,
            Tag::Strong => self.words.strong += 1,
            Tag::Strikethrough => self.words.strike += 1,
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.words.link = Some((dest_url.to_string(), self.words.spans.len()));
                // A separate span, so that the text of two adjacent links is not joined.
                self.words.spans.push(Span::new("", self.words.ink()));
            }
            Tag::TableRow
            | Tag::TableCell
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.finish_words(),
            TagEnd::Heading(_) => {
                let level = self.heading.take().unwrap_or(1);
                let words = self.words.take();
                self.words.heading = None;
                self.add(Block::Heading { level, words });
            }
            TagEnd::BlockQuote(_) => {
                self.finish_words();
                self.words.quotes = self.words.quotes.saturating_sub(1);
                self.close();
            }
            TagEnd::CodeBlock => {
                if let Some((info, text)) = self.code.take() {
                    self.add(Block::Code { info, text });
                }
            }
            TagEnd::HtmlBlock => {
                if let Some(html) = self.html.take() {
                    self.add(Block::Html(clean(html.trim_end())));
                }
            }
            TagEnd::List(_) | TagEnd::Item | TagEnd::FootnoteDefinition => {
                self.finish_words();
                self.close();
            }
            TagEnd::TableCell => {
                let cell = self.words.take();
                self.row.push(cell);
            }
            TagEnd::TableHead => {
                self.words.in_head = false;
                let head = mem::take(&mut self.row);
                if let Some(table) = &mut self.table {
                    table.head = head;
                }
            }
            TagEnd::TableRow => {
                let row = mem::take(&mut self.row);
                if let Some(table) = &mut self.table {
                    table.rows.push(row);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.add(Block::Table(table));
                }
            }
            TagEnd::Emphasis => self.words.emphasis = self.words.emphasis.saturating_sub(1),
            TagEnd::Strong => self.words.strong = self.words.strong.saturating_sub(1),
            TagEnd::Strikethrough => self.words.strike = self.words.strike.saturating_sub(1),
            TagEnd::Link | TagEnd::Image => self.words.end_link(),
            TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    /// Turns the inline text so far into a paragraph. The items of a tight list have no paragraph events.
    fn finish_words(&mut self) {
        if !self.words.spans.is_empty() {
            let words = self.words.take();
            self.add(Block::Paragraph(words));
        }
    }

    fn nest(&mut self, block: Open) {
        let deep = self.open.iter().filter(|open| !matches!(open, Open::Item(_))).count() >= MAX_DEPTH;
        self.open.push(if deep { Open::Flat } else { block });
    }

    fn close(&mut self) {
        match self.open.pop() {
            Some(Open::Quote(kind, blocks)) => self.add(Block::Quote { kind, blocks }),
            Some(Open::List { start, loose, items }) => self.add(Block::List { start, loose, items }),
            Some(Open::Footnote(label, blocks)) => self.add(Block::Footnote { label, blocks }),
            Some(Open::Item(item)) => {
                if let Some(Open::List { items, .. }) = self.open.last_mut() {
                    items.push(item);
                }
            }
            Some(Open::Flat) | None => {}
        }
    }

    fn add(&mut self, block: Block) {
        let holder = self.open.iter_mut().rev().find(|open| !matches!(open, Open::Flat));
        match holder {
            Some(Open::Quote(_, blocks) | Open::Footnote(_, blocks)) => blocks.push(block),
            Some(Open::Item(item)) => item.blocks.push(block),
            Some(Open::List { items, .. }) => items.push(Item { done: None, blocks: vec![block] }),
            Some(Open::Flat) => {}
            None => {
                let start = self.start.take().unwrap_or_default();
                self.top.push((start, block));
            }
        }
    }
}
