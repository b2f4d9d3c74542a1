//! The product in a terminal: a repository to work on, a scripted model to work with, and what a user does first.

use std::path::Path;

use serde_json::{Value, json};

use super::{Session, World};

pub fn mxd() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_mxd"))
}

/// Returns a world with the repository `calc`, in which every agent plays one of `conversations`.
pub fn project(conversations: &Value) -> World {
    let world = World::new().within("calc");
    git(&world, &["init", "-q", "-b", "main"]);
    std::fs::write(world.cwd().join("README.md"), "# calc\n").unwrap();
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "start"]);
    let pacing = json!({ "first_token_ms": 0, "chars_per_second": 1_000_000 });
    let scenario = json!({ "version": 1, "pacing": pacing, "conversations": conversations });
    let script = world.path("scenario.json");
    std::fs::write(&script, scenario.to_string()).unwrap();
    let config = json!({ "authGroups": { "s": { "provider": "scripted", "script": script } } });
    std::fs::create_dir(world.path("data")).unwrap();
    std::fs::write(world.path("data/config.json"), config.to_string()).unwrap();
    world
}

#[track_caller]
pub fn git(world: &World, arguments: &[&str]) {
    assert!(world.command("git").args(arguments).status().unwrap().success(), "git {arguments:?}");
}

/// A conversation of the root.
pub fn root(turns: &Value) -> Value {
    json!({ "name": "root", "when": { "first": "none: you are the root" }, "turns": turns,
        "otherwise": { "text": "I have read it." } })
}

/// A conversation of the task with this title.
pub fn agent(title: &str, turns: &Value) -> Value {
    json!({ "name": title, "when": { "first": format!("Task: {title} (") }, "turns": turns })
}

/// A turn that only calls a tool.
pub fn call(tool: &str, input: &Value) -> Value {
    json!({ "calls": [{ "tool": tool, "input": input }] })
}

pub fn bash(command: &str) -> Value {
    call("bash", &json!({ "command": command }))
}

pub fn say(text: &str) -> Value {
    json!({ "text": text })
}

/// Opens the screen and waits until it is there, with the cursor in the composer.
pub fn open(world: &World, columns: u16, rows: u16) -> Session {
    let session = Session::start(world, mxd(), &[], columns, rows);
    session.wait_for_text("message ");
    assert!(session.is_raw(), "the program has the terminal");
    session
}

impl Session {
    /// Types a line into the composer and sends it.
    pub fn say(&mut self, text: &str) {
        self.send(text.as_bytes());
        self.wait_for_text(text);
        self.press("enter");
    }

    /// Leaves the composer for the tasks.
    #[track_caller]
    pub fn focus_tasks(&mut self) {
        self.focus("n new task");
    }

    /// Selects the task with this title, on a screen wide enough for all panes.
    #[track_caller]
    pub fn select(&mut self, title: &str) {
        self.press("ctrl-up ctrl-up ctrl-up ctrl-up ctrl-up ctrl-up");
        self.wait_for("the first task", |screen| headline(&super::picture::text(screen)) == "orchestrator");
        for _ in 0..6 {
            let before = headline(&super::picture::text(&self.screen()));
            if before.contains(title) {
                return;
            }
            self.press("ctrl-down");
            self.wait_for("another task", |screen| headline(&super::picture::text(screen)) != before);
        }
        panic!("there is no task {title:?}:\n{}", self.text());
    }

    /// Goes from pane to pane until the last line offers `hint`.
    #[track_caller]
    pub fn focus(&mut self, hint: &str) {
        let last = |text: &str| text.lines().last().unwrap_or_default().to_owned();
        for _ in 0..5 {
            let before = last(&super::picture::text(&self.screen()));
            if before.contains(hint) {
                return;
            }
            self.press("tab");
            self.wait_for("another pane", |screen| last(&super::picture::text(screen)) != before);
        }
        panic!("no pane offers {hint:?}:\n{}", self.text());
    }
}

/// Returns the title of the task that is shown.
fn headline(text: &str) -> String {
    let line = text.lines().nth(1).unwrap_or_default();
    let heading = line.rsplit('│').next().unwrap_or_default();
    heading.split("Transcript").next().unwrap_or_default().trim().to_owned()
}
