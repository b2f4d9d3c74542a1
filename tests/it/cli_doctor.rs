//! `mxd doctor`: what it finds, that it changes nothing, and that every remedy it names cures what it was named for.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::cli_support::{Project, World, json_lines};
use crate::engine_support::{PATIENCE, bash, play, root, say};

/// Returns what `mxd doctor` says in `cwd`.
fn findings(world: &World, cwd: &Path, args: &[&str]) -> Vec<Value> {
    let ran = world.mxd(cwd, ["doctor", "--json"].iter().chain(args));
    let findings = json_lines(&ran.out);
    let has_error = findings.iter().any(|finding| finding["level"] == "error");
    assert_eq!((ran.code, ran.err.as_str()), (i32::from(has_error), ""), "{ran:?}");
    findings
}

/// Returns the finding of `check` whose text contains `says`.
fn found<'f>(findings: &'f [Value], check: &str, says: &str) -> Option<&'f Value> {
    findings.iter().find(|finding| finding["check"] == check && finding["text"].as_str().unwrap().contains(says))
}

/// Runs every remedy of a finding, with `words` for what only the user knows, and returns what doctor says then.
#[track_caller]
fn cure(world: &World, cwd: &Path, args: &[&str], (check, says): (&str, &str), words: &[(&str, &str)]) -> Vec<Value> {
    let before = findings(world, cwd, args);
    let sick = found(&before, check, says).unwrap_or_else(|| panic!("no {check:?} with {says:?} in {before:#?}"));
    assert_ne!(sick["level"], "ok", "{sick}");
    let remedies: Vec<&str> =
        sick["remedies"].as_array().unwrap().iter().filter_map(|remedy| remedy["run"].as_str()).collect();
    assert!(!remedies.is_empty(), "{sick}");
    for remedy in remedies {
        let line = words.iter().fold(remedy.to_owned(), |line, (word, meant)| line.replace(word, meant));
        let ran = world.paste(cwd, &line);
        assert_eq!(ran.code, 0, "`{line}`: {ran:?}");
    }
    let after = findings(world, cwd, args);
    let still = found(&after, check, says).filter(|finding| finding["level"] != "ok");
    assert!(still.is_none(), "{still:?} is still there");
    after
}

fn settings(world: &World, settings: &Value) -> PathBuf {
    let file = world.home().config();
    fs::create_dir_all(world.data()).unwrap();
    fs::set_permissions(world.data(), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(&file, settings.to_string()).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    file
}

/// A project in which nothing is wrong.
fn healthy(world: &World) -> Project<'_> {
    play(world, json!([root(json!([bash("sleep 300"), say("Over.")]))]));
    fs::set_permissions(world.data(), fs::Permissions::from_mode(0o700)).unwrap();
    world.git(&world.root(), ["config", "--global", "user.name", "Ann"]);
    world.git(&world.root(), ["config", "--global", "user.email", "ann@example.org"]);
    world.project("app")
}

/// Returns every file below `folder` with its content and the time it was last written.
fn everything(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut files = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        let meta = path.symlink_metadata().unwrap();
        if meta.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let content = if meta.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        files.insert(path, (content, meta.modified().unwrap()));
    }
    files
}

/// A server that lists models to whoever has the key `right`.
fn endpoint(models: Value) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
            let (status, body) = if head.contains("Bearer right") {
                ("200 OK", json!({ "data": models }))
            } else {
                ("401 Unauthorized", json!({ "error": { "message": "no such key" } }))
            };
            let body = body.to_string();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes());
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = reader.take(1).read_to_end(&mut Vec::new());
        }
    });
    address
}

fn server_settings(address: SocketAddr, key: &str, model: &str) -> Value {
    let group = json!({ "provider": "openai", "apiKey": key, "baseUrl": format!("http://{address}/v1") });
    json!({ "authGroups": { "main": group }, "model": model })
}

#[test]
fn where_nothing_is_wrong_everything_is_ok_and_nothing_is_changed() {
    let world = World::new();
    let project = healthy(&world);
    let before = everything(&world.root());
    let out = project.mxd(["doctor"]).ok();
    assert!(out.ends_with("no problems found\n"), "{out}");
    for finding in findings(&world, &project.path, &[]) {
        // The output of a test is no terminal.
        let wanted = if finding["check"] == "terminal" { "note" } else { "ok" };
        assert_eq!(finding["level"], wanted, "{finding}");
    }
    assert!(before == everything(&world.root()), "doctor changed a file");
}

#[test]
fn it_works_outside_of_a_repository_and_before_anything_was_kept_and_makes_nothing() {
    let world = World::new();
    let folder = world.folder("nowhere");
    let found_there = findings(&world, &folder, &["--offline"]);
    assert!(found(&found_there, "version", env!("CARGO_PKG_VERSION")).is_some(), "{found_there:?}");
    assert!(found(&found_there, "provider", "no model provider is configured").is_some(), "{found_there:?}");
    assert!(!world.data().exists());
    cure(&world, &folder, &["--offline"], ("project", "not inside a git repository"), &[]);
    cure(&world, &folder, &["--offline"], ("project", "has no commit yet"), &[]);
    world.git(&folder, ["checkout", "-q", "--detach"]);
    cure(&world, &folder, &["--offline"], ("project", "detached"), &[("<branch>", "-c main2")]);
}

#[test]
fn of_a_bare_repository_a_clone_is_made_by_what_it_says() {
    let world = World::new();
    let source = world.repository("app");
    world.git(&world.root(), ["clone", "-q", "--bare", source.to_str().unwrap(), "it's bare.git"]);
    let bare = world.root().join("it's bare.git");
    let said = findings(&world, &bare, &["--offline"]);
    let finding = found(&said, "project", "is a bare repository").unwrap();
    let remedy = finding["remedies"][0]["run"].as_str().unwrap();
    let cloned = world.paste(&world.root(), &remedy.replace("FOLDER", "clone"));
    assert_eq!(cloned.code, 0, "{cloned:?}");
    let said = findings(&world, &world.root().join("clone"), &["--offline"]);
    assert!(found(&said, "project", "is not registered yet").is_some(), "{said:?}");
}

#[test]
fn wrong_settings_are_cured_by_what_it_says() {
    let world = World::new();
    let project = healthy(&world);
    let here = &project.path;
    for (wrong, says) in [
        (json!({ "maxDepth": "many", "model": "x" }), "maxDepth must be"),
        (json!({ "authGroups": { "main": { "apiKey": "sk-1" } } }), "authGroups.main has no \"provider\""),
        (json!({ "defaultAuth": "gone", "authGroups": { "s": { "provider": "scripted" } } }), "names the auth group"),
    ] {
        settings(&world, &wrong);
        cure(&world, here, &["--offline"], ("settings", says), &[]);
    }
    let file = settings(&world, &json!({ "authGroups": { "a": { "provider": "anthropic", "apiKey": "sk-1" } } }));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    cure(&world, here, &["--offline"], ("settings", "readable by other users"), &[]);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    fs::write(&file, "{ not json").unwrap();
    let broken = findings(&world, here, &["--offline"]);
    assert_eq!(found(&broken, "settings", "invalid JSON").unwrap()["level"], "error");
}

#[test]
fn a_provider_is_set_up_by_what_it_says() {
    let world = World::new();
    let project = healthy(&world);
    settings(&world, &json!({}));
    let before = findings(&world, &project.path, &["--offline"]);
    let none = found(&before, "provider", "no model provider is configured").unwrap();
    let remedies: Vec<&str> =
        none["remedies"].as_array().unwrap().iter().map(|remedy| remedy["run"].as_str().unwrap()).collect();
    // The first is for a shell; the others say it for good.
    let [exported, rest @ ..] = remedies.as_slice() else { panic!("{none}") };
    let ran = world.paste(&project.path, &format!("{exported}; mxd doctor --json --offline"));
    assert!(ran.out.contains("env-anthropic") && !ran.out.contains("no model provider"), "{ran:?}");
    assert_eq!(rest.len(), 2, "{none}");
    cure(
        &world,
        &project.path,
        &["--offline"],
        ("provider", "no model provider is configured"),
        &[("=KEY", "=sk-1"), (" KEY", " sk-1")],
    );
}

#[test]
fn a_key_an_address_and_a_model_that_are_wrong_are_cured_by_what_it_says() {
    let world = World::new();
    let project = healthy(&world);
    let here = &project.path;
    let address = endpoint(json!([{ "id": "odd-one" }, { "id": "told", "context_length": 32_000 }]));
    settings(&world, &server_settings(address, "wrong", "told"));
    let after = cure(&world, here, &[], ("provider", "rejected the key"), &[("KEY", "right")]);
    assert_eq!(found(&after, "provider", "reachable, 2 models").unwrap()["level"], "ok");
    assert_eq!(found(&after, "model", "told at main: context window of 32000 tokens").unwrap()["level"], "ok");

    project.mxd(["config", "set", "model", "odd-one"]).ok();
    cure(&world, here, &[], ("model", "unknown context window"), &[("TOKENS", "64000")]);
    project.mxd(["config", "set", "model", "gpt-5.2"]).ok();
    cure(&world, here, &[], ("model", "does not list the model"), &[]);

    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    settings(&world, &server_settings(nobody, "right", "told"));
    let right = format!("http://{address}/v1");
    cure(&world, here, &[], ("provider", "cannot reach"), &[("ADDRESS", &right)]);
}

#[test]
fn tool_servers_are_cured_by_what_it_says_and_none_is_started() {
    let world = World::new();
    let project = healthy(&world);
    let here = &project.path;
    let touched = world.root().join("touched");
    let servers = json!({
        "lost": { "command": "no-such-program-anywhere" },
        "homeless": { "command": "true", "cwd": "not there" },
        "fine": { "command": "touch", "args": [touched] },
    });
    settings(&world, &json!({ "authGroups": { "s": { "provider": "scripted" } }, "mcpServers": servers }));
    let repo = here.join(".mxd/config.json");
    fs::write(&repo, json!({ "mcpServers": { "asked": { "command": "true" } } }).to_string()).unwrap();
    cure(&world, here, &["--offline"], ("tool server", "lost: program"), &[]);
    cure(&world, here, &["--offline"], ("tool server", "homeless: the folder"), &[]);
    cure(
        &world,
        here,
        &["--offline"],
        ("tool server", "asked: requested by the repository"),
        &[("approve", "approve --yes")],
    );
    assert!(!touched.exists(), "a server was started");
}

#[test]
fn the_machine_is_cured_by_what_it_says() {
    let world = World::new();
    let project = healthy(&world);
    let here = &project.path;
    fs::set_permissions(world.data(), fs::Permissions::from_mode(0o755)).unwrap();
    cure(&world, here, &[], ("data folder", "readable by other users"), &[]);

    world.git(&world.root(), ["config", "--global", "--unset", "user.email"]);
    cure(
        &world,
        here,
        &[],
        ("project", "has no user.name or user.email"),
        &[("NAME", "Ann"), ("EMAIL", "a@example.org")],
    );

    let lock = File::create(here.join(".git/index.lock")).unwrap();
    assert!(found(&findings(&world, here, &[]), "project", "index.lock").is_none(), "somebody may be at work");
    lock.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    drop(lock);
    cure(&world, here, &[], ("project", "index.lock"), &[]);
    let lock = File::create(here.join(".git/packed-refs.lock")).unwrap();
    lock.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    if cfg!(target_os = "linux") {
        assert!(found(&findings(&world, here, &[]), "project", "packed-refs.lock").is_none(), "somebody has it open");
        drop(lock);
        cure(&world, here, &[], ("project", "packed-refs.lock"), &[]);
    }
    let linked = world.root().join("linked");
    world.git(here, ["worktree", "add", "--quiet", "-b", "linked", linked.to_str().unwrap()]);
    let lock = File::create(here.join(".git/worktrees/linked/index.lock")).unwrap();
    lock.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    drop(lock);
    cure(&world, here, &[], ("project", "worktrees/linked/index.lock"), &[]);

    let taken = world.root().join("taken");
    fs::write(&taken, "").unwrap();
    let ran = world.mxd_command(here).env("MXD_HOME", &taken).args(["doctor", "--json"]).output().unwrap();
    let said = json_lines(&String::from_utf8(ran.stdout).unwrap());
    assert_eq!(found(&said, "data folder", "is not a folder").unwrap()["level"], "error");
}

#[test]
#[cfg(target_os = "linux")]
fn a_suspended_process_is_named_and_continued_by_what_it_says() {
    let world = World::new();
    let project = healthy(&world);
    let mut running = project.start(&["Wait."]);
    running.until_it_works();
    let busy = findings(&world, &project.path, &[]);
    assert_eq!(found(&busy, "lock", &format!("locked by process {}", running.pid())).unwrap()["level"], "ok");
    running.signal(Signal::STOP);
    let stat = format!("/proc/{}/stat", running.pid());
    let is_stopped =
        || fs::read_to_string(&stat).is_ok_and(|stat| stat.rsplit(')').next().unwrap().trim_start().starts_with('T'));
    let deadline = Instant::now() + PATIENCE;
    while !is_stopped() {
        assert!(Instant::now() < deadline, "it was not suspended");
        std::thread::sleep(Duration::from_millis(5));
    }
    cure(&world, &project.path, &[], ("lock", "is suspended"), &[]);
    running.kill();
    cure(&world, &project.path, &[], ("leftovers", "of an earlier run"), &[]);
}

#[test]
fn what_earlier_runs_left_is_cured_by_what_it_says() {
    let world = World::new();
    let project = healthy(&world);
    let here = &project.path;
    project.mxd(["task", "new", "Any", "--draft"]).ok();
    let worktrees = project.folder.worktrees();
    for (folder, says) in
        [(".trash/old", "being deleted"), (".aside/odd", "could not be archived"), ("it's mine", "it's mine")]
    {
        fs::create_dir_all(worktrees.join(folder)).unwrap();
        fs::write(worktrees.join(folder).join("file"), "x").unwrap();
        cure(&world, here, &[], ("leftovers", says), &[]);
    }
    let demo = world.temporary().join("mxd-demo-killed");
    fs::create_dir(&demo).unwrap();
    fs::write(demo.join("in-use"), "").unwrap();
    cure(&world, here, &[], ("leftovers", "demos that were killed"), &[]);
    assert!(!demo.exists());
    fs::write(project.folder.tree(), "{").unwrap();
    cure(&world, here, &[], ("files", "tree.json"), &[]);
}
