//! What is said about profiles, skills, hooks, other programs and the process of an engine, done as it is said.

use std::fs;

use serde_json::json;

use crate::cli_support::World;
use crate::engine_support::{play, root, say};

#[test]
fn commands_about_profiles_run() {
    let world = World::new();
    let project = world.project("app");
    for line in [
        "mxd agents",
        "mxd agents use engineer",
        "mxd agents use engineer --global",
        "mxd context --profile engineer",
        "mxd help mcp",
        "mxd help permissions",
        "mxd config set models.mine.prices '{\"input\": 1, \"output\": 2}'",
        "mxd doctor",
        "mxd demo --help",
    ] {
        let ran = world.paste(&project.path, line);
        assert!(ran.code <= 1, "`{line}`: {ran:?}");
    }
    project.mxd(["task", "new", "one", "--profile", "engineer"]).ok();
    world.paste(&project.path, "mxd handover one --to reviewer").ok();
    let refused = world.paste(&project.path, "mxd permit bypass");
    assert!(refused.code == 3 && refused.err.contains("<PROJECT>"), "{refused:?}");
    world.paste(&project.path, "mxd permit bypass app").ok();
}

#[test]
fn commands_about_skills_run() {
    let world = World::new();
    let project = world.project("app");
    let source = world.repository("skill-source");
    let skill = "---\nname: tidy\ndescription: Tidies files.\n---\nRemove what is not used.\n";
    fs::write(source.join("SKILL.md"), skill).unwrap();
    world.git(&source, ["add", "-A"]);
    world.git(&source, ["commit", "-qm", "skill"]);
    world.paste(&project.path, &format!("mxd skill add file://{} --yes", source.display())).ok();
    for line in ["mxd skill list", "mxd skill check", "mxd skill update tidy", "mxd skill remove tidy"] {
        world.paste(&project.path, line).ok();
    }
}

#[test]
fn commands_about_lifecycle_hooks_run() {
    let world = World::new();
    let project = world.project("app");
    for line in ["mxd help hooks", "mxd hooks list", "mxd hooks approve"] {
        world.paste(&project.path, line).ok();
    }
}

#[test]
fn commands_about_outside_programs_run() {
    let world = World::new();
    let project = world.project("app");
    for line in [
        "mxd backends list",
        "mxd config set --global backend claude",
        "mxd config set --global backends.claude.disabled false",
        "mxd config set --global backends.claude.command /nowhere/claude-agent-acp",
        "mxd config set --global backends.claude.startMs 180000",
        "mxd config set --global outsideAgents true",
        "mxd mcp serve < /dev/null",
        "git status",
        "git log",
        "git diff",
        "git switch --quiet main",
    ] {
        world.paste(&project.path, line).ok();
    }
    // The program is not there, which is what the command says.
    let tested = world.paste(&project.path, "mxd backends test claude");
    assert!(tested.code != 0 && tested.err.contains("/nowhere/claude-agent-acp"), "{tested:?}");
}

#[test]
fn commands_about_the_engine_run() {
    let world = World::new();
    play(&world, json!([root(json!([say("All done.")]))]));
    let project = world.project("app");
    project.run(["Begin."]);
    for line in [
        "mxd config set --global hosts '[\"me@bigbox\"]'",
        "mxd projects --json",
        "mxd log root",
        "mxd serve stop",
        "mxd serve --help",
        "mxd --help",
    ] {
        world.paste(&project.path, line).ok();
    }
    let refused = world.paste(&project.path, "mxd answer");
    assert!(refused.code == 3 && refused.err.contains("<ASK>"), "{refused:?}");
    let refused = world.paste(&project.path, "mxd serve restart --now");
    assert_eq!(refused.code, world.paste(&project.path, "mxd serve restart").code, "{refused:?}");
    assert!(refused.err.contains("mxd serve"), "{refused:?}");
}
