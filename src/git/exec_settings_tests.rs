use super::*;

fn settings(pairs: &[(&str, &str)]) -> Vec<Setting> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn a_setting_of_the_repository_that_runs_a_program_is_replaced_by_the_users_or_a_harmless_one() {
    let own = settings(&[
        ("core.sshcommand", "evil"),
        ("remote.origin.uploadpack", "evil"),
        ("trailer.Sign.command", "evil"),
        ("diff.x.textconv", "evil"),
        ("submodule.lib.update", "!evil"),
        ("hook.x.command", "evil"),
        ("user.name", "Ann"),
    ]);
    let users = settings(&[("core.sshcommand", "ssh -i mine"), ("user.name", "Bob")]);
    let expected = settings(&[
        ("core.sshcommand", "ssh -i mine"),
        ("trailer.Sign.command", "true"),
        ("diff.x.textconv", "cat"),
        ("submodule.lib.update", "checkout"),
        ("hook.x.enabled", "false"),
    ]);
    assert_eq!(replacements(&own, &users), expected);
}

#[test]
fn filters_merge_drivers_and_harmless_settings_stay() {
    let own = settings(&[
        ("filter.lfs.process", "git-lfs filter-process"),
        ("merge.lock.driver", "merge-lock %A %O %B"),
        ("submodule.lib.update", "rebase"),
        ("core.autocrlf", "true"),
        ("remote.origin.url", "https://example.org/x"),
        ("alias.st", "!status"),
    ]);
    assert!(replacements(&own, &[]).is_empty());
}

#[test]
fn credential_helpers_of_the_repository_are_dropped_and_the_users_stay_in_order() {
    let own = settings(&[("credential.https://x.helper", "!evil"), ("credential.helper", "!evil")]);
    let users = settings(&[("credential.helper", "store"), ("credential.https://y.helper", "mine")]);
    let expected =
        settings(&[("credential.helper", ""), ("credential.helper", "store"), ("credential.https://y.helper", "mine")]);
    assert_eq!(replacements(&own, &users), expected);
    assert!(replacements(&[], &users).is_empty());
}
