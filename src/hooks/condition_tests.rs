use serde_json::json;

use super::*;
use crate::hooks::tool_view::views;

fn holds(rule: &str, tool: &str, input: &Value) -> bool {
    let view = views(&names::wire(tool), input, Path::new("/work")).remove(0);
    may_match(rule, &view, &places(Path::new("/work"), Path::new("/work")))
}

#[test]
fn a_condition_is_a_permission_rule_and_unclear_calls_match() {
    let bash = |command: &str| json!({"command": command});
    for (rule, tool, input, expected) in [
        ("Bash(git *)", "bash", bash("git push"), true),
        ("Bash(git *)", "bash", bash("cd x && git push"), true),
        ("Bash(git *)", "bash", bash("ls"), false),
        ("Bash(git *)", "bash", bash("eval $X"), true),
        ("Bash(git:*)", "bash", bash("git status"), true),
        ("Edit(*.ts)", "edit_file", json!({"path": "a/b.ts", "edits": []}), true),
        ("Edit(*.ts)", "write_file", json!({"path": "a/b.rs", "content": ""}), false),
        ("Read(.env)", "read_file", json!({"files": [{"path": ".env"}]}), true),
        ("Read(.env)", "read_file", json!({"files": [{"path": "src/a"}]}), false),
        ("Bash(git *)", "write_file", json!({"path": "a", "content": ""}), false),
        ("no rule at all(", "bash", bash("ls"), true),
    ] {
        assert_eq!(holds(rule, tool, &input), expected, "{rule} on {tool} {input}");
    }
}
