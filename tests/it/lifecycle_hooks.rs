//! Lifecycle hooks by the real binary: hook files as people publish them for Claude Code, trust, and `mxd hooks`.
//!
//! The files are written anew from what such hooks are documented to do. They use `python3` and `jq`, as the originals
//! do, and are skipped where those are missing.

use std::path::Path;

use serde_json::{Value, json};

use crate::cli_support::{Project, World, json_lines};
use crate::engine_support::{agent, bash, call, done, play, root, say};

fn is_missing(program: &str) -> bool {
    let found = std::process::Command::new(program).arg("--version").output().is_ok_and(|ran| ran.status.success());
    if !found {
        eprintln!("SKIPPED: {program} is not installed");
    }
    !found
}

/// Adds the user's own hooks to the settings.
fn own_hooks(world: &World, hooks: Value) {
    let path = world.data().join("config.json");
    let mut config: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    config["hooks"] = hooks;
    std::fs::write(&path, config.to_string()).unwrap();
}

fn script(at: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    std::fs::write(at, text).unwrap();
    std::fs::set_permissions(at, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn command(line: &str) -> Value {
    json!({ "type": "command", "command": line })
}

fn events(project: &Project<'_>, title: &str, kind: &str) -> Vec<Value> {
    let log = json_lines(&project.mxd(["log", &project.id(title), "--json"]).ok());
    log.into_iter().filter(|event| event["type"] == kind).map(|event| event["body"].clone()).collect()
}

fn results(project: &Project<'_>) -> Vec<Value> {
    events(project, "orchestrator", "tool_result")
}

fn text(result: &Value) -> &str {
    result["content"]["text"].as_str().unwrap_or_default()
}

#[test]
fn a_published_command_guard_refuses_with_its_own_words() {
    if is_missing("python3") {
        return;
    }
    let world = World::new();
    play(&world, json!([root(json!([bash("grep -r x ."), bash("touch fine"), say("All done.")]))]));
    let project = world.project("app");
    let guard = world.home_folder().join(".claude/hooks/bash_validator.py");
    script(
        &guard,
        r#"#!/usr/bin/env python3
import json, re, sys
RULES = [(r"^grep\b(?!.*\|)", "Use 'rg' instead of 'grep'")]
try:
    data = json.load(sys.stdin)
except json.JSONDecodeError as e:
    print(f"Invalid JSON: {e}", file=sys.stderr)
    sys.exit(1)
if data.get("tool_name", "") != "Bash":
    sys.exit(0)
issues = [said for rule, said in RULES if re.search(rule, data.get("tool_input", {}).get("command", ""))]
if issues:
    for said in issues:
        print(f"- {said}", file=sys.stderr)
    sys.exit(2)
"#,
    );
    own_hooks(
        &world,
        json!({ "PreToolUse": [{ "matcher": "Bash", "hooks": [command(&guard.display().to_string())] }] }),
    );
    assert!(project.run(["Begin."]).out.contains("All done."));
    let results = results(&project);
    assert_eq!(results[0]["is_error"], true);
    assert!(text(&results[0]).contains("Use 'rg' instead of 'grep'"), "{}", results[0]);
    assert_eq!(results[0]["permission"]["by"], "hook");
    assert!(project.path.join("fine").exists());
    let ran = events(&project, "orchestrator", "hook_ran");
    let decisions: Vec<&Value> = ran.iter().map(|ran| &ran["decision"]).collect();
    assert_eq!(decisions, [&json!("deny"), &Value::Null]);
    assert!(ran[0]["ms"].is_u64() && ran[0]["exit"] == 2 && ran[0]["call"].is_string(), "{}", ran[0]);
}

#[test]
fn a_published_file_protection_a_formatter_and_a_command_log_work_together() {
    if is_missing("python3") || is_missing("jq") {
        return;
    }
    let world = World::new();
    let turns = json!([
        call("write_file", json!({ "path": ".env", "content": "KEY=1" })),
        call("write_file", json!({ "path": "src/a.ts", "content": "let a=1" })),
        call("edit_file", json!({ "path": "src/a.ts", "edits": [{ "old_string": "let a", "new_string": "const a" }] })),
        bash("echo hello"),
        say("All done.")
    ]);
    play(&world, json!([root(turns)]));
    let project = world.project("app");
    let protect = r#"python3 -c "import json, sys; data=json.load(sys.stdin); path=data.get('tool_input',{}).get('file_path',''); sys.exit(2 if any(p in path for p in ['.env', 'package-lock.json', '.git/']) else 0)""#;
    let format = r#"jq -r '.tool_input.file_path' | { read file_path; if echo "$file_path" | grep -q '\.ts$'; then echo "// formatted" >> "$file_path"; fi; }"#;
    let log = r#"jq -r '"\(.tool_input.command) - \(.tool_input.description // "No description")"' >> ~/commands.txt"#;
    own_hooks(
        &world,
        json!({
            "PreToolUse": [
                { "matcher": "Edit|MultiEdit|Write", "hooks": [command(protect)] },
                { "matcher": "Bash", "hooks": [command(log)] },
            ],
            "PostToolUse": [{ "matcher": "Edit|Write", "hooks": [command(format)] }],
        }),
    );
    assert!(project.run(["Begin."]).out.contains("All done."));
    let results = results(&project);
    assert_eq!(results[0]["is_error"], true, "{}", results[0]);
    assert!(!project.path.join(".env").exists());
    let formatted = std::fs::read_to_string(project.path.join("src/a.ts")).unwrap();
    assert_eq!(formatted.matches("// formatted").count(), 2, "{formatted}");
    assert!(formatted.starts_with("const a"), "{formatted}");
    let logged = std::fs::read_to_string(world.home_folder().join("commands.txt")).unwrap();
    assert_eq!(logged, "echo hello - No description\n");
}

#[test]
fn a_published_prompt_check_refuses_secrets_and_adds_context() {
    if is_missing("python3") {
        return;
    }
    let world = World::new();
    play(&world, json!([root(json!([say("All done.")]))]));
    let project = world.project("app");
    let check = world.home_folder().join("prompt.py");
    script(
        &check,
        r#"#!/usr/bin/env python3
import json, re, sys
data = json.load(sys.stdin)
if re.search(r"(?i)\b(password|secret|key|token)\s*[:=]", data.get("prompt", "")):
    print(json.dumps({"decision": "block", "reason": "Security policy violation: Prompt contains potential secrets."}))
    sys.exit(0)
print("Project language: Rust")
"#,
    );
    own_hooks(&world, json!({ "UserPromptSubmit": [{ "hooks": [command(&check.display().to_string())] }] }));
    let refused = project.run(["My password: hunter2"]);
    assert_ne!(refused.code, 0);
    assert!(refused.err.contains("Prompt contains potential secrets"), "{refused:?}");
    assert!(!project.log("orchestrator").contains("hunter2"));
    assert!(project.run(["Begin."]).out.contains("All done."));
    let told = events(&project, "orchestrator", "message");
    let from = |message: &&Value| message["from"]["source"] == "hook";
    let context = told.iter().find(from).expect("a hook's message");
    assert_eq!(
        (&context["from"]["event"], &context["body"]),
        (&json!("UserPromptSubmit"), &json!("Project language: Rust"))
    );
}

#[test]
fn a_published_stop_hook_sends_the_agent_back_and_after_three_times_the_user_is_asked() {
    if is_missing("jq") {
        return;
    }
    let world = World::new();
    let turns: Vec<Value> = (0..6).map(|turn| say(&format!("Finished {turn}."))).collect();
    play(&world, json!([root(turns.into())]));
    let project = world.project("app");
    let hook = world.home_folder().join("stop.sh");
    script(
        &hook,
        "#!/bin/sh\ncat >> ~/stops.jsonl\necho >> ~/stops.jsonl\necho '{\"decision\": \"block\", \"reason\": \"The tests were not run.\"}'\n",
    );
    own_hooks(&world, json!({ "Stop": [{ "hooks": [command(&hook.display().to_string())] }] }));
    project.run(["Begin."]);
    let asks = project.asks();
    assert_eq!(asks.len(), 1, "{asks:?}");
    assert_eq!((&asks[0]["kind"], &asks[0]["of"]), (&json!("loop"), &json!("stop")), "{asks:?}");
    let stops = std::fs::read_to_string(world.home_folder().join("stops.jsonl")).unwrap();
    let active: Vec<Value> = stops
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["stop_hook_active"].clone())
        .collect();
    assert_eq!(active, [false, true, true, true]);
    let back = events(&project, "orchestrator", "message");
    let back = back.iter().filter(|message| message["from"]["event"] == "Stop").count();
    assert_eq!(back, 3);
}

#[test]
#[ignore = "open: a Notification hook is sometimes ended with the program before it has written"]
fn a_published_session_start_and_a_notification_get_what_they_read() {
    if is_missing("jq") {
        return;
    }
    let world = World::new();
    play(&world, json!([root(json!([call("clarify", json!({ "question": "Which colour?" })), say("All done.")]))]));
    let project = world.project("app");
    own_hooks(
        &world,
        json!({
            "SessionStart": [{ "matcher": "startup|resume", "hooks": [command("echo \"branch: $(git branch --show-current)\"")] }],
            "Notification": [{ "matcher": "", "hooks": [command("jq -r '.notification_type + \": \" + .message' >> ~/notes.txt")] }],
            "SessionEnd": [{ "hooks": [command("jq -r .reason >> ~/ends.txt")] }],
        }),
    );
    project.run(["Begin."]);
    let context = events(&project, "orchestrator", "message");
    let context = context.iter().find(|message| message["from"]["source"] == "work_context").unwrap();
    assert!(context["body"].as_str().unwrap().contains("branch: main"), "{context}");
    let notes = std::fs::read_to_string(world.home_folder().join("notes.txt")).unwrap();
    assert!(notes.contains("agent_needs_input: Which colour?"), "{notes}");
    assert_eq!(std::fs::read_to_string(world.home_folder().join("ends.txt")).unwrap(), "prompt_input_exit\n");
}

#[test]
fn a_hook_changes_the_input_of_a_call_and_an_invalid_change_is_refused() {
    let world = World::new();
    let turns =
        json!([bash("touch original"), call("write_file", json!({ "path": "a", "content": "x" })), say("All done.")]);
    play(&world, json!([root(turns)]));
    let project = world.project("app");
    let answer = |input: &str| {
        command(&format!(
            r#"echo '{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{input}}}}}'"#
        ))
    };
    own_hooks(
        &world,
        json!({ "PreToolUse": [
            { "matcher": "Bash", "hooks": [answer(r#"{"command":"touch changed"}"#)] },
            { "matcher": "Write", "hooks": [answer(r#"{"file_path":"b","contents":7}"#)] },
        ] }),
    );
    project.mxd(["permit", "add", "bash(rm *)", "--deny"]).ok();
    assert!(project.run(["Begin."]).out.contains("All done."));
    assert!(project.path.join("changed").exists() && !project.path.join("original").exists());
    let results = results(&project);
    assert!(text(&results[0]).contains("changed the input"), "{}", results[0]);
    assert_eq!(results[1]["is_error"], true);
    assert!(!project.path.join("a").exists() && !project.path.join("b").exists());
}

#[test]
fn a_changed_input_is_judged_anew_and_a_hooks_allow_does_not_pass_a_deny_rule() {
    let world = World::new();
    play(&world, json!([root(json!([bash("touch fine"), say("All done.")]))]));
    let project = world.project("app");
    let hook = r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"git push"}}}'"#;
    own_hooks(&world, json!({ "PreToolUse": [{ "matcher": "Bash", "hooks": [command(hook)] }] }));
    project.mxd(["permit", "add", "bash(git push *)", "--deny"]).ok();
    assert!(project.run(["Begin."]).out.contains("All done."));
    let results = results(&project);
    assert!(text(&results[0]).contains("deny rule bash(git push *)"), "{}", results[0]);
}

#[test]
fn a_guard_that_cannot_run_blocks_and_continue_false_ends_the_turn() {
    let world = World::new();
    let turns = json!([bash("touch first"), bash("touch second"), say("Not reached.")]);
    play(&world, json!([root(turns)]));
    let project = world.project("app");
    own_hooks(
        &world,
        json!({
            "PreToolUse": [{ "matcher": "Bash", "hooks": [
                { "type": "command", "command": "/no/such/guard.sh", "if": "Bash(touch first)" },
                { "type": "command", "command": "echo '{\"continue\": false, \"stopReason\": \"enough for today\"}'", "if": "Bash(touch second)" },
            ] }],
        }),
    );
    let ran = project.run(["Begin."]);
    assert!(!ran.out.contains("Not reached."), "{ran:?}");
    let results = results(&project);
    assert!(text(&results[0]).contains("/no/such/guard.sh failed"), "{}", results[0]);
    assert!(text(&results[1]).contains("enough for today"), "{}", results[1]);
    assert!(!project.path.join("first").exists() && !project.path.join("second").exists());
}

#[test]
fn done_is_refused_by_a_hook_until_it_is_content_and_a_merge_by_another() {
    let world = World::new();
    let work = json!([
        bash("echo x > a && git add a && git commit -qm a"),
        done("passed", "Done."),
        done("passed", "Done again.")
    ]);
    play(&world, json!([root(json!([say("Fine.")])), agent("Write a", work)]));
    let project = world.project("app");
    own_hooks(
        &world,
        json!({
            "TaskCompleted": [{ "hooks": [command("cat > ~/completed.json; test -e ~/asked || { touch ~/asked; echo 'not yet' >&2; exit 2; }")] }],
            "MergeBefore": [{ "hooks": [command("echo 'the release is frozen' >&2; exit 2")] }],
            "TaskCreated": [{ "hooks": [command("grep -q forbidden && { echo 'no such task' >&2; exit 2; } || true")] }],
        }),
    );
    project.mxd(["task", "new", "a forbidden task"]).refused(3, "a TaskCreated hook refused it: no such task");
    project.new_task("Write a");
    project.run([]);
    assert_eq!(project.status("Write a"), "passed", "{}", project.log("Write a"));
    let refused = events(&project, "Write a", "tool_result");
    assert!(refused.iter().any(|result| text(result).contains("a TaskCompleted hook objects: not yet")), "{refused:?}");
    let completed: Value =
        serde_json::from_slice(&std::fs::read(world.home_folder().join("completed.json")).unwrap()).unwrap();
    assert_eq!(completed["done_status"], "passed");
    assert_eq!(completed["agent_type"], project.node("Write a")["profile"]);
    let merged = project.mxd(["merge", "Write a"]);
    assert!(merged.err.contains("the release is frozen"), "{merged:?}");
    assert!(!project.path.join("a").exists());
}

#[test]
fn a_repositorys_hooks_do_nothing_until_they_are_approved_and_again_after_a_change() {
    let world = World::new();
    let turns = json!([bash("true"), say("One."), bash("true"), say("Two."), bash("true"), say("Three.")]);
    play(&world, json!([root(turns)]));
    let project = world.project("app");
    let hook = project.path.join(".claude/hooks/log.sh");
    script(&hook, "#!/bin/sh\necho ran >> ~/ran.txt\n");
    let settings = json!({ "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [
        command("\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/log.sh")
    ] }] } });
    std::fs::write(project.path.join(".claude/settings.json"), settings.to_string()).unwrap();
    let ran = || std::fs::read_to_string(world.home_folder().join("ran.txt")).unwrap_or_default().lines().count();
    project.run(["Begin."]);
    assert_eq!(ran(), 0);
    let listed = json_lines(&project.mxd(["hooks", "list", "--json"]).ok());
    assert_eq!(listed[0]["state"], "needs approval");
    let asked = project.mxd(["hooks", "approve"]);
    assert_eq!(asked.code, 3, "without a terminal nobody can say yes: {asked:?}");
    let shown = project.mxd(["hooks", "approve", "--yes"]);
    assert!(shown.out.contains("echo ran >> ~/ran.txt"), "the whole script is shown: {shown:?}");
    project.run(["Again."]);
    assert_eq!(ran(), 1);
    script(&hook, "#!/bin/sh\necho worse >> ~/ran.txt\n");
    project.run(["Once more."]);
    assert_eq!(ran(), 1);
    let listed = json_lines(&project.mxd(["hooks", "list", "--json"]).ok());
    assert_eq!(listed[0]["state"], "needs approval");
}

#[test]
fn hooks_can_be_tested_and_their_runs_are_listed() {
    let world = World::new();
    play(&world, json!([root(json!([bash("echo x"), say("All done.")]))]));
    let project = world.project("app");
    own_hooks(
        &world,
        json!({ "PreToolUse": [{ "matcher": "Bash", "hooks": [command("grep -q push && { echo no >&2; exit 2; } || true")] }] }),
    );
    let test = |input: &str| {
        let out = project.mxd(["hooks", "test", "PreToolUse", "--input", input, "--json"]).ok();
        json_lines(&out).remove(0)
    };
    assert_eq!(test(r#"{"command": "git push"}"#)["decision"], "deny");
    assert_eq!(test(r#"{"command": "ls"}"#)["decision"], "none");
    project.mxd(["hooks", "test", "PreTool"]).refused(3, "there is no hook event");
    project.run(["Begin."]);
    let log = json_lines(&project.mxd(["hooks", "log", "--json"]).ok());
    assert_eq!((log.len(), &log[0]["event"], &log[0]["end"]), (1, &json!("PreToolUse"), &json!("answered")));
}

#[test]
fn hooks_and_rules_of_claude_code_are_imported_once() {
    let world = World::new();
    play(&world, json!([root(json!([say("All done.")]))]));
    let project = world.project("app");
    let claude = world.home_folder().join(".claude");
    std::fs::create_dir_all(&claude).unwrap();
    let settings = json!({
        "model": "opus",
        "permissions": { "allow": ["Bash(npm run test:*)"], "deny": ["Read(./.env)"], "defaultMode": "acceptEdits" },
        "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [command("~/guard.sh")] }] },
    });
    std::fs::write(claude.join("settings.json"), settings.to_string()).unwrap();
    let listed = project.mxd(["import", "--hooks", "--permissions", "--list"]);
    assert!(listed.out.contains("hook PreToolUse (Bash): ~/guard.sh"), "{listed:?}");
    assert_eq!(project.mxd(["hooks", "list", "--json"]).ok(), "");
    project.mxd(["import", "--hooks", "--permissions"]);
    let hooks = json_lines(&project.mxd(["hooks", "list", "--json"]).ok());
    assert_eq!((hooks.len(), &hooks[0]["state"], &hooks[0]["origin"]), (1, &json!("active"), &json!("global")));
    let rules = project.mxd(["permit", "list"]).ok();
    assert!(
        rules.contains("Bash(npm run test:*)") && rules.contains("Read(./.env)") && rules.contains("edits"),
        "{rules}"
    );
    project.mxd(["import", "--hooks", "--permissions"]);
    assert_eq!(json_lines(&project.mxd(["hooks", "list", "--json"]).ok()).len(), 1);
}
