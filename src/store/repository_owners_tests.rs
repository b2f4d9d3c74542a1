use std::sync::Arc;

use super::*;
use crate::base::{IdSource, SystemClock};

fn owner(home: &str) -> Owner {
    Owner { project: ProjectId::fresh(&IdSource::new(Arc::new(SystemClock))), home: home.into() }
}

#[test]
fn each_data_folder_adds_its_project_and_a_moved_one_replaces_its_entry() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (owner("/one"), owner("/two"));
    assert_eq!(owners(folder.path()).unwrap(), []);
    for owner in [&one, &two, &one] {
        add(folder.path(), owner).unwrap();
    }
    assert_eq!(owners(folder.path()).unwrap(), [one.clone(), two.clone()]);
    let moved = Owner { home: "/moved".into(), ..one };
    add(folder.path(), &moved).unwrap();
    assert_eq!(owners(folder.path()).unwrap(), [two, moved.clone()]);
    replace(folder.path(), &moved).unwrap();
    assert_eq!(owners(folder.path()).unwrap(), [moved]);
}

#[test]
fn a_link_or_a_damaged_file_is_refused_and_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.path().join("mxd")).unwrap();
    assert!(matches!(owners(folder.path()), Err(StoreError::Corrupt { .. })));
    assert!(add(folder.path(), &owner("/one")).is_err());
    assert_eq!(outside.path().read_dir().unwrap().count(), 0);

    let folder = tempfile::tempdir().unwrap();
    let path = owners_file(folder.path());
    fs::create_dir(path.parent().unwrap()).unwrap();
    for damaged in ["{", "{\"version\":99}"] {
        fs::write(&path, damaged).unwrap();
        assert!(owners(folder.path()).is_err());
        assert!(add(folder.path(), &owner("/one")).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), damaged);
    }
}
