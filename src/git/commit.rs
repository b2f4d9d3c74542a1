//! Commits that Matrix makes as the user, on request.

use std::path::{Path, PathBuf};

use git2::{ErrorCode, Repository, Signature};

use super::library;
use crate::base::Fault;

#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    #[error("git does not know who you are")]
    NoIdentity,
    #[error("git cannot commit in {}: {message}", .top.display())]
    Git { top: PathBuf, message: String },
}

impl From<CommitError> for Fault {
    fn from(error: CommitError) -> Self {
        let fault = Self::user(error.to_string());
        match error {
            CommitError::NoIdentity => fault
                .hint("tell it with `git config --global user.name …` and `git config --global user.email …`")
                .hint("the files are written; commit them yourself"),
            CommitError::Git { .. } => fault.hint("the files are written; commit them yourself"),
        }
    }
}

/// Commits these files only; other staged changes stay staged. Returns the short commit id.
pub fn commit_files(top: &Path, files: &[PathBuf], message: &str) -> Result<String, CommitError> {
    let failed = |error: git2::Error| match error.code() {
        ErrorCode::NotFound if error.class() == git2::ErrorClass::Config => CommitError::NoIdentity,
        _ => CommitError::Git { top: top.to_owned(), message: error.message().to_owned() },
    };
    let repository = library::open(top).map_err(failed)?;
    let author = identity(&repository, "AUTHOR").map_err(failed)?;
    let committer = identity(&repository, "COMMITTER").map_err(failed)?;
    let parent = repository.head().and_then(|head| head.peel_to_commit()).map_err(failed)?;

    // The tree is the last commit's plus the files; the index gets the files too, so that they do not look deleted.
    let mut committed = git2::Index::new().map_err(failed)?;
    committed.read_tree(&parent.tree().map_err(failed)?).map_err(failed)?;
    let mut staged = repository.index().map_err(failed)?;
    for file in files {
        staged.add_path(file).map_err(failed)?;
        let entry = staged.get_path(file, 0);
        entry.map_or(Ok(()), |entry| committed.add(&entry)).map_err(failed)?;
    }
    staged.write().map_err(failed)?;
    let tree = committed.write_tree_to(&repository).and_then(|tree| repository.find_tree(tree)).map_err(failed)?;
    let id = repository.commit(Some("HEAD"), &author, &committer, message, &tree, &[&parent]).map_err(failed)?;
    Ok(id.to_string()[..10].to_owned())
}

/// Returns the identity as git determines it: from the environment, else from the settings.
fn identity(repository: &Repository, role: &str) -> Result<Signature<'static>, git2::Error> {
    let env = |field: &str| std::env::var(format!("GIT_{role}_{field}")).ok().filter(|value| !value.trim().is_empty());
    match (env("NAME"), env("EMAIL")) {
        (None, None) => repository.signature(),
        (Some(name), Some(email)) => Signature::now(&name, &email),
        (name, email) => {
            let settings = repository.signature()?;
            let name = name.map_or_else(|| settings.name().map(str::to_owned), Ok)?;
            let email = email.map_or_else(|| settings.email().map(str::to_owned), Ok)?;
            Signature::now(&name, &email)
        }
    }
}
