use std::fs;

use super::*;

fn copied(config: &str) -> ConfigCopy {
    let folder = tempfile::tempdir().unwrap();
    let repository = Repository::init(folder.path()).unwrap();
    fs::write(folder.path().join(".git/config"), format!("[core]\n\trepositoryformatversion = 0\n{config}")).unwrap();
    fs::write(folder.path().join(".git/more"), "[user]\n\tname = \"Included\"\n").unwrap();
    drop(repository);
    copy(&Repository::open(folder.path()).unwrap()).unwrap()
}

/// Reads a copy as git does.
fn value(copy: &ConfigCopy, name: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config");
    fs::write(&file, &copy.shared).unwrap();
    git2::Config::open(&file).unwrap().get_string(name).ok()
}

#[test]
fn values_survive_with_their_quotes_and_backslashes() {
    let copy = copied(
        "[alias]\n\tx = \"!echo \\\"a\\\\\\\\b\\\" ; # c\"\n[branch \"a\\\"b\"]\n\tremote = origin\n[push]\n\tautosetupremote\n",
    );
    assert_eq!(value(&copy, "alias.x").as_deref(), Some("!echo \"a\\\\b\" ; # c"));
    assert_eq!(value(&copy, "branch.a\"b.remote").as_deref(), Some("origin"));
    assert!(copy.shared.contains("\tautosetupremote\n"));
}

#[test]
fn logins_are_left_out() {
    let copy = copied(concat!(
        "[remote \"origin\"]\n\turl = https://ann:secret-1@host.example/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
        "[remote \"ssh\"]\n\turl = ssh://git@host.example/x.git\n",
        "[remote \"short\"]\n\turl = git@host.example:x.git\n",
        "[http \"https://host.example\"]\n\textraHeader = Authorization: secret-2\n\tproxy = http://u:secret-3@proxy\n",
        "[credential]\n\thelper = store\n",
        "[url \"https://secret-4@host.example/\"]\n\tinsteadOf = https://host.example/\n",
    ));
    assert!(!copy.shared.contains("secret"), "{}", copy.shared);
    assert_eq!(value(&copy, "remote.origin.url").as_deref(), Some("https://host.example/x.git"));
    assert_eq!(value(&copy, "remote.ssh.url").as_deref(), Some("ssh://git@host.example/x.git"));
    assert_eq!(value(&copy, "remote.short.url").as_deref(), Some("git@host.example:x.git"));
    assert_eq!(value(&copy, "credential.helper"), None);
}

#[test]
fn included_settings_are_copied_and_the_include_is_not() {
    let copy = copied("[include]\n\tpath = more\n");
    assert_eq!(value(&copy, "user.name").as_deref(), Some("Included"));
    assert_eq!(value(&copy, "include.path"), None);
}
