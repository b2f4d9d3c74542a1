//! A project with agents in it, worked on by the real binary: a scenario for the scripted model, runs in the background,
//! and what is left of them on the machine.

#![allow(clippy::needless_pass_by_value, reason = "values are written where they are needed")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mxd::process::environment::TASK_MARKER;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::cli_support::{Project, Ran, World, json_lines};

/// How long a test waits for what it says must happen. It only ever runs out in a test that fails.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Lets every agent of this world play `conversations`, at once.
pub fn play(world: &World, conversations: Value) {
    let pacing = json!({ "first_token_ms": 0, "chars_per_second": 1_000_000 });
    let scenario = json!({ "version": 1, "pacing": pacing, "conversations": conversations });
    let script = world.root().join("scenario.json");
    std::fs::write(&script, scenario.to_string()).unwrap();
    let config = json!({ "authGroups": { "s": { "provider": "scripted", "script": script } } });
    std::fs::create_dir_all(world.data()).unwrap();
    std::fs::write(world.data().join("config.json"), config.to_string()).unwrap();
}

/// A conversation of the root.
pub fn root(turns: Value) -> Value {
    json!({ "name": "root", "when": { "first": "none: you are the root" }, "turns": turns })
}

/// A conversation of the task with this title.
pub fn agent(title: &str, turns: Value) -> Value {
    json!({ "name": title, "when": { "first": format!("Task: {title} (") }, "turns": turns })
}

/// A turn that only calls a tool.
pub fn call(tool: &str, input: Value) -> Value {
    json!({ "calls": [{ "tool": tool, "input": input }] })
}

pub fn bash(command: &str) -> Value {
    call("bash", json!({ "command": command }))
}

pub fn done(status: &str, result: &str) -> Value {
    call("done", json!({ "status": status, "result": result }))
}

pub fn say(text: &str) -> Value {
    json!({ "text": text })
}

impl Project<'_> {
    /// Returns the tasks, as `mxd tree --json` has them.
    pub fn tasks(&self) -> Vec<Value> {
        json_lines(&self.mxd(["tree", "--json"]).ok())
    }

    #[track_caller]
    pub fn node(&self, title: &str) -> Value {
        let tasks = self.tasks();
        let found = tasks.iter().find(|task| task["title"] == title);
        found.cloned().unwrap_or_else(|| panic!("there is no task {title:?} in {tasks:#?}"))
    }

    #[track_caller]
    pub fn id(&self, title: &str) -> String {
        self.node(title)["id"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub fn status(&self, title: &str) -> String {
        self.node(title)["status"].as_str().unwrap().to_owned()
    }

    /// Returns where a task works. Fails if it has no place.
    #[track_caller]
    pub fn worktree(&self, title: &str) -> PathBuf {
        PathBuf::from(self.node(title)["worktree"].as_str().expect("it has a worktree"))
    }

    /// Allows the setup hook that the checkout has now.
    pub fn approve_hook(&self) {
        let hook = std::fs::read(self.path.join(".mxd/hooks/setup_worktree.sh")).unwrap();
        let hash = blake3::hash(&hook).to_hex().to_string();
        self.mxd(["config", "set", "--local", "approvedHooks", &json!([hash]).to_string()]).ok();
    }

    /// Lets messages of another project through.
    pub fn approve_project(&self, other: &Self) {
        let id = other.folder.root().file_name().unwrap().to_str().unwrap();
        self.mxd(["config", "set", "--local", "approvedProjects", &json!([id]).to_string()]).ok();
    }

    pub fn asks(&self) -> Vec<Value> {
        json_lines(&self.mxd(["asks", "--json"]).ok())
    }

    /// Returns everything that a session says, as `mxd log` shows it.
    pub fn log(&self, title: &str) -> String {
        self.mxd(["log", &self.id(title)]).ok()
    }

    /// Makes a task that begins with the next run.
    pub fn new_task(&self, title: &str) -> String {
        self.mxd(["task", "new", title]).ok().trim().to_owned()
    }

    /// Lets the agents work until nothing happens any more.
    pub fn run<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Ran {
        self.mxd(["run"].into_iter().chain(args))
    }

    /// Starts a run that goes on beside the test.
    pub fn start(&self, args: &[&str]) -> Running {
        let mut command = self.world.mxd_command(&self.path);
        command.args(["run", "--json"]).args(args);
        Running::start(command)
    }
}

/// A run that goes on beside the test. Dropped, it is killed.
pub struct Running {
    child: Child,
    lines: Receiver<Value>,
    reader: Option<JoinHandle<()>>,
    errors: Option<ChildStderr>,
    pub seen: Vec<Value>,
}

impl Running {
    pub fn start(mut command: std::process::Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let errors = child.stderr.take();
        let (tell, lines) = mpsc::channel();
        // A line that a kill has cut short is nobody's.
        let reader = std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let Ok(value) = serde_json::from_str(&line) else { return };
                if tell.send(value).is_err() {
                    return;
                }
            }
        });
        Self { child, lines, reader: Some(reader), errors, seen: Vec::new() }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the next line, or says that there is none by then.
    pub fn line_within(&mut self, limit: Duration) -> Result<&Value, RecvTimeoutError> {
        let line = self.lines.recv_timeout(limit)?;
        self.seen.push(line);
        Ok(&self.seen[self.seen.len() - 1])
    }

    /// Waits until a line holds.
    #[track_caller]
    pub fn until(&mut self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.line_within(left) {
                Ok(line) if holds(line) => return line.clone(),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("waited in vain until {what}; {} lines came before: {:#?}", self.seen.len(), self.seen)
                }
            }
        }
    }

    /// Waits until a command is at work: its call is on the disk and a process carries its task's mark.
    #[track_caller]
    pub fn until_it_works(&mut self) {
        self.until("a tool is called", |line| line["event"]["type"] == "tool_call");
        let deadline = Instant::now() + PATIENCE;
        while marked(&task_ids(&self.seen)).is_empty() {
            assert!(Instant::now() < deadline, "no process was started");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Kills it where it stands.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits until it has ended by itself.
    pub fn end(self) -> Ran {
        let (code, ran) = self.over();
        Ran { code: code.expect("it was not killed"), ..ran }
    }

    /// Waits until it has ended, one way or the other. No code: it was killed.
    pub fn over(mut self) -> (Option<i32>, Ran) {
        // Whatever it says from now on is read, so that it never waits for us.
        while let Ok(line) = self.lines.recv() {
            self.seen.push(line);
        }
        let status = self.child.wait().unwrap();
        let mut err = String::new();
        if let Some(mut errors) = self.errors.take() {
            errors.read_to_string(&mut err).unwrap();
        }
        let out = self.seen.iter().map(|line| format!("{line}\n")).collect::<Vec<_>>().concat();
        (status.code(), Ran { code: status.code().unwrap_or(-1), out, err })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// Returns the tasks that a run has spoken of.
pub fn task_ids(lines: &[Value]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for line in lines {
        let one = [&line["task"]["node"]["id"], &line["task"]].into_iter().filter_map(Value::as_str);
        let all = line["snapshot"]["tasks"].as_array().into_iter().flatten();
        let all = all.filter_map(|task| task["node"]["id"].as_str());
        ids.extend(one.chain(all).map(str::to_owned));
    }
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Returns the processes on this machine that were started for one of these tasks: number and time of birth.
pub fn marked(tasks: &[String]) -> Vec<(u32, u64)> {
    let marks: Vec<String> = tasks.iter().map(|task| format!("{TASK_MARKER}={task}")).collect();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_ours = |pid: &u32| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|variable| marks.iter().any(|mark| mark.as_bytes() == variable))
    };
    numbers.filter(is_ours).filter_map(|pid| Some((pid, born(pid)?))).collect()
}

/// Returns when a process was born. Nothing: it is gone, or only waits to be buried.
pub fn born(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    if matches!(fields.next(), Some("Z" | "X")) {
        return None;
    }
    fields.nth(18)?.parse().ok()
}
