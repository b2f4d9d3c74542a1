//! Rules for turns that hold on every wire.
//!
//! A user turn is tool results, then texts, then images, then one caption. So the last block is never an image, and
//! there is always a place for a cache mark. Blank text is never sent, because several APIs reject the request for it.
//! Thinking of another vendor becomes text.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::base::{sanitize, text};
use crate::model::content::{Content, Image};
use crate::model::conversation::{Block, RoleMessage, Thought, ToolOutcome};
use crate::model::render;
use crate::provider::encode::{BlobSource, EncodeError};

/// Replaces the text of an empty tool result.
pub const NO_OUTPUT: &str = "(no output)";
/// Prefix of the result of a failed call, on wires without an error field.
pub const ERROR_PREFIX: &str = "Error: ";
const NAME_CHARS: usize = 80;

/// A tool result ready for any wire.
#[derive(Debug)]
pub struct WireToolResult<'a> {
    pub call: &'a str,
    /// Never blank.
    pub text: String,
    pub is_error: bool,
    pub images: Vec<WireImage<'a>>,
}

impl WireToolResult<'_> {
    /// Returns the text, with [`ERROR_PREFIX`] if the call failed.
    pub fn text_with_error(&self) -> String {
        if self.is_error { format!("{ERROR_PREFIX}{}", self.text) } else { self.text.clone() }
    }
}

/// An image ready for any wire.
#[derive(Debug)]
pub struct WireImage<'a> {
    pub media_type: &'a str,
    pub name: Option<&'a str>,
    pub base64: String,
}

impl WireImage<'_> {
    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.media_type, self.base64)
    }
}

/// A user message in the order in which it is sent.
#[derive(Debug)]
pub struct UserTurn<'a> {
    pub outcomes: Vec<WireToolResult<'a>>,
    pub texts: Vec<&'a str>,
    pub images: Vec<WireImage<'a>>,
}

/// Where the images of tool results go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolImages {
    /// With their result. Those of failed calls go into the turn, because APIs allow no images in failed results.
    InResult,
    /// With the user's own images, after the texts.
    InTurn,
}

impl<'a> UserTurn<'a> {
    pub fn of(message: &'a RoleMessage, tool_images: ToolImages, blobs: &dyn BlobSource) -> Result<Self, EncodeError> {
        let mut turn = Self { outcomes: Vec::new(), texts: Vec::new(), images: Vec::new() };
        let mut own = Vec::new();
        for block in &message.blocks {
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
                // A user message has no thinking or calls, and no wire can send them.
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
                Some(name) if !name.is_empty() => render::escape_tags(&name).into_owned(),
                _ => "unnamed".to_owned(),
            })
            .collect();
        Some(format!("[{}: {}]", text::count(names.len(), "image", "images"), names.join(", ")))
    }
}

pub fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Returns another vendor's thinking as plain text in a tag, or `None` if it has no readable text.
///
/// It is kept because later decisions refer to it.
pub fn foreign_thought(thought: &Thought) -> Option<String> {
    (!is_blank(&thought.text)).then(|| format!("<thinking>\n{}\n</thinking>", thought.text.trim()))
}

fn outcome<'a>(result: &'a ToolOutcome, blobs: &dyn BlobSource) -> Result<WireToolResult<'a>, EncodeError> {
    let text = match &result.content {
        Content::Text { text } => text.clone(),
        Content::Blob(content) => {
            let bytes = read(&content.blob, blobs)?;
            String::from_utf8(bytes).unwrap_or_else(|raw| String::from_utf8_lossy(raw.as_bytes()).into_owned())
        }
    };
    // Tool output is untrusted: it must not look like a message of Matrix.
    let text = match render::escape_tags(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(escaped) => escaped,
    };
    let text = if is_blank(&text) { NO_OUTPUT.to_owned() } else { text };
    let images = result.images.iter().map(|image| picture(image, blobs)).collect::<Result<_, _>>()?;
    Ok(WireToolResult { call: &result.call, text, is_error: result.is_error, images })
}

fn picture<'a>(image: &'a Image, blobs: &dyn BlobSource) -> Result<WireImage<'a>, EncodeError> {
    let base64 = STANDARD.encode(read(&image.data.blob, blobs)?);
    Ok(WireImage { media_type: &image.media_type, name: image.name.as_deref(), base64 })
}

fn read(blob: &crate::model::content::BlobId, blobs: &dyn BlobSource) -> Result<Vec<u8>, EncodeError> {
    blobs.read(blob).map_err(|source| EncodeError::Blob { blob: blob.clone(), source })
}
