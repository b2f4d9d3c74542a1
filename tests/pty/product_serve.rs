//! Several screens and commands on one engine, and an engine that outlives its screen.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::picture::text;
use crate::support::product::{bash, call, mxd, open, project, root, say};
use crate::support::sshd::Sshd;
use crate::support::{Session, World};

/// Waits until a file is there.
fn gate(name: &str) -> String {
    format!("echo {name} is shut; until [ -e ../{name} ]; do sleep 0.02; done; echo {name} is open")
}

fn open_gate(world: &World, name: &str) {
    std::fs::write(world.path(name), "").unwrap();
}

/// Runs a command of the shell. Returns its exit code and its output.
fn run(world: &World, arguments: &[&str]) -> (i32, String) {
    let output = world.command(mxd()).args(arguments).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

/// Stops the engine in the background when the test is over.
struct Background<'w>(&'w World);

impl Drop for Background<'_> {
    fn drop(&mut self) {
        let _ = self.0.command(mxd()).args(["serve", "stop"]).output();
    }
}

/// Returns the process that serves the project.
fn serving(world: &World) -> Value {
    let output = world.command(mxd()).args(["serve", "status", "--json"]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

#[test]
fn agents_that_are_kept_working_finish_in_the_background() {
    let world = project(&json!([root(&json!([bash(&gate("gate")), say("The gate was open.")]))]));
    let _background = Background(&world);
    let mut session = open(&world, 120, 40);
    session.say("Wait for the gate.");
    session.wait_for_text("gate is shut");
    // What is being written stays, too.
    session.send(b"A draft for later");
    session.wait_for_text("A draft for later");
    session.press("ctrl-q");
    session.wait_for_text("k keep working");
    session.press("k");
    session.wait_for_text("Waiting for 1 turn");
    open_gate(&world, "gate");
    let ended = session.wait_for_end();
    ended.assert_restored(1);
    assert_eq!(ended.code, 0);
    assert!(ended.text.contains("the agents keep working in the background"), "{}", ended.text);
    let again = Session::start(&world, mxd(), &[], 120, 40);
    again.wait_for_text("The gate was open.");
    again.wait_for_text("A draft for later");
    assert_eq!(run(&world, &["serve", "stop"]).0, 0);
    again.wait_for_end().assert_restored(1);
}

#[test]
fn a_hand_over_that_takes_too_long_can_be_interrupted() {
    let world = project(&json!([root(&json!([bash(&gate("gate")), say("The gate was open.")]))]));
    let _background = Background(&world);
    let mut session = open(&world, 120, 40);
    session.say("Wait for the gate.");
    session.wait_for_text("gate is shut");
    session.press("ctrl-q");
    session.wait_for_text("k keep working");
    session.press("enter");
    session.wait_for_text("Waiting for 1 turn");
    session.press("enter");
    assert_eq!(session.wait_for_end().code, 0);
    // The agent goes on in the background, and is told that its command was cut short.
    open_gate(&world, "gate");
    let again = open(&world, 120, 40);
    again.wait_for_text("The gate was open.");
    again.quit().assert_restored(1);
}

#[test]
fn a_screen_whose_engine_is_restarted_goes_on() {
    let world = project(&json!([root(&json!([say("Before."), say("After.")]))]));
    let _background = Background(&world);
    let mut session = open(&world, 120, 40);
    session.say("Begin.");
    session.wait_for_text("Before.");
    // The screen has the engine itself, and becomes a client of the next one.
    let own = serving(&world)["pid"].as_u64().unwrap();
    assert_eq!(run(&world, &["serve", "restart"]).0, 0);
    session.wait_until("another process to serve", || serving(&world)["pid"].as_u64().is_some_and(|pid| pid != own));
    let has_screen =
        |status: &Value| status["clients"].as_array().is_some_and(|all| all.iter().any(|it| it["kind"] == "screen"));
    session.wait_until("the screen to join", || has_screen(&serving(&world)));
    session.wait_for_text("Before.");
    session.wait_for_text("message ");
    session.say("Go on.");
    session.wait_for_text("After.");
    // Now it is a client, which stays where it is.
    let next = serving(&world)["pid"].as_u64();
    assert_eq!(run(&world, &["serve", "restart"]).0, 0);
    session.wait_until("another process to serve", || serving(&world)["pid"].as_u64() != next);
    session.say("Once more.");
    session.wait_for_text("I have read it.");
    session.quit().assert_restored(2);
}

#[test]
fn an_answer_says_on_the_other_screen_who_gave_it() {
    let question = json!({ "question": "Which greeting?", "choices": ["Good morning", "Ahoy"], "block": true });
    let world = project(&json!([root(&json!([call("clarify", &question), say("So be it.")]))])).with("USER", "maria");
    let mut first = open(&world, 120, 40);
    let second = open(&world, 120, 40);
    for session in [&first, &second] {
        session.wait_for_text("⧉ 2");
    }
    first.say("Greet me.");
    second.wait_for_text("Which greeting?");
    first.wait_for_text("Which greeting?");
    first.press("ctrl-n");
    first.wait_for_text("to choose, or type your answer");
    first.press("2");
    second.wait_for_glimpse("Answered by maria: Ahoy");
    second.wait_for_text("So be it.");
    // The question is gone here, and nothing is announced where it was answered.
    first.wait_for_text("So be it.");
    assert!(!first.text().contains("Answered by"), "{}", first.text());
    first.focus_tasks();
    first.press("g w");
    first.wait_for_text("who is here");
    first.press("esc");
    second.leave().assert_restored(1);
    first.wait_for("one client to be left", |screen| !text(screen).contains("⧉"));
    first.quit().assert_restored(1);
}

/// The rows of the tree on a screen, without what belongs to the screen alone.
fn tree(session: &Session) -> Vec<String> {
    let screen = session.text();
    let left = screen.lines().skip(1).filter_map(|line| line.split('│').next());
    let rows = left.take_while(|line| !line.contains('─')).map(|line| line.trim_end().to_owned());
    rows.filter(|line| !line.trim().is_empty()).collect()
}

/// Two screens and the command line change one project at random.
fn random_actions(actions: usize, seed: u64) {
    let slowly = json!({ "first_token_ms": 0, "chars_per_second": 300 });
    let story = "Streamed on both screens. ".repeat(8);
    let world = project(&json!([root(&json!([{ "text": story, "pacing": slowly }]))]));
    let _background = Background(&world);
    let mut screens = [open(&world, 120, 60), open(&world, 120, 60)];
    screens[0].say("Tell us.");
    for screen in &screens {
        screen.wait_for_glimpse("Streamed on both");
        screen.wait_for_text("Streamed on both");
    }
    for screen in &mut screens {
        screen.focus_tasks();
    }
    let mut dice = Dice(seed | 1);
    let mut made: Vec<String> = Vec::new();
    for action in 0..actions {
        let at = dice.below(2);
        match dice.below(6) {
            // A task from a screen.
            0 | 1 if made.len() < 30 => {
                let title = format!("Screen task {action}");
                let screen = &mut screens[at];
                screen.press("n");
                screen.wait_for_text("New task");
                screen.send(title.as_bytes());
                screen.wait_for_text(&title);
                screen.press("ctrl-s");
                screen.wait_for("the brief to close", |screen| !text(screen).contains("New task"));
                made.push(title);
            }
            // A task from the shell.
            2 if made.len() < 30 => {
                let title = format!("Shell task {action}");
                assert_eq!(run(&world, &["task", "new", "--draft", &title]).0, 0);
                made.push(title);
            }
            // Another title from the shell.
            3 if !made.is_empty() => {
                let which = dice.below(made.len());
                let title = format!("Renamed {action}");
                assert_eq!(run(&world, &["task", "edit", &made[which], "--title", &title]).0, 0);
                made[which] = title;
            }
            // One less.
            4 if made.len() > 3 => {
                let gone = made.swap_remove(dice.below(made.len()));
                assert_eq!(run(&world, &["task", "delete", &gone]).0, 0);
            }
            // The other selection belongs to the screen alone; the order does not.
            _ => {
                let keys = ["down", "up", "K", "J", "t"][dice.below(5)];
                screens[at].press(keys);
            }
        }
    }
    for screen in &mut screens {
        screen.press("z R g g");
    }
    for title in &made {
        for screen in &screens {
            screen.wait_for_text(title);
        }
    }
    // Marks of the selection differ, and rows may still be on their way.
    let plain = |session: &Session| tree(session).iter().map(|row| row.replace('▌', " ")).collect::<Vec<_>>();
    screens[0].wait_until("the same tree on both screens", || plain(&screens[0]) == plain(&screens[1]));
    let (code, listed) = run(&world, &["tree", "--json"]);
    assert_eq!(code, 0);
    let titles = listed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["title"].clone());
    let mut titles: Vec<String> = titles.map(|title| title.as_str().unwrap().to_owned()).collect();
    titles.retain(|title| title != "orchestrator");
    titles.sort();
    made.sort();
    assert_eq!(titles, made, "seed {seed}");
    let [first, second] = screens;
    assert_eq!(second.leave().code, 0);
    first.quit().assert_restored(1);
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }
}

#[test]
fn two_screens_and_the_shell_see_the_same_tree() {
    random_actions(12, 0x9E37_79B9_7F4A_7C15);
}

#[test]
#[ignore = "minutes; see docs/dev/testing.md"]
fn proof_two_screens_and_the_shell_see_the_same_tree_after_200_actions() {
    random_actions(200, 0x2545_F491_4F6C_DD1D);
}

/// A terminal here, the agents behind an sshd.
#[test]
fn a_screen_over_ssh_shows_the_agents_there_and_survives_a_cut() {
    let world = project(&json!([root(&json!([bash(&gate("gate")), say("The gate was open.")]))]));
    let _background = Background(&world);
    let program = mxd().parent().unwrap().display().to_string();
    let variables = [
        ("PATH", format!("{program}:/usr/local/bin:/usr/bin:/bin")),
        ("MXD_HOME", world.path("data").display().to_string()),
    ];
    let Some(sshd) = Sshd::start(world.folder(), &variables) else { return };
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", sshd.ssh.parent().unwrap().display());
    let there = format!("ssh://127.0.0.1:{}{}", sshd.port, world.cwd().display());
    // The machine of the user knows nothing of the project.
    let here = World::new().with("PATH", path);
    std::fs::create_dir(here.path("data")).unwrap();
    let mut screen = Session::start(&here, mxd(), &["attach", &there], 120, 40);
    screen.wait_for_text("message ");
    screen.say("Wait for the gate.");
    screen.wait_for_text("gate is shut");
    assert!(sshd.cut() > 0);
    open_gate(&world, "gate");
    screen.wait_for_text("The gate was open.");
    screen.say("Still there?");
    screen.wait_for_text("I have read it.");
    screen.leave().assert_restored(1);
    let log = run(&world, &["log", "root"]).1;
    assert_eq!(log.matches("Still there?").count(), 1, "{log}");
}

#[test]
fn the_list_of_projects_has_those_of_other_machines() {
    let world = project(&json!([root(&json!([say("Hello.")]))]));
    let far = world.path("far");
    // An ssh that runs the command on this machine with another data folder.
    let folder: PathBuf = world.path("bin");
    std::fs::create_dir(&folder).unwrap();
    let script = format!(
        "for last; do :; done\nexport MXD_HOME={} PATH={}:$PATH\nexec sh -c \"$last\"",
        far.display(),
        mxd().parent().unwrap().display()
    );
    std::fs::rename(world.script("ssh", &script), folder.join("ssh")).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let world = world.with("PATH", path);
    let solver = world.path("solver");
    std::fs::create_dir(&solver).unwrap();
    std::fs::create_dir(&far).unwrap();
    std::fs::copy(world.path("data/config.json"), far.join("config.json")).unwrap();
    let git = |arguments: &[&str]| {
        assert!(world.command("git").args(arguments).current_dir(&solver).status().unwrap().success());
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["commit", "-q", "--allow-empty", "-m", "start"]);
    let made = world.command(mxd()).arg("init").current_dir(&solver).env("MXD_HOME", &far).output().unwrap();
    assert!(made.status.success());
    assert_eq!(run(&world, &["config", "set", "--global", "hosts", r#"["bigbox"]"#]).0, 0);
    let mut session = open(&world, 120, 40);
    session.focus_tasks();
    session.press("g p");
    session.wait_for_text("bigbox:");
    session.send(b"solver");
    session.wait_for("one project", |screen| !text(screen).contains("asked for"));
    session.press("enter");
    session.wait_for_text("solver  main");
    session.say("Are you there?");
    session.wait_for_text("Hello.");
    session.quit().assert_restored(2);
    let stopped = world.command(mxd()).args(["serve", "stop"]).current_dir(&solver).env("MXD_HOME", &far).output();
    assert!(stopped.unwrap().status.success());
}
