//! The specification of a tool for a model.

use serde::{Deserialize, Serialize};

use crate::base::Json;

/// A tool as offered to a model. Frozen per segment in `session_config`, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The wire name: `mcp__<server>__<name>`.
    pub name: String,
    pub description: String,
    /// JSON Schema of the input object.
    pub schema: Json,
}
