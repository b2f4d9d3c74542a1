//! A repository made from nothing, with one commit of everything that lies in its folder.

use std::path::{Path, PathBuf};

use git2::{IndexAddOption, Repository, RepositoryInitOptions, Signature};

use super::error::Error;
use super::library;
use crate::base::Fault;

/// Who commits in a repository that nobody has made their own yet.
#[derive(Clone, Copy, Debug)]
pub struct Author {
    pub name: &'static str,
    pub email: &'static str,
}

/// What the first commit of a new repository says.
const FIRST: &str = "Start";
const USUAL_BRANCH: &str = "main";

/// Why a folder did not become a repository.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    #[error("git does not know who you are, and a first commit needs a name")]
    NoIdentity,
    #[error("{} cannot become a repository: {message}", .top.display())]
    Git { top: PathBuf, message: String },
}

impl From<BeginError> for Fault {
    fn from(error: BeginError) -> Self {
        let fault = Self::user(error.to_string());
        match error {
            BeginError::NoIdentity => {
                fault.hint("tell it with `git config --global user.name …` and `git config --global user.email …`")
            }
            BeginError::Git { .. } => fault,
        }
    }
}

/// Makes the person's folder `top` a repository with an empty first commit in their name, or makes that commit in a
/// repository that has none. No file is touched. Where git does not know them, nothing is made.
pub fn begin(top: &Path) -> Result<(), BeginError> {
    let failed = |error: git2::Error| BeginError::Git { top: top.to_owned(), message: error.message().to_owned() };
    library::prepare();
    let begun = Repository::discover(top).ok();
    let settings = match &begun {
        Some(repository) => repository.config(),
        None => git2::Config::open_default(),
    };
    let settings = settings.map_err(failed)?;
    let said = |variable: &str, key: &str| {
        let variable = std::env::var(variable).ok().filter(|value| !value.trim().is_empty());
        variable.or_else(|| settings.get_string(key).ok())
    };
    let (name, email) = (said("GIT_AUTHOR_NAME", "user.name"), said("GIT_AUTHOR_EMAIL", "user.email"));
    let (Some(name), Some(email)) = (name, email) else { return Err(BeginError::NoIdentity) };
    let repository = match begun {
        Some(repository) => repository,
        None => {
            let branch = settings.get_string("init.defaultBranch").unwrap_or_else(|_| USUAL_BRANCH.to_owned());
            let mut options = RepositoryInitOptions::new();
            options.initial_head(&branch).no_reinit(true);
            Repository::init_opts(top, &options).map_err(failed)?
        }
    };
    let author = Signature::now(&name, &email).map_err(failed)?;
    let empty = repository.treebuilder(None).and_then(|tree| tree.write()).map_err(failed)?;
    let tree = repository.find_tree(empty).map_err(failed)?;
    repository.commit(Some("HEAD"), &author, &author, FIRST, &tree, &[]).map_err(failed)?;
    Ok(())
}

/// Makes a repository in `top` whose branch is `branch`, and commits everything that is there. Its own settings name the
/// author, so that later commits need no other.
pub fn make(top: &Path, branch: &str, author: Author, message: &str) -> Result<(), Error> {
    let failed = Error::read(top);
    library::prepare();
    let made = || -> Result<(), git2::Error> {
        let mut options = RepositoryInitOptions::new();
        options.initial_head(branch).no_reinit(true);
        let repository = Repository::init_opts(top, &options)?;
        let mut settings = repository.config()?.open_level(git2::ConfigLevel::Local)?;
        settings.set_str("user.name", author.name)?;
        settings.set_str("user.email", author.email)?;
        let mut index = repository.index()?;
        index.add_all(["*"], IndexAddOption::DEFAULT, None)?;
        index.write()?;
        let tree = repository.find_tree(index.write_tree()?)?;
        let signature = Signature::now(author.name, author.email)?;
        repository.commit(Some("HEAD"), &signature, &signature, message, &tree, &[])?;
        Ok(())
    };
    made().map_err(failed)
}
