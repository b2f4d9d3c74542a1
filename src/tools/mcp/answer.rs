//! A server's result as a reply: text in its order, pictures as pictures, everything else kept and named.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents};
use serde_json::Value;

use crate::base::text::size;
use crate::model::Image;
use crate::tools::context::Context;
use crate::tools::mcp::redact::Redactor;
use crate::tools::picture;
use crate::tools::reply::Reply;

/// Pictures beyond this are kept and named, but not shown: vendors limit how many a request may hold.
const MOST_PICTURES: usize = 16;

/// Returns what the model is to read, without the server's secrets. The path bounds its length like that of any reply.
pub(super) async fn reply(result: CallToolResult, context: &Context, redactor: &Redactor) -> Reply {
    let mut gathered = Gathered { parts: Vec::new(), images: Vec::new(), context };
    let structured = result.structured_content.filter(|value| !is_repeated(value, &result.content));
    for block in result.content {
        gathered.block(block).await;
    }
    if let Some(value) = structured {
        gathered.parts.push(value.to_string());
    }
    if gathered.parts.is_empty() {
        gathered.parts.push("(the answer is empty)".to_owned());
    }
    Reply {
        text: redactor.without_keys(&gathered.parts.join("\n")).into_owned(),
        is_error: result.is_error.unwrap_or(false),
        images: gathered.images,
        ..Reply::default()
    }
}

/// Tells whether structured content only repeats the text. Servers are told to send both, for clients that know only
/// text; many wrap what they return in an object with one field.
fn is_repeated(value: &Value, content: &[ContentBlock]) -> bool {
    let texts: Vec<&str> = content.iter().filter_map(ContentBlock::as_text).map(|block| block.text.as_str()).collect();
    let wrapped = value.as_object().filter(|fields| fields.len() == 1).and_then(|fields| fields.values().next());
    says(&texts, value) || wrapped.is_some_and(|inner| says(&texts, inner))
}

/// Tells whether the texts say exactly `value`: as text, as JSON, or a list item by item.
fn says(texts: &[&str], value: &Value) -> bool {
    let one = |text: &str, value: &Value| match value {
        Value::String(said) => said == text,
        other => serde_json::from_str::<Value>(text).is_ok_and(|said| said == *other),
    };
    let in_one_text = texts.iter().any(|text| one(text, value));
    let in_all_texts = matches!(value, Value::String(said) if texts.len() > 1 && texts.join("\n") == *said);
    let item_by_item = || {
        let items = value.as_array().filter(|items| !items.is_empty() && items.len() == texts.len());
        items.is_some_and(|items| items.iter().zip(texts).all(|(item, text)| one(text, item)))
    };
    in_one_text || in_all_texts || item_by_item()
}

struct Gathered<'a> {
    parts: Vec<String>,
    images: Vec<Image>,
    context: &'a Context,
}

impl Gathered<'_> {
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

    /// Adds bytes: as a picture if they are one, else as a file that the agent can look at.
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
        let mut trouble = String::new();
        if let Some(format) = picture::kind(&bytes) {
            if self.images.len() >= MOST_PICTURES {
                trouble = format!("; only {MOST_PICTURES} pictures are shown");
            } else {
                let (limits, original) = (self.context.limits, bytes.clone());
                // Decoding computes for long; an agent's other work must not wait for it.
                let looked = tokio::task::spawn_blocking(move || picture::fit(original, format, limits)).await;
                match looked.unwrap_or_else(|_| Err("the decoder failed".to_owned())) {
                    Ok((picture, said)) => {
                        let shown = name.as_deref().unwrap_or("picture");
                        match self.context.blobs.put(picture.bytes).await {
                            Ok(data) => {
                                self.parts.push(format!("[{shown}{said}]"));
                                self.images.push(Image { data, media_type: picture.media_type.to_owned(), name });
                            }
                            Err(error) => self.parts.push(format!("[{shown}{said}: it could not be kept: {error}]")),
                        }
                        return;
                    }
                    Err(problem) => trouble = format!("; {problem}"),
                }
            }
        }
        let said = format!("{label}, {}", size(bytes.len() as u64));
        self.parts.push(match self.context.blobs.put(bytes).await {
            Ok(blob) => format!("[{said}: kept in {}{trouble}]", self.context.blobs.path(&blob).display()),
            Err(error) => format!("[{said}: it could not be kept: {error}{trouble}]"),
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
#[path = "answer_tests.rs"]
mod tests;
