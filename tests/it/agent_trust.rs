//! What an agent's tools and processes cannot reach: the user's keys, other projects' settings, and the commands by which
//! an agent would raise its own limits.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli_support::{Project, World};
use crate::engine_support::{bash, call, play, root, say};

const MXD: &str = env!("CARGO_BIN_EXE_mxd");
/// Not a word that stands in any text by chance.
const KEY: &str = "key-of-the-user-0123456789abcdef";

/// Returns everything that is kept of a project's conversations: sessions and blobs.
fn kept(project: &Project<'_>) -> String {
    let mut text = String::new();
    for folder in [project.folder.sessions(), project.folder.blobs()] {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            text.push_str(&String::from_utf8_lossy(&fs::read(entry.path()).unwrap()));
        }
    }
    text
}

#[test]
fn an_agents_shell_cannot_change_settings_approve_or_answer() {
    let world = World::new();
    let data = world.data();
    let (data, path) = (data.display(), std::env::var("PATH").unwrap());
    let clean = format!("env -i PATH='{path}' HOME=\"$HOME\" MXD_HOME='{data}'");
    let set = format!("{MXD} config set --global budgetUsd 100");
    let script = format!(
        "export MXD_HOME='{data}'
         {set} 2>/dev/null; echo plain=$?
         {clean} {set} 2>/dev/null; echo cleared=$?
         (exec {clean} {set} 2>/dev/null); echo replaced=$?
         setsid -w {clean} {set} 2>/dev/null; echo session=$?
         nohup {set} >/dev/null 2>&1; echo nohup=$?
         unset MXD_TASK MXD_RUN MXD_GUARDED; {set} 2>/dev/null; echo unset=$?
         (MXD_GUARDED=/nowhere {set} 2>/dev/null); echo forged=$?
         (({clean} sh -c 'sleep 0.2; {set} 2>/dev/null; echo $? > orphan' &) &); sleep 0.1
         until [ -s orphan ]; do sleep 0.05; done; echo orphan=$(cat orphan)
         for c in 'mcp approve x --yes' 'answer 01ARZ3ND 1' 'task new x --budget 5' 'send 01ARZ3ND x' 'run x' 'stop' 'init'; do
           {MXD} $c </dev/null >/dev/null 2>said; echo \"$c=$?\"
         done; cat said
         for c in tree cost 'config list' asks help projects; do {MXD} $c >/dev/null 2>&1; echo \"$c=$?\"; done"
    );
    // Another data folder is nobody's business: the tests of this program run inside of it.
    let other = format!("MXD_HOME='{data}/../other' {set}; echo other=$?");
    play(&world, json!([root(json!([bash(&script), say("I could not."), bash(&other), say("Done.")]))]));
    let project = world.project("app");
    let ran = project.run(["Raise your budget."]);
    assert_eq!(ran.code, 0, "{ran:?}");
    // As it stands in the session, where a line break is written as two characters.
    let log = kept(&project);
    let refused = ["plain", "cleared", "replaced", "session", "nohup", "unset", "forged", "orphan"];
    for how in refused.iter().chain(&["mcp approve x --yes", "answer 01ARZ3ND 1", "task new x --budget 5"]) {
        assert!(log.contains(&format!("{how}=4\\n")), "{how}: {log}");
    }
    for how in ["send 01ARZ3ND x", "run x", "stop", "init"] {
        assert!(log.contains(&format!("{how}=4\\n")), "{how}: {log}");
    }
    for how in ["tree", "cost", "config list", "asks", "help", "projects"] {
        assert!(log.contains(&format!("{how}=0")), "{how}: {log}");
    }
    assert!(log.contains("an agent's process may not do that"), "{log}");
    let settings: Value = serde_json::from_str(&fs::read_to_string(world.home().config()).unwrap()).unwrap();
    assert_eq!(settings.get("budgetUsd"), None, "nothing was changed");
    // The user is not an agent.
    project.mxd(["config", "set", "--global", "budgetUsd", "100"]).ok();
    assert_eq!(project.run(["Try another one."]).code, 0);
    assert!(kept(&project).contains("other=0"), "{}", kept(&project));
}

#[test]
fn file_tools_read_no_credentials_and_no_other_project() {
    const SECRET: &str = "TOPSECRET-0987654321";
    let world = World::new();
    let home = world.home_folder();
    let other = world.project("other");
    let mut places: Vec<PathBuf> = vec![
        home.join(".ssh/id_ed25519"),
        home.join(".netrc"),
        home.join(".aws/credentials"),
        home.join(".bash_history"),
        home.join(".cargo/credentials.toml"),
        world.data().join("logs/mxd.2026-01-01.log"),
        other.folder.config(),
        other.folder.root().join("sessions/x.jsonl"),
    ];
    for place in &places {
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, SECRET).unwrap();
    }
    let project = {
        play(&world, json!([]));
        world.project("app")
    };
    std::os::unix::fs::symlink(home.join(".ssh"), project.path.join("innocent")).unwrap();
    places.push(project.path.join("innocent/id_ed25519"));
    let files: Vec<Value> = places.iter().map(|path| json!({ "path": path })).collect();
    fs::write(home.join("notes.txt"), "plain notes").unwrap();
    play(
        &world,
        json!([root(json!([
            call("read_file", json!({ "files": files })),
            call("search", json!({ "pattern": "TOPSECRET", "path": world.root(), "hidden": true, "ignored": true })),
            call("list_files", json!({ "path": world.root(), "hidden": true, "ignored": true })),
            call(
                "edit_file",
                json!({ "path": project.folder.config(), "edits": [{ "old_string": "a", "new_string": "b" }] })
            ),
            call("write_file", json!({ "path": world.home().config(), "content": "{}" })),
            call("read_file", json!({ "files": [{ "path": home.join("notes.txt") }] })),
            say("I have looked."),
        ]))]),
    );
    let ran = project.run(["Look around."]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let log = kept(&project);
    assert!(!log.contains(SECRET), "{log}");
    assert!(log.matches("may not be read: it can hold credentials").count() >= places.len(), "{log}");
    assert!(!log.contains("id_ed25519\\n") && !log.contains(".netrc\\n"), "not even listed: {log}");
    assert!(log.contains("plain notes"), "what is not secret is read: {log}");
    assert!(fs::read_to_string(world.home().config()).unwrap().contains("scripted"), "the settings are as they were");
}

#[test]
fn a_key_is_masked_by_its_value_whatever_it_is_called() {
    let world = World::new();
    let script = "env | sort; cat notes.txt; yes \"$(cat notes.txt)\" | head -n 3000";
    play(
        &world,
        json!([root(json!([
            bash(script),
            call("read_file", json!({ "files": [{ "path": "notes.txt" }] })),
            say("I saw.")
        ]))]),
    );
    let project = world.project("app");
    fs::write(project.path.join("notes.txt"), format!("the key is {KEY}, they say\n")).unwrap();
    let config = world.home().config();
    let mut settings: Value = serde_json::from_str(&fs::read_to_string(&config).unwrap()).unwrap();
    settings["authGroups"]["unused"] = json!({ "provider": "openai", "apiKey": KEY });
    settings["defaultAuth"] = json!("s");
    fs::write(&config, settings.to_string()).unwrap();
    let mut command = world.mxd_command(&project.path);
    command.env("INNOCENT", KEY).env("WRAPPED", format!("x{KEY}y")).env("PLAIN", "plain-value");
    let output = command.args(["run", "Look at the environment."]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let (log, said) = (kept(&project), String::from_utf8_lossy(&output.stdout).into_owned());
    assert!(!log.contains(KEY) && !said.contains(KEY), "{log}");
    assert!(!log.contains("INNOCENT=") && !log.contains("WRAPPED=") && log.contains("PLAIN=plain-value"), "{log}");
    assert!(log.contains("the key is ****, they say"), "{log}");
    let exported = project.mxd(["export", &project.id("orchestrator")]).ok();
    assert!(!exported.contains(KEY), "{exported}");
}

#[test]
fn an_old_session_with_a_key_in_it_is_shown_and_exported_masked() {
    let world = World::new();
    play(&world, json!([root(json!([say("Hello.")]))]));
    let project = world.project("app");
    let ran = project.run([format!("My key is {KEY}.").as_str()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = project.id("orchestrator");
    assert!(project.mxd(["log", &id]).ok().contains(KEY), "nobody knows yet that it is one");
    project
        .mxd(["config", "set", "authGroups.unused", &json!({ "provider": "openai", "apiKey": KEY }).to_string()])
        .ok();
    let file = world.root().join("page.md");
    for args in
        [&["log", &id][..], &["log", &id, "--json"], &["export", &id], &["export", &id, "-o", file.to_str().unwrap()]]
    {
        let ran = project.mxd(args);
        assert!(ran.code == 0 && !ran.out.contains(KEY), "{args:?}: {ran:?}");
    }
    assert!(!fs::read_to_string(file).unwrap().contains(KEY));
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn folders_and_logs_in_the_data_folder_are_private_also_those_of_earlier_versions() {
    let world = World::new();
    play(&world, json!([root(json!([bash("true"), say("Done.")]))]));
    let project = world.project("app");
    let logs = world.data().join("logs");
    fs::create_dir_all(&logs).unwrap();
    fs::write(logs.join("mxd.2026-01-01.log"), "").unwrap();
    for (path, open) in [(&logs, 0o755), (&logs.join("mxd.2026-01-01.log"), 0o644)] {
        fs::set_permissions(path, fs::Permissions::from_mode(open)).unwrap();
    }
    fs::create_dir_all(project.folder.root().join("inbox")).unwrap();
    fs::set_permissions(project.folder.root().join("inbox"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(project.run(["Do it."]).code, 0);
    for name in ["hooks", "worktrees", "inbox", "sessions"] {
        assert_eq!(mode(&project.folder.root().join(name)), 0o700, "{name}");
    }
    assert_eq!((mode(&logs), mode(&logs.join("mxd.2026-01-01.log"))), (0o700, 0o600));
}

#[test]
fn as_root_a_key_is_said_to_be_within_reach() {
    let world = World::new();
    play(&world, json!([root(json!([say("Done."), say("Done.")]))]));
    let project = world.project("app");
    let run = |goal: &str| {
        let output = world.mxd_command(&project.path).env("OPENAI_API_KEY", KEY).args(["run", goal]).output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(run("Once.").contains("runs as root"), is_root);
    assert!(!run("Twice.").contains("runs as root"), "once is enough");
    let output =
        world.mxd_command(&project.path).env("OPENAI_API_KEY", KEY).args(["doctor", "--offline"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).contains("runs as root"), is_root);
    assert!(!project.mxd(["doctor", "--offline"]).out.contains("runs as root"), "without a key nothing is at risk");
}

#[test]
fn a_token_in_the_address_of_a_tool_server_is_not_in_the_log() {
    const TOKEN: &str = "tok-abcdefgh-1234";
    const PART: &str = "0123456789abcdef01234567";
    let world = World::new();
    play(&world, json!([root(json!([say("Done.")]))]));
    let project = world.project("app");
    let config = world.home().config();
    let mut settings: Value = serde_json::from_str(&fs::read_to_string(&config).unwrap()).unwrap();
    let url = format!("http://127.0.0.1:9/{PART}/mcp?api_key={TOKEN}");
    settings["mcpServers"] = json!({ "far": { "url": url, "headers": { "Authorization": format!("Bearer {KEY}") } } });
    fs::write(&config, settings.to_string()).unwrap();
    let output = world.mxd_command(&project.path).env("MXD_LOG", "debug").args(["mcp", "test"]).output().unwrap();
    let run = world.mxd_command(&project.path).env("MXD_LOG", "debug").args(["run", "Go."]).output().unwrap();
    let mut said = format!("{output:?}{run:?}");
    let logs: Vec<PathBuf> = fs::read_dir(world.data().join("logs")).unwrap().map(|log| log.unwrap().path()).collect();
    assert!(!logs.is_empty());
    for log in &logs {
        assert_eq!(mode(log), 0o600, "{}", log.display());
        said.push_str(&fs::read_to_string(log).unwrap());
    }
    for secret in [TOKEN, PART, KEY] {
        let at = said.find(secret).map(|at| said[at.saturating_sub(200)..].chars().take(400).collect::<String>());
        assert_eq!(at, None, "{secret}");
    }
}
