//! The table of settings: every key with its kind, layers, default, description and example.
//!
//! Validation, suggestions, help, documentation and defaults read it. A key that is not here does not exist. A test
//! compares [`crate::config::Settings`] with this table.

mod entries;

pub use entries::{FILE_KEYS, KEYS};

use crate::config::key_path::KeyPath;
use crate::config::layer::Layer;
use crate::permit::List;

/// A setting, or a field of one.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub name: &'static str,
    pub kind: Kind,
    pub allowed: Allowed,
    pub need: Need,
    /// The description, in one or two sentences.
    pub doc: &'static str,
    /// A valid value, as JSON.
    pub example: &'static str,
}

/// The layers that may set a key, and the reason why others may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    Everywhere,
    /// Global and local, but not the repository.
    User(&'static str),
    /// Local only.
    Project(&'static str),
}

impl Allowed {
    pub fn layers(self) -> &'static [Layer] {
        match self {
            Self::Everywhere => &Layer::ALL,
            Self::User(_) => &[Layer::Global, Layer::Local],
            Self::Project(_) => &[Layer::Local],
        }
    }

    /// Returns the reason why `layer` may not set the key, or `None` if it may.
    pub fn refusal(self, layer: Layer) -> Option<&'static str> {
        match self {
            Self::User(why) | Self::Project(why) => (!self.layers().contains(&layer)).then_some(why),
            Self::Everywhere => None,
        }
    }
}

/// The meaning of an absent key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// No value; the description says what that means.
    Optional,
    /// A default value, as JSON.
    Default(&'static str),
    /// An error.
    Required,
}

/// The type of a value.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A non-empty line of text.
    Text,
    /// Any string without NUL.
    Free,
    Path,
    Url,
    /// An API key.
    Credential,
    /// The value of an HTTP header. May be a secret.
    Header,
    /// The value of an environment variable. May be a secret.
    Variable,
    /// A BLAKE3 hash in hex.
    Hash,
    Flag,
    Whole {
        min: u64,
        max: u64,
    },
    Dollars {
        min: f64,
    },
    /// A positive number of seconds, also with a fraction.
    Seconds,
    /// A pattern of names, as in [`crate::config::hooks::Matcher`].
    Matcher,
    Choice(&'static [&'static str]),
    /// A permission rule of this list.
    PermissionRule(List),
    /// A string, or a list of strings.
    OneOrMany,
    List(&'static Kind),
    /// Entries with names that the user chooses.
    Map {
        placeholder: &'static str,
        names: Names,
        of: &'static Kind,
    },
    Object {
        fields: &'static [Key],
        rule: Rule,
    },
}

/// The valid names of a map's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    Any,
    /// Becomes part of tool names in requests to the provider.
    Server,
    Variable,
    Header,
    Backend,
}

impl Names {
    pub fn accepts(self, name: &str) -> bool {
        let word =
            |extra: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || extra.contains(c));
        match self {
            Self::Any => !name.trim().is_empty() && !name.contains(char::is_control),
            Self::Server => word("-_") && name.len() <= 32 && !name.contains("__") && name != "mxd",
            Self::Variable => !name.is_empty() && !name.contains(['=', '\0']),
            Self::Header => word("!#$%&'*+-.^_`|~"),
            Self::Backend => word("-_") && name.len() <= 32 && name != "native",
        }
    }

    /// Describes an invalid name.
    pub fn complaint(self) -> &'static str {
        match self {
            Self::Any => "has a name that is empty or contains control characters",
            Self::Server => "has an invalid server name: use up to 32 letters, digits, - and _, no __, and not mxd",
            Self::Variable => "has an invalid variable name",
            Self::Header => "has an invalid header name",
            Self::Backend => "has an invalid name: use up to 32 letters, digits, - and _, and not native",
        }
    }
}

/// A rule between the fields of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    None,
    AuthGroup,
    McpServer,
    HookHandler,
}

impl Kind {
    /// Returns true if plain text on the command line can be a value of this kind.
    pub fn is_text(&self) -> bool {
        match self {
            Self::Text
            | Self::PermissionRule(_)
            | Self::Matcher
            | Self::Free
            | Self::Path
            | Self::Url
            | Self::Credential
            | Self::Header
            | Self::Variable
            | Self::Hash
            | Self::Choice(_)
            | Self::OneOrMany => true,
            Self::Flag
            | Self::Whole { .. }
            | Self::Dollars { .. }
            | Self::Seconds
            | Self::List(_)
            | Self::Map { .. }
            | Self::Object { .. } => false,
        }
    }

    /// Returns true if a message may contain an invalid value of this kind.
    pub fn is_public(&self) -> bool {
        match self {
            Self::Text
            | Self::Path
            | Self::Hash
            | Self::Flag
            | Self::Choice(_)
            | Self::PermissionRule(_)
            | Self::OneOrMany
            | Self::Matcher
            | Self::Seconds
            | Self::Whole { .. }
            | Self::Dollars { .. } => true,
            Self::Free
            | Self::Url
            | Self::Credential
            | Self::Header
            | Self::Variable
            | Self::List(_)
            | Self::Map { .. }
            | Self::Object { .. } => false,
        }
    }

    /// Describes the kind, with its article.
    pub fn describe(&self) -> String {
        match self {
            Self::Text => "a non-empty line of text".to_owned(),
            Self::Free | Self::Variable => "a string".to_owned(),
            Self::Path => "a path".to_owned(),
            Self::Url => "a URL that starts with http:// or https://".to_owned(),
            Self::Credential => {
                "an API key: letters, digits and symbols without spaces, not the masked form".to_owned()
            }
            Self::Header => "one line of text, not the masked form".to_owned(),
            Self::Hash => "64 lower-case hex digits".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Whole { min, max: u64::MAX } => format!("an integer, {min} or more"),
            Self::Whole { min, max } => format!("an integer from {min} to {max}"),
            Self::Dollars { min } if *min > 0.0 => format!("an amount in USD, {min} or more"),
            Self::Dollars { .. } => "an amount in USD".to_owned(),
            Self::Seconds => "a number of seconds above 0".to_owned(),
            Self::Matcher => "a name, several names, or a regular expression".to_owned(),
            Self::Choice(words) => {
                let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
                format!("one of {}", words.join(", "))
            }
            Self::PermissionRule(list) => {
                format!("a rule to {list}, such as \"bash(cargo test *)\" or \"read(~/.ssh/**)\"")
            }
            Self::OneOrMany => "a string or a list of strings".to_owned(),
            Self::List(of) => format!("a list; each item is {}", of.describe()),
            Self::Map { .. } | Self::Object { .. } => "an object".to_owned(),
        }
    }
}

impl Key {
    const fn new(name: &'static str, kind: Kind, example: &'static str, doc: &'static str) -> Self {
        Self { name, kind, allowed: Allowed::Everywhere, need: Need::Optional, doc, example }
    }

    const fn or(self, default: &'static str) -> Self {
        Self { need: Need::Default(default), ..self }
    }

    const fn required(self) -> Self {
        Self { need: Need::Required, ..self }
    }

    const fn user_only(self, why: &'static str) -> Self {
        Self { allowed: Allowed::User(why), ..self }
    }

    const fn project(self, why: &'static str) -> Self {
        Self { allowed: Allowed::Project(why), ..self }
    }

    /// Returns the example as a line of a file.
    pub fn sample(&self) -> String {
        format!("\"{}\": {}", self.name, self.example)
    }
}

pub fn find(name: &str) -> Option<&'static Key> {
    field(KEYS, name).or_else(|| field(FILE_KEYS, name))
}

pub(super) fn field(keys: &'static [Key], name: &str) -> Option<&'static Key> {
    keys.iter().find(|key| key.name == name)
}

/// The kind of value at a path, and the innermost declared key.
#[derive(Clone, Copy, Debug)]
pub struct ResolvedKey {
    pub key: &'static Key,
    pub kind: &'static Kind,
}

/// The reason why a path is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathError {
    /// The path does not exist. `nearest` is a similar one that does.
    Unknown { at: KeyPath, nearest: Option<String> },
    /// The value at this path has no fields.
    NoParts { at: KeyPath, expected: String },
    /// The name of an entry is invalid.
    Name { at: KeyPath, names: Names },
}

/// Finds the kind of value at `path`.
pub fn resolve(path: &KeyPath) -> Result<ResolvedKey, PathError> {
    let (first, rest) = path.parts().split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let mut at = KeyPath::top(first);
    let mut key =
        find(first).ok_or_else(|| PathError::Unknown { at: at.clone(), nearest: nearest(first, KEYS, None) })?;
    let mut kind = &key.kind;
    for part in rest {
        let above = at.clone();
        at = at.child(part);
        match kind {
            Kind::Map { names, of, .. } => {
                if !names.accepts(part) {
                    return Err(PathError::Name { at, names: *names });
                }
                kind = of;
            }
            Kind::Object { fields, .. } => {
                key = field(fields, part)
                    .ok_or_else(|| PathError::Unknown { nearest: nearest(part, fields, Some(&above)), at })?;
                kind = &key.kind;
                at = above.child(part);
            }
            _ => return Err(PathError::NoParts { at: above, expected: kind.describe() }),
        }
    }
    Ok(ResolvedKey { key, kind })
}

/// Returns the path of the key whose name is most similar to `name`, or `None` if none is similar.
pub fn nearest(name: &str, keys: &[Key], above: Option<&KeyPath>) -> Option<String> {
    let folded: String = name.to_lowercase().chars().filter(|c| *c != '_' && *c != '-').take(64).collect();
    let (score, key) = keys
        .iter()
        .map(|key| (strsim::jaro_winkler(&folded, &key.name.to_lowercase()), key))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (score >= 0.8).then(|| above.map_or_else(|| key.name.to_owned(), |above| above.child(key.name).to_string()))
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
