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
    assert_eq!(in_place_of(&own, &users), expected);
}

#[test]
fn what_decides_the_content_of_files_and_what_runs_nothing_stays() {
    let own = settings(&[
        ("filter.lfs.process", "git-lfs filter-process"),
        ("merge.lock.driver", "merge-lock %A %O %B"),
        ("submodule.lib.update", "rebase"),
        ("core.autocrlf", "true"),
        ("remote.origin.url", "https://example.org/x"),
        ("alias.st", "!status"),
    ]);
    assert!(in_place_of(&own, &[]).is_empty());
}

#[test]
fn credential_helpers_of_the_repository_go_and_those_of_the_user_stay_in_their_order() {
    let own = settings(&[("credential.https://x.helper", "!evil"), ("credential.helper", "!evil")]);
    let users = settings(&[("credential.helper", "store"), ("credential.https://y.helper", "mine")]);
    let expected =
        settings(&[("credential.helper", ""), ("credential.helper", "store"), ("credential.https://y.helper", "mine")]);
    assert_eq!(in_place_of(&own, &users), expected);
    assert!(in_place_of(&[], &users).is_empty());
}
