//! The settings files that apply to a repository: read together, changed one at a time.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::base::{Fault, ProjectId};
use crate::config::paths::{Home, RepoFiles};
use crate::config::{Edit, EditError, Environment, Layer, LayerFile, Merged, holds_secret, merge};
use crate::engine::command::Outcome;
use crate::engine::secrets;
use crate::git::repo_file;
use crate::store::disk::{self, Disk as _, RealDisk};
use crate::store::{StoreError, files, lock, replace};

/// Where the settings are. A user may be outside of any repository, or in one that is not registered.
#[derive(Clone, Debug)]
pub struct SettingsFiles {
    pub home: Home,
    pub repository: Option<PathBuf>,
    pub project: Option<ProjectId>,
}

impl SettingsFiles {
    /// Returns the files, whether they exist or not.
    pub fn paths(&self) -> Vec<(Layer, PathBuf)> {
        let repository = self.repository.as_ref().map(|top| (Layer::Repo, RepoFiles::new(top).config()));
        let local = self.project.map(|project| (Layer::Local, self.home.project(project).config()));
        [(Layer::Global, self.home.config())].into_iter().chain(repository).chain(local).collect()
    }

    /// Returns the file of one layer. `None` if there is no repository or no project that could have it.
    pub fn path(&self, layer: Layer) -> Option<PathBuf> {
        self.paths().into_iter().find_map(|(found, path)| (found == layer).then_some(path))
    }

    /// Returns the settings in force, whose keys are masked everywhere from then on.
    pub fn merged(&self) -> Result<Merged, Fault> {
        let mut layers = Vec::new();
        for (layer, path) in self.paths() {
            match read(layer, &path) {
                Ok(Some(bytes)) => layers.push(LayerFile::read(layer, &path, &bytes)),
                Ok(None) => {}
                // A repository's file must not keep anybody from using the program.
                Err(fault) if layer == Layer::Repo => layers.push(LayerFile::unreadable(layer, &path, fault.message)),
                Err(fault) => return Err(fault),
            }
        }
        let merged = merge(&Environment::from_env(), &layers)?;
        secrets::remember(&merged);
        Ok(merged)
    }

    /// Sets a value in the file of a layer, or removes it.
    pub fn set(&self, layer: Layer, key: &str, value: Option<&str>) -> Result<(), Fault> {
        self.change(layer, |edit| match value {
            Some(value) => edit.set(key, value),
            None => edit.unset(key),
        })
    }

    /// As [`SettingsFiles::set`], beside whoever waits for it.
    pub async fn set_in_background(&self, layer: Layer, key: String, value: Option<String>) -> Result<Outcome, Fault> {
        let files = self.clone();
        let setting = tokio::task::spawn_blocking(move || files.set(layer, &key, value.as_deref()));
        setting.await.map_err(|error| Fault::internal(error.to_string()))??;
        Ok(Outcome::Done)
    }

    /// Changes the file of a layer.
    pub fn change(&self, layer: Layer, edit: impl FnOnce(&Edit<'_>) -> Result<String, EditError>) -> Result<(), Fault> {
        let path = self
            .path(layer)
            .ok_or_else(|| Fault::user(format!("there is no project here whose {layer} settings could be changed")))?;
        // One lock for all files, in our own folder: a repository is no place for one.
        let _guard = lock::exclusive(&self.home.config().with_extension("lock"))?;
        let bytes = read(layer, &path)?.unwrap_or_default();
        let Ok(text) = str::from_utf8(&bytes) else {
            let fault = Fault::config(format!("{} is not valid UTF-8", path.display()));
            return Err(kept(fault.hint("correct it in an editor; nothing was changed"), &path, &bytes));
        };
        let changed = edit(&Edit { layer, file: &path, text }).map_err(|error| match error {
            EditError::Broken(_) => kept(error.into(), &path, &bytes),
            EditError::Path(_)
            | EditError::Nowhere(_)
            | EditError::Refused(_)
            | EditError::Incomplete { .. }
            | EditError::NotEditable { .. }
            | EditError::NotSet { .. } => error.into(),
        })?;
        write(&path, layer, &changed)
    }
}

/// Returns the content of a settings file, or `None` if there is none.
pub fn read(layer: Layer, path: &Path) -> Result<Option<Vec<u8>>, Fault> {
    match layer {
        Layer::Repo => Ok(repo_file::read(repository_of(path), path, repo_file::SMALL)?),
        Layer::Global | Layer::Local => Ok(disk::read_all(&RealDisk, path).map_err(StoreError::io("read", path))?),
    }
}

/// Returns the top of the repository whose settings file is at `path`, which is `.mxd/config.json` below it.
fn repository_of(path: &Path) -> &Path {
    path.ancestors().nth(2).unwrap_or(path)
}

/// Keeps a copy of a file that was not changed because nobody can tell what it says, and adds where it is.
fn kept(fault: Fault, path: &Path, bytes: &[u8]) -> Fault {
    match files::keep_beside(&RealDisk, path, bytes) {
        Ok(copy) => fault.hint(format!("a copy of it is kept in {}", copy.display())),
        Err(error) => fault.hint(format!("no copy of it could be kept: {error}")),
    }
}

/// Returns the file that `path` leads to. A link may lead to one that does not exist yet.
fn behind_links(path: &Path) -> PathBuf {
    /// As many links in a row as the system itself follows.
    const MOST: usize = 40;
    let next = |link: &PathBuf| Some(link.parent()?.join(fs::read_link(link).ok()?));
    let last = std::iter::successors(Some(path.to_owned()), next).take(MOST).last();
    last.unwrap_or_else(|| path.to_owned())
}

/// Replaces a settings file. A link stays a link: users keep their settings elsewhere. The repository's must not lead
/// out of it.
fn write(path: &Path, layer: Layer, text: &str) -> Result<(), Fault> {
    let path = match layer {
        Layer::Repo => repo_file::writable(repository_of(path), path)?,
        Layer::Global | Layer::Local => behind_links(path),
    };
    let before = fs::metadata(&path).ok().map(|meta| meta.permissions().mode() & 0o777);
    if let Some(folder) = path.parent().filter(|_| layer != Layer::Repo) {
        RealDisk.create_dirs(folder).map_err(StoreError::io("create", folder))?;
    }
    replace::replace(&RealDisk, &path, text.as_bytes())?;
    // New files are private. One that is shared by git, or was opened up by its owner, may be read again, unless
    // there is a secret in it now.
    let wanted = before.or((layer == Layer::Repo).then_some(0o644)).filter(|_| !holds_secret(text));
    if let Some(mode) = wanted {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))
            .map_err(StoreError::io("set the mode of", &path))?;
    }
    Ok(())
}
