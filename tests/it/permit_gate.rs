//! Permission rules and modes, by the real binary: what agents may run, what the session says about it, and
//! `mxd permit`.

use serde_json::{Value, json};

use crate::cli_support::{Project, World, json_lines};
use crate::engine_support::{bash, call, play, root, say};

/// Returns the results of the root's calls, in order.
fn results(project: &Project<'_>) -> Vec<Value> {
    let log = json_lines(&project.mxd(["log", project.node("orchestrator")["id"].as_str().unwrap(), "--json"]).ok());
    log.into_iter().filter(|event| event["type"] == "tool_result").map(|event| event["body"].clone()).collect()
}

fn text(result: &Value) -> &str {
    result["content"]["text"].as_str().unwrap_or_default()
}

#[test]
fn without_settings_agents_work_as_before_and_nothing_is_noted() {
    let world = World::new();
    play(&world, json!([root(json!([bash("touch made; eval 'touch also'"), say("All done.")]))]));
    let project = world.project("app");
    assert!(project.run(["Begin."]).out.contains("All done."));
    assert!(project.path.join("made").exists() && project.path.join("also").exists());
    assert!(results(&project).iter().all(|result| result["permission"].is_null() && result["is_error"] != true));
}

#[test]
fn a_deny_rule_holds_however_the_command_is_written_and_the_session_names_it() {
    let world = World::new();
    let turns = json!([
        bash("git push origin main"),
        bash("true && env X=1 timeout 5 git push"),
        bash("bash -c 'git push'"),
        call("write_file", json!({ "path": "docs/a.md", "content": "x" })),
        bash("touch allowed"),
        say("All done.")
    ]);
    play(&world, json!([root(turns)]));
    let project = world.project("app");
    project.mxd(["permit", "add", "bash(git push *)", "--deny"]).ok();
    project.mxd(["permit", "add", "Write(docs/**)", "--deny", "--global"]).ok();
    assert!(project.run(["Begin."]).out.contains("All done."));
    let results = results(&project);
    for result in &results[..3] {
        assert_eq!(result["is_error"], true, "{result}");
        assert!(text(result).contains("local deny rule bash(git push *)"), "{result}");
        let noted =
            json!({ "granted": false, "by": "rule", "list": "deny", "source": "local", "rule": "bash(git push *)" });
        assert_eq!(result["permission"], noted);
    }
    assert!(text(&results[3]).contains("global deny rule Write(docs/**)"), "{}", results[3]);
    assert!(!project.path.join("docs").exists() && project.path.join("allowed").exists());
}

#[test]
fn in_mode_refuse_only_what_rules_allow_runs_and_the_agent_is_told_why() {
    let world = World::new();
    let turns = json!([
        bash("touch by-rule && ls"),
        bash("touch by-rule; touch $(echo other)"),
        bash("mkdir nowhere"),
        call("write_file", json!({ "path": "a.md", "content": "x" })),
        bash("git log --oneline | head -3"),
        say("All done.")
    ]);
    play(&world, json!([root(turns)]));
    let project = world.project("app");
    project.mxd(["config", "set", "permissions.mode", "dontAsk", "--local"]).ok();
    project.mxd(["permit", "add", "bash(touch by-rule)"]).ok();
    assert!(project.run(["Begin."]).out.contains("All done."));
    let results = results(&project);
    let granted: Vec<&Value> = results.iter().map(|result| &result["permission"]["granted"]).collect();
    assert_eq!(granted, [true, false, false, false, true]);
    assert!(text(&results[2]).contains("mode refuse: it would ask (no rule decides)"), "{}", results[2]);
    assert_eq!(results[4]["permission"]["by"], "read_only");
    assert!(project.path.join("by-rule").exists());
    assert!(!project.path.join("other").exists() && !project.path.join("nowhere").exists());
}

#[test]
fn a_repository_can_deny_and_be_stricter_but_not_allow() {
    let world = World::new();
    let turns = json!([bash("touch denied"), bash("mkdir proposed"), say("All done.")]);
    play(&world, json!([root(turns)]));
    let project = world.project("app");
    let config = json!({ "permissions": { "mode": "refuse", "allow": ["bash(mkdir *)"], "deny": ["bash(touch *)"] } });
    std::fs::create_dir_all(project.path.join(".mxd")).unwrap();
    std::fs::write(project.path.join(".mxd/config.json"), config.to_string()).unwrap();
    let listed = project.mxd(["permit", "list"]).ok();
    assert_eq!(
        listed,
        "mode  refuse\ndeny  bash(touch *)  repo\nallow bash(mkdir *)  repo  (proposed; add it to make it count)\n"
    );
    assert!(project.run(["Begin."]).out.contains("All done."));
    assert!(!project.path.join("denied").exists() && !project.path.join("proposed").exists());
    project.mxd(["permit", "add", "bash(mkdir *)"]).ok();
    let rows = json_lines(&project.mxd(["permit", "list", "--json"]).ok());
    assert_eq!(rows.len(), 2, "what was added is no proposal any more: {rows:?}");
    assert_eq!(rows[1], json!({ "list": "allow", "rule": "bash(mkdir *)", "origin": "local", "proposed": false }));
}

#[test]
fn why_says_what_a_command_would_run_and_what_decides() {
    let world = World::new();
    let project = world.project("app");
    project.mxd(["config", "set", "permissions.mode", "edits", "--local"]).ok();
    project.mxd(["permit", "add", "Bash(cargo test:*)"]).ok();
    for (command, expected) in [
        ("timeout 60 cargo test --lib", "granted: local allow rule Bash(cargo test:*)\n  runs cargo test --lib\n"),
        ("ls | wc -l", "granted: it only reads\n  runs ls\n  runs wc -l\n"),
        ("mkdir a", "granted: mode edits\n  runs mkdir a\n"),
        ("npm ci", "needs permission: no rule decides\n  runs npm ci\n"),
        ("rm -rf ~", "needs permission: it removes ~\n  runs rm -rf ~\n"),
    ] {
        assert_eq!(project.mxd(["permit", "why", command]).ok(), expected, "{command}");
    }
    let opaque = project.mxd(["permit", "why", "eval ls"]).ok();
    assert!(opaque.contains("not understood: `eval` can run anything"), "{opaque}");
    let json = json_lines(&project.mxd(["permit", "why", "npm ci", "--json"]).ok());
    assert_eq!(
        json[0],
        json!({ "decision": "needs permission", "reason": "no rule decides", "commands": ["npm ci"], "opaque": null })
    );
}

#[test]
fn rules_are_added_and_removed_where_they_are_and_bad_ones_are_refused() {
    let world = World::new();
    let project = world.project("app");
    project.mxd(["permit", "add", "bash(a *)", "--ask", "--global"]).ok();
    project.mxd(["permit", "add", "bash(a *)", "--ask", "--global"]).ok();
    assert_eq!(project.mxd(["permit", "list"]).ok(), "mode  open\nask   bash(a *)  global\n", "added once");
    let err = project.mxd(["permit", "remove", "bash(a *)"]).refused(3, "the local settings have no rule bash(a *)");
    assert!(err.contains("`mxd permit list`"), "{err}");
    project.mxd(["permit", "remove", "bash(a *)", "--global"]).ok();
    assert_eq!(project.mxd(["permit", "list"]).ok(), "mode  open\n");
    project.mxd(["permit", "add", "bsh(a)"]).refused(3, "there is no tool \"bsh\"");
    project.mxd(["permit", "add", "bash(a"]).refused(3, "has no closing parenthesis");
}

/// Returns the project's open permission questions.
fn held(project: &Project<'_>) -> Vec<Value> {
    project.asks().into_iter().filter(|row| row["kind"] == "permission").collect()
}

fn in_mode_ask(world: &World, turns: Value) -> Project<'_> {
    play(world, json!([root(turns)]));
    let project = world.project("app");
    project.mxd(["config", "set", "permissions.mode", "ask", "--local"]).ok();
    project
}

#[test]
fn a_call_waits_for_the_answer_across_processes_and_runs_once() {
    let world = World::new();
    let turns = json!([
        { "calls": [
            { "tool": "bash", "input": { "command": "echo made >> made" } },
            { "tool": "read_file", "input": { "files": [{ "path": "README.md" }] } }
        ] },
        say("All done.")
    ]);
    let project = in_mode_ask(&world, turns);
    let ran = project.run(["Begin."]);
    assert_eq!(ran.code, 2, "it waits for the user: {} {}", ran.out, ran.err);
    let asks = held(&project);
    assert_eq!(asks.len(), 1, "{asks:?}");
    let ask = &asks[0];
    assert_eq!(
        ask["action"],
        json!({ "action": "command", "command": "echo made >> made" }),
        "the subject is typed: {ask}"
    );
    assert_eq!(results(&project).len(), 1, "the other call went on");
    assert!(!project.path.join("made").exists());
    let again = project.run([]);
    assert_eq!((again.code, held(&project).len()), (2, 1), "a start asks nothing twice: {}", again.err);
    let id = ask["id"].as_str().unwrap();
    project.mxd(["answer", id, "once"]).ok();
    assert!(project.run([]).out.contains("All done."));
    assert_eq!(std::fs::read_to_string(project.path.join("made")).unwrap(), "made\n");
    let results = results(&project);
    assert_eq!(results[1]["permission"], json!({ "granted": true, "by": "user" }));
}

#[test]
fn a_saved_rule_is_offered_letter_for_letter_and_decides_from_then_on() {
    let world = World::new();
    let project = in_mode_ask(&world, json!([bash("touch one"), bash("touch two"), say("All done.")]));
    project.run(["Begin."]);
    let asks = held(&project);
    let labels: Vec<&str> =
        asks[0]["choices"].as_array().unwrap().iter().map(|choice| choice["label"].as_str().unwrap()).collect();
    assert_eq!(
        labels,
        [
            "Allow once",
            "Allow in this task: bash(touch one)",
            "Allow in the project: bash(touch *)",
            "Refuse",
            "Refuse from now on: bash(touch one)"
        ]
    );
    project.mxd(["answer", asks[0]["id"].as_str().unwrap(), "project"]).ok();
    assert!(project.mxd(["permit", "list"]).ok().contains("allow bash(touch *)  local"));
    assert!(project.run([]).out.contains("All done."));
    assert!(project.path.join("one").exists() && project.path.join("two").exists());
    assert_eq!(results(&project)[1]["permission"]["rule"], "bash(touch *)");
}

#[test]
fn an_edited_rule_words_and_a_deny_rule_are_answers_too() {
    let world = World::new();
    let turns =
        json!([bash("touch one"), bash("mkdir two"), bash("rmdir three"), bash("rmdir three"), say("All done.")]);
    let project = in_mode_ask(&world, turns);
    project.run(["Begin."]);
    let next = || held(&project)[0]["id"].as_str().unwrap().to_owned();
    project.mxd(["answer", &next(), "--rule", "bash(touch o*)"]).ok();
    project.run([]);
    project.mxd(["answer", &next(), "Use", "another", "name."]).ok();
    project.run([]);
    project.mxd(["answer", &next(), "never"]).ok();
    assert!(project.run([]).out.contains("All done."));
    let listed = project.mxd(["permit", "list"]).ok();
    assert!(listed.contains("allow bash(touch o*)") && listed.contains("deny  bash(rmdir three)"), "{listed}");
    let results = results(&project);
    assert!(text(&results[1]).contains("The user says: Use another name."), "{}", results[1]);
    assert!(text(&results[2]).contains("will refuse it in this project"), "{}", results[2]);
    assert!(text(&results[3]).contains("local deny rule bash(rmdir three)"), "{}", results[3]);
}

#[test]
fn a_rule_that_is_added_elsewhere_answers_the_call_that_waits() {
    let world = World::new();
    let project = in_mode_ask(&world, json!([bash("touch one"), say("All done.")]));
    project.run(["Begin."]);
    assert_eq!(held(&project).len(), 1);
    project.mxd(["permit", "add", "bash(touch *)"]).ok();
    assert!(project.run([]).out.contains("All done."));
    assert_eq!(results(&project)[0]["permission"]["rule"], "bash(touch *)");
}
