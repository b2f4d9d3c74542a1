//! Settings for output: masked, with the origin of each value.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::{Fault, sanitize};
use crate::config::key_path::KeyPath;
use crate::config::layer::Origin;
use crate::config::mask;
use crate::config::merge::{Effective, Merged};
use crate::config::table::{self, PathError};

/// A value without secrets.
#[derive(Clone, Debug, PartialEq)]
pub struct MaskedSetting {
    pub path: KeyPath,
    pub value: Value,
    pub origin: Origin,
}

impl MaskedSetting {
    fn of(effective: &Effective) -> Self {
        let kind = table::resolve(&effective.path).map(|resolved| resolved.kind);
        let value = kind.map_or(Value::Null, |kind| mask::masked(kind, &effective.value));
        Self { path: effective.path.clone(), value, origin: effective.origin.clone() }
    }

    /// Formats the value for `mxd config get`: strings without quotes, everything else as JSON.
    pub fn plain(&self) -> String {
        let text = self.value.as_str().map_or_else(|| format!("{:#}", self.value), str::to_owned);
        sanitize::lines(&text).into_owned()
    }
}

impl fmt::Display for MaskedSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = format!("{} = {}", self.path, self.value);
        write!(f, "{}  ({})", sanitize::line(&line), self.origin)
    }
}

/// A value in JSON output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SettingRow {
    pub key: String,
    /// Without secrets.
    pub value: Value,
    pub origin: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
}

impl From<&MaskedSetting> for SettingRow {
    fn from(shown: &MaskedSetting) -> Self {
        let place = shown.origin.place();
        let variables = match &shown.origin {
            Origin::Environment(names) => names.iter().map(|name| (*name).to_owned()).collect(),
            Origin::Default | Origin::File { .. } | Origin::Several => Vec::new(),
        };
        Self {
            key: shown.path.to_string(),
            value: shown.value.clone(),
            origin: shown.origin.word().to_owned(),
            file: place.map(|place| place.file.clone()),
            line: place.and_then(|place| place.at).map(|spot| spot.line),
            variables,
        }
    }
}

impl Merged {
    /// Returns all effective values, in table order.
    pub fn list(&self) -> Vec<MaskedSetting> {
        self.effective.iter().map(MaskedSetting::of).collect()
    }

    /// Returns the value at `path`, or `None` if it is not set.
    pub fn get(&self, path: &KeyPath) -> Result<Option<MaskedSetting>, PathError> {
        table::resolve(path)?;
        let list = self.list();
        if let Some(holder) = list.iter().find(|shown| shown.path.contains(path)) {
            let below = &path.parts()[holder.path.parts().len()..];
            let value = below.iter().try_fold(&holder.value, |value, part| value.get(part.as_str()));
            let found = value.filter(|value| !value.is_null());
            return Ok(found.map(|value| MaskedSetting {
                path: path.clone(),
                value: value.clone(),
                origin: holder.origin.clone(),
            }));
        }
        let parts: Vec<&MaskedSetting> = list.iter().filter(|shown| path.contains(&shown.path)).collect();
        let origin = match parts.as_slice() {
            [] => return Ok(None),
            [first, rest @ ..] if rest.iter().all(|part| part.origin.word() == first.origin.word()) => {
                match &first.origin {
                    Origin::File { layer, place } => {
                        Origin::File { layer: *layer, place: crate::config::FileLocation { at: None, ..place.clone() } }
                    }
                    other => other.clone(),
                }
            }
            _ => Origin::Several,
        };
        let value = parts.iter().map(|part| (part.path.last().to_owned(), part.value.clone())).collect();
        Ok(Some(MaskedSetting { path: path.clone(), value: Value::Object(value), origin }))
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = match self {
            Self::Unknown { at, nearest: Some(nearest) } => {
                format!("there is no setting {at} (did you mean {nearest}?)")
            }
            Self::Unknown { at, nearest: None } => format!("there is no setting {at}"),
            Self::NoParts { at, expected } => format!("{at} has no fields: it must be {expected}"),
            Self::Name { at, names } => format!("{at} {}", names.complaint()),
        };
        f.write_str(&sanitize::line(&sentence))
    }
}

impl std::error::Error for PathError {}

impl From<PathError> for Fault {
    fn from(error: PathError) -> Self {
        let fault = Self::user(error.to_string());
        match &error {
            PathError::Unknown { at, .. } if at.parts().len() > 2 => {
                fault.hint("put a name that contains a dot in double quotes, for example: 'models.\"gpt-4.1\".window'")
            }
            PathError::Unknown { .. } => fault.hint("`mxd config list` shows the effective settings"),
            PathError::NoParts { .. } => fault.hint("set the whole value at once"),
            PathError::Name { .. } => fault,
        }
    }
}

#[cfg(test)]
#[path = "show_tests.rs"]
mod tests;
