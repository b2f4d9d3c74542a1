//! Finds the repository, the project and the settings that a command works on.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::base::{Fault, IdSource, SystemClock};
use crate::config::Merged;
use crate::config::paths::{Home, ProjectFolder};
use crate::engine::projects::{self, RepositoryStatus};
use crate::engine::settings_files::SettingsFiles;
use crate::git::discover::{DiscoverError, RepoLocation};
use crate::model::Project;
use crate::store::disk::{Disk, RealDisk};
use crate::store::registry::Registry;

/// Finds the project of the current folder, or of the folder given with `-C`.
#[derive(Clone)]
pub struct ProjectLocator {
    chosen: Option<PathBuf>,
    /// The repository, cached because commands ask for it many times.
    found: Arc<OnceLock<RepoLocation>>,
}

/// A registered project and its data folder.
pub struct LocatedProject {
    pub project: Project,
    pub folder: ProjectFolder,
}

impl LocatedProject {
    pub fn new(home: &Home, project: Project) -> Self {
        Self { folder: home.project(project.id), project }
    }
}

pub fn real_disk() -> Arc<dyn Disk> {
    Arc::new(RealDisk)
}

pub fn new_ids() -> IdSource {
    IdSource::new(Arc::new(SystemClock))
}

pub fn home() -> Result<Home, Fault> {
    Ok(Home::from_env()?)
}

pub fn registry(home: &Home) -> Registry {
    projects::registry(home)
}

impl ProjectLocator {
    pub fn new(chosen: Option<PathBuf>) -> Self {
        Self { chosen, found: Arc::default() }
    }

    /// Returns the folder given with `-C`, or the current one.
    pub fn folder(&self) -> Result<PathBuf, Fault> {
        match &self.chosen {
            Some(path) => Ok(path.clone()),
            None => std::env::current_dir().map_err(|error| {
                Fault::environment(format!("cannot find the current folder: {error}"))
                    .hint("change to a folder that exists")
            }),
        }
    }

    pub fn repository(&self) -> Result<RepoLocation, Fault> {
        self.place(&self.folder()?).map_err(|error| match (&self.chosen, &error) {
            // Creating a repository there is not what `-C` was meant to do.
            (Some(_), DiscoverError::NotARepository(_) | DiscoverError::Missing(_)) => Fault::user(error.to_string())
                .hint("-C takes a git repository or a folder in one; `mxd projects` lists those that Matrix knows"),
            _ => error.into(),
        })
    }

    /// Like [`ProjectLocator::repository`], with a typed error.
    pub fn place(&self, folder: &Path) -> Result<RepoLocation, DiscoverError> {
        if let Some(place) = self.found.get() {
            return Ok(place.clone());
        }
        let place = RepoLocation::of(folder)?;
        Ok(self.found.get_or_init(|| place).clone())
    }

    /// Returns the project of this repository. Fails if it is not registered.
    pub fn locate(&self, home: &Home) -> Result<LocatedProject, Fault> {
        let place = self.repository()?;
        if let Some(project) = projects::find(home, &place)? {
            return Ok(LocatedProject::new(home, project));
        }
        let top = place.top.display();
        let message = match projects::identify(home, &place)? {
            RepositoryStatus::Copy(of) => {
                format!("{top} is a copy of {} and is not registered yet", of.path.display())
            }
            _ => format!("{top} is not registered yet"),
        };
        Err(Fault::user(message).hint("register it with `mxd init`"))
    }

    /// Like [`ProjectLocator::locate`], but registers a repository that is not registered yet.
    pub fn locate_or_register(&self, home: &Home) -> Result<LocatedProject, Fault> {
        let place = self.repository()?;
        let (project, _) = projects::find_or_register(home, &place, || Ok(place.branch()?))?;
        Ok(LocatedProject::new(home, project))
    }

    /// Like [`ProjectLocator::locate`], or `None` if there is no project here.
    pub fn try_locate(&self, home: &Home) -> Result<Option<LocatedProject>, Fault> {
        self.try_with(home, projects::find)
    }

    /// Like [`ProjectLocator::try_locate`], for read-only commands: recognises a moved repository without writing
    /// anything. `None` if the project is missing from the registry.
    pub fn peek(&self, home: &Home) -> Result<Option<LocatedProject>, Fault> {
        self.try_with(home, projects::find_for_reading)
    }

    fn try_with(
        &self,
        home: &Home,
        find: impl FnOnce(&Home, &RepoLocation) -> Result<Option<Project>, Fault>,
    ) -> Result<Option<LocatedProject>, Fault> {
        match self.place(&self.folder()?) {
            Ok(place) => Ok(find(home, &place)?.map(|project| LocatedProject::new(home, project))),
            Err(DiscoverError::NotARepository(_) | DiscoverError::Bare(_)) if self.chosen.is_none() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the settings files that apply here.
    pub fn settings_files(&self, home: &Home) -> Result<SettingsFiles, Fault> {
        let project = self.peek(home)?.map(|located| located.project.id);
        Ok(SettingsFiles { project, ..self.shared_settings_files(home)? })
    }

    /// Returns the settings files that apply here, without those of the project.
    pub fn shared_settings_files(&self, home: &Home) -> Result<SettingsFiles, Fault> {
        let repository = match self.place(&self.folder()?) {
            Ok(place) => Some(place.top),
            Err(DiscoverError::NotARepository(_) | DiscoverError::Bare(_)) if self.chosen.is_none() => None,
            Err(error) => return Err(error.into()),
        };
        Ok(SettingsFiles { home: home.clone(), repository, project: None })
    }

    /// Returns the effective settings.
    pub fn settings(&self, home: &Home) -> Result<Merged, Fault> {
        self.settings_files(home)?.merged()
    }
}

/// Quotes a text as one shell word, if needed.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | ':' | '@' | '+');
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
