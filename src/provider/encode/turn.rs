//! The rules of a turn that hold on every wire: what comes first, what is never sent, what a foreign thought becomes.
//!
//! A user turn is tool results, then texts, then images, then one caption, so that the last block is never an image
//! and a cache mark always has a place. Blank text is never sent; several APIs refuse the whole request for it.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::base::{sanitize, text};
use crate::model::content::{Content, Image};
use crate::model::conversation::{Block, Speech, Thought, ToolOutcome};
use crate::model::render;
use crate::provider::encode::{BlobSource, EncodeError};

/// What stands for a tool result without any text.
pub const NO_OUTPUT: &str = "(no output)";
/// What goes before the text of a failed call on wires that have no field for it.
pub const ERROR_PREFIX: &str = "Error: ";
const NAME_CHARS: usize = 80;

/// A tool result ready for any wire.
#[derive(Debug)]
pub struct Outcome<'a> {
    pub call: &'a str,
    /// Never blank.
    pub text: String,
    pub is_error: bool,
    pub images: Vec<Picture<'a>>,
}

impl Outcome<'_> {
    /// Returns the text with the failure said in words.
    pub fn text_with_error(&self) -> String {
        if self.is_error { format!("{ERROR_PREFIX}{}", self.text) } else { self.text.clone() }
    }
}

/// An image ready for any wire.
#[derive(Debug)]
pub struct Picture<'a> {
    pub media_type: &'a str,
    pub name: Option<&'a str>,
    pub base64: String,
}

impl Picture<'_> {
    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.media_type, self.base64)
    }
}

/// A user's speech in the order in which it is sent.
#[derive(Debug)]
pub struct UserTurn<'a> {
    pub outcomes: Vec<Outcome<'a>>,
    pub texts: Vec<&'a str>,
    pub images: Vec<Picture<'a>>,
}

/// Where the images of tool results go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolImages {
    /// With their result, except those of failed calls: where results can hold images, failed ones cannot.
    InResult,
    /// With the person's own, after the texts.
    InTurn,
}

impl<'a> UserTurn<'a> {
    pub fn of(speech: &'a Speech, tool_images: ToolImages, blobs: &dyn BlobSource) -> Result<Self, EncodeError> {
        let mut turn = Self { outcomes: Vec::new(), texts: Vec::new(), images: Vec::new() };
        let mut own = Vec::new();
        for block in &speech.blocks {
            match block {
                Block::ToolResult(result) => {
                    let mut outcome = outcome(result, blobs)?;
                    if outcome.is_error || tool_images == ToolImages::InTurn {
                        turn.images.append(&mut outcome.images);
                    }
                    turn.outcomes.push(outcome);
                }
                Block::Text(text) if !is_blank(text) => turn.texts.push(text),
                Block::Image(image) => own.push(picture(image, blobs)?),
                // A user does not think or call tools; were a log to say so, there is no way to send it.
                Block::Text(_) | Block::Thinking(_) | Block::ToolUse(_) => {}
            }
        }
        turn.images.append(&mut own);
        Ok(turn)
    }

    /// Returns the text that follows the images.
    pub fn caption(&self) -> Option<String> {
        if self.images.is_empty() {
            return None;
        }
        let names: Vec<String> = self
            .images
            .iter()
            .map(|image| match image.name.map(|name| text::headline(&sanitize::line(name), NAME_CHARS)) {
                Some(name) if !name.is_empty() => render::neutral(&name).into_owned(),
                _ => "unnamed".to_owned(),
            })
            .collect();
        Some(format!("[{}: {}]", text::count(names.len(), "image", "images"), names.join(", ")))
    }
}

pub fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Returns what another vendor's thinking becomes: plain text in a tag, or nothing if nobody may read it.
///
/// Kept rather than dropped, because the decisions that follow it refer to it.
pub fn foreign_thought(thought: &Thought) -> Option<String> {
    (!is_blank(&thought.text)).then(|| format!("<thinking>\n{}\n</thinking>", thought.text.trim()))
}

fn outcome<'a>(result: &'a ToolOutcome, blobs: &dyn BlobSource) -> Result<Outcome<'a>, EncodeError> {
    let text = match &result.content {
        Content::Text { text } => text.clone(),
        Content::Blob(content) => {
            let bytes = read(&content.blob, blobs)?;
            String::from_utf8(bytes).unwrap_or_else(|raw| String::from_utf8_lossy(raw.as_bytes()).into_owned())
        }
    };
    // Whatever a tool returns comes from outside: it must not read as a message of ours.
    let text = match render::neutral(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(escaped) => escaped,
    };
    let text = if is_blank(&text) { NO_OUTPUT.to_owned() } else { text };
    let images = result.images.iter().map(|image| picture(image, blobs)).collect::<Result<_, _>>()?;
    Ok(Outcome { call: &result.call, text, is_error: result.is_error, images })
}

fn picture<'a>(image: &'a Image, blobs: &dyn BlobSource) -> Result<Picture<'a>, EncodeError> {
    let base64 = STANDARD.encode(read(&image.data.blob, blobs)?);
    Ok(Picture { media_type: &image.media_type, name: image.name.as_deref(), base64 })
}

fn read(blob: &crate::model::content::BlobId, blobs: &dyn BlobSource) -> Result<Vec<u8>, EncodeError> {
    blobs.read(blob).map_err(|source| EncodeError::Blob { blob: blob.clone(), source })
}
