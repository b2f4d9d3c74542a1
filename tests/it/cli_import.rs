//! `mxd import` and `mxd fork`, on files as the other programs write them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cli_support::{World, json_lines};

/// A session of Claude Code, held in `cwd`, with a torn last line.
fn claude(cwd: &Path) -> String {
    let cwd = cwd.display();
    format!(
        concat!(
            r#"{{"type":"summary","summary":"Adding division","leafUuid":"d"}}"#,
            "\n",
            r#"{{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"{cwd}","sessionId":"5d0a2f5e","version":"2.1.12","type":"user","message":{{"role":"user","content":"Add division, mind zero"}},"uuid":"a","timestamp":"2026-05-26T07:27:40.079Z"}}"#,
            "\n",
            r#"{{"parentUuid":"a","isSidechain":false,"cwd":"{cwd}","sessionId":"5d0a2f5e","type":"assistant","message":{{"id":"msg_1","role":"assistant","model":"claude-sonnet-4-6","content":[{{"type":"tool_use","id":"toolu_1","name":"Bash","input":{{"command":"cargo test"}}}}]}},"uuid":"b","timestamp":"2026-05-26T07:27:44.079Z"}}"#,
            "\n",
            r#"{{"parentUuid":"b","isSidechain":false,"cwd":"{cwd}","sessionId":"5d0a2f5e","type":"user","message":{{"role":"user","content":[{{"tool_use_id":"toolu_1","type":"tool_result","content":"7 passed"}}]}},"uuid":"c","timestamp":"2026-05-26T07:27:46.079Z","toolUseResult":{{"stdout":"7 passed"}}}}"#,
            "\n",
            r#"{{"parentUuid":"c","isSidechain":false,"cwd":"{cwd}","sessionId":"5d0a2f5e","type":"assistant","message":{{"id":"msg_2","role":"assistant","content":[{{"type":"text","text":"Division works; zero is refused."}}]}},"uuid":"d","timestamp":"2026-05-26T07:27:50.079Z"}}"#,
            "\n",
            r#"{{"parentUuid":"d","isSidechain":fal"#,
        ),
        cwd = cwd
    )
}

fn codex(cwd: &Path) -> String {
    let cwd = cwd.display();
    format!(
        concat!(
            r#"{{"timestamp":"2026-10-29T00:59:38.317Z","type":"session_meta","payload":{{"id":"019a2d7a","timestamp":"2026-10-29T00:59:38.308Z","cwd":"{cwd}","originator":"codex_exec"}}}}"#,
            "\n",
            r#"{{"timestamp":"2026-10-29T00:59:39.317Z","type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"Add modulo"}}]}}}}"#,
            "\n",
            r#"{{"timestamp":"2026-10-29T00:59:41.317Z","type":"response_item","payload":{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"Modulo is there."}}]}}}}"#,
            "\n",
        ),
        cwd = cwd
    )
}

fn write(path: PathBuf, text: &str) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn sessions_held_in_this_repository_are_found_imported_read_and_searched() {
    let world = World::new();
    let project = world.project("calc");
    let name: String =
        project.path.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let file = world.home_folder().join(".claude/projects").join(name).join("5d0a2f5e.jsonl");
    let file = write(file, &claude(&project.path));
    write(world.home_folder().join(".codex/sessions/2026/10/29/rollout-x.jsonl"), &codex(&project.path.join("src")));
    write(world.home_folder().join(".codex/sessions/2026/10/29/rollout-y.jsonl"), &codex(Path::new("/elsewhere")));
    let before = fs::read(&file).unwrap();

    let listed = json_lines(&project.mxd(["import", "--list", "--json"]).ok());
    assert_eq!(
        listed.iter().map(|row| row["title"].as_str().unwrap()).collect::<Vec<_>>(),
        ["Adding division", "Add modulo"]
    );
    assert!(listed.iter().all(|row| row["state"] == "new"));
    assert!(!project.mxd(["tree"]).out.contains("division"), "listing imports nothing");

    let said = project.mxd(["import"]);
    assert_eq!((said.code, said.err.as_str()), (0, "2 sessions imported, 0 already imported\n"), "{said:?}");
    let again = project.mxd(["import"]);
    assert_eq!(again.err, "0 sessions imported, 2 already imported\n");
    let tree = project.mxd(["tree"]).ok();
    for title in ["Imported from Claude Code", "Adding division", "Imported from Codex", "Add modulo"] {
        assert_eq!(tree.matches(title).count(), 1, "{tree}");
    }
    let task = listed[0]["task"].as_str().unwrap();
    let log = project.mxd(["log", task]).ok();
    assert!(
        log.contains("Add division, mind zero") && log.contains("7 passed") && log.contains("zero is refused"),
        "{log}"
    );
    let found = json_lines(&project.mxd(["search", "--json", "refused"]).ok());
    assert_eq!(found[0]["task"], task);
    assert_eq!(fs::read(&file).unwrap(), before, "the source is only read");
    project.mxd(["check"]).ok();
}

#[test]
fn a_task_forked_from_an_imported_one_begins_with_its_conversation() {
    let world = World::new();
    let project = world.project("calc");
    let file = write(world.root().join("old.jsonl"), &claude(Path::new("/elsewhere")));
    let rows = json_lines(&project.mxd(["import", "--json", file.to_str().unwrap()]).ok());
    let task = rows[0]["task"].as_str().unwrap();
    let made = project.mxd(["fork", task, "--title", "Go on with division", "--later"]).ok();
    let log = project.mxd(["log", made.trim()]).ok();
    assert!(log.contains("zero is refused") && log.contains("forked from"), "{log}");
    project.mxd(["fork", "01AAAAAAAA"]).refused(3, "no task has \"01AAAAAAAA\"");
    project.mxd(["check"]).ok();
}

#[test]
fn what_is_no_session_is_said_and_hinders_no_other() {
    let world = World::new();
    let project = world.project("calc");
    let folder = world.folder("old");
    write(folder.join("a.jsonl"), "{\"no\":\"session\"}\n");
    write(folder.join("b.jsonl"), &codex(Path::new("/elsewhere")));
    write(folder.join("c\u{1b}[31m\n.jsonl"), "\u{0}\u{1}\n");
    let said = project.mxd(["import", folder.to_str().unwrap()]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("Add modulo") && said.err.contains("1 session imported"), "{said:?}");
    assert!(said.err.contains("a.jsonl is not a session file") && !said.err.contains('\u{1b}'), "{said:?}");
    project.mxd(["import", "/no/such/file"]).refused(3, "cannot read /no/such/file");
    let none = project.mxd(["import", "--from", "matrix"]);
    assert!(none.err.contains("no sessions"), "{none:?}");
}

#[test]
fn a_repository_is_looked_through_before_it_is_registered_and_the_hint_imports_what_was_listed() {
    let world = World::new();
    let repository = world.repository("calc");
    let file = write(world.folder("it's old").join("old.jsonl"), &claude(Path::new("/elsewhere")));
    let arguments = ["import", "--list", file.to_str().unwrap(), "--from", "claude"];
    let listed = world.mxd(&repository, arguments);
    assert_eq!(listed.code, 0, "{listed:?}");
    assert!(listed.err.contains("1 session of 1 can be imported") && !world.data().exists(), "{listed:?}");
    let command = listed.err.split('`').nth(1).unwrap();
    let imported = world.paste(&repository, command);
    assert!(imported.err.contains("1 session imported"), "{imported:?}");
    let again = world.mxd(&repository, arguments);
    assert!(again.err.contains("nothing to import: 1 already imported"), "{again:?}");
}
