//! Creates a repository, with one commit of everything in its folder.

use std::path::{Path, PathBuf};

use git2::{IndexAddOption, Repository, RepositoryInitOptions, Signature};

use super::error::Error;
use super::library;
use crate::base::Fault;

/// The author in a repository that has no user identity yet.
#[derive(Clone, Copy, Debug)]
pub struct Author {
    pub name: &'static str,
    pub email: &'static str,
}

/// The message of the first commit.
const FIRST_MESSAGE: &str = "Start";
const DEFAULT_BRANCH: &str = "main";

/// Why a repository could not be created.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    #[error("git does not know who you are, and the first commit needs a name and an email")]
    NoIdentity,
    #[error("cannot create a repository in {}: {message}", .top.display())]
    Git { top: PathBuf, message: String },
}

impl From<InitError> for Fault {
    fn from(error: InitError) -> Self {
        let fault = Self::user(error.to_string());
        match error {
            InitError::NoIdentity => {
                fault.hint("tell it with `git config --global user.name …` and `git config --global user.email …`")
            }
            InitError::Git { .. } => fault,
        }
    }
}

/// Makes the folder `top` a repository with an empty first commit as the user, or adds that commit to a repository that
/// has none. Changes no file. Does nothing if git has no user identity.
pub fn init(top: &Path) -> Result<(), InitError> {
    let failed = |error: git2::Error| InitError::Git { top: top.to_owned(), message: error.message().to_owned() };
    library::prepare();
    let existing = Repository::discover(top).ok();
    let settings = match &existing {
        Some(repository) => repository.config(),
        None => git2::Config::open_default(),
    };
    let settings = settings.map_err(failed)?;
    let setting = |variable: &str, key: &str| {
        let variable = std::env::var(variable).ok().filter(|value| !value.trim().is_empty());
        variable.or_else(|| settings.get_string(key).ok())
    };
    let (name, email) = (setting("GIT_AUTHOR_NAME", "user.name"), setting("GIT_AUTHOR_EMAIL", "user.email"));
    let (Some(name), Some(email)) = (name, email) else { return Err(InitError::NoIdentity) };
    let repository = match existing {
        Some(repository) => repository,
        None => {
            let branch = settings.get_string("init.defaultBranch").unwrap_or_else(|_| DEFAULT_BRANCH.to_owned());
            let mut options = RepositoryInitOptions::new();
            options.initial_head(&branch).no_reinit(true);
            Repository::init_opts(top, &options).map_err(failed)?
        }
    };
    let author = Signature::now(&name, &email).map_err(failed)?;
    let empty = repository.treebuilder(None).and_then(|tree| tree.write()).map_err(failed)?;
    let tree = repository.find_tree(empty).map_err(failed)?;
    repository.commit(Some("HEAD"), &author, &author, FIRST_MESSAGE, &tree, &[]).map_err(failed)?;
    Ok(())
}

/// Creates a repository in `top` on `branch` and commits everything in it. The author is stored in the repository's
/// settings, so that later commits need no other.
pub fn make(top: &Path, branch: &str, author: Author, message: &str) -> Result<(), Error> {
    let failed = Error::read(top);
    library::prepare();
    let create = || -> Result<(), git2::Error> {
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
    create().map_err(failed)
}
