//! The settings files that apply to a repository. They are read together and changed one at a time.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::base::{Fault, ProjectId};
use crate::config::paths::{Home, RepoFiles};
use crate::config::{EditError, Environment, Layer, LayerFile, Merged, SettingsEdit, holds_secret, merge};
use crate::engine::command::Outcome;
use crate::engine::secrets;
use crate::git::repo_file;
use crate::store::disk::{self, Disk as _, RealDisk};
use crate::store::{StoreError, files, lock, replace};

/// The locations of the settings. The user may be outside of a repository, or in one that is not registered.
#[derive(Clone, Debug)]
pub struct SettingsFiles {
    pub home: Home,
    pub repository: Option<PathBuf>,
    pub project: Option<ProjectId>,
}

impl SettingsFiles {
    /// Returns the paths of the files, whether they exist or not.
    pub fn paths(&self) -> Vec<(Layer, PathBuf)> {
        let repository = self.repository.as_ref().map(|top| (Layer::Repo, RepoFiles::new(top).config()));
        let local = self.project.map(|project| (Layer::Local, self.home.project(project).config()));
        [(Layer::Global, self.home.config())].into_iter().chain(repository).chain(local).collect()
    }

    /// Returns the file of one layer. `None` if there is no repository or project for it.
    pub fn path(&self, layer: Layer) -> Option<PathBuf> {
        self.paths().into_iter().find_map(|(found, path)| (found == layer).then_some(path))
    }

    /// Returns the effective settings, and registers their keys for masking.
    pub fn merged(&self) -> Result<Merged, Fault> {
        let mut layers = Vec::new();
        for (layer, path) in self.paths() {
            match read(layer, &path) {
                Ok(Some(bytes)) => layers.push(LayerFile::read(layer, &path, &bytes)),
                Ok(None) => {}
                // A broken file in a repository must not make the program unusable.
                Err(fault) if layer == Layer::Repo => layers.push(LayerFile::unreadable(layer, &path, fault.message)),
                Err(fault) => return Err(fault),
            }
        }
        let merged = merge(&Environment::from_env(), &layers)?;
        secrets::remember(&merged);
        Ok(merged)
    }

    /// Sets or removes a value in the file of a layer.
    pub fn set(&self, layer: Layer, key: &str, value: Option<&str>) -> Result<(), Fault> {
        self.change(layer, |edit| match value {
            Some(value) => edit.set(key, value),
            None => edit.unset(key),
        })
    }

    /// Like [`SettingsFiles::set`], on a blocking thread.
    pub async fn set_in_background(&self, layer: Layer, key: String, value: Option<String>) -> Result<Outcome, Fault> {
        let files = self.clone();
        let setting = tokio::task::spawn_blocking(move || files.set(layer, &key, value.as_deref()));
        setting.await.map_err(|error| Fault::internal(error.to_string()))??;
        Ok(Outcome::Done)
    }

    pub fn change(
        &self,
        layer: Layer,
        edit: impl FnOnce(&SettingsEdit<'_>) -> Result<String, EditError>,
    ) -> Result<(), Fault> {
        let path = self
            .path(layer)
            .ok_or_else(|| Fault::user(format!("cannot change the {layer} settings: there is no project here")))?;
        // One lock for all files, in the data folder: lock files do not belong in a repository.
        let _guard = lock::exclusive(&self.home.config().with_extension("lock"))?;
        let bytes = read(layer, &path)?.unwrap_or_default();
        let Ok(text) = str::from_utf8(&bytes) else {
            let fault = Fault::config(format!("{} is not valid UTF-8", path.display()));
            return Err(with_backup(fault.hint("fix it in an editor; nothing was changed"), &path, &bytes));
        };
        let changed = edit(&SettingsEdit { layer, file: &path, text }).map_err(|error| match error {
            EditError::Broken(_) => with_backup(error.into(), &path, &bytes),
            EditError::Path(_)
            | EditError::UnknownPath(_)
            | EditError::Refused(_)
            | EditError::Incomplete { .. }
            | EditError::NotEditable { .. }
            | EditError::NotSet { .. } => error.into(),
        })?;
        write(&path, layer, &changed)
    }
}

/// Returns the content of a settings file, or `None` if it does not exist.
pub fn read(layer: Layer, path: &Path) -> Result<Option<Vec<u8>>, Fault> {
    match layer {
        Layer::Repo => Ok(repo_file::read(repository_of(path), path, repo_file::SMALL)?),
        Layer::Global | Layer::Local => Ok(disk::read_all(&RealDisk, path).map_err(StoreError::io("read", path))?),
    }
}

/// Returns the top folder of the repository whose settings file is at `path`: `.mxd/config.json`.
fn repository_of(path: &Path) -> &Path {
    path.ancestors().nth(2).unwrap_or(path)
}

/// Backs up an unreadable file, and adds the path of the copy to the error.
fn with_backup(fault: Fault, path: &Path, bytes: &[u8]) -> Fault {
    match files::back_up_beside(&RealDisk, path, bytes) {
        Ok(copy) => fault.hint(format!("a backup is in {}", copy.display())),
        Err(error) => fault.hint(format!("cannot back it up: {error}")),
    }
}

/// Returns the target of a link. It need not exist.
fn resolve_links(path: &Path) -> PathBuf {
    /// The kernel follows as many links in a row.
    const MAX_LINKS: usize = 40;
    let next = |link: &PathBuf| Some(link.parent()?.join(fs::read_link(link).ok()?));
    let last = std::iter::successors(Some(path.to_owned()), next).take(MAX_LINKS).last();
    last.unwrap_or_else(|| path.to_owned())
}

/// Replaces a settings file. A link stays a link, because users keep their settings elsewhere. The link of a
/// repository must not lead out of it.
fn write(path: &Path, layer: Layer, text: &str) -> Result<(), Fault> {
    let path = match layer {
        Layer::Repo => repo_file::writable(repository_of(path), path)?,
        Layer::Global | Layer::Local => resolve_links(path),
    };
    let before = fs::metadata(&path).ok().map(|meta| meta.permissions().mode() & 0o777);
    if let Some(folder) = path.parent().filter(|_| layer != Layer::Repo) {
        RealDisk.create_dirs(folder).map_err(StoreError::io("create", folder))?;
    }
    replace::replace(&RealDisk, &path, text.as_bytes())?;
    // New files are private. A file that git shares or that its owner made readable stays readable, unless it contains
    // a secret now.
    let mode = before.or((layer == Layer::Repo).then_some(0o644)).filter(|_| !holds_secret(text));
    if let Some(mode) = mode {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))
            .map_err(StoreError::io("set the mode of", &path))?;
    }
    Ok(())
}
