use super::*;

fn agent_git(has_name: bool, has_email: bool) -> AgentGit {
    AgentGit {
        hooks: PathBuf::from("/data/hooks"),
        overrides: exec_settings::Overrides::default(),
        has_name,
        has_email,
    }
}

/// Returns the git settings of an agent process, in order.
fn settings(git: &AgentGit, inherited: &[(&str, &str)]) -> Vec<(String, String)> {
    let inherited = || inherited.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let all = git.environment(Environment::new(), inherited()).variables(inherited());
    let get = |name: &str| all[OsStr::new(name)].to_string_lossy().into_owned();
    let count: usize = get("GIT_CONFIG_COUNT").parse().unwrap();
    (0..count).map(|at| (get(&format!("GIT_CONFIG_KEY_{at}")), get(&format!("GIT_CONFIG_VALUE_{at}")))).collect()
}

fn pair(key: &str, value: &str) -> (String, String) {
    (key.to_owned(), value.to_owned())
}

#[test]
fn hooks_are_ours_and_gc_and_signing_are_off() {
    let settings = settings(&agent_git(true, true), &[]);
    assert_eq!(settings[0], pair("core.hooksPath", "/data/hooks"));
    for expected in [pair("gc.auto", "0"), pair("maintenance.auto", "false"), pair("commit.gpgSign", "false")] {
        assert!(settings.contains(&expected), "{settings:?}");
    }
    assert!(!settings.iter().any(|(key, _)| key.starts_with("user.")));
}

#[test]
fn settings_in_our_own_environment_come_first_and_secrets_not_at_all() {
    let inherited = [
        ("GIT_CONFIG_COUNT", "6"),
        ("GIT_CONFIG_KEY_0", "safe.directory"),
        ("GIT_CONFIG_VALUE_0", "/x"),
        ("GIT_CONFIG_KEY_1", "http.https://example.org/.extraHeader"),
        ("GIT_CONFIG_VALUE_1", "Authorization: basic x"),
        ("GIT_CONFIG_KEY_2", "core.hooksPath"),
        ("GIT_CONFIG_VALUE_2", "/evil"),
        ("GIT_CONFIG_KEY_3", "url.https://me:pw@example.org/.insteadOf"),
        ("GIT_CONFIG_VALUE_3", "ex:"),
        ("GIT_CONFIG_KEY_4", "credential.helper"),
        ("GIT_CONFIG_VALUE_4", "store"),
        ("GIT_CONFIG_KEY_5", "without a value"),
    ];
    let settings = settings(&agent_git(true, true), &inherited);
    assert_eq!(settings[0], pair("safe.directory", "/x"));
    assert_eq!(settings[1], pair("core.hooksPath", "/data/hooks"));
    assert_eq!(settings.iter().filter(|(key, _)| key == "core.hooksPath").count(), 1);
    let text = format!("{settings:?}");
    assert!(!text.contains("basic x") && !text.contains("pw@") && !text.contains("credential"), "{text}");
}

#[test]
fn a_bogus_count_is_bounded() {
    let settings = settings(&agent_git(true, true), &[("GIT_CONFIG_COUNT", "18446744073709551615")]);
    assert_eq!(settings[0].0, "core.hooksPath");
}

#[test]
fn without_an_identity_commits_are_made_as_the_agent() {
    let name = pair("user.name", FALLBACK_IDENTITY.0);
    let email = pair("user.email", FALLBACK_IDENTITY.1);
    let found = settings(&agent_git(false, false), &[]);
    assert!(found.contains(&name) && found.contains(&email));
    let found = settings(&agent_git(false, true), &[]);
    assert!(found.contains(&name) && !found.contains(&email));
    let found = settings(&agent_git(false, false), &[("GIT_AUTHOR_NAME", "Ann"), ("EMAIL", "ann@example.org")]);
    assert!(!found.contains(&name) && !found.contains(&email), "the environment has the identity");
}

#[test]
fn the_hooks_folder_holds_one_runnable_hook_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let hooks = folder.path().join("deep/hooks");
    write_hooks(&hooks).unwrap();
    fs::write(hooks.join("pre-commit"), "#!/bin/sh\nexit 1\n").unwrap();
    fs::write(hooks.join(HOOK_NAME), "old").unwrap();
    write_hooks(&hooks).unwrap();
    let names: Vec<_> = fs::read_dir(&hooks).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [HOOK_NAME]);
    assert_eq!(fs::read_to_string(hooks.join(HOOK_NAME)).unwrap(), HOOK);
    assert_eq!(fs::metadata(hooks.join(HOOK_NAME)).unwrap().permissions().mode() & 0o777, 0o700);
}
