//! A repository made from nothing, with one commit of everything that lies in its folder.

use std::path::Path;

use git2::{IndexAddOption, Repository, RepositoryInitOptions, Signature};

use super::error::Error;

/// Who commits in a repository that nobody has made their own yet.
#[derive(Clone, Copy, Debug)]
pub struct Author {
    pub name: &'static str,
    pub email: &'static str,
}

/// Makes a repository in `top` whose branch is `branch`, and commits everything that is there. Its own settings name the
/// author, so that later commits need no other.
pub fn make(top: &Path, branch: &str, author: Author, message: &str) -> Result<(), Error> {
    let failed = Error::read(top);
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
