//! The table of settings: every key, once, with its kind, who may set it, its default, a sentence and an example.
//!
//! Checking, "did you mean", help, documentation and defaults are read from here. A key that is not here does not
//! exist; what the merged values become is [`crate::config::Settings`], which a test holds against this table.

mod entries;

pub use entries::{FILE_KEYS, KEYS};

use crate::config::key_path::KeyPath;
use crate::config::layer::Layer;

/// A setting, or a field of one.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub name: &'static str,
    pub kind: Kind,
    pub allowed: Allowed,
    pub need: Need,
    /// One sentence: what it does.
    pub doc: &'static str,
    /// A value that is accepted, as JSON.
    pub example: &'static str,
}

/// Which layers may set a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    Everywhere,
    /// Global and local: what a repository's author must not decide, and why.
    Person(&'static str),
    /// Local only, and why.
    Project(&'static str),
}

impl Allowed {
    pub fn layers(self) -> &'static [Layer] {
        match self {
            Self::Everywhere => &Layer::ALL,
            Self::Person(_) => &[Layer::Global, Layer::Local],
            Self::Project(_) => &[Layer::Local],
        }
    }

    /// Returns why `layer` may not set the key, or nothing if it may.
    pub fn refusal(self, layer: Layer) -> Option<&'static str> {
        match self {
            Self::Person(why) | Self::Project(why) => (!self.layers().contains(&layer)).then_some(why),
            Self::Everywhere => None,
        }
    }
}

/// What holds when a key is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing; the sentence says what that means.
    Optional,
    /// This value, as JSON.
    Default(&'static str),
    /// An error.
    Required,
}

/// What a value may be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// One line of text with something in it.
    Text,
    /// Any text without NUL.
    Free,
    Path,
    Url,
    /// An API key.
    Credential,
    /// The value of a header: may be a secret.
    Header,
    /// The value of a variable: may be a secret.
    Variable,
    /// The name of a content: BLAKE3 in hex.
    Hash,
    Flag,
    Whole {
        min: u64,
        max: u64,
    },
    Dollars {
        min: f64,
    },
    Choice(&'static [&'static str]),
    /// A text, or a list of them.
    OneOrMany,
    List(&'static Kind),
    /// Entries under names that the person chooses.
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

/// What the entries of a map may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    Any,
    /// Becomes part of a tool's name on the wire.
    Server,
    /// The name of an environment variable.
    Variable,
    /// The name of an HTTP header.
    Header,
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
        }
    }

    /// Returns what is wrong with a name that is not accepted.
    pub fn complaint(self) -> &'static str {
        match self {
            Self::Any => "has a name that is empty or has control characters in it",
            Self::Server => "has a name that no server can have: up to 32 letters, digits, - and _, no __, and not mxd",
            Self::Variable => "has a name that no variable can have",
            Self::Header => "has a name that no header can have",
        }
    }
}

/// What must hold between the fields of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    None,
    AuthGroup,
    McpServer,
}

impl Kind {
    /// Tells whether a word without quotes can stand for a value of this kind on a command line.
    pub fn is_text(&self) -> bool {
        match self {
            Self::Text
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
            | Self::List(_)
            | Self::Map { .. }
            | Self::Object { .. } => false,
        }
    }

    /// Tells whether a wrong value may be repeated in a message.
    pub fn is_public(&self) -> bool {
        match self {
            Self::Text
            | Self::Path
            | Self::Hash
            | Self::Flag
            | Self::Choice(_)
            | Self::OneOrMany
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

    /// Returns what a value of this kind is, with its article.
    pub fn describe(&self) -> String {
        match self {
            Self::Text => "a text of one line that is not empty".to_owned(),
            Self::Free | Self::Variable => "a text".to_owned(),
            Self::Path => "a path".to_owned(),
            Self::Url => "an address that starts with http:// or https://".to_owned(),
            Self::Credential => "an API key: letters, digits and signs without spaces, not the masked form".to_owned(),
            Self::Header => "a text of one line, not the masked form".to_owned(),
            Self::Hash => "64 lower-case hex digits".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Whole { min, max: u64::MAX } => format!("a whole number, {min} or more"),
            Self::Whole { min, max } => format!("a whole number from {min} to {max}"),
            Self::Dollars { min } if *min > 0.0 => format!("an amount of dollars, {min} or more"),
            Self::Dollars { .. } => "an amount of dollars".to_owned(),
            Self::Choice(words) => {
                let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
                format!("one of {}", words.join(", "))
            }
            Self::OneOrMany => "a text or a list of texts".to_owned(),
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

    const fn person(self, why: &'static str) -> Self {
        Self { allowed: Allowed::Person(why), ..self }
    }

    const fn project(self, why: &'static str) -> Self {
        Self { allowed: Allowed::Project(why), ..self }
    }

    /// Returns the example as it would stand in a file.
    pub fn sample(&self) -> String {
        format!("\"{}\": {}", self.name, self.example)
    }
}

/// Returns the top-level key `name`.
pub fn find(name: &str) -> Option<&'static Key> {
    field(KEYS, name).or_else(|| field(FILE_KEYS, name))
}

pub(super) fn field(keys: &'static [Key], name: &str) -> Option<&'static Key> {
    keys.iter().find(|key| key.name == name)
}

/// What a path leads to: the kind of value, and the declared key nearest to it.
#[derive(Clone, Copy, Debug)]
pub struct Resolved {
    pub key: &'static Key,
    pub kind: &'static Kind,
}

/// Why a path leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nowhere {
    /// The part at this depth does not exist; the nearest path that does.
    Unknown { at: KeyPath, nearest: Option<String> },
    /// The value at this path has no parts that could be named.
    NoParts { at: KeyPath, expected: String },
    /// An entry cannot be called this.
    Name { at: KeyPath, names: Names },
}

/// Returns what `path` leads to.
pub fn resolve(path: &KeyPath) -> Result<Resolved, Nowhere> {
    let (first, rest) = path.parts().split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let mut at = KeyPath::top(first);
    let mut key =
        find(first).ok_or_else(|| Nowhere::Unknown { at: at.clone(), nearest: nearest(first, KEYS, None) })?;
    let mut kind = &key.kind;
    for part in rest {
        let above = at.clone();
        at = at.child(part);
        match kind {
            Kind::Map { names, of, .. } => {
                if !names.accepts(part) {
                    return Err(Nowhere::Name { at, names: *names });
                }
                kind = of;
            }
            Kind::Object { fields, .. } => {
                key = field(fields, part)
                    .ok_or_else(|| Nowhere::Unknown { nearest: nearest(part, fields, Some(&above)), at })?;
                kind = &key.kind;
                at = above.child(part);
            }
            _ => return Err(Nowhere::NoParts { at: above, expected: kind.describe() }),
        }
    }
    Ok(Resolved { key, kind })
}

/// Returns the path of the name in `keys` that `name` most likely stands for, if any is near.
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
