//! What the real repository and a shadow had when they last agreed, on disk beside the shadow.
//!
//! Without it, nothing is published over a real branch: a difference then counts as a divergence.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use git2::Oid;
use serde::{Deserialize, Serialize};

use super::checkout_state::Seen;
use super::create::{Created, admin_dir};
use super::ref_table::RefTable;
use crate::git::dir::Dir;
use crate::git::error::Error;
use crate::git::program::Checkout;
use crate::git::repo_file;

const FILE: &str = "agreed.json";
const MAX: u64 = 256 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) refs: RefTable,
    /// The hash of the settings that the shadow got.
    pub(super) config: String,
    /// HEAD and index of both sides, which mean the same and may differ in bytes. `None` if they never agreed.
    pub(super) checkout: Option<Both>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Both {
    pub(super) real: Seen,
    pub(super) shadow: Seen,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    refs: BTreeMap<String, String>,
    #[serde(default)]
    config: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checkout: Option<Both>,
}

impl Record {
    /// Returns the record of a shadow that was just made.
    pub(super) fn of_new(created: Created, checkout: &Checkout, place: &Path) -> Result<Self, Error> {
        let Created { refs, config } = created;
        Ok(Self { refs, config, checkout: Some(Both::read(checkout, place)?) })
    }

    /// Reads the record, or returns an empty one.
    pub(super) fn read(folder: &Path) -> Self {
        let stored = repo_file::read_plain(&folder.join(FILE), MAX);
        let Some(stored) = stored.and_then(|text| serde_json::from_slice::<Stored>(&text).ok()) else {
            return Self::default();
        };
        let refs = stored.refs.into_iter().filter_map(|(name, id)| Some((name, Oid::from_str(&id).ok()?))).collect();
        Self { refs, config: stored.config, checkout: stored.checkout }
    }

    /// Replaces the record on disk.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Error> {
        let refs = self.refs.iter().map(|(name, id)| (name.clone(), id.to_string())).collect();
        let stored = Stored { refs, config: self.config.clone(), checkout: self.checkout.clone() };
        let (file, draft) = (folder.join(FILE), folder.join(format!("{FILE}.new")));
        let text = serde_json::to_vec(&stored).unwrap_or_default();
        fs::write(&draft, text).and_then(|()| fs::rename(&draft, &file)).map_err(Error::disk("write", &file))
    }
}

impl Both {
    pub(super) fn read(checkout: &Checkout, place: &Path) -> Result<Self, Error> {
        let open = |path: &Path| Dir::open_linked(path).map_err(Error::disk("open", path));
        let own = admin_dir(checkout);
        let shadow = open(place)?.below(&own).map_err(Error::disk("open", place.join(&own)))?;
        Ok(Self { real: Seen::read(&open(&checkout.git_dir)?), shadow: Seen::read(&shadow) })
    }
}
