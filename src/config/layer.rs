//! The three files that settings come from, and where an effective value came from.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::config::problem::Place;

/// A file of settings. Ordered by rank: a later layer wins over an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The person's, for all projects, in the data folder.
    Global,
    /// The repository's own, under git: proposals of whoever wrote it.
    Repo,
    /// The person's for one project, in the data folder.
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

/// Where an effective value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// Variables of the environment, by name.
    Environment(Vec<&'static str>),
    File {
        layer: Layer,
        place: Place,
    },
    /// Put together from several places.
    Several,
}

impl Origin {
    /// Returns the layer whose file holds the value.
    pub fn layer(&self) -> Option<Layer> {
        match self {
            Self::File { layer, .. } => Some(*layer),
            Self::Default | Self::Environment(_) | Self::Several => None,
        }
    }

    /// Returns the place in a file that holds the value.
    pub fn place(&self) -> Option<&Place> {
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
