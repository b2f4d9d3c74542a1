//! Converts a server's result into a reply: text in its order, pictures as pictures, everything else stored and
//! named.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents};
use serde_json::Value;

use crate::base::text::size;
use crate::model::Image;
use crate::tools::context::ToolContext;
use crate::tools::mcp::redact::Redactor;
use crate::tools::picture;
use crate::tools::reply::Reply;

/// More pictures are stored and named, but not shown: vendors limit the pictures of a request.
const MAX_PICTURES: usize = 16;

/// Returns the reply for the model, without the server's secrets. `execute` bounds its length like that of any reply.
pub(super) async fn reply(result: CallToolResult, context: &ToolContext, redactor: &Redactor) -> Reply {
    let mut builder = ReplyBuilder { parts: Vec::new(), images: Vec::new(), context };
    let structured = result.structured_content.filter(|value| !is_repeated(value, &result.content));
    for block in result.content {
        builder.block(block).await;
    }
    if let Some(value) = structured {
        builder.parts.push(value.to_string());
    }
    if builder.parts.is_empty() {
        builder.parts.push("(the answer is empty)".to_owned());
    }
    Reply {
        text: redactor.without_keys(&builder.parts.join("\n")).into_owned(),
        is_error: result.is_error.unwrap_or(false),
        images: builder.images,
        ..Reply::default()
    }
}

/// Returns true if structured content only repeats the text. Servers should send both, for clients that know only
/// text; many wrap their result in an object with one field.
fn is_repeated(value: &Value, content: &[ContentBlock]) -> bool {
    let texts: Vec<&str> = content.iter().filter_map(ContentBlock::as_text).map(|block| block.text.as_str()).collect();
    let wrapped = value.as_object().filter(|fields| fields.len() == 1).and_then(|fields| fields.values().next());
    equals(&texts, value) || wrapped.is_some_and(|inner| equals(&texts, inner))
}

/// Returns true if the texts equal `value`: as text, as JSON, or a list item by item.
fn equals(texts: &[&str], value: &Value) -> bool {
    let one = |text: &str, value: &Value| match value {
        Value::String(description) => description == text,
        other => serde_json::from_str::<Value>(text).is_ok_and(|description| description == *other),
    };
    let in_one_text = texts.iter().any(|text| one(text, value));
    let in_all_texts =
        matches!(value, Value::String(description) if texts.len() > 1 && texts.join("\n") == *description);
    let item_by_item = || {
        let items = value.as_array().filter(|items| !items.is_empty() && items.len() == texts.len());
        items.is_some_and(|items| items.iter().zip(texts).all(|(item, text)| one(text, item)))
    };
    in_one_text || in_all_texts || item_by_item()
}

struct ReplyBuilder<'a> {
    parts: Vec<String>,
    images: Vec<Image>,
    context: &'a ToolContext,
}

impl ReplyBuilder<'_> {
    async fn block(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(block) => self.parts.push(block.text),
            ContentBlock::Image(block) => self.encoded(&block.data, &block.mime_type, None).await,
            ContentBlock::Audio(block) => self.encoded(&block.data, &block.mime_type, None).await,
            ContentBlock::Resource(block) => match block.resource {
                ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
                    let kind = mime_type.map(|kind| format!(", {kind}")).unwrap_or_default();
                    self.parts.push(format!("[resource {uri}{kind}]\n{text}"));
                }
                ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                    let kind = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
                    self.encoded(&blob, &kind, Some(uri)).await;
                }
                _ => self.parts.push("[a resource of an unknown kind: not shown]".to_owned()),
            },
            ContentBlock::ResourceLink(link) => self.parts.push(link_line(&link)),
            _ => self.parts.push("[content of an unknown kind: not shown]".to_owned()),
        }
    }

    /// Adds bytes: as a picture if they are one, else as a file that the agent can read.
    async fn encoded(&mut self, data: &str, kind: &str, name: Option<String>) {
        let label = name.as_deref().map_or_else(|| kind.to_owned(), |name| format!("{name}, {kind}"));
        // Some encoders break lines.
        let packed: String = data.split_ascii_whitespace().collect();
        let bytes = match STANDARD.decode(packed) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.parts.push(format!("[{label}: not base64 as it should be ({error})]"));
                return;
            }
        };
        let mut note = String::new();
        if let Some(format) = picture::kind(&bytes) {
            if self.images.len() >= MAX_PICTURES {
                note = format!("; only {MAX_PICTURES} pictures are shown");
            } else {
                let (limits, original) = (self.context.limits, bytes.clone());
                // Decoding is slow; other work must not wait for it.
                let fitted = tokio::task::spawn_blocking(move || picture::fit(original, format, limits)).await;
                match fitted.unwrap_or_else(|_| Err("the decoder failed".to_owned())) {
                    Ok((picture, description)) => {
                        let shown = name.as_deref().unwrap_or("picture");
                        match self.context.blobs.put(picture.bytes).await {
                            Ok(data) => {
                                self.parts.push(format!("[{shown}{description}]"));
                                self.images.push(Image { data, media_type: picture.media_type.to_owned(), name });
                            }
                            Err(error) => {
                                self.parts.push(format!("[{shown}{description}: it could not be kept: {error}]"));
                            }
                        }
                        return;
                    }
                    Err(problem) => note = format!("; {problem}"),
                }
            }
        }
        let description = format!("{label}, {}", size(bytes.len() as u64));
        self.parts.push(match self.context.blobs.put(bytes).await {
            Ok(blob) => format!("[{description}: kept in {}{note}]", self.context.blobs.path(&blob).display()),
            Err(error) => format!("[{description}: it could not be kept: {error}{note}]"),
        });
    }
}

fn link_line(link: &Resource) -> String {
    let mut facts = vec![link.uri.clone()];
    facts.extend(link.mime_type.clone());
    facts.extend(link.size.map(size));
    facts.extend(link.description.clone());
    format!("[link to the resource \"{}\": {}]", link.title.as_ref().unwrap_or(&link.name), facts.join(", "))
}

#[cfg(test)]
#[path = "result_tests.rs"]
mod tests;
