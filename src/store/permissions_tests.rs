use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn permissions_of_others_are_removed_and_links_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::locate(Some(folder.path().join("data").as_os_str()), None, None).unwrap();
    let project = home.project("01M7HJYCBSDKD4QHZY6Z12P697".parse().unwrap());
    for name in FOLDERS {
        fs::create_dir_all(project.root().join(name)).unwrap();
        fs::set_permissions(project.root().join(name), Permissions::from_mode(0o755)).unwrap();
    }
    fs::create_dir_all(home.root().join("logs")).unwrap();
    let log = home.root().join("logs/mxd.2026-01-01.log");
    fs::write(&log, "x").unwrap();
    fs::set_permissions(&log, Permissions::from_mode(0o644)).unwrap();
    let outside = folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::set_permissions(&outside, Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(&outside, project.logs().join("link")).unwrap();
    tighten(&home, &project);
    for name in FOLDERS {
        assert_eq!(mode(&project.root().join(name)), 0o700, "{name}");
    }
    assert_eq!((mode(home.root()), mode(&log), mode(&outside)), (0o700, 0o600, 0o755));
}
