use std::fs;
use std::os::unix::ffi::OsStringExt as _;

use git2::{RepositoryInitOptions, Signature, WorktreeAddOptions};
use tempfile::TempDir;

use super::*;

/// A temporary folder, with the path as git reports it.
fn temp_dir() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = fs::canonicalize(folder.path()).unwrap();
    (folder, path)
}

fn without_commit(path: &Path) -> Repository {
    Repository::init_opts(path, RepositoryInitOptions::new().initial_head("main")).unwrap()
}

fn commit(repository: &Repository) {
    let author = Signature::new("Ann", "ann@example.org", &git2::Time::new(0, 0)).unwrap();
    let tree = repository.find_tree(repository.treebuilder(None).unwrap().write().unwrap()).unwrap();
    repository.commit(Some("HEAD"), &author, &author, "start", &tree, &[]).unwrap();
}

fn with_commit(path: &Path) -> Repository {
    let repository = without_commit(path);
    commit(&repository);
    repository
}

fn hints(error: DiscoverError) -> Vec<String> {
    Fault::from(error).hints
}

#[test]
fn the_top_and_all_folders_below_it_have_the_same_location() {
    let (_guard, root) = temp_dir();
    with_commit(&root);
    let deep = root.join("a/b");
    fs::create_dir_all(&deep).unwrap();
    let location = RepoLocation { top: root.clone(), linked: None, common: root.join(".git") };
    for folder in [root.clone(), deep, root.join("a/../a")] {
        assert_eq!(RepoLocation::of(&folder), Ok(location.clone()), "{}", folder.display());
    }
    assert_eq!(location.branch().as_deref(), Ok("main"));
}

#[test]
fn the_git_folder_itself_resolves_to_its_checkout() {
    let (_guard, root) = temp_dir();
    with_commit(&root);
    assert_eq!(
        RepoLocation::of(&root.join(".git")),
        Ok(RepoLocation { common: root.join(".git"), top: root, linked: None })
    );
}

#[test]
fn a_link_to_a_folder_is_followed() {
    let (_guard, root) = temp_dir();
    let real = root.join("real");
    with_commit(&real);
    std::os::unix::fs::symlink(&real, root.join("link")).unwrap();
    assert_eq!(
        RepoLocation::of(&root.join("link")),
        Ok(RepoLocation { common: real.join(".git"), top: real, linked: None })
    );
}

#[test]
fn a_repository_inside_another_has_its_own_location() {
    let (_guard, root) = temp_dir();
    with_commit(&root);
    let inner = root.join("vendor/inner");
    with_commit(&inner);
    assert_eq!(RepoLocation::of(&inner).map(|location| location.top), Ok(inner));
}

#[test]
fn another_checkout_is_linked_to_the_main_one_and_takes_its_branch() {
    let (_guard, root) = temp_dir();
    let main = root.join("main");
    let repository = with_commit(&main);
    let side = root.join("side");
    repository.worktree("side", &side, Some(&WorktreeAddOptions::new())).unwrap();
    fs::create_dir(side.join("deep")).unwrap();

    let location = RepoLocation::of(&side.join("deep")).unwrap();
    assert_eq!(location, RepoLocation { common: main.join(".git"), top: main, linked: Some(side) });
    assert_eq!(location.branch().as_deref(), Ok("main"));
}

#[test]
fn missing_plain_and_bare_folders_are_different_errors() {
    let (_guard, root) = temp_dir();
    let gone = root.join("gone");
    assert_eq!(RepoLocation::of(&gone), Err(DiscoverError::Missing(gone)));
    assert_eq!(RepoLocation::of(&root), Err(DiscoverError::NotARepository(root.clone())));
    let bare = root.join("bare.git");
    Repository::init_bare(&bare).unwrap();
    assert!(matches!(RepoLocation::of(&bare), Err(DiscoverError::Bare(_))));
}

#[test]
fn a_checkout_of_a_bare_repository_has_no_main_checkout() {
    let (_guard, root) = temp_dir();
    let bare = root.join("bare.git");
    let repository = Repository::init_bare(&bare).unwrap();
    commit(&repository);
    let side = root.join("side");
    repository.worktree("side", &side, None).unwrap();
    assert!(matches!(RepoLocation::of(&side), Err(DiscoverError::Bare(_))));
}

#[test]
fn an_unborn_branch_and_a_detached_head_are_errors() {
    let (_guard, root) = temp_dir();
    let repository = without_commit(&root);
    let location = RepoLocation::of(&root).unwrap();
    assert_eq!(location.branch(), Err(DiscoverError::NoCommit(root.clone())));
    commit(&repository);
    assert_eq!(location.branch().as_deref(), Ok("main"));
    let head = repository.head().unwrap().target().unwrap();
    repository.set_head_detached(head).unwrap();
    assert_eq!(location.branch(), Err(DiscoverError::Detached(root)));
}

#[test]
fn a_branch_name_must_be_utf8() {
    let (_guard, root) = temp_dir();
    with_commit(&root);
    let location = RepoLocation::of(&root).unwrap();
    let commit = fs::read(root.join(".git/refs/heads/main")).unwrap();
    let switch = |name: &[u8]| {
        let name = std::ffi::OsString::from_vec(name.to_owned());
        let path = root.join(".git/refs/heads").join(&name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &commit).unwrap();
        let head = [b"ref: refs/heads/", std::os::unix::ffi::OsStrExt::as_bytes(name.as_os_str()), b"\n"].concat();
        fs::write(root.join(".git/HEAD"), head).unwrap();
    };
    switch("feature/größe-1+x".as_bytes());
    assert_eq!(location.branch().as_deref(), Ok("feature/größe-1+x"));
    switch(b"caf\xe9");
    assert!(matches!(location.branch(), Err(DiscoverError::BranchName(_))), "{:?}", location.branch());
}

#[test]
fn hints_can_be_pasted_into_a_shell() {
    for (path, shown) in [
        ("/plain/path-1.x", "/plain/path-1.x"),
        ("/with space", "'/with space'"),
        ("/it's", "'/it'\\''s'"),
        ("/$HOME`x`", "'/$HOME`x`'"),
    ] {
        let hint = &hints(DiscoverError::NotARepository(path.into()))[0];
        assert_eq!(hint, &format!("create one with `git init {shown}`"));
    }
}

#[test]
fn every_expected_error_has_a_hint() {
    let path = || PathBuf::from("/x");
    for error in [
        DiscoverError::Missing(path()),
        DiscoverError::NotARepository(path()),
        DiscoverError::Bare(path()),
        DiscoverError::NoCommit(path()),
        DiscoverError::Detached(path()),
        DiscoverError::OtherOwner(path()),
        DiscoverError::BranchName("x".to_owned()),
    ] {
        let message = error.to_string();
        assert!(!hints(error).is_empty(), "{message}");
    }
}
