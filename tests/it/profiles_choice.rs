//! Who does the work, by the real binary against the mock: the selection, tasks that nobody has yet, and hand-overs. What
//! counts is what arrives at the model: whose prompt a request carries, and that there is none for a task without a
//! profile.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::cli_support::{Project, World, json_lines};
use crate::support::mock::{Mock, Record, Script, Seen, answer};

/// Returns the profile that a request belongs to, by the mark in its prompt.
fn owner(record: &Record) -> Option<String> {
    let body = record.body.as_ref();
    let at = body.find("MARK-")?;
    Some(body[at + 5..].chars().take_while(char::is_ascii_alphanumeric).collect())
}

/// A model for every agent: tasks are done at once, the root only takes note.
fn mock() -> Mock {
    let conversation = |seen: &Seen| {
        let whole = seen.value.to_string();
        let at = whole.find("MARK-").map_or("", |at| &whole[at..at + 8]);
        let task = whole.split("Task: ").nth(1).and_then(|rest| rest.split(')').next()).unwrap_or_default();
        let part = whole.matches("take over this task").count();
        // A question without a task is known by its first message.
        let first = if task.is_empty() { seen.value["messages"][0].to_string() } else { String::new() };
        Some(format!("{at} {task} {part} {first}"))
    };
    // The mock refuses a message that stands in a conversation twice, and two results may come in one second.
    let done = AtomicUsize::new(0);
    let script = Script::new().identify_by(conversation).reason(move |name, _| {
        Some(if name.contains("MARK-") {
            let result = format!("done {}", done.fetch_add(1, Ordering::Relaxed));
            answer().text("Looked at it.").tool("mcp__mxd__done", json!({"status": "passed", "result": result}))
        } else {
            answer().text("Noted.")
        })
    });
    Mock::start(script)
}

fn set_up(world: &World, mock: &Mock, profile: Option<&str>) {
    let group = json!({ "provider": "anthropic", "apiKey": "sk-test", "baseUrl": mock.url() });
    let mut config = json!({ "authGroups": { "m": group }, "model": "claude-sonnet-4-6" });
    if let Some(profile) = profile {
        config["profile"] = profile.into();
    }
    std::fs::create_dir_all(world.data().join("agents")).unwrap();
    std::fs::write(world.data().join("config.json"), config.to_string()).unwrap();
    for name in ["ada", "bob", "cyd"] {
        own(world, name, &format!("---\ndescription: {name} works\n---\nMARK-{name}: you are {name}.\n"));
    }
}

fn own(world: &World, name: &str, text: &str) {
    std::fs::write(world.data().join(format!("agents/{name}.md")), text).unwrap();
}

/// Returns whose requests arrived, in order, without those of the root.
fn owners(mock: &Mock) -> Vec<String> {
    mock.requests().iter().filter_map(owner).collect()
}

fn asks_of_kind(project: &Project<'_>, kind: &str) -> Vec<Value> {
    project.asks().into_iter().filter(|ask| ask["kind"] == kind).collect()
}

fn answer_ask(project: &Project<'_>, ask: &Value, choice: &str) {
    let choices = ask["choices"].as_array().unwrap();
    let at = choices.iter().position(|known| known["id"] == choice || known["label"] == choice);
    let at = at.unwrap_or_else(|| panic!("no choice {choice} in {choices:#?}"));
    let id = ask["id"].as_str().unwrap();
    project.mxd(["answer", id, &(at + 1).to_string()]).ok();
}

#[test]
fn config_parsing_and_startup_validation() {
    let (world, mock) = (World::new(), mock());
    set_up(&world, &mock, Some("ada"));
    let project = world.project("app");
    assert_eq!(project.mxd(["agents"]).code, 0);
    own(&world, "ada", "---\ndescription: ada works\ntools: [Read\n---\nMARK-ada\n");
    let ran = project.run(["Do it."]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.contains("ada.md:3") && ran.err.contains("mxd agents use"), "{ran:?}");
    assert_eq!(mock.count(), 0, "nothing was sent");
    for command in ["doctor", "check"] {
        let ran = project.mxd([command]);
        assert!(ran.code == 1 && format!("{ran:?}").contains("ada.md:3"), "{command}: {ran:?}");
    }
    // Another broken profile stops nothing, and is reported.
    own(&world, "ada", "---\ndescription: ada works\n---\nMARK-ada\n");
    own(&world, "bob", "---\nname: bob\n---\nMARK-bob\n");
    project.mxd(["task", "new", "one"]).ok();
    let ran = project.run([]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(format!("{ran:?}").contains("bob.md:1: description is missing"), "{ran:?}");
    assert_eq!(owners(&mock), ["ada"]);
}

#[test]
fn selecting_a_profile_persists_the_selection() {
    let (world, mock) = (World::new(), mock());
    set_up(&world, &mock, None);
    let project = world.project("app");
    project.mxd(["agents", "use", "nobody"]).refused(3, "there is no profile \"nobody\"");
    project.mxd(["config", "set", "--global", "profile", "nobody"]).refused(3, "there is no profile \"nobody\"");
    project.mxd(["task", "new", "old", "--profile", "ada", "--draft"]).ok();
    let said = project.mxd(["agents", "use", "bob"]).ok();
    assert!(said.contains("new tasks: bob") && said.contains("1 task keeps user:ada: #2"), "{said}");
    assert!(said.contains("mxd handover TASK --to bob"), "{said}");
    let rows = json_lines(&project.mxd(["agents", "--json"]).ok());
    let chosen: Vec<_> = rows.iter().filter(|row| row["default"] == true).map(|row| row["name"].clone()).collect();
    assert_eq!(chosen, [json!("bob")]);
    project.mxd(["task", "new", "new", "--draft"]).ok();
    assert_eq!(
        (&project.node("old")["profile"], &project.node("new")["profile"]),
        (&json!("user:ada"), &json!("user:bob"))
    );
}

#[test]
fn selecting_a_profile_inside_an_unbound_task_activates_that_task() {
    let (world, mock) = (World::new(), mock());
    set_up(&world, &mock, Some("ask"));
    let project = world.project("app");
    project.mxd(["task", "new", "open", "--description", "Do the thing."]).ok();
    assert_eq!(project.node("open").get("profile"), None);
    assert_eq!(project.run([]).code, 2);
    let asks = asks_of_kind(&project, "bind");
    assert_eq!(asks.len(), 1, "{asks:#?}");
    project.mxd(["send", &project.id("open"), "And this, too."]).ok();
    assert_eq!(project.run([]).code, 2);
    assert_eq!(asks_of_kind(&project, "bind").len(), 1, "the question stays the same");
    assert_eq!(owners(&mock), [""; 0], "no model was called for it");
    answer_ask(&project, &asks[0], "profile-bob");
    assert_eq!(project.run([]).code, 0);
    assert_eq!(project.node("open")["profile"], "user:bob");
    assert_eq!(owners(&mock), ["bob"]);
    let sent = mock.requests().iter().find(|record| owner(record).is_some()).unwrap().body.to_string();
    assert!(sent.contains("Do the thing.") && sent.contains("And this, too."), "the messages were kept: {sent}");
}

#[test]
fn a_new_task_is_bound_to_the_selected_profile() {
    let (world, mock) = (World::new(), mock());
    set_up(&world, &mock, Some("ask"));
    let project = world.project("app");
    project.mxd(["task", "new", "waits"]).ok();
    assert_eq!(project.run([]).code, 2);
    project.mxd(["agents", "use", "cyd"]).ok();
    project.mxd(["task", "new", "bound"]).ok();
    assert_eq!(project.node("bound")["profile"], "user:cyd");
    // A message is enough for the task that waited: there is a selection now.
    project.mxd(["send", &project.id("waits"), "Go on."]).ok();
    assert_eq!(project.run([]).code, 0);
    assert_eq!(owners(&mock), ["cyd", "cyd"]);
    assert_eq!(asks_of_kind(&project, "bind"), [Value::Null; 0]);
}

#[test]
fn messages_in_a_bound_task_use_its_profile() {
    let (world, mock) = (World::new(), mock());
    set_up(&world, &mock, Some("ada"));
    let project = world.project("app");
    project.mxd(["task", "new", "one"]).ok();
    assert_eq!(project.run([]).code, 0);
    project.mxd(["agents", "use", "bob"]).ok();
    project.mxd(["send", &project.id("one"), "Once more."]).ok();
    assert_eq!(project.run([]).code, 0);
    assert_eq!(owners(&mock), ["ada", "ada"]);
}

#[test]
fn a_retired_conversation_refuses_messages_and_says_where_to_write() {
    let (world, mock) = (World::new(), mock());
    set_up(&world, &mock, Some("ada"));
    let project = world.project("app");
    project.mxd(["task", "new", "one", "--description", "SECRET-OF-ADA"]).ok();
    project.mxd(["send", &project.id("one"), "WORD-TO-ADA"]).ok();
    assert_eq!(project.run([]).code, 0);
    let said = project.mxd(["handover", &project.id("one"), "--to", "bob", "--note", "Mind the gap."]).ok();
    assert!(said.contains("from user:ada to user:bob"), "{said}");
    assert_eq!(project.node("one")["profile"], "user:bob");
    assert_eq!(project.status("one"), "passed", "a finished task is not started by it");
    let id = project.id("one");
    let refused = project.mxd(["rewind", &id, "--to", "1"]).refused(3, "retired since the hand-over to user:bob");
    assert!(refused.contains("fork it"), "{refused}");
    project.mxd(["send", &id, "Go on, Bob."]).ok();
    assert_eq!(project.run([]).code, 0);
    assert_eq!(owners(&mock).last().unwrap(), "bob");
    let last = mock.requests().iter().rev().find(|record| owner(record).is_some()).unwrap().body.to_string();
    for told in ["Mind the gap.", "Go on, Bob.", "SECRET-OF-ADA", "take over this task from user:ada"] {
        assert!(last.contains(told), "{told} in {last}");
    }
    for gone in ["WORD-TO-ADA", "Looked at it.", "MARK-ada"] {
        assert!(!last.contains(gone), "{gone} in {last}");
    }
    // It can be read, searched and forked with the profile that it belongs to.
    assert!(project.log("one").contains("WORD-TO-ADA"));
    assert!(project.mxd(["search", "WORD-TO-ADA"]).ok().contains("one"));
    project.mxd(["fork", &id, "--at", "1", "--title", "two", "--later"]).ok();
    assert_eq!(project.node("two")["profile"], "user:ada");
}

#[test]
fn returning_to_the_same_profile_does_not_revive_the_retired_conversation() {
    let (world, mock) = (World::new(), mock());
    set_up(&world, &mock, Some("ada"));
    let project = world.project("app");
    project.mxd(["task", "new", "one"]).ok();
    project.mxd(["send", &project.id("one"), "FIRST-WORD"]).ok();
    assert_eq!(project.run([]).code, 0);
    let id = project.id("one");
    for to in ["bob", "ada"] {
        project.mxd(["handover", &id, "--to", to]).ok();
        project.mxd(["send", &id, &format!("WORD-FOR-{to}")]).ok();
        let ran = project.run([]);
        assert_eq!(ran.code, 0, "{ran:?} {:?}", mock.violations());
    }
    assert_eq!(owners(&mock), ["ada", "bob", "ada"]);
    let last = mock.requests().iter().rev().find(|record| owner(record).is_some()).unwrap().json();
    let first = last["messages"][0].to_string() + &last["messages"].to_string();
    assert!(first.contains("WORD-FOR-ada") && !first.contains("WORD-FOR-bob\""), "{first}");
    assert_eq!(last["messages"].as_array().unwrap().iter().filter(|it| it["role"] == "assistant").count(), 0);
    project.mxd(["handover", &id, "--to", "ada"]).refused(3, "has the profile user:ada already");
}

#[test]
fn a_broken_profile_of_a_task_asks_for_another_and_stops_no_other_task() {
    let (world, mock) = (World::new(), mock());
    set_up(&world, &mock, Some("ada"));
    let project = world.project("app");
    project.mxd(["task", "new", "one"]).ok();
    project.mxd(["task", "new", "two", "--profile", "bob"]).ok();
    std::fs::remove_file(world.data().join("agents/bob.md")).unwrap();
    assert_eq!(project.run([]).code, 2);
    assert_eq!((project.status("one").as_str(), owners(&mock)), ("passed", vec!["ada".to_owned()]));
    let asks = asks_of_kind(&project, "bind");
    assert!(asks[0].to_string().contains("bob.md is missing"), "{asks:#?}");
    answer_ask(&project, &asks[0], "profile-cyd");
    assert_eq!(project.run([]).code, 0);
    assert_eq!(project.node("two")["profile"], "user:cyd");
    assert_eq!(owners(&mock), ["ada", "cyd"]);
}

#[test]
fn an_override_changes_one_task_and_is_shown() {
    let (world, mock) = (World::new(), mock());
    set_up(&world, &mock, Some("ada"));
    let project = world.project("app");
    project.mxd(["task", "new", "one", "--append", "Be brief: OVERRIDE", "--model", "claude-haiku-4-5"]).ok();
    project.mxd(["task", "new", "two"]).ok();
    assert_eq!(project.run([]).code, 0);
    let sent = |title: &str| {
        let requests = mock.requests();
        let found = requests.iter().find(|it| owner(it).is_some() && it.body.contains(&format!("Task: {title} (")));
        found.unwrap().json()
    };
    assert_eq!(
        (&sent("one")["model"], &sent("two")["model"]),
        (&json!("claude-haiku-4-5"), &json!("claude-sonnet-4-6"))
    );
    assert!(
        sent("one")["system"].to_string().contains("OVERRIDE")
            && !sent("two")["system"].to_string().contains("OVERRIDE")
    );
}

#[test]
fn skills_includes_and_the_system_prompt_follow_the_profile() {
    let (world, mock) = (World::new(), mock());
    set_up(&world, &mock, Some("ada"));
    let project = world.project("app");
    let skill = |folder: &str, name: &str, text: &str| {
        let folder = project.path.join(folder).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("SKILL.md"), text).unwrap();
    };
    skill(".mxd/skills", "notes", "---\nname: notes\ndescription: Writes notes\n---\nNOTES-TEXT\n");
    skill(".claude/skills", "deploy", "---\nname: deploy\ndescription: Ships it\n---\nDEPLOY-TEXT\n");
    std::fs::write(project.path.join("style.md"), "STYLE-TEXT").unwrap();
    std::fs::write(project.path.join("AGENTS.md"), "AGENTS-TEXT").unwrap();
    std::fs::write(project.path.join("CLAUDE.md"), "CLAUDE-TEXT").unwrap();
    world.git(&project.path, ["add", "."]);
    world.git(&project.path, ["commit", "-qm", "guides"]);
    own(
        &world,
        "ada",
        "---\ndescription: d\nsystem: minimal\npreload: deploy\ninclude: [style.md]\n---\nMARK-ada: only this.\n",
    );
    project.mxd(["task", "new", "one"]).ok();
    assert_eq!(project.run([]).code, 0);
    let requests = mock.requests();
    let sent = requests.iter().find(|record| owner(record).is_some()).unwrap();
    for told in
        ["- notes: Writes notes", "DEPLOY-TEXT", "STYLE-TEXT", "AGENTS-TEXT", "CLAUDE-TEXT", "mcp__mxd__use_skill"]
    {
        assert!(sent.body.contains(told), "{told} in {}", sent.body);
    }
    assert!(!sent.body.contains("NOTES-TEXT"), "the text of a skill is read on demand");
    assert!(!sent.json()["system"].to_string().contains("Small changes out of fear"), "the methodology is left out");
    assert!(project.mxd(["skill", "check"]).ok().contains("2 skills, no errors"));
}

#[test]
fn a_question_without_a_task_is_answered_checked_once_more_and_counted() {
    let (world, mock) = (World::new(), mock());
    set_up(&world, &mock, Some("ask"));
    let project = world.project("app");
    assert_eq!(project.mxd(["prompt", "What", "is", "it?"]).ok().trim(), "Noted.");
    std::fs::write(project.path.join("schema.json"), r#"{"type": "object"}"#).unwrap();
    let refused = project.mxd(["prompt", "--schema", "schema.json", "What is it?"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("does not fit the schema"), "{refused:?}");
    assert_eq!(mock.count(), 3, "it was sent back once");
    let rows = json_lines(&project.mxd(["cost", "--json"]).ok());
    let row = rows.iter().find(|row| row["name"] == "one-shot requests").unwrap();
    assert!(row["cost_micro_usd"].as_u64().unwrap() > 0 && row["responses"] == 2, "{row}");
    project.mxd(["prompt", "--budget", "0.000001", "What is it?"]).refused(3, "would cost more");
    assert_eq!(mock.count(), 3, "a limit is kept before anything is sent");
    drop(mock.take_violations());
}

#[test]
fn the_context_of_a_task_is_shown_by_section_before_and_after_its_start() {
    let (world, mock) = (World::new(), mock());
    set_up(&world, &mock, Some("ada"));
    let project = world.project("app");
    let before = project.mxd(["context", "--full"]).ok();
    assert!(before.contains("system prompt, shared") && before.contains("MARK-ada"), "{before}");
    project.mxd(["task", "new", "one"]).ok();
    assert_eq!(project.run([]).code, 0);
    let rows = json_lines(&project.mxd(["context", "one", "--json"]).ok());
    let tokens: u64 = rows.iter().map(|row| row["tokens"].as_u64().unwrap()).sum();
    assert!(
        rows.iter().any(|row| row["section"].as_str().unwrap().starts_with("tools (")) && tokens > 1_000,
        "{rows:#?}"
    );
}
