//! The three layers of settings, and the origin of an effective value.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::config::problem::FileLocation;

/// A settings file. Ordered by precedence: a later layer wins over an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The user's, for all projects, in the data folder.
    Global,
    /// The repository's, under git. Not trusted.
    Repo,
    /// The user's, for one project, in the data folder.
    Local,
}

impl Layer {
    pub const ALL: [Self; 3] = [Self::Global, Self::Repo, Self::Local];

    pub fn word(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Repo => "repo",
            Self::Local => "local",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// The origin of an effective value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Not set anywhere.
    Default,
    /// The names of environment variables.
    Environment(Vec<&'static str>),
    File {
        layer: Layer,
        place: FileLocation,
    },
    /// Merged from several places.
    Several,
}

impl Origin {
    pub fn layer(&self) -> Option<Layer> {
        match self {
            Self::File { layer, .. } => Some(*layer),
            Self::Default | Self::Environment(_) | Self::Several => None,
        }
    }

    pub fn place(&self) -> Option<&FileLocation> {
        match self {
            Self::File { place, .. } => Some(place),
            Self::Default | Self::Environment(_) | Self::Several => None,
        }
    }

    pub fn word(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Environment(_) => "environment",
            Self::File { layer, .. } => layer.word(),
            Self::Several => "several",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default | Self::Several => f.write_str(self.word()),
            Self::Environment(names) => write!(f, "environment: {}", names.join(", ")),
            Self::File { layer, place } => write!(f, "{layer}: {place}"),
        }
    }
}
