//! What is said about settings, profiles, tool servers and ways to a model, done as it is said.

use std::fs;

use serde_json::json;

use super::{named, obey};
use crate::cli_support::World;
use crate::engine_support::{play, root, say};

#[test]
fn a_way_to_a_model_is_set_up_by_what_is_said() {
    let world = World::new();
    let project = world.project("app");
    let here = &project.path;
    let err = project.run(["Do it."]).refused(3, "no model provider is configured");
    assert_eq!(obey(&world, here, &err, &[(" KEY", " sk-1")]).len(), 2, "{err}");
    let offline = project.mxd(["doctor", "--offline"]);
    assert!(!offline.out.contains("no model provider is configured"), "{offline:?}");

    for layer in ["--global", "--local"] {
        let wanted = ["config", "set", layer, "authGroups.other.apiKey", "sk-2"];
        let err = project.mxd(wanted).refused(3, "has no \"provider\"");
        obey(&world, here, &err, &[("…", "anthropic")]);
        project.mxd(wanted).ok();
    }

    let err = project.run(["Do it."]).refused(3, "several auth groups");
    obey(&world, here, &err, &[("NAME", "main")]);
    assert_eq!(project.mxd(["config", "get", "defaultAuth"]).ok(), "main\n");
    let err = project.run(["--auth", "nobody", "Do it."]).refused(3, "there is no auth group");
    let shown = obey(&world, here, &err, &[]);
    assert!(shown[0].contains("main") && shown[0].contains("other"), "{shown:?}");
}

#[test]
fn settings_that_are_missing_are_set_by_what_is_said() {
    let world = World::new();
    let project = world.project("app");
    let here = &project.path;
    for (asked, sentence, value) in [
        (&["config", "get", "model"][..], "has no default", "some-model"),
        (&["config", "get", "--local", "budgetUsd"], "is not set in", "5"),
    ] {
        let err = project.mxd(asked).refused(3, sentence);
        obey(&world, here, &err, &[("…", value)]);
        assert_eq!(project.mxd(asked).ok(), format!("{value}\n"));
    }
    for (asked, sentence) in [
        (&["config", "get", "nosuch"][..], "there is no setting nosuch"),
        (&["config", "unset", "--local", "model"], "model is not set in"),
    ] {
        let err = project.mxd(asked).refused(3, sentence);
        let listed = obey(&world, here, &err, &[]);
        assert!(listed[0].contains("model = \"some-model\"  (global"), "{listed:?}");
    }
    let err = project.mxd(["config", "set", "--repo", "authGroups.x.provider", "anthropic"]).refused(3, "credentials");
    obey(&world, here, &err, &[("…", "anthropic")]);
    assert_eq!(project.mxd(["config", "get", "authGroups.x.provider"]).ok(), "anthropic\n");
    let err = project.mxd(["config", "set", "--global", "approvedMcpServers", "[]"]).refused(3, "for one project");
    obey(&world, here, &err, &[("…", "'[]'")]);
}

#[test]
fn settings_that_are_wrong_are_mended_by_what_is_said() {
    let world = World::new();
    let project = world.project("app");
    for (command, rest) in [("mxd config set", "--repo maxDepth 3"), ("mxd config unset", "--repo maxDepth")] {
        fs::write(project.path.join(".mxd/config.json"), r#"{"maxDepth": "three"}"#).unwrap();
        let err = project.mxd(["config", "get", "durability"]).refused(3, "maxDepth must be");
        let said = named(&err);
        assert_eq!(said, ["mxd config set", "mxd config unset", "mxd config list"], "{err}");
        let listed = world.paste(&project.path, &said[2]);
        assert!(listed.out.contains("maxDepth = 3  (default)"), "what is in force: {listed:?}");
        assert_eq!(world.paste(&project.path, &format!("{command} {rest}")).code, 0);
        project.mxd(["config", "get", "durability"]).ok();
    }
}

#[test]
fn profiles_that_are_missing_are_found_by_what_is_said() {
    let world = World::new();
    let project = world.project("app");
    let here = &project.path;
    let err = project.mxd(["task", "new", "Any", "--profile", "nosuch"]).refused(3, "there is no profile");
    let listed = obey(&world, here, &err, &[]);
    assert!(listed[0].contains("engineer"), "{listed:?}");
    project.mxd(["config", "set", "profile", "nosuch"]).refused(3, "there is no profile");
    fs::write(world.data().join("config.json"), "{\"profile\": \"nosuch\"}\n").unwrap();
    let ran = project.mxd(["agents"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    obey(&world, here, &ran.err, &[("NAME", "engineer")]);
    project.mxd(["agents"]).ok();
    let folder = world.data().join("agents");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("odd.md"), "---\nmax_turns: many\n---\n").unwrap();
    let err = project.mxd(["task", "new", "Any", "--profile", "odd"]).refused(3, "cannot be used");
    let checked = world.paste(here, &named(&err)[0]);
    assert!(checked.code == 1 && checked.out.contains("odd.md:2"), "{checked:?}");
}

#[test]
fn tool_servers_are_approved_by_what_is_said() {
    let world = World::new();
    play(&world, json!([root(json!([say("One.")]))]));
    let project = world.project("app");
    let here = &project.path;
    let err = project.mxd(["mcp", "test", "nobody"]).refused(3, "there is no server");
    assert!(obey(&world, here, &err, &[])[0].contains("global"), "{err}");
    let asked = json!({ "mcpServers": { "files": { "command": "true" } } });
    fs::write(here.join(".mxd/config.json"), asked.to_string()).unwrap();
    let listed = world.paste(here, "mxd mcp list").ok();
    assert!(listed.contains("needs approval"), "{listed}");
    obey(&world, here, &listed, &[("approve", "approve --yes")]);
    let listed = world.paste(here, "mxd mcp list").ok();
    assert!(listed.contains("active") && !listed.contains("needs approval"), "{listed}");
}

#[test]
fn a_group_without_a_script_or_a_model_gets_one_by_what_is_said() {
    let world = World::new();
    play(&world, json!([root(json!([say("Forty-two.")]))]));
    let script = world.root().join("scenario.json");
    let project = world.project("app");
    let here = &project.path;
    let groups = json!({ "authGroups": { "s": { "provider": "scripted" } } });
    fs::write(world.home().config(), groups.to_string()).unwrap();
    let ran = project.run(["What is it?"]);
    let said = format!("{}{}", ran.out, ran.err);
    let line = named(&said).into_iter().find(|command| command.contains("script")).unwrap_or_else(|| panic!("{said}"));
    assert_eq!(world.paste(here, &line.replace("PATH", script.to_str().unwrap())).code, 0, "{line}");
    answer_first(&project);
    assert!(project.run([]).out.contains("Forty-two."));

    let group = json!({ "provider": "openai", "apiKey": "k", "baseUrl": "http://127.0.0.1:9/v1", "api": "chat" });
    fs::write(world.home().config(), json!({ "authGroups": { "local": group } }).to_string()).unwrap();
    let ran = project.run(["--timeout", "20", "And now?"]);
    let said = format!("{}{}", ran.out, ran.err);
    let line = named(&said).into_iter().find(|line| line.contains("model NAME")).unwrap_or_else(|| panic!("{said}"));
    assert_eq!(world.paste(here, &line.replace("NAME", "any")).code, 0, "{line}");
    assert_eq!(project.mxd(["config", "get", "model"]).ok(), "any\n");
}

#[test]
fn a_rejected_key_is_replaced_by_what_is_asked() {
    let world = World::new();
    play(&world, json!([root(json!([{ "text": "Forty-two.", "errors": [{ "class": "auth", "status": 401 }] }]))]));
    let script = world.root().join("scenario.json");
    let project = world.project("app");
    let group = json!({ "provider": "scripted", "script": script, "apiKey": "sk-old" });
    fs::write(world.home().config(), json!({ "authGroups": { "my.work": group } }).to_string()).unwrap();
    project.run(["What is it?"]);
    let asks = project.asks();
    let question = asks[0]["question"].as_str().unwrap();
    assert!(question.contains("(401)"), "{question}");
    obey(&world, &project.path, question, &[(" KEY", " sk-new-key-1234")]);
    assert!(fs::read_to_string(world.home().config()).unwrap().contains("sk-new-key-1234"));
    // The vendor takes the new key.
    play(&world, json!([root(json!([say("Forty-two.")]))]));
    answer_first(&project);
    assert!(project.run([]).out.contains("Forty-two."));
}

/// Says "try again" to the question that waits, if one does.
fn answer_first(project: &crate::cli_support::Project<'_>) {
    if let Some(ask) = project.asks().first() {
        project.mxd(["answer", ask["id"].as_str().unwrap(), "1"]).ok();
    }
}
