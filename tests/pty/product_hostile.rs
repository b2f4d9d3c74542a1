//! Everything that others can write, written by somebody who would like to have the terminal, and shown on the screen.

use serde_json::json;

use crate::support::Session;
use crate::support::bytes::Traffic;
use crate::support::product::{agent, bash, call, git, mxd, open, project, root};

/// A title and a clipboard that somebody else sets, a link that says one thing and is another, a cleared screen, the same
/// in eight bits, text that runs backwards, hides or is tagged.
const POISON: &str = "\u{1b}]0;owned\u{7}\u{1b}]52;c;b3duZWQ=\u{7}\u{1b}]8;;http://owned.example\u{1b}\\link\u{1b}]8;;\u{1b}\\\
                      \u{1b}[?1049l\u{1b}[?25l\u{1b}P+q\u{1b}\\\u{9b}31m\u{9d}0;owned\u{9c}\u{202e}\u{2066}\u{feff}\u{e0041}\0\u{8}\u{7f}";
/// The same, in the words of a shell.
const SHELL: &str = r"\e]0;owned\a\e]52;c;b3duZWQ=\a\e[2J\xc2\x9b31m\xe2\x80\xae\xe2\x81\xa6\xff\xfe";

/// Fails if anything went to the terminal that is not ours.
#[track_caller]
fn assert_ours(traffic: &Traffic) {
    let text = String::from_utf8(traffic.0.clone()).expect("what is written to a terminal is text");
    let foreign = |c: char| matches!(c, '\0' | '\u{8}' | '\u{7f}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    assert_eq!(text.find(foreign).map(|at| text[at..].chars().take(40).collect::<String>()), None);
    for command in ["\u{1b}]0;owned", "\u{1b}]52;", "\u{1b}]8;;http://owned", "\u{1b}P+q"] {
        assert_eq!(traffic.count(command), 0, "{command:?}");
    }
}

#[test]
fn nothing_that_anybody_wrote_reaches_the_terminal_as_it_is() {
    let poisoned = |text: &str| format!("{text}{POISON} end of {text}");
    let names = format!("printf '%b' '{SHELL}' > plain.txt; touch $'{SHELL}.txt' $'new\\nline.txt'; cat plain.txt");
    let commit = format!("git add -A && git commit -q -m $'{SHELL} subject' && git log --stat");
    let title = poisoned("Mason");
    let mut mason = agent(
        "",
        &json!([
            { "text": poisoned("I begin"), "calls": [{ "tool": "bash", "input": { "command": names } }] },
            bash(&commit),
            call("read_file", &json!({ "files": [{ "path": "plain.txt" }] })),
            call("write_file", &json!({ "path": "written.txt", "content": poisoned("mine") })),
            bash("git add -A && git commit -q -m written"),
            call("done", &json!({ "status": "passed", "result": poisoned("built") })),
        ]),
    );
    mason["when"]["first"] = json!("Task: Mason");
    let world = project(&json!([
        root(&json!([
            call("create_task", &json!({ "title": title, "description": poisoned("Goal"), "start": "now" })),
            call("clarify", &json!({ "question": poisoned("Which one"), "choices": [poisoned("this"), "that"] })),
            { "text": poisoned("I wait") },
        ])),
        mason,
    ]));
    git(&world, &["commit", "-q", "--allow-empty", "-m", &POISON.replace('\0', "")]);
    let mut session = open(&world, 160, 48);
    session.say("Build it.");
    session.wait_for_text("✓ Mason");
    session.wait_for_text("Which one");
    session.focus_tasks();
    session.select("Mason");
    session.wait_for_text("end of built");
    // Everything that is folded, from the last to the first.
    session.focus("unfold");
    session.press("K enter K enter K enter K enter K enter K enter");
    session.focus("n new task");
    session.press("d");
    session.wait_for_text("written.txt");
    session.press("tab G g g");
    session.wait_for_text("plain.txt");
    let ended = session.quit();
    ended.assert_restored(1);
    assert_ours(&ended.traffic);
}

#[test]
fn a_raw_session_on_a_terminal_steers_nothing_and_elsewhere_is_exact() {
    let words = format!("words{POISON} end of words");
    let world = project(&json!([root(&json!([{ "text": words }]))]));
    let ran = world.command(mxd()).args(["run", "Say it."]).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let tree = world.command(mxd()).args(["tree", "--json"]).output().unwrap();
    let node: serde_json::Value =
        serde_json::from_slice(tree.stdout.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    let id = node["id"].as_str().unwrap().to_owned();
    let exact = world.command(mxd()).args(["log", &id, "--raw"]).output().unwrap();
    assert!(String::from_utf8(exact.stdout).unwrap().contains('\u{9b}'), "the file has it as it was said");
    let ended = Session::start(&world, mxd(), &["log", &id, "--raw"], 120, 40).wait_for_end();
    assert_ours(&ended.traffic);
    assert!(ended.traffic.count("end of words") >= 1 && ended.traffic.count("\\u009b31m") >= 1);
}
