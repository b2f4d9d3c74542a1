//! Mistakes on the command line that once passed silently, and what is said about them now.

use serde_json::json;

use crate::cli_support::{World, hinted_commands, json_lines};
use crate::engine_support::{play, root, say};

#[test]
fn a_quoted_sentence_runs_as_a_goal_and_an_empty_one_is_refused() {
    let world = World::new();
    play(&world, json!([root(json!([say("All tests pass.")]))]));
    let project = world.project("app");
    let ran = project.mxd(["fix the tests"]);
    assert!(
        ran.out.contains("message from you\n    fix the tests\n") && ran.out.contains("All tests pass."),
        "{ran:?}"
    );
    project.mxd(["run", ""]).refused(3, "the goal is empty");
    project.mxd(["run", "  "]).refused(3, "the goal is empty");

    let typo = project.mxd(["tre"]);
    assert!(typo.code == 3 && typo.err.contains("'tree'"), "{typo:?}");
    let loose = project.mxd(["zap", "the", "tests"]);
    assert!(loose.code == 3 && loose.err.contains("quote it: mxd \"zap the tests\""), "{loose:?}");
}

#[test]
fn an_unknown_model_is_refused_before_anything_is_marked() {
    let world = World::new();
    let project = world.project("app");
    let config =
        r#"{"authGroups": {"main": {"provider": "anthropic", "apiKey": "k", "baseUrl": "http://127.0.0.1:9"}}}"#;
    std::fs::write(world.data().join("config.json"), config).unwrap();
    let err =
        project.mxd(["run", "--model", "claude-sonet-9", "Fix it."]).refused(3, "unknown model \"claude-sonet-9\"");
    assert_eq!(err.matches("unknown model").count(), 1, "{err}");
    assert!(err.contains("models that are known: claude-sonnet"), "{err}");
    assert!(project.tasks().iter().all(|task| task["status"] != "failed"));
}

#[test]
fn a_path_that_does_not_exist_is_not_an_empty_diff() {
    let world = World::new();
    play(&world, json!([root(json!([say("Done.")]))]));
    let project = world.project("app");
    std::fs::write(project.path.join("kept.txt"), "1\n").unwrap();
    std::fs::write(project.path.join("gone.txt"), "1\n").unwrap();
    world.git(&project.path, ["add", "."]);
    world.git(&project.path, ["commit", "-qm", "two files"]);
    project.run(["Look."]);
    assert_eq!(project.mxd(["diff", "1", "kept.txt"]).ok(), "", "it exists and has not changed");
    let err = project.mxd(["diff", "1", "kept.txt", "nosuchfile"]).refused(3, "there is no file or folder nosuchfile");
    let [command] = hinted_commands(&err).try_into().unwrap();
    world.paste(&project.path, &command.replace("TASK", "1")).ok();
    project.mxd(["diff", "1", "--stat", "nosuch/"]).refused(3, "nosuch");
    std::fs::remove_file(project.path.join("gone.txt")).unwrap();
    assert!(project.mxd(["diff", "1", "gone.txt"]).ok().contains("deleted file"), "a deletion is a change");
}

#[test]
fn an_export_to_a_missing_folder_names_the_path_that_was_given() {
    let world = World::new();
    let project = world.project("app");
    project.mxd(["task", "new", "--later", "Docs"]).ok();
    let file = world.root().join("missing/x.md");
    let err = project.mxd(["export", "docs", "-o", file.to_str().unwrap()]).refused(3, file.to_str().unwrap());
    assert!(!err.contains("mxd-tmp"), "{err}");
    for command in hinted_commands(&err) {
        world.paste(&project.path, &command).ok();
    }
    project.mxd(["export", "docs", "-o", file.to_str().unwrap()]).ok();
}

#[test]
fn the_hint_for_a_folder_that_was_chosen_does_not_make_a_repository_of_it() {
    let world = World::new();
    let folder = world.folder("nothing");
    world.project("app");
    for path in [folder.to_str().unwrap(), "/nonexistent"] {
        let err = world.mxd(&world.root(), ["-C", path, "tree"]).refused(3, path);
        assert!(!err.contains("git init") && err.contains("-C takes a git repository"), "{err}");
        let [command] = hinted_commands(&err).try_into().unwrap();
        assert!(world.paste(&world.root(), &command).ok().contains("app"));
    }
}

#[test]
fn doctor_does_not_call_a_missing_terminal_ok() {
    let world = World::new();
    let findings = json_lines(&world.mxd(&world.root(), ["doctor", "--offline", "--json"]).out);
    let terminal = findings.iter().find(|finding| finding["check"] == "terminal").unwrap();
    assert_eq!(terminal["level"], "note", "{terminal}");
}

#[test]
fn colours_are_for_terminals_unless_they_are_asked_for() {
    let world = World::new();
    let project = world.project("app");
    std::fs::write(project.path.join("a.txt"), "1\n").unwrap();
    world.git(&project.path, ["add", "."]);
    world.git(&project.path, ["commit", "-qm", "a"]);
    project.mxd(["task", "new", "--later", "Docs"]).ok();
    std::fs::write(project.path.join("a.txt"), "2\n").unwrap();
    let plain = project.mxd(["diff", "1"]).ok();
    assert!(plain.contains("\n-1\n+2\n") && !plain.contains('\u{1b}'), "{plain}");
    let painted = project.mxd(["--color", "always", "diff", "1"]).ok();
    assert!(painted.contains("\u{1b}[31m-1\u{1b}[0m\n\u{1b}[32m+2\u{1b}[0m"), "{painted}");
    let with = |name: &str, value: &str, args: &[&str]| {
        let output = world.mxd_command(&project.path).env(name, value).args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap().contains('\u{1b}')
    };
    assert!(with("CLICOLOR_FORCE", "1", &["diff", "1"]));
    assert!(!with("CLICOLOR_FORCE", "1", &["diff", "1", "--color", "never"]));
    assert!(!with("NO_COLOR", "1", &["diff", "1"]));
}

#[test]
fn times_are_local_for_people_and_utc_for_programs() {
    let world = World::new();
    let project = world.project("app");
    project.mxd(["task", "new", "--later", "Docs"]).ok();
    let log = |zone: &str, args: &[&str]| {
        let output = world.mxd_command(&project.path).env("TZ", zone).args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let (utc, ahead) = (log("UTC0", &["log", "docs"]), log("XXX-5", &["log", "docs"]));
    let hour = |text: &str| text[11..13].parse::<i32>().unwrap();
    assert_eq!((hour(&utc) + 5) % 24, hour(&ahead), "{utc}{ahead}");
    assert_eq!(log("UTC0", &["log", "docs", "--json"]), log("XXX-5", &["log", "docs", "--json"]));
}
