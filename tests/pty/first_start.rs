//! The first start: from an empty home to an answer, with a key or with a server on this machine; every page can be
//! skipped; a folder without git becomes a repository.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::product::{git, mxd};
use crate::support::world::example;
use crate::support::{Session, World};

const KEY: &str = "sk-ant-the-only-key-that-is-let-in";
const ANSWER: &str = "It is a calculator, and there are no tests yet.";

/// The mock model API as a program of its own: it holds every request to the vendors' rules.
struct Mock {
    child: Child,
    url: String,
}

impl Mock {
    fn start(world: &World) -> Self {
        let script = json!({ "api_key": KEY, "turns": [{ "say": [{ "text": ANSWER }] }] });
        let file = world.path("mock.json");
        std::fs::write(&file, script.to_string()).unwrap();
        let mut command = Command::new(example("mock-server"));
        let mut child = command.arg(file).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").expect("it says where it is").to_owned();
        Self { child, url }
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A machine on which nothing was set up, with a repository in which a program is started.
fn empty() -> World {
    let world = World::new().within("calc");
    git(&world, &["init", "-q", "-b", "main"]);
    git(&world, &["commit", "-q", "--allow-empty", "-m", "start"]);
    alone(world)
}

/// Nobody's own servers answer for the test's.
fn alone(world: World) -> World {
    world.with("OLLAMA_HOST", "127.0.0.1:9").with("MXD_LOCAL_SERVERS", "ollama")
}

/// Counts what a user presses.
struct Fingers {
    session: Session,
    presses: usize,
}

impl Fingers {
    fn press(&mut self, keys: &str) {
        self.presses += keys.split(' ').count();
        self.session.press(keys);
    }
}

fn config(world: &World) -> Value {
    serde_json::from_str(&std::fs::read_to_string(world.path("data/config.json")).unwrap()).unwrap()
}

#[test]
fn an_empty_home_is_six_presses_and_a_key_away_from_an_answer() {
    let world = empty();
    let mock = Mock::start(&world);
    let world = world.with("ANTHROPIC_BASE_URL", &mock.url);
    let session = Session::start(&world, mxd(), &[], 100, 30);
    let mut fingers = Fingers { session, presses: 0 };
    for said in ["Matrix runs a tree of coding agents", "step 1 of 4", "Which provider do you want to use?"] {
        fingers.session.wait_for_text(said);
    }
    fingers.press("enter");
    fingers.session.wait_for_text(": API key");
    fingers.session.send(format!("\x1b[200~{KEY}\x1b[201~").as_bytes());
    fingers.session.wait_for_text("***");
    fingers.press("enter");
    fingers.session.wait_for_text("Which model do you want to use?");
    fingers.press("enter");
    fingers.session.wait_for_text("Budget per task");
    fingers.press("enter");
    fingers.session.wait_for_text("What is this repository about");
    fingers.press("enter");
    fingers.session.wait_for_text(ANSWER);
    assert!(fingers.presses <= 6, "{} presses", fingers.presses);
    let session = fingers.session;
    let ended = session.quit();
    assert_eq!(ended.code, 0);
    assert_eq!(ended.traffic.count("the-only-key"), 0, "the key was never on the screen");

    let kept = config(&world);
    assert_eq!(kept["authGroups"]["main"]["provider"], "anthropic");
    assert_eq!(kept["authGroups"]["main"]["apiKey"], KEY);
    assert_eq!(kept["model"], "claude-sonnet-4-6");
    let mode = std::fs::metadata(world.path("data/config.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let status = world.command("git").args(["status", "--porcelain"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&status.stdout), "", "nothing is written into the repository");
    // The next start asks nothing.
    let session = Session::start(&world, mxd(), &[], 100, 30);
    session.wait_for_text(ANSWER);
    session.quit().assert_restored(1);
}

#[test]
fn a_key_that_is_not_accepted_is_said_at_once_and_can_be_mended() {
    let world = empty();
    let mock = Mock::start(&world);
    let world = world.with("ANTHROPIC_BASE_URL", &mock.url);
    let mut session = Session::start(&world, mxd(), &[], 100, 30);
    session.wait_for_text("Which provider do you want to use?");
    session.press("enter");
    session.wait_for_text(": API key");
    session.send(b"sk-wrong\r");
    session.wait_for("a sentence about the key", |screen| {
        let text = crate::support::picture::text(screen).to_lowercase();
        text.contains("rejected this key")
            && (text.contains("invalid") || text.contains("credential") || text.contains("401"))
    });
    session.press("ctrl-u");
    session.send(format!("{KEY}\r").as_bytes());
    session.wait_for_text("Which model do you want to use?");
    // What was tried and works is kept, whatever else is skipped.
    session.press("tab");
    session.wait_for_text("What is this repository about");
    session.press("ctrl-c ctrl-q");
    session.wait_for_end().assert_restored(2);
    assert_eq!(config(&world)["authGroups"]["main"]["apiKey"], KEY);
    assert_eq!(config(&world)["model"], Value::Null);
}

#[test]
fn a_rejected_key_is_changed_where_it_is_asked_for_and_the_work_goes_on() {
    let world = empty();
    let mock = Mock::start(&world);
    let world = world.with("ANTHROPIC_BASE_URL", &mock.url).with("ANTHROPIC_API_KEY", "sk-wrong");
    let mut session = Session::start(&world, mxd(), &[], 100, 30);
    // With a key in the environment the first goal is offered, too.
    session.wait_for_text("What is this repository about");
    session.press("enter");
    session.wait_for_text("The provider rejected the API key (401)");
    session.wait_for_text("1 Change the key");
    session.press("ctrl-n 1");
    session.wait_for_text("Anthropic: API key");
    session.send(format!("\x1b[200~{KEY}\x1b[201~\r").as_bytes());
    session.wait_for_text(ANSWER);
    assert_eq!(session.quit().code, 0);
    assert_eq!(config(&world)["authGroups"]["main"]["apiKey"], KEY);
}

#[test]
fn an_unknown_model_is_replaced_by_one_of_the_list() {
    let world = empty();
    let mock = Mock::start(&world);
    let world = world.with("ANTHROPIC_BASE_URL", &mock.url).with("ANTHROPIC_API_KEY", KEY);
    std::fs::create_dir(world.path("data")).unwrap();
    std::fs::write(world.path("data/config.json"), json!({ "model": "claude-sonnet-4-9" }).to_string()).unwrap();
    let mut session = Session::start(&world, mxd(), &[], 100, 30);
    session.wait_for_text("What is this repository about");
    session.press("enter");
    session.wait_for_text("1 Use claude-sonnet");
    // A digit that was typed as the question appeared is text, and Enter sends it.
    session.send(b"1\r");
    session.wait_for_text(ANSWER);
    session.quit().assert_restored(1);
}

#[test]
fn everything_is_skipped_with_one_key_and_can_be_asked_for_later() {
    let world = empty();
    let mut session = Session::start(&world, mxd(), &[], 100, 30);
    session.wait_for_text("Which provider do you want to use?");
    session.press("esc");
    session.wait_for_text("No model is set up yet");
    assert!(!world.path("data/config.json").exists(), "nothing was written");
    session.send(b"/login");
    session.wait_for_text("Set up provider");
    session.press("enter");
    session.wait_for_text("Which provider do you want to use?");
    session.press("ctrl-c");
    let ended = session.wait_for_end();
    assert_eq!(ended.code, 0);
}

#[test]
fn a_folder_without_git_is_made_a_repository_with_one_key() {
    let world = alone(World::new().within("new"));
    std::fs::write(world.cwd().join("notes.txt"), "mine\n").unwrap();
    let mut session = Session::start(&world, mxd(), &[], 100, 30);
    session.wait_for_text("is not a git repository");
    session.press("enter");
    session.wait_for_text("Which provider do you want to use?");
    session.press("esc");
    session.wait_for_text("No model is set up yet");
    session.quit().assert_restored(2);
    let log = world.command("git").args(["log", "--format=%an %s"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&log.stdout), "A Person Start\n");
    let status = world.command("git").args(["status", "--porcelain"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&status.stdout), "?? notes.txt\n", "no file is touched");
}

#[test]
fn a_repository_without_a_commit_gets_its_first_with_one_key() {
    let world = alone(World::new().within("new"));
    git(&world, &["init", "-q", "-b", "trunk"]);
    std::fs::write(world.cwd().join("notes.txt"), "mine\n").unwrap();
    git(&world, &["add", "notes.txt"]);
    let mut session = Session::start(&world, mxd(), &[], 100, 30);
    session.wait_for_text("has no commits yet");
    session.press("enter");
    session.wait_for_text("Which provider do you want to use?");
    session.press("esc");
    session.wait_for_text("No model is set up yet");
    session.quit().assert_restored(2);
    let log = world.command("git").args(["log", "--format=%an %s %D"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&log.stdout), "A Person Start HEAD -> trunk\n");
    let status = world.command("git").args(["status", "--porcelain"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&status.stdout), "A  notes.txt\n", "what was staged still is");
}

#[test]
fn a_server_that_lists_no_models_is_set_up_with_a_name() {
    // Whatever it is asked, it does not know it.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    let world = empty();
    let mut session = Session::start(&world, mxd(), &[], 100, 30);
    session.wait_for_text("Which provider do you want to use?");
    session.press("down down enter");
    session.wait_for_text("Server URL");
    // Nobody is there: the sentence says where, and the way back is one key.
    session.send(b"\x1b[200~http://127.0.0.1:9\x1b[201~\r");
    session.wait_for_text(": API key");
    session.press("enter");
    session.wait_for_text("cannot reach http://127.0.0.1:9");
    session.press("esc");
    session.wait_for_text("Server URL");
    session.send(format!("\x1b[200~http://{address}\x1b[201~\r").as_bytes());
    session.wait_for_text(": API key");
    session.press("enter");
    session.wait_for_text("lists no models");
    session.send(b"my-model\r");
    session.wait_for_text("Budget per task");
    session.press("enter");
    session.wait_for_text("What is this repository about");
    session.press("ctrl-c ctrl-q");
    session.wait_for_end().assert_restored(2);
    assert_eq!(config(&world)["model"], "my-model");
    assert_eq!(config(&world)["authGroups"]["main"]["baseUrl"], format!("http://{address}"));
}

#[test]
fn lines_say_the_same_where_there_is_no_screen() {
    let world = empty();
    let plain = world.command(mxd()).arg("--plain").output().unwrap();
    let said = String::from_utf8(plain.stderr).unwrap();
    for words in ["Key in the environment: none", "Settings: no provider in", "Next: run `mxd` (or `mxd --plain`)"] {
        assert!(said.contains(words), "expected {words:?} in {said}");
    }
    assert_eq!(plain.status.code(), Some(0), "nothing was asked of it: {said}");
    let asked = world.command(mxd()).arg("--plain").stdin(piped(&world, "/tasks\nDo it.\n/tasks\n")).output().unwrap();
    let (out, said) = (String::from_utf8(asked.stdout).unwrap(), String::from_utf8(asked.stderr).unwrap());
    assert_eq!(asked.status.code(), Some(3), "{said}");
    assert!(said.contains("no model provider is configured"), "{said}");
    assert_eq!(
        out.matches("1. orchestrator").count(),
        1,
        "what needs no model is done, what comes behind is not: {out}"
    );
    let init = empty().command(mxd()).arg("init").output().unwrap();
    let said = String::from_utf8(init.stdout).unwrap();
    assert!(said.contains("is registered as") && said.contains("Key in the environment: none"), "{said}");
    let init = empty().command(mxd()).arg("init").env("OPENAI_API_KEY", "sk-x-0123456789").output().unwrap();
    let said = String::from_utf8(init.stdout).unwrap();
    assert!(
        said.contains("Key in the environment: OPENAI_API_KEY.") && said.contains("Next: run `mxd` and describe"),
        "{said}"
    );
    assert!(!said.contains("0123456789"), "{said}");
}

/// Starts without a screen and answers the first question.
fn in_lines(world: &World) -> Session {
    let mut session = Session::start(world, mxd(), &["--plain"], 100, 60);
    session.wait_for_text("Key in the environment: none");
    session.wait_for_text("1. Anthropic");
    session.wait_for_text("press Enter to skip");
    session.send(b"1\r");
    session.wait_for_text("(hidden)");
    session
}

#[test]
fn lines_ask_the_same_and_the_key_is_never_seen() {
    let world = empty();
    let mock = Mock::start(&world);
    let world = world.with("ANTHROPIC_BASE_URL", &mock.url);
    let mut session = in_lines(&world);
    session.send(b"sk-wrong\r");
    session.wait_for("the key to be refused", |screen| {
        crate::support::picture::text(screen).matches("(hidden)").count() == 2
    });
    session.send(format!("{KEY}\r").as_bytes());
    session.wait_for_text("Press Enter for claude-sonnet-4-6");
    session.send(b"\r");
    session.wait_for_text("Budget per task");
    session.send(b"2.50\r");
    session.wait_for_text("Matrix on calc");
    session.send(b"What is it?\r");
    session.wait_for_text(ANSWER);
    session.send(b"/quit\r");
    let ended = session.wait_for_end();
    assert_eq!((ended.code, ended.traffic.count("\x1b[")), (0, 0), "{}", ended.text);
    assert_eq!(ended.traffic.count("the-only-key") + ended.traffic.count("sk-wrong"), 0, "{}", ended.text);
    assert!(ended.text.contains("What is it?"), "what is not secret is seen: {}", ended.text);
    let kept = config(&world);
    assert_eq!((&kept["authGroups"]["main"]["apiKey"], &kept["model"]), (&KEY.into(), &"claude-sonnet-4-6".into()));
    let budget = world.command(mxd()).args(["config", "get", "budgetUsd"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&budget.stdout).trim(), "2.5");
}

#[test]
fn a_set_up_in_lines_that_is_skipped_or_cut_short_writes_nothing_and_can_be_asked_for_again() {
    let world = empty();
    let mut session = in_lines(&world);
    session.press("ctrl-c");
    session.wait_for_end().assert_same_line();
    let mut session = in_lines(&world);
    session.send(b"\r");
    session.wait_for_text("No model provider is configured.");
    session.send(b"Tell me more.\r");
    session.wait_for_text("queued until a model provider is configured");
    session.send(b"/set_up\r");
    session.wait_for("the first question again", |screen| {
        crate::support::picture::text(screen).matches("1. Anthropic").count() == 2
    });
    session.send(b"\r");
    session.wait_for("the talk again", |screen| {
        crate::support::picture::text(screen).matches("No model provider is configured").count() == 2
    });
    session.send(b"/quit\r");
    assert_eq!(session.wait_for_end().code, 0);
    assert!(!world.path("data/config.json").exists(), "nothing was written");
}

/// Returns a file with these lines, to be typed.
fn piped(world: &World, lines: &str) -> std::process::Stdio {
    let path = world.path("typed.txt");
    std::fs::write(&path, lines).unwrap();
    std::fs::File::open(path).unwrap().into()
}

#[test]
fn a_folder_without_git_is_made_a_repository_in_lines_too() {
    let world = alone(World::new().within("new"));
    let mut session = Session::start(&world, mxd(), &["--plain"], 100, 40);
    session.wait_for_text("is not a git repository");
    session.send(b"yes\r");
    session.wait_for_text("1. Anthropic");
    session.send(b"/quit\r");
    assert_eq!(session.wait_for_end().code, 0);
    assert!(world.cwd().join(".git").is_dir());
}
