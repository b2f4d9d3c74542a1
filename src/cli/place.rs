//! Which project a command is about, and where its files are.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::base::{Clock as _, Fault, IdSource, ProjectId, SystemClock};
use crate::config::paths::{Home, ProjectFolder, RepoFiles};
use crate::config::{Environment, Layer, LayerFile, Merged, merge};
use crate::git::place::{Place, PlaceError};
use crate::model::Project;
use crate::store::disk::{self, Disk, RealDisk};
use crate::store::registry::Registry;
use crate::store::{Sessions, StoreError};

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
    pub fn sessions(&self) -> Sessions {
        Sessions::new(the_disk(), self.folder.sessions())
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
    Registry::new(the_disk(), home.projects())
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

    /// Returns the project that is registered for this repository.
    pub fn located(&self, home: &Home) -> Result<Located, Fault> {
        let place = self.repository()?;
        match registry(home).find_path(&place.top)? {
            Some(project) => Ok(Located { folder: home.project(project.id), project }),
            None => Err(Fault::user(format!("{} is not registered yet", place.top.display()))
                .hint("register it with `mxd init`")),
        }
    }

    /// As [`Here::located`]. A repository that is not registered yet is: work begins without a ceremony.
    pub fn located_or_registered(&self, home: &Home) -> Result<Located, Fault> {
        let place = self.repository()?;
        let registry = registry(home);
        let project = match registry.find_path(&place.top)? {
            Some(project) => project,
            None => registry.register(new_project(&place.top, &place.branch()?))?,
        };
        Ok(Located { folder: home.project(project.id), project })
    }

    /// As [`Here::located`], or nothing if there is no project here.
    pub fn try_located(&self, home: &Home) -> Result<Option<Located>, Fault> {
        match self.place(&self.folder()?) {
            Ok(place) => Ok(registry(home)
                .find_path(&place.top)?
                .map(|project| Located { folder: home.project(project.id), project })),
            Err(PlaceError::NotARepository(_) | PlaceError::Bare(_)) if self.chosen.is_none() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the settings files that apply here, whether they exist or not.
    pub fn config_files(&self, home: &Home) -> Result<Vec<(Layer, PathBuf)>, Fault> {
        let mut files = self.shared_config_files(home)?;
        if let Some(located) = self.try_located(home)? {
            files.push((Layer::Local, located.folder.config()));
        }
        Ok(files)
    }

    /// Returns the settings files that apply here whether the repository is registered or not.
    pub fn shared_config_files(&self, home: &Home) -> Result<Vec<(Layer, PathBuf)>, Fault> {
        let mut files = vec![(Layer::Global, home.config())];
        let place = match self.place(&self.folder()?) {
            Ok(place) => place,
            Err(PlaceError::NotARepository(_) | PlaceError::Bare(_)) if self.chosen.is_none() => return Ok(files),
            Err(error) => return Err(error.into()),
        };
        files.push((Layer::Repo, RepoFiles::new(&place.top).config()));
        Ok(files)
    }

    /// Returns the settings in force here.
    pub fn settings(&self, home: &Home) -> Result<Merged, Fault> {
        let files = self.config_files(home)?;
        let mut layers = Vec::new();
        for (layer, path) in files {
            if let Some(bytes) = read(&path)? {
                layers.push(LayerFile::read(layer, &path, &bytes));
            }
        }
        merge(&Environment::from_env(), &layers)
    }
}

/// Returns the content of a file, or nothing if there is none.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, Fault> {
    Ok(disk::read_all(&RealDisk, path).map_err(StoreError::io("read", path))?)
}

/// Returns a project for the repository whose top folder is `top`.
pub fn new_project(top: &Path, branch: &str) -> Project {
    let name = top.file_name().map_or_else(|| "project".to_owned(), |name| name.to_string_lossy().into_owned());
    Project {
        id: ProjectId::fresh(&new_ids()),
        name,
        path: top.to_owned(),
        base_branch: branch.to_owned(),
        created_at: SystemClock.now(),
        extra: serde_json::Map::new(),
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
