//! `mxd config`, by the real binary: the three files, who wins, what is never shown, what is never touched.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::cli_support::{Project, World, hinted_commands, json_lines};

const KEY: &str = "sk-ant-api03-abcdefghijklmnop";

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn layer_file(project: &Project<'_>, layer: &str) -> std::path::PathBuf {
    project.mxd(["config", "path", layer]).ok().trim_end().into()
}

#[test]
fn path_says_where_each_layer_is_and_only_what_exists_here() {
    let world = World::new();
    let outside = world.mxd(&world.root(), ["config", "path"]).ok();
    assert_eq!(outside, format!("global  {}\n", world.home().config().display()));
    world.mxd(&world.root(), ["config", "path", "--repo"]).refused(3, "is not inside a git repository");

    let repo = world.repository("plain");
    assert_eq!(world.mxd(&repo, ["config", "path"]).ok().lines().count(), 2);
    let err = world.mxd(&repo, ["config", "path", "--local"]).refused(3, "is not registered yet");
    for command in hinted_commands(&err) {
        assert_eq!(world.paste(&repo, &command).code, 0, "{command}");
    }
    assert_eq!(world.mxd(&repo, ["config", "path"]).ok().lines().count(), 3);

    let project = world.project("calc");
    assert_eq!(layer_file(&project, "--repo"), project.path.join(".mxd/config.json"));
    assert_eq!(layer_file(&project, "--local"), project.folder.config());
}

#[test]
fn the_nearest_layer_wins_and_unset_uncovers_the_next() {
    let world = World::new();
    let project = world.project("calc");
    let get = || project.mxd(["config", "get", "model"]).ok();
    for (layer, value) in [("--global", "far"), ("--repo", "middle"), ("--local", "near")] {
        let out = project.mxd(["config", "set", layer, "model", value]).ok();
        assert_eq!(out, format!("{} changed\n", layer_file(&project, layer).display()));
        assert_eq!(get(), format!("{value}\n"));
    }
    let shown = json_lines(&project.mxd(["config", "get", "model", "--json"]).ok());
    assert_eq!((&shown[0]["value"], &shown[0]["origin"]), (&"near".into(), &"local".into()));
    assert_eq!(shown[0]["line"], 2);

    for (layer, next) in [("--local", "middle"), ("--repo", "far")] {
        project.mxd(["config", "unset", layer, "model"]).ok();
        assert_eq!(get(), format!("{next}\n"));
    }
    project.mxd(["config", "unset", "model"]).ok();
    project.mxd(["config", "get", "model"]).refused(3, "is not set and has no default");
    project.mxd(["config", "unset", "model"]).refused(3, "model is not set in");
}

#[test]
fn list_shows_values_with_their_origin_for_people_and_for_programs() {
    let world = World::new();
    let project = world.project("calc");
    project.mxd(["config", "set", "--local", "budgetUsd", "5"]).ok();
    let out = project.mxd(["config", "list"]).ok();
    assert!(out.contains("budgetUsd = 5  (local: "), "{out}");
    assert!(out.contains("durability = \"sync\"  (default)"), "{out}");
    let rows = json_lines(&project.mxd(["config", "list", "--json"]).ok());
    assert_eq!(rows.len(), out.lines().count());
    assert!(rows.iter().any(|row| row["key"] == "budgetUsd" && row["value"] == 5 && row["origin"] == "local"));
}

#[test]
fn list_shows_what_is_in_force_also_where_something_is_wrong_as_the_hint_promises() {
    let world = World::new();
    let project = world.project("calc");
    project.mxd(["config", "set", "model", "far"]).ok();
    fs::write(project.path.join(".mxd/config.json"), r#"{"maxDepth": "three", "childModel": "near"}"#).unwrap();
    let err = project.mxd(["config", "get", "model"]).refused(3, "maxDepth must be an integer");
    assert!(hinted_commands(&err).contains(&"mxd config list".to_owned()), "{err}");
    let ran = project.mxd(["config", "list"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.starts_with("mxd: ") && ran.err.contains("maxDepth must be"), "{ran:?}");
    for said in ["model = \"far\"", "childModel = \"near\"", "maxDepth = 3  (default)"] {
        assert!(ran.out.contains(said), "expected {said:?} in {ran:?}");
    }
    fs::write(project.path.join(".mxd/config.json"), "{ broken").unwrap();
    let ran = project.mxd(["config", "list", "--json"]);
    assert!(ran.code == 3 && ran.err.contains("invalid JSON"), "{ran:?}");
    assert!(json_lines(&ran.out).iter().any(|row| row["value"] == "far"), "{ran:?}");
}

#[test]
fn a_secret_is_in_no_output_and_its_file_is_private() {
    let world = World::new();
    let project = world.project("calc");
    let group = format!(r#"{{"provider":"anthropic","apiKey":"{KEY}"}}"#);
    for layer in ["--global", "--local"] {
        let set = project.mxd(["config", "set", layer, "authGroups.work", &group]);
        let file = layer_file(&project, layer);
        assert_eq!(mode(&file), 0o600);
        assert!(fs::read_to_string(&file).unwrap().contains(KEY), "the file itself holds it");
        assert!(!format!("{set:?}").contains(KEY));
    }
    for args in [
        &["config", "get", "authGroups"][..],
        &["config", "get", "authGroups.work"],
        &["config", "get", "authGroups.work.apiKey"],
        &["config", "get", "authGroups.work.apiKey", "--json"],
        &["config", "list"],
        &["config", "list", "--json"],
        &["check"],
    ] {
        let ran = project.mxd(args);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        assert!(!format!("{ran:?}").contains("abcdef"), "{args:?}: {ran:?}");
    }
    assert_eq!(project.mxd(["config", "get", "authGroups.work.apiKey"]).ok(), "****mnop\n");
}

#[test]
fn a_key_from_the_environment_is_masked_and_named() {
    let world = World::new();
    let mut command = world.mxd_command(&world.root());
    let output = command.env("ANTHROPIC_API_KEY", KEY).args(["config", "list"]).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("authGroups.env-anthropic") && out.contains("ANTHROPIC_API_KEY"), "{out}");
    assert!(!out.contains("abcdef"), "{out}");
}

#[test]
fn a_refused_secret_is_not_repeated_in_the_refusal() {
    let world = World::new();
    let project = world.project("calc");
    let group = format!(r#"{{"provider":"nobody","apiKey":"{KEY}"}}"#);
    for args in [
        ["config", "set", "--repo", "authGroups.work", &group],
        ["config", "set", "--global", "authGroups.work", &group],
        ["config", "set", "--global", "maxDepth", KEY],
    ] {
        let ran = project.mxd(args);
        assert_eq!(ran.code, 3, "{args:?}: {ran:?}");
        assert!(!ran.err.contains("abcdef"), "{args:?}: {ran:?}");
    }
    assert!(!project.path.join(".mxd/config.json").exists());
}

#[test]
fn an_open_file_becomes_private_when_a_secret_enters_it_and_the_repositorys_stays_open() {
    let world = World::new();
    let project = world.project("calc");
    let global = world.home().config();
    project.mxd(["config", "set", "theme", "matrix-light"]).ok();
    assert_eq!(mode(&global), 0o600, "new files are private");
    fs::set_permissions(&global, fs::Permissions::from_mode(0o644)).unwrap();
    project.mxd(["config", "set", "theme", "matrix-dark"]).ok();
    assert_eq!(mode(&global), 0o644, "its owner opened it");
    project.mxd(["config", "set", "authGroups.work", &format!(r#"{{"provider":"anthropic","apiKey":"{KEY}"}}"#)]).ok();
    assert_eq!(mode(&global), 0o600);

    project.mxd(["config", "set", "--repo", "model", "m"]).ok();
    assert_eq!(mode(&project.path.join(".mxd/config.json")), 0o644);
}

#[test]
fn a_linked_settings_file_stays_a_link() {
    let world = World::new();
    let dotfiles = world.folder("dotfiles");
    let real = dotfiles.join("mxd.json");
    fs::write(&real, "{\"theme\": \"light\"}\n").unwrap();
    fs::create_dir_all(world.data()).unwrap();
    std::os::unix::fs::symlink(&real, world.home().config()).unwrap();

    world.mxd(&world.root(), ["config", "set", "model", "m"]).ok();
    assert!(fs::symlink_metadata(world.home().config()).unwrap().is_symlink());
    let text = fs::read_to_string(&real).unwrap();
    assert!(text.contains("\"theme\": \"light\"") && text.contains("\"model\": \"m\""), "{text}");
}

#[test]
fn a_link_to_a_settings_file_that_does_not_exist_yet_stays_a_link() {
    let world = World::new();
    let real = world.folder("dotfiles").join("mxd.json");
    fs::create_dir_all(world.data()).unwrap();
    std::os::unix::fs::symlink("../dotfiles/mxd.json", world.home().config()).unwrap();

    world.mxd(&world.root(), ["config", "set", "model", "m"]).ok();
    assert!(fs::symlink_metadata(world.home().config()).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("\"model\": \"m\""));
}

#[test]
fn a_broken_file_is_refused_with_its_line_and_left_alone() {
    let world = World::new();
    let project = world.project("calc");
    let global = world.home().config();
    let broken = "{\n  \"model\": \"m\",\n  \"theme\" \"dark\"\n}\n";
    fs::write(&global, broken).unwrap();
    let place = format!("{}:3:", global.display());
    for args in [&["config", "set", "model", "x"][..], &["config", "unset", "model"], &["config", "get", "model"]] {
        project.mxd(args).refused(3, &place);
        assert_eq!(fs::read_to_string(&global).unwrap(), broken);
    }
    let check = project.mxd(["check"]);
    assert_eq!(check.code, 1);
    assert!(check.out.contains(&place), "{check:?}");
}

#[test]
fn a_wrong_value_is_refused_with_an_example_and_an_unknown_key_with_the_nearest() {
    let world = World::new();
    let here = world.root();
    let wrong = world.mxd(&here, ["config", "set", "maxDepth", "deep"]).refused(3, "maxDepth must be");
    assert!(wrong.contains("for example: "), "{wrong}");
    world.mxd(&here, ["config", "set", "modle", "x"]).refused(3, "did you mean model?");
    assert!(!world.home().config().exists());

    fs::create_dir_all(world.data()).unwrap();
    fs::write(world.home().config(), "{\"modle\": \"x\", \"model\": \"m\"}").unwrap();
    let ran = world.mxd(&here, ["config", "get", "model"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "m\n"));
    assert!(ran.err.contains("warning: ") && ran.err.contains("did you mean model?"), "{ran:?}");
}

#[test]
fn a_change_leaves_everything_else_in_the_file_as_it_was() {
    let world = World::new();
    fs::create_dir_all(world.data()).unwrap();
    let before = "{\n  \"future\": {\"b\": 1.50, \"a\": [1, 2]},\n  \"model\": \"m\",\n  \"budgetUsd\": 2.0\n}\n";
    fs::write(world.home().config(), before).unwrap();
    let set = world.mxd(&world.root(), ["config", "set", "model", "n"]);
    assert_eq!(set.code, 0, "{set:?}");
    let after = fs::read_to_string(world.home().config()).unwrap();
    assert!(after.contains("1.50") && after.contains("2.0") && after.contains("\"n\""), "{after}");
    let keys = |text: &str| text.find("future") < text.find("model") && text.find("model") < text.find("budgetUsd");
    assert!(keys(&after), "{after}");
}

#[test]
fn two_layers_at_once_are_a_misunderstanding() {
    let world = World::new();
    let ran = world.mxd(&world.root(), ["config", "set", "--global", "--local", "model", "m"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.contains("cannot be used with"), "{ran:?}");
}

#[test]
fn changes_made_at_the_same_moment_are_all_kept() {
    let world = World::new();
    let root = world.root();
    let set = |n: usize| {
        let mut command = world.mxd_command(&root);
        let key = format!("models.model{n}.window");
        command.args(["config", "set", &key, "1000"]).stdout(std::process::Stdio::null());
        command.spawn().unwrap()
    };
    let running: Vec<_> = (0..24).map(set).collect();
    for mut child in running {
        assert!(child.wait().unwrap().success());
    }
    let listed = world.mxd(&root, ["config", "list"]).ok();
    assert_eq!(listed.lines().filter(|line| line.starts_with("models.model")).count(), 24, "{listed}");
}

#[test]
fn one_layer_can_be_asked_alone() {
    let world = World::new();
    let project = world.project("calc");
    project.mxd(["config", "set", "--global", "model", "far"]).ok();
    project.mxd(["config", "set", "--local", "model", "near"]).ok();
    project.mxd(["config", "set", "--local", "maxDepth", "5"]).ok();
    assert_eq!(project.mxd(["config", "get", "--global", "model"]).ok(), "far\n");
    assert_eq!(project.mxd(["config", "get", "--local", "model"]).ok(), "near\n");
    project.mxd(["config", "get", "--repo", "model"]).refused(3, "model is not set in");
    project.mxd(["config", "get", "--global", "maxDepth"]).refused(3, "maxDepth is not set in");
    assert_eq!(json_lines(&project.mxd(["config", "list", "--local", "--json"]).ok()).len(), 2);
    assert_eq!(project.mxd(["config", "list", "--repo"]).ok(), "");
    let help = project.mxd(["config", "set", "--help"]).ok();
    assert!(help.contains("Key, such as"), "{help}");
}

#[test]
fn a_file_that_cannot_be_understood_is_not_changed_and_a_copy_is_kept() {
    let world = World::new();
    let project = world.project("calc");
    let file = layer_file(&project, "--global");
    let spoilt: [&[u8]; 4] =
        [b"{\"model\": \"a\",", b"{\"version\": 99, \"model\": \"a\"}", b"{\"model\": \"\xff\"}", b"[]"];
    for (number, bytes) in spoilt.into_iter().enumerate() {
        for command in [&["config", "set", "model", "new"][..], &["config", "unset", "model"]] {
            fs::write(&file, bytes).unwrap();
            let err = project.mxd(command.to_vec()).refused(3, "a backup is in ");
            let copy = err.split("a backup is in ").nth(1).unwrap().lines().next().unwrap().trim();
            assert_eq!(fs::read(copy).unwrap(), bytes, "{err}");
            assert_eq!((mode(Path::new(copy)), Path::new(copy).parent()), (0o600, file.parent()), "{copy}");
            assert_eq!(fs::read(&file).unwrap(), bytes, "the file itself is as it was");
        }
        let names = fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
        let copies = names.filter(|name| name.to_string_lossy().contains(".kept-")).count();
        assert_eq!(copies, number + 1, "the same content is kept once");
    }
    fs::write(&file, "{}").unwrap();
    let err = project.mxd(["config", "set", "maxDepth", "deep"]).refused(3, "");
    assert!(!err.contains("a copy of it is kept"), "{err}");
}

#[test]
fn a_number_below_nought_is_a_value_like_any_other_and_refused_as_such() {
    let world = World::new();
    let project = world.project("calc");
    project.mxd(["config", "set", "budgetUsd", "-5"]).refused(3, "budgetUsd must be an amount in USD");
    project.mxd(["config", "set", "--local", "maxDepth", "-1"]).refused(3, "not the number -1");
}

#[test]
fn names_that_only_the_screen_knows_are_looked_at_too() {
    let world = World::new();
    let project = world.project("calc");
    let refusals = [
        (["keys.qiut", "q"], "keys.qiut: no such action; did you mean `quit`?"),
        (["theme", "nonesuch"], "there is no theme \"nonesuch\""),
        (["profile", "nobody"], "nobody"),
    ];
    for ([key, value], sentence) in refusals {
        project.mxd(["config", "set", key, value]).refused(3, sentence);
    }
    let file = world.data().join("config.json");
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(["qiut", "nonesuch", "nobody"].iter().all(|name| !kept.contains(name)), "{kept}");
    fs::write(&file, "{\n  \"theme\": \"nonesuch\",\n  \"keys\": {\"qiut\": \"q\"}\n}\n").unwrap();
    let ran = project.mxd(["config", "list"]);
    assert!(ran.err.contains("config.json:3:") && ran.err.contains("keys.qiut"), "{ran:?}");
    let ran = project.mxd(["doctor", "--offline"]);
    assert!(ran.out.contains("keys.qiut") && ran.out.contains("nonesuch"), "{ran:?}");
    for (key, value) in [("keys", r#"{"quit": "ctrl-e"}"#), ("theme", "auto")] {
        let ran = project.mxd(["config", "set", key, value]);
        assert!(!ran.err.contains(key), "{ran:?}");
    }
}
