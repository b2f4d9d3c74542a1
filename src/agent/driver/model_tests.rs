use super::*;
use crate::model::content::{BlobRef, Image};
use crate::model::conversation::{Block, Role, RoleMessage, ToolOutcome, Wire};
use crate::model::{Content, event::StopReason};
use crate::provider::encode::encode_message;

struct Photographs;

impl BlobSource for Photographs {
    fn read(&self, _: &BlobId) -> io::Result<Vec<u8>> {
        Ok(vec![0; 3_000_000])
    }
}

fn photograph() -> Image {
    let blob = serde_json::from_value(serde_json::json!("0".repeat(64))).unwrap();
    Image { data: BlobRef { blob, bytes: 3_000_000 }, media_type: "image/png".to_owned(), name: None }
}

#[test]
fn a_picture_is_not_estimated_by_its_bytes() {
    let result = ToolOutcome {
        call: "a".to_owned(),
        content: Content::text("two pictures"),
        is_error: false,
        images: vec![photograph()],
    };
    let blocks = vec![Block::ToolResult(result), Block::Text("x".repeat(4_000)), Block::Image(photograph())];
    let message = RoleMessage { role: Role::User, blocks };
    for wire in [Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Anthropic] {
        let config = Arc::new(SessionConfig { wire, ..SessionConfig::default() });
        let segment = encode_message(wire, &message, &Photographs).unwrap();
        let call = ProviderRequest::respond(config, &[segment], &BodyOptions::streaming());
        assert!(call.body.len() > 8_000_000);
        let response = Response {
            blocks: Vec::new(),
            tokens: Tokens::default(),
            usage_reported: false,
            stop: StopReason::EndTurn,
            cut_call: None,
            model: String::new(),
        };
        let facts = ModelInfo { window: 200_000, max_output: 8_000, prices: None };
        let usage = usage_of(&response, &facts, "m", estimate_tokens(call.body.len(), call.pictures));
        assert!(usage.estimated && (4_000..4_500).contains(&usage.tokens.input), "{wire:?}: {:?}", usage.tokens);
    }
}
