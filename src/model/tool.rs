//! What a model is told about a tool.

use serde::{Deserialize, Serialize};

use crate::base::Json;

/// A tool as offered to a model. Frozen per segment in `session_config`, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name on the wire: `mcp__<server>__<name>`.
    pub name: String,
    pub description: String,
    /// JSON Schema of the input object.
    pub schema: Json,
}
