//! The models this endpoint serves and what they can do.

use serde::Deserialize;

/// A model and its limits.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    pub id: String,
    /// How many tokens a request may have.
    pub window: u64,
    /// How many tokens an answer may have.
    pub max_output: u64,
}

impl Model {
    pub fn new(id: &str, window: u64, max_output: u64) -> Self {
        Self { id: id.to_owned(), window, max_output }
    }
}

/// Returns the models that every mock serves. `mock-small` is small enough to be filled by a test.
pub fn built_in() -> Vec<Model> {
    vec![
        Model::new("mock-model", 200_000, 64_000),
        Model::new("mock-million", 1_000_000, 128_000),
        Model::new("mock-small", 8_000, 4_096),
        Model::new("claude-opus-5-5", 1_000_000, 128_000),
        Model::new("claude-sonnet-5-5", 1_000_000, 128_000),
        Model::new("claude-haiku-5-5", 200_000, 64_000),
        Model::new("claude-opus-4-6", 200_000, 128_000),
        Model::new("claude-sonnet-4-6", 200_000, 64_000),
        Model::new("claude-haiku-4-5", 200_000, 64_000),
        Model::new("gpt-5.2", 400_000, 128_000),
        Model::new("gpt-5.1", 400_000, 128_000),
        Model::new("gpt-5", 400_000, 128_000),
        Model::new("gpt-4.1", 1_047_576, 32_768),
    ]
}
