//! The calls of one turn: what changes something runs in the order given, what only reads runs at the same time.

use serde_json::{Value, json};

use crate::cli_support::{World, json_lines};
use crate::engine_support::{play, root, say};

fn calls(calls: &[(&str, Value)]) -> Value {
    let calls: Vec<Value> = calls.iter().map(|(tool, input)| json!({ "tool": tool, "input": input })).collect();
    json!({ "calls": calls })
}

#[test]
fn a_turn_that_writes_commits_and_reads_does_so_in_this_order() {
    const TURNS: usize = 8;
    let world = World::new();
    let content = |turn: usize| format!("{turn}\n{}", "some text\n".repeat(2_000));
    let turn = |turn: usize| {
        calls(&[
            ("bash", json!({ "command": format!("rm -f f{}.txt", turn + 100) })),
            ("write_file", json!({ "path": format!("f{turn}.txt"), "content": content(turn) })),
            ("bash", json!({ "command": format!("git add -A && git commit -qm 'turn {turn}'") })),
            ("write_file", json!({ "path": format!("f{turn}.txt"), "content": "late" })),
            ("read_file", json!({ "files": [{ "path": format!("f{turn}.txt") }] })),
        ])
    };
    let mut turns: Vec<Value> = (0..TURNS).map(turn).collect();
    turns.push(say("All done."));
    play(&world, json!([root(Value::from(turns))]));
    let project = world.project("app");
    let ran = project.run(["Begin."]);
    assert!(ran.out.contains("All done."), "{}", ran.err);
    for turn in 0..TURNS {
        let of = |ask: &str| world.paste(&project.path, &format!("git {ask}")).ok();
        let commit = of(&format!("log --format=%H --grep '^turn {turn}$'")).trim().to_owned();
        let files = of(&format!("ls-tree -r --name-only {commit}"));
        assert!(files.lines().any(|file| file == format!("f{turn}.txt")), "turn {turn}: {files}");
        assert!(!files.contains(".tmp"), "turn {turn}: {files}");
        let size = of(&format!("cat-file -s {commit}:f{turn}.txt"));
        assert_eq!(size.trim(), content(turn).len().to_string(), "turn {turn}: what was written before the commit");
    }
    let root = project.tasks()[0]["id"].as_str().unwrap().to_owned();
    let events = json_lines(&project.mxd(["log", "--raw", &root]).ok());
    let is_read = |event: &&Value| {
        event["type"] == "tool_result" && event["body"]["name"].as_str().is_some_and(|name| name.ends_with("read_file"))
    };
    let reads: Vec<&Value> = events.iter().filter(is_read).collect();
    assert_eq!(reads.len(), TURNS);
    assert!(reads.iter().all(|read| read.to_string().contains("late")), "a read sees the write before it: {reads:#?}");
}
