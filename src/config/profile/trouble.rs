//! What can be wrong with a profile, as a sentence each.

use crate::config::problem::Severity;

/// What can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    #[error("the file cannot be read: {0}")]
    Unreadable(String),
    #[error("the file is longer than {0} KiB, which no profile is")]
    TooLong(usize),
    #[error("it is a link that leads out of the repository, so it is not read; put the file itself there")]
    LeadsOut,
    #[error("the file is not UTF-8 text; save it as UTF-8")]
    NotUtf8,
    #[error("{0}")]
    FrontMatter(&'static str),
    #[error(
        "\"{0}\" cannot be the name of a profile: up to 64 letters, digits, - _ and ., beginning with a letter or digit"
    )]
    Name(String),
    #[error("there is neither a description nor a prompt: write below the second --- what the agent is to be told")]
    Empty,
    #[error("there are two lines for {0}; keep one")]
    Twice(&'static str),
    #[error("{field} must be {expected}")]
    Wrong { field: &'static str, expected: &'static str },
    #[error("there is no field {key}; did you mean {nearest}?")]
    Slip { key: String, nearest: &'static str },
    #[error("{0} means nothing here and is passed over")]
    Unused(String),
    #[error(
        "a repository's profile may not choose an auth group: it decides whose money is spent and which company sees the code; take the line out, or keep the profile in your own folder"
    )]
    AuthInRepository,
    #[error("there is no tool {name}{}", meant(.nearest.as_deref()))]
    NoTool { name: String, nearest: Option<String> },
    #[error("the tool {0} does not exist here and is passed over")]
    ForeignTool(String),
    #[error("{0}: a tool is allowed or not, never a part of it; write its name alone")]
    PartOfATool(String),
    #[error("{0} cannot be taken away: without it an agent could not end its work")]
    Needed(String),
    #[error("another file of this folder has the name \"{0}\" already; give each its own")]
    SameName(String),
    #[error(
        "\"{name}\" is the name of {taken}, and a repository's cannot take its place: it is reached only as project:{name}; better give it a name of its own"
    )]
    Hidden { name: String, taken: &'static str },
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

impl Trouble {
    /// An error makes a profile unusable: nothing takes its place.
    pub fn severity(&self) -> Severity {
        match self {
            Self::Unused(_) | Self::ForeignTool(_) | Self::Hidden { .. } => Severity::Warning,
            Self::Unreadable(_)
            | Self::TooLong(_)
            | Self::LeadsOut
            | Self::NotUtf8
            | Self::FrontMatter(_)
            | Self::Name(_)
            | Self::Empty
            | Self::Twice(_)
            | Self::Wrong { .. }
            | Self::Slip { .. }
            | Self::AuthInRepository
            | Self::NoTool { .. }
            | Self::PartOfATool(_)
            | Self::Needed(_)
            | Self::SameName(_) => Severity::Error,
        }
    }
}
