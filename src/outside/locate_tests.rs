use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

#[test]
fn a_command_is_found_on_the_path_with_the_version_of_its_package() {
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("lib/node_modules/@a/agent");
    fs::create_dir_all(package.join("dist")).unwrap();
    fs::create_dir(folder.path().join("bin")).unwrap();
    fs::write(package.join("package.json"), r#"{"version": "1.2.3"}"#).unwrap();
    let script = package.join("dist/index.js");
    fs::write(&script, "#!/usr/bin/env node\n").unwrap();
    let linked = folder.path().join("bin/agent");
    symlink(&script, &linked).unwrap();
    let path = folder.path().join("bin");
    assert_eq!(find("agent", path.as_os_str()), None, "it cannot be run");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(find("agent", path.as_os_str()), Some(linked.clone()));
    assert_eq!(version(&linked).as_deref(), Some("1.2.3"));
    assert_eq!(find("other", path.as_os_str()), None);
    assert_eq!(find(linked.to_str().unwrap(), OsStr::new("")), Some(linked));
}

#[test]
fn a_login_is_a_file_that_exists() {
    let home = tempfile::tempdir().unwrap();
    let quirks = Quirks { login_files: &[".agent/auth.json"], ..Quirks::UNKNOWN };
    assert_eq!(login(&quirks, Some(home.path())), Login::Missing);
    fs::create_dir(home.path().join(".agent")).unwrap();
    fs::write(home.path().join(".agent/auth.json"), "").unwrap();
    assert_eq!(login(&quirks, Some(home.path())), Login::Likely);
    assert_eq!(login(&Quirks::UNKNOWN, Some(home.path())), Login::Unknown);
    assert_eq!(login(&quirks, None), Login::Unknown);
}
