use serde_json::json;

use super::*;
use crate::permit::{List, Rule, Source};

struct Fixed(Arc<ActivePolicy>);

impl PolicySource for Fixed {
    fn current(&self) -> Arc<ActivePolicy> {
        Arc::clone(&self.0)
    }
}

#[allow(clippy::needless_pass_by_value, reason = "tests pass literals")]
fn judged(mode: Mode, rules: &[(List, &str)], tool: &str, input: Value) -> Permission {
    let rules = rules.iter().map(|(list, text)| Rule::parse(text, *list, Source::Local).unwrap()).collect();
    let source = Fixed(Arc::new(ActivePolicy { mode, rules: Rules(rules), sandbox: Sandbox::Absent }));
    let places = Places { root: "/w".into(), cwd: "/w".into(), home: Some("/home/u".into()) };
    judge(&names::wire(tool), &input, places, &source)
}

fn is_granted(permission: &Permission) -> bool {
    matches!(permission, Permission::Granted { .. })
}

#[test]
fn without_rules_and_mode_everything_runs_as_before_and_nothing_is_noted() {
    for (tool, input) in [
        ("bash", json!({"command": "cargo test; eval \"$X\""})),
        ("write_file", json!({"path": "a", "content": ""})),
        ("create_task", json!({"title": "a"})),
        ("read_file", json!({"files": [{"path": "/etc/passwd"}]})),
    ] {
        assert_eq!(judged(Mode::Open, &[], tool, input), Permission::Granted { note: None }, "{tool}");
    }
    let removal = judged(Mode::Open, &[], "bash", json!({"command": "rm -rf ~"}));
    assert!(matches!(
        removal,
        Permission::Denied { note: Some(PermissionNote { granted: false, by: PermissionCause::Stop { .. } }), .. }
    ));
}

#[test]
fn each_tool_is_judged_by_its_own_input() {
    let rules = [
        (List::Deny, "bash(git push *)"),
        (List::Deny, "read(~/.ssh/**)"),
        (List::Deny, "edit(docs/**)"),
        (List::Deny, "create_task"),
        (List::Deny, "mcp__github__*"),
    ];
    for (tool, input, granted) in [
        ("bash", json!({"command": "cd a && git push"}), false),
        ("bash", json!({"command": "git log"}), true),
        ("read_file", json!({"files": [{"path": "a"}, {"path": "/home/u/.ssh/id"}]}), false),
        ("search", json!({"pattern": "x", "path": "/home/u/.ssh"}), false),
        ("search", json!({"pattern": "x", "path": "/home/u/.ssh/keys"}), false),
        ("edit_file", json!({"path": "docs/a.md", "edits": []}), false),
        ("write_file", json!({"path": "./src/../docs/a.md", "content": ""}), false),
        ("write_file", json!({"path": "src/a.rs", "content": ""}), true),
        ("create_task", json!({}), false),
        ("send_message", json!({}), true),
    ] {
        assert_eq!(is_granted(&judged(Mode::Open, &rules, tool, input.clone())), granted, "{tool} {input}");
    }
    let source = Fixed(Arc::new(ActivePolicy {
        mode: Mode::Open,
        rules: Rules(vec![Rule::parse("mcp__github__*", List::Deny, Source::Repo).unwrap()]),
        sandbox: Sandbox::Absent,
    }));
    assert!(!is_granted(&judge("mcp__github__get_issue", &json!({}), Places::default(), &source)));
    assert!(is_granted(&judge("mcp__files__read", &json!({}), Places::default(), &source)));
}

#[test]
fn a_link_is_judged_by_its_target_too() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("secret")).unwrap();
    std::fs::write(root.join("secret/key"), "").unwrap();
    std::os::unix::fs::symlink(root.join("secret/key"), root.join("innocent")).unwrap();
    let source = Fixed(Arc::new(ActivePolicy {
        mode: Mode::Open,
        rules: Rules(vec![Rule::parse("read(secret/**)", List::Deny, Source::Global).unwrap()]),
        sandbox: Sandbox::Absent,
    }));
    let places = Places { root: root.clone(), cwd: root, home: None };
    let input = json!({"files": [{"path": "innocent"}]});
    assert!(!is_granted(&judge(&names::wire("read_file"), &input, places, &source)));
}

#[test]
fn the_note_names_the_rule_and_a_refusal_says_what_to_do() {
    let allowed = judged(Mode::Ask, &[(List::Allow, "bash(cargo *)")], "bash", json!({"command": "cargo test"}));
    let by = PermissionCause::Rule {
        list: "allow".into(),
        source: "local".into(),
        rule: "bash(cargo *)".into(),
        possibly: false,
    };
    assert_eq!(allowed, Permission::Granted { note: Some(PermissionNote { granted: true, by }) });
    let Permission::Denied { reason, note } = judged(Mode::Ask, &[], "bash", json!({"command": "cargo test"})) else {
        panic!("it was granted")
    };
    assert!(reason.contains("needs the user's permission: no rule decides"), "{reason}");
    assert_eq!(note, Some(PermissionNote { granted: false, by: PermissionCause::Undecided }));
}

#[test]
fn plan_lets_an_agent_read_ask_and_finish() {
    for (tool, input, granted) in [
        ("read_file", json!({"files": [{"path": "a"}]}), true),
        ("bash", json!({"command": "git log --oneline | head"}), true),
        ("bash", json!({"command": "cargo test"}), false),
        ("write_file", json!({"path": "a", "content": ""}), false),
        ("create_task", json!({}), false),
        ("clarify", json!({}), true),
        ("done", json!({}), true),
    ] {
        assert_eq!(is_granted(&judged(Mode::Plan, &[], tool, input.clone())), granted, "{tool} {input}");
    }
}
