use std::fs as std_fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

fn scene() -> (tempfile::TempDir, Dir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (top, victim) = (folder.path().join("top"), folder.path().join("victim"));
    std_fs::create_dir_all(victim.join("inner")).unwrap();
    std_fs::write(victim.join("inner/file"), "precious").unwrap();
    std_fs::create_dir(&top).unwrap();
    let dir = Dir::open(&top).unwrap();
    (folder, dir, victim)
}

#[test]
fn links_are_never_followed() {
    let (_guard, dir, victim) = scene();
    symlink(&victim, dir.path().join("a")).unwrap();
    assert!(is_in_the_way(&dir.below(Path::new("a/inner")).unwrap_err()));
    assert!(is_in_the_way(&dir.make(Path::new("a/inner")).unwrap_err()));
    assert!(Dir::open(&dir.path().join("a")).is_err());
    symlink(victim.join("inner/file"), dir.path().join("file")).unwrap();
    assert!(dir.open_file(OsStr::new("file")).is_err());
    assert!(dir.create(OsStr::new("file"), Mode::RWXU).is_err());
    assert!(dir.below(Path::new("../victim")).is_err() && dir.below(&victim).is_err());

    let made = dir.make_over(Path::new("a/inner")).unwrap();
    made.create(OsStr::new("new"), Mode::RWXU).unwrap();
    assert!(dir.path().join("a/inner/new").is_file() && !victim.join("inner/new").exists());
    assert_eq!(std_fs::read_to_string(victim.join("inner/file")).unwrap(), "precious");
}

#[test]
fn a_tree_is_removed_with_links_and_read_only_folders_but_not_link_targets() {
    let (_guard, dir, victim) = scene();
    let inner = dir.path().join("tree/closed");
    std_fs::create_dir_all(&inner).unwrap();
    std_fs::write(inner.join("file"), "x").unwrap();
    symlink(&victim, inner.join("link")).unwrap();
    std_fs::set_permissions(&inner, std_fs::Permissions::from_mode(0o500)).unwrap();
    symlink(&victim, dir.path().join("top-link")).unwrap();
    for name in ["tree", "top-link", "never there"] {
        dir.remove_tree(OsStr::new(name)).unwrap();
    }
    assert!(dir.names().unwrap().is_empty());
    assert_eq!(std_fs::read_to_string(victim.join("inner/file")).unwrap(), "precious");
}
