use super::*;

fn repository(folder: &Path) -> PathBuf {
    let top = folder.join("repo");
    std::fs::create_dir_all(top.join("skills/notes/scripts")).unwrap();
    let text = "---\nname: notes\ndescription: Writes notes\n---\nRead the log.\n";
    std::fs::write(top.join("skills/notes").join(FILE), text).unwrap();
    std::fs::write(top.join("skills/notes/scripts/run.sh"), "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(top.join("skills/notes/scripts/run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    top
}

fn origin_of(path: &str) -> Origin {
    Origin { url: "https://example.org/x".to_owned(), path: path.into(), commit: "c1".to_owned() }
}

#[test]
fn a_skill_is_copied_with_all_its_files_and_its_origin() {
    let folder = tempfile::tempdir().unwrap();
    let top = repository(folder.path());
    let found = offered(&top, Path::new("")).unwrap();
    assert_eq!((found.len(), found[0].path.as_path()), (1, Path::new("skills/notes")));
    let skills = folder.path().join("data/skills");
    let target = install(&skills, &found[0], &origin_of("skills/notes")).unwrap();
    assert_eq!(origin(&target), Some(origin_of("skills/notes")));
    assert_eq!(installed(&target).unwrap(), found[0].files);
    assert!(installed(&target).unwrap()[Path::new("scripts/run.sh")].is_executable);
}

#[test]
fn an_update_shows_what_changes_and_replaces_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let top = repository(folder.path());
    let skills = folder.path().join("skills");
    let target = install(&skills, &offered(&top, Path::new("")).unwrap()[0], &origin_of("skills/notes")).unwrap();
    std::fs::write(top.join("skills/notes").join(FILE), "---\ndescription: Writes notes\n---\nRead the diff.\n")
        .unwrap();
    std::fs::remove_dir_all(top.join("skills/notes/scripts")).unwrap();
    let new = &offered(&top, Path::new("skills/notes")).unwrap()[0];
    let patch = diff(&installed(&target).unwrap(), &new.files);
    for part in ["-Read the log.", "+Read the diff.", "-#!/bin/sh"] {
        assert!(patch.contains(part), "{part} in {patch}");
    }
    install(&skills, new, &origin_of("skills/notes")).unwrap();
    assert_eq!(diff(&installed(&target).unwrap(), &new.files), "");
    assert_eq!(std::fs::read_dir(&skills).unwrap().count(), 1, "no leftovers");
    remove(&skills, "notes").unwrap();
    assert!(remove(&skills, "notes").is_err() && remove(&skills, "../repo").is_err());
}

#[test]
fn links_and_paths_that_lead_out_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let top = repository(folder.path());
    std::os::unix::fs::symlink("/etc/passwd", top.join("skills/notes/link")).unwrap();
    assert!(offered(&top, Path::new("")).unwrap_err().message.contains("is a link"));
    assert!(offered(&top, Path::new("../x")).is_err());
    assert!(offered(&top, Path::new("nothing")).unwrap_err().message.contains(FILE));
}
