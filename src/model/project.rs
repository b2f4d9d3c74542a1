//! A project: a git repository that Matrix works on.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::{ProjectId, Timestamp};

/// A registered repository.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Project {
    pub id: ProjectId,
    pub name: String,
    /// The top folder of its main checkout.
    pub path: PathBuf,
    /// The branch that the root works on and finished work goes to.
    pub base_branch: String,
    pub created_at: Timestamp,
    /// Fields of a newer version, kept as they are.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}
