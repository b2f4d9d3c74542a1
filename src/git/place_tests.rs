use std::fs;
use std::os::unix::ffi::OsStringExt as _;

use git2::{RepositoryInitOptions, Signature, WorktreeAddOptions};
use tempfile::TempDir;

use super::*;

/// A temporary folder, spelled as git spells it.
fn somewhere() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = fs::canonicalize(folder.path()).unwrap();
    (folder, path)
}

fn unborn(path: &Path) -> Repository {
    Repository::init_opts(path, RepositoryInitOptions::new().initial_head("main")).unwrap()
}

fn commit(repository: &Repository) {
    let author = Signature::new("Ann", "ann@example.org", &git2::Time::new(0, 0)).unwrap();
    let tree = repository.find_tree(repository.treebuilder(None).unwrap().write().unwrap()).unwrap();
    repository.commit(Some("HEAD"), &author, &author, "start", &tree, &[]).unwrap();
}

fn born(path: &Path) -> Repository {
    let repository = unborn(path);
    commit(&repository);
    repository
}

fn hints(error: PlaceError) -> Vec<String> {
    Fault::from(error).hints
}

#[test]
fn the_top_and_everything_below_it_are_the_same_place() {
    let (_guard, root) = somewhere();
    born(&root);
    let deep = root.join("a/b");
    fs::create_dir_all(&deep).unwrap();
    let place = Place { top: root.clone(), linked: None, common: root.join(".git") };
    for folder in [root.clone(), deep, root.join("a/../a")] {
        assert_eq!(Place::of(&folder), Ok(place.clone()), "{}", folder.display());
    }
    assert_eq!(place.branch().as_deref(), Ok("main"));
}

#[test]
fn the_git_folder_itself_means_its_checkout() {
    let (_guard, root) = somewhere();
    born(&root);
    assert_eq!(Place::of(&root.join(".git")), Ok(Place { common: root.join(".git"), top: root, linked: None }));
}

#[test]
fn a_link_to_a_folder_is_followed() {
    let (_guard, root) = somewhere();
    let real = root.join("real");
    born(&real);
    std::os::unix::fs::symlink(&real, root.join("link")).unwrap();
    assert_eq!(Place::of(&root.join("link")), Ok(Place { common: real.join(".git"), top: real, linked: None }));
}

#[test]
fn a_repository_inside_another_is_its_own_place() {
    let (_guard, root) = somewhere();
    born(&root);
    let inner = root.join("vendor/inner");
    born(&inner);
    assert_eq!(Place::of(&inner).map(|place| place.top), Ok(inner));
}

#[test]
fn another_checkout_is_linked_to_the_main_one_and_takes_its_branch() {
    let (_guard, root) = somewhere();
    let main = root.join("main");
    let repository = born(&main);
    let side = root.join("side");
    repository.worktree("side", &side, Some(&WorktreeAddOptions::new())).unwrap();
    fs::create_dir(side.join("deep")).unwrap();

    let place = Place::of(&side.join("deep")).unwrap();
    assert_eq!(place, Place { common: main.join(".git"), top: main, linked: Some(side) });
    assert_eq!(place.branch().as_deref(), Ok("main"));
}

#[test]
fn a_missing_folder_a_plain_folder_and_a_bare_repository_are_told_apart() {
    let (_guard, root) = somewhere();
    let gone = root.join("gone");
    assert_eq!(Place::of(&gone), Err(PlaceError::Missing(gone)));
    assert_eq!(Place::of(&root), Err(PlaceError::NotARepository(root.clone())));
    let bare = root.join("bare.git");
    Repository::init_bare(&bare).unwrap();
    assert!(matches!(Place::of(&bare), Err(PlaceError::Bare(_))));
}

#[test]
fn a_checkout_of_a_bare_repository_has_no_main_checkout() {
    let (_guard, root) = somewhere();
    let bare = root.join("bare.git");
    let repository = Repository::init_bare(&bare).unwrap();
    commit(&repository);
    let side = root.join("side");
    repository.worktree("side", &side, None).unwrap();
    assert!(matches!(Place::of(&side), Err(PlaceError::Bare(_))));
}

#[test]
fn an_unborn_branch_and_a_detached_head_are_no_base() {
    let (_guard, root) = somewhere();
    let repository = unborn(&root);
    let place = Place::of(&root).unwrap();
    assert_eq!(place.branch(), Err(PlaceError::NoCommit(root.clone())));
    commit(&repository);
    assert_eq!(place.branch().as_deref(), Ok("main"));
    let head = repository.head().unwrap().target().unwrap();
    repository.set_head_detached(head).unwrap();
    assert_eq!(place.branch(), Err(PlaceError::Detached(root)));
}

#[test]
fn a_branch_name_is_taken_as_it_is_unless_it_is_not_text() {
    let (_guard, root) = somewhere();
    born(&root);
    let place = Place::of(&root).unwrap();
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
    assert_eq!(place.branch().as_deref(), Ok("feature/größe-1+x"));
    switch(b"caf\xe9");
    assert!(matches!(place.branch(), Err(PlaceError::BranchName(_))), "{:?}", place.branch());
}

#[test]
fn hints_can_be_pasted_into_a_shell() {
    for (path, shown) in [
        ("/plain/path-1.x", "/plain/path-1.x"),
        ("/with space", "'/with space'"),
        ("/it's", "'/it'\\''s'"),
        ("/$HOME`x`", "'/$HOME`x`'"),
    ] {
        let hint = &hints(PlaceError::NotARepository(path.into()))[0];
        assert_eq!(hint, &format!("make it one with `git init {shown}`"));
    }
}

#[test]
fn every_refusal_but_an_unforeseen_one_says_what_to_do() {
    let path = || PathBuf::from("/x");
    for error in [
        PlaceError::Missing(path()),
        PlaceError::NotARepository(path()),
        PlaceError::Bare(path()),
        PlaceError::NoCommit(path()),
        PlaceError::Detached(path()),
        PlaceError::NotOurs(path()),
        PlaceError::BranchName("x".to_owned()),
    ] {
        let said = error.to_string();
        assert!(!hints(error).is_empty(), "{said}");
    }
}
