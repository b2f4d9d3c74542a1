//! `mxd mcp`, as a user types it.

#![allow(clippy::unwrap_used, reason = "a helper of tests may fail like a test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::mcp_support::scripted;

struct Machine {
    _folder: tempfile::TempDir,
    home: PathBuf,
    repo: PathBuf,
}

struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Machine {
    /// A registered repository that asks for `repo`, and a user who has `global`.
    fn new(global: &Value, repo: impl FnOnce(&Path) -> Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let this = Self { _folder: folder, home: base.join("home"), repo: base.join("repo") };
        let git = git2::Repository::init(&this.repo).unwrap();
        let author = git2::Signature::now("a", "a@example.com").unwrap();
        let tree = git.find_tree(git.treebuilder(None).unwrap().write().unwrap()).unwrap();
        git.commit(Some("HEAD"), &author, &author, "start", &tree, &[]).unwrap();
        assert_eq!(this.mxd(&["init"]).code, 0);
        std::fs::write(this.home.join("config.json"), json!({"mcpServers": global}).to_string()).unwrap();
        std::fs::write(this.repo.join(".mxd/config.json"), json!({"mcpServers": repo(&base)}).to_string()).unwrap();
        this
    }

    fn mxd(&self, args: &[&str]) -> Said {
        let output = Command::new(env!("CARGO_BIN_EXE_mxd"))
            .args(args)
            .current_dir(if self.repo.exists() { &self.repo } else { Path::new("/") })
            .env("MXD_HOME", &self.home)
            .env("HOME", &self.home)
            .env_remove("ANTHROPIC_API_KEY")
            .env_remove("OPENAI_API_KEY")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Said {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn json(&self, args: &[&str]) -> (i32, Vec<Value>) {
        let said = self.mxd(args);
        (said.code, said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }
}

#[test]
fn list_shows_every_server_its_state_and_no_secret() {
    let global = json!({
        "far": {"url": "https://user:pass-word@example.com/mcp", "headers": {"Authorization": "Bearer abcdefgh-ijklmnop"}},
        "off": {"command": "x", "args": ["--token", "hush-hush"], "disabled": true},
    });
    let machine = Machine::new(&global, |base| json!({"box": scripted("normal", base)}));
    let said = machine.mxd(&["mcp", "list"]);
    assert_eq!(said.code, 0, "{}", said.err);
    for line in ["box  repo  needs approval", "far  global  active", "off  global  disabled", "mxd mcp approve box"] {
        assert!(said.out.contains(line), "{line}: {}", said.out);
    }
    let all = said.out + &machine.mxd(&["mcp", "list", "--json"]).out;
    for secret in ["pass-word", "abcdefgh", "hush-hush", "opensesame"] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
    let (_, lines) = machine.json(&["mcp", "list", "--json"]);
    let states: Vec<&str> = lines.iter().map(|line| line["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["needs approval", "active", "disabled"]);
}

#[test]
fn a_servers_approval_shows_all_and_must_be_given() {
    let machine = Machine::new(&json!({}), |base| json!({"box": scripted("normal", base)}));
    let (code, lines) = machine.json(&["mcp", "test", "--json"]);
    assert_eq!((code, lines[0]["state"].as_str()), (0, Some("needs_approval")), "not started, and nothing failed");

    let said = machine.mxd(&["mcp", "approve", "box"]);
    assert_eq!(said.code, 3, "nobody is there to ask");
    assert!(said.err.contains("--yes"), "{}", said.err);
    assert!(said.out.contains("opensesame-42") && said.out.contains("argument: \"--exact\""), "{}", said.out);

    assert_eq!(machine.mxd(&["mcp", "approve", "nobody", "--yes"]).code, 3);
    let said = machine.mxd(&["mcp", "approve", "box", "--yes"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let (code, lines) = machine.json(&["mcp", "test", "box", "--json"]);
    assert_eq!((code, lines[0]["state"].as_str()), (0, Some("ready")), "{lines:?}");
    assert!(lines[0]["tools"].as_array().unwrap().contains(&json!("echo")));
    assert!(machine.mxd(&["mcp", "approve", "box"]).out.contains("nothing changed"));

    let path = machine.repo.join(".mxd/config.json");
    let changed = std::fs::read_to_string(&path).unwrap().replace("opensesame-42", "another-one");
    std::fs::write(&path, changed).unwrap();
    let (_, lines) = machine.json(&["mcp", "list", "--json"]);
    assert_eq!(lines[0]["state"], "needs approval", "a changed entry needs a new approval");
}

#[test]
fn test_says_what_works_and_what_does_not_and_leaves_nothing_running() {
    let folder = tempfile::tempdir().unwrap();
    let global = json!({
        "good": scripted("normal", folder.path()), "bad": scripted("crash", folder.path()),
        "absent": {"command": "no-such-program-anywhere"},
    });
    let machine = Machine::new(&global, |_| json!({}));
    let said = machine.mxd(&["mcp", "test"]);
    assert_eq!(said.code, 1);
    for line in [
        "good  ready, 19 tools",
        "  echo",
        "bad  failed",
        "exit code 3",
        "cannot find my configuration",
        "absent  failed",
    ] {
        assert!(said.out.contains(line), "{line}: {}", said.out);
    }
    assert!(!said.out.contains("opensesame"), "{}", said.out);
    assert!(!said.out.contains("tried again"), "nobody does after a test: {}", said.out);
    let notes = std::fs::read_to_string(folder.path().join("notes")).unwrap();
    // Two servers write into one file, so their line ends may come late.
    let pids: Vec<i32> =
        notes.split("start ").filter_map(|rest| rest.split_whitespace().next()?.parse().ok()).collect();
    assert!(pids.len() >= 2 && !pids.into_iter().any(crate::tools_support::runs), "{notes}");
    assert_eq!(machine.mxd(&["mcp", "test", "good"]).code, 0);
    assert_eq!(machine.mxd(&["mcp", "test", "nobody"]).code, 3);
}
