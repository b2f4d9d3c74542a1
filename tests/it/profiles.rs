//! Profiles, by the real binary with a scripted model: what a task is bound to, what its agent gets, and what is said
//! when a profile is not there or cannot be used.

use serde_json::{Value, json};

use crate::cli_support::{Project, World, json_lines};
use crate::engine_support::{agent, bash, call, done, play, root, say};

fn write(project: &Project<'_>, name: &str, text: &str) {
    let folder = project.path.join(".mxd/agents");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(name), text).unwrap();
}

fn own(world: &World, name: &str, text: &str) {
    let folder = world.data().join("agents");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(name), text).unwrap();
}

fn events(project: &Project<'_>, title: &str) -> Vec<Value> {
    json_lines(&project.mxd(["log", "--json", &project.id(title)]).ok())
}

/// A root that takes note of what it is told.
fn listener() -> Value {
    json!({ "name": "root", "when": { "first": "none: you are the root" }, "turns": [],
        "otherwise": { "text": "Noted." } })
}

/// Returns the frozen configuration that a task's model was asked with.
fn config(project: &Project<'_>, title: &str) -> Value {
    let events = events(project, title);
    let found = events.iter().find(|event| event["type"] == "session_config");
    found.map_or_else(|| panic!("no configuration in {events:#?}"), |event| event["body"].clone())
}

#[test]
fn a_profile_decides_model_effort_tools_turns_budget_and_prompt() {
    let world = World::new();
    let turns = json!([bash("true"), bash("true"), done("passed", "seen")]);
    play(&world, json!([listener(), agent("look", turns)]));
    let project = world.project("app");
    let text = "---\ndescription: looks\nmodel: claude-haiku-4-5\neffort: low\ntools: Read, Grep\nmax_turns: 2\nbudget: 3\n---\n\
                Look at everything twice.\n";
    write(&project, "scout.md", text);
    let id = project.mxd(["task", "new", "look", "--profile", "scout"]).ok().trim().to_owned();
    let node = project.node("look");
    assert_eq!(node["profile"], json!("project:scout"));
    assert!(project.mxd(["tree"]).ok().contains("project:scout"));
    let ran = project.run([]);
    assert_eq!(ran.code, 2, "after two turns it asks: {ran:?}");
    let ask = &project.asks()[0];
    assert_eq!((&ask["kind"], &ask["task"]), (&json!("turn_limit"), &json!(id)), "{ask:#}");
    assert!(project.log("look").contains("Budget: $3.00"), "{}", project.log("look"));
    let config = config(&project, "look");
    assert_eq!((&config["model"], &config["effort"]), (&json!("claude-haiku-4-5"), &json!("low")), "{config:#}");
    let tools: Vec<_> = config["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(tools.contains(&"mcp__mxd__read_file") && tools.contains(&"mcp__mxd__search"), "{tools:?}");
    assert!(tools.contains(&"mcp__mxd__done") && tools.contains(&"mcp__mxd__clarify"), "{tools:?}");
    for gone in ["bash", "write_file", "edit_file", "create_task"] {
        assert!(!tools.contains(&format!("mcp__mxd__{gone}").as_str()), "{gone} in {tools:?}");
    }
    assert!(config["system"]["variable"].as_str().unwrap().ends_with("Look at everything twice."), "{config:#}");
    // What is not offered cannot be called either.
    let refused = events(&project, "look").into_iter().find(|event| event["type"] == "tool_result").unwrap();
    assert_eq!(refused["body"]["is_error"], json!(true), "{refused:#}");
}

#[test]
fn a_task_keeps_its_profile_whatever_is_added_or_chosen_later() {
    let world = World::new();
    play(
        &world,
        json!([
            listener(),
            agent("early", json!([done("passed", "ok")])),
            agent("late", json!([done("passed", "ok")]))
        ]),
    );
    let project = world.project("app");
    project.new_task("early");
    own(&world, "engineer.md", "---\ndescription: mine\n---\nWords of my own.\n");
    write(&project, "scout.md", "---\ndescription: looks\n---\nScout words.\n");
    project.mxd(["config", "set", "--global", "profile", "scout"]).ok();
    project.new_task("late");
    assert_eq!(project.node("early")["profile"], json!("engineer"));
    assert_eq!(project.node("late")["profile"], json!("project:scout"));
    assert_eq!(project.run([]).code, 0);
    let words = |title| config(&project, title)["system"]["variable"].as_str().unwrap().to_owned();
    assert!(!words("early").contains("Words of my own"), "{}", words("early"));
    assert!(words("late").ends_with("Scout words."), "{}", words("late"));
}

#[test]
fn what_is_missing_or_wrong_is_refused_with_file_and_line_and_nothing_is_made() {
    let world = World::new();
    play(&world, json!([root(json!([say("Hello.")]))]));
    let project = world.project("app");
    write(&project, "bad.md", "---\ndescription: d\ntools: Raed\n---\n");
    write(&project, "rich.md", "---\ndescription: d\nauth: s\n---\n");
    let refuse = |name: &str| project.mxd(["task", "new", "x", "--profile", name]);
    refuse("nobody").refused(3, "there is no profile \"nobody\"; available: orchestrator, engineer, reviewer");
    refuse("bad").refused(3, ".mxd/agents/bad.md:3: there is no tool Raed; did you mean read_file?");
    refuse("rich").refused(3, ".mxd/agents/rich.md:3: a repository's profile may not choose an auth group");
    project.mxd(["config", "set", "--global", "profile", "nobody"]).refused(3, "there is no profile \"nobody\"");
    let config = world.data().join("config.json");
    let with_profile = std::fs::read_to_string(&config).unwrap().replacen('{', "{\"profile\": \"nobody\", ", 1);
    std::fs::write(&config, with_profile).unwrap();
    project.mxd(["task", "new", "x"]).refused(3, "there is no profile \"nobody\"");
    let titles: Vec<_> = project.tasks().iter().map(|task| task["title"].clone()).collect();
    assert_eq!(titles, ["orchestrator"], "nothing was made");
}

#[test]
fn a_profile_that_went_away_stops_its_task_with_a_question_and_not_the_others() {
    let world = World::new();
    play(
        &world,
        json!([
            listener(),
            agent("kept", json!([done("passed", "ok")])),
            agent("lost", json!([done("passed", "back again")]))
        ]),
    );
    let project = world.project("app");
    write(&project, "scout.md", "---\ndescription: looks\n---\n");
    project.mxd(["task", "new", "lost", "--profile", "scout"]).ok();
    project.new_task("kept");
    std::fs::remove_file(project.path.join(".mxd/agents/scout.md")).unwrap();
    assert_eq!(project.run([]).code, 2);
    assert_eq!(project.status("kept"), "passed");
    let asks = project.asks();
    let said = asks[0].to_string();
    assert!(said.contains("project:scout") && said.contains("scout.md is missing"), "{said}");
    write(&project, "scout.md", "---\ndescription: looks\n---\n");
    project.mxd(["send", &project.id("lost"), "Try again."]).ok();
    project.run([]);
    assert_eq!(project.status("lost"), "passed");
}

#[test]
fn an_agent_is_told_of_the_profiles_and_chooses_one_by_name() {
    let world = World::new();
    let task = |profile: &str| json!({ "title": "judge", "description": "Goal: x.", "profile": profile });
    play(
        &world,
        json!([
            root(json!([
                call("create_task", task("nobody")),
                call("create_task", task("reviewer")),
                call("yield", json!({})),
                say("Judged."),
            ])),
            agent("judge", json!([done("passed", "fine")])),
        ]),
    );
    let project = world.project("app");
    assert_eq!(project.run(["Judge it."]).code, 0);
    assert_eq!(project.node("judge")["profile"], json!("reviewer"));
    assert_eq!(project.tasks().len(), 2);
    let log = project.log("orchestrator");
    assert!(log.contains("there is no profile \"nobody\""), "{log}");
    let told = json_lines(&project.mxd(["log", "--json", &project.id("orchestrator")]).ok());
    let told = told.iter().find(|event| event["body"]["from"]["source"] == "work_context");
    assert!(told.unwrap().to_string().contains("- reviewer: Judges work without changing it"), "{told:?}");
}

#[test]
fn agents_lists_and_checks_them() {
    let world = World::new();
    let project = world.project("app");
    let listed = project.mxd(["agents"]).ok();
    for name in ["orchestrator", "engineer", "reviewer", "researcher"] {
        assert!(listed.lines().any(|line| line.starts_with(name)), "{listed}");
    }
    assert!(listed.lines().any(|line| line.starts_with("engineer") && line.ends_with("(default)")), "{listed}");
    own(&world, "mine.md", "---\ndescription: mine\nmodel: opus\nbudget: 2\n---\n");
    write(&project, "reviewer.md", "---\ndescription: theirs\ntools: WebFetch, Read\n---\n");
    write(&project, "bad.md", "no front matter");
    let ran = project.mxd(["agents"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    for said in [
        "user:mine",
        "model opus; budget $2.00",
        "error: .mxd/agents/bad.md:1: the file must start with a line ---",
        "warning: .mxd/agents/reviewer.md:3: the tool WebFetch does not exist here",
        "\"reviewer\" is also the name of a built-in profile",
    ] {
        assert!(ran.out.contains(said), "expected {said:?} in {}", ran.out);
    }
    let ran = project.mxd(["agents", "--json"]);
    let rows = json_lines(&ran.out);
    assert_eq!((ran.code, rows.len()), (1, 7), "{ran:?}");
    let bad = rows.iter().find(|row| row["full_name"] == "project:bad").unwrap();
    assert_eq!((&bad["usable"], bad["errors"].as_array().unwrap().len()), (&json!(false), 1));
    // Outside of a repository there are still one's own.
    let ran = world.mxd(&world.folder("nowhere"), ["agents"]);
    assert!(ran.out.contains("user:mine") && !ran.out.contains("project:"), "{ran:?}");
}
