//! Which project a command is about, and where its files are.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::base::{Fault, IdSource, SystemClock};
use crate::config::Merged;
use crate::config::paths::{Home, ProjectFolder};
use crate::engine::projects::{self, Standing};
use crate::engine::settings_files::SettingsFiles;
use crate::git::place::{Place, PlaceError};
use crate::model::Project;
use crate::store::disk::{Disk, RealDisk};
use crate::store::registry::Registry;

/// Where the person stands.
#[derive(Clone)]
pub struct Here {
    chosen: Option<PathBuf>,
    /// The repository, once it was found: a command asks for it many times, and it does not move.
    found: Arc<OnceLock<Place>>,
}

/// A registered project and its files.
pub struct Located {
    pub project: Project,
    pub folder: ProjectFolder,
}

impl Located {
    pub fn new(home: &Home, project: Project) -> Self {
        Self { folder: home.project(project.id), project }
    }
}

/// The machine's disk, as the store wants it.
pub fn the_disk() -> Arc<dyn Disk> {
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

impl Here {
    pub fn new(chosen: Option<PathBuf>) -> Self {
        Self { chosen, found: Arc::default() }
    }

    /// Returns the folder that a command is about.
    pub fn folder(&self) -> Result<PathBuf, Fault> {
        match &self.chosen {
            Some(path) => Ok(path.clone()),
            None => std::env::current_dir().map_err(|error| {
                Fault::environment(format!("the working folder cannot be found: {error}"))
                    .hint("go to a folder that exists")
            }),
        }
    }

    pub fn repository(&self) -> Result<Place, Fault> {
        Ok(self.place(&self.folder()?)?)
    }

    /// As [`Here::repository`], with the reason as it is. `folder` is the one that the command is about.
    pub fn place(&self, folder: &Path) -> Result<Place, PlaceError> {
        if let Some(place) = self.found.get() {
            return Ok(place.clone());
        }
        let place = Place::of(folder)?;
        Ok(self.found.get_or_init(|| place).clone())
    }

    /// Returns the project of this repository.
    pub fn located(&self, home: &Home) -> Result<Located, Fault> {
        let place = self.repository()?;
        if let Some(project) = projects::find(home, &place)? {
            return Ok(Located::new(home, project));
        }
        let top = place.top.display();
        let message = match projects::look(home, &place)? {
            Standing::Copy(of) => format!("{top} is a copy of {} and has no project of its own yet", of.path.display()),
            _ => format!("{top} is not registered yet"),
        };
        Err(Fault::user(message).hint("register it with `mxd init`"))
    }

    /// As [`Here::located`]. A repository that is not registered yet is: work begins without a ceremony.
    pub fn located_or_registered(&self, home: &Home) -> Result<Located, Fault> {
        let place = self.repository()?;
        let (project, _) = projects::find_or_register(home, &place, || Ok(place.branch()?))?;
        Ok(Located::new(home, project))
    }

    /// As [`Here::located`], or `None` if there is no project here.
    pub fn try_located(&self, home: &Home) -> Result<Option<Located>, Fault> {
        self.try_with(home, projects::find)
    }

    /// As [`Here::try_located`], for commands that only look: a repository that was moved is recognised, and nothing is
    /// written. A project that the registry lacks is not there.
    pub fn peek(&self, home: &Home) -> Result<Option<Located>, Fault> {
        self.try_with(home, projects::peek)
    }

    fn try_with(
        &self,
        home: &Home,
        find: impl FnOnce(&Home, &Place) -> Result<Option<Project>, Fault>,
    ) -> Result<Option<Located>, Fault> {
        match self.place(&self.folder()?) {
            Ok(place) => Ok(find(home, &place)?.map(|project| Located::new(home, project))),
            Err(PlaceError::NotARepository(_) | PlaceError::Bare(_)) if self.chosen.is_none() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the settings files that apply here.
    pub fn settings_files(&self, home: &Home) -> Result<SettingsFiles, Fault> {
        let project = self.peek(home)?.map(|located| located.project.id);
        Ok(SettingsFiles { project, ..self.shared_settings_files(home)? })
    }

    /// Returns the settings files that apply here whether the repository is registered or not.
    pub fn shared_settings_files(&self, home: &Home) -> Result<SettingsFiles, Fault> {
        let repository = match self.place(&self.folder()?) {
            Ok(place) => Some(place.top),
            Err(PlaceError::NotARepository(_) | PlaceError::Bare(_)) if self.chosen.is_none() => None,
            Err(error) => return Err(error.into()),
        };
        Ok(SettingsFiles { home: home.clone(), repository, project: None })
    }

    /// Returns the settings in force here.
    pub fn settings(&self, home: &Home) -> Result<Merged, Fault> {
        self.settings_files(home)?.merged()
    }
}

/// Returns a text as one word of a shell's command line.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | ':' | '@' | '+');
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
