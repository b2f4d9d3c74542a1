//! Problems of profiles, one message each.

use crate::config::problem::Severity;

/// A kind of problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileProblemKind {
    #[error("cannot read the file: {0}")]
    Unreadable(String),
    #[error("the file is larger than the limit of {0} KiB")]
    TooLong(usize),
    #[error("it is a link to a file outside the repository and is ignored; copy the file instead")]
    LeadsOut,
    #[error("the file is not UTF-8 text; save it as UTF-8")]
    NotUtf8,
    #[error("{0}")]
    FrontMatter(String),
    #[error("this is not YAML ({0}) and was read as plain text; put the text after the name in quotes")]
    NotYaml(String),
    #[error(
        "\"{0}\" is not a valid profile name: use up to 64 letters, digits, - _ and ., starting with a letter or digit, and not ask or inherit"
    )]
    Name(String),
    #[error("description is missing: add a line `description: …` that says when to use this profile")]
    NoDescription,
    #[error("there is no prompt to use: write it below the second ---, or remove this line")]
    NoPrompt,
    #[error("{0} is set twice; keep one line")]
    Twice(&'static str),
    #[error("{field} must be {expected}")]
    Wrong { field: &'static str, expected: &'static str },
    #[error("there is no field {key}; did you mean {nearest}?")]
    UnknownField { key: String, nearest: &'static str },
    #[error("there is no field {key}; {instead}")]
    NoField { key: String, instead: &'static str },
    #[error("{0} has no meaning here and is ignored")]
    Unused(String),
    #[error("{key} is not supported and is ignored: {instead}")]
    Unsupported { key: String, instead: &'static str },
    #[error(
        "a repository's profile may not choose an auth group: it decides whose account pays and which provider sees the code; remove the line, or move the profile to your own folder"
    )]
    AuthInRepository,
    #[error(
        "a repository's profile may not choose a backend: it decides which program runs and whose account pays; remove the line, or move the profile to your own folder"
    )]
    BackendInRepository,
    #[error("auth has no meaning beside an outside backend, which has a login of its own; remove one of the two lines")]
    AuthBesideBackend,
    #[error("there is no tool {name}{}", did_you_mean(.nearest.as_deref()))]
    NoTool { name: String, nearest: Option<String> },
    #[error("the tool {0} does not exist here and is ignored")]
    ForeignTool(String),
    #[error("{0}: a tool is allowed as a whole or not at all; write only its name")]
    PartOfATool(String),
    #[error("{0} cannot be disallowed: an agent needs it to finish its work")]
    Needed(String),
    #[error("another file in this folder already has the name \"{0}\"; rename one of them")]
    SameName(String),
    #[error(
        "\"{name}\" is also the name of {taken}, which a repository's profile cannot replace: this one is only available as project:{name}; rename it"
    )]
    Hidden { name: String, taken: &'static str },
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

impl ProfileProblemKind {
    /// An error makes the profile unusable. There is no fallback.
    pub fn severity(&self) -> Severity {
        match self {
            Self::NotYaml(_)
            | Self::Unused(_)
            | Self::Unsupported { .. }
            | Self::ForeignTool(_)
            | Self::Hidden { .. } => Severity::Warning,
            Self::Unreadable(_)
            | Self::TooLong(_)
            | Self::LeadsOut
            | Self::NotUtf8
            | Self::FrontMatter(_)
            | Self::Name(_)
            | Self::NoDescription
            | Self::NoPrompt
            | Self::NoField { .. }
            | Self::Twice(_)
            | Self::Wrong { .. }
            | Self::UnknownField { .. }
            | Self::AuthInRepository
            | Self::BackendInRepository
            | Self::AuthBesideBackend
            | Self::NoTool { .. }
            | Self::PartOfATool(_)
            | Self::Needed(_)
            | Self::SameName(_) => Severity::Error,
        }
    }
}
