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
    let source = Fixed(Arc::new(ActivePolicy {
        mode,
        bypass: Bypass::Allowed,
        rules: Arc::new(Rules(rules)),
        sandbox: Sandbox::Absent,
    }));
    let places = Places { root: "/w".into(), cwd: "/w".into(), home: Some("/home/u".into()) };
    check(&names::wire(tool), &Json::of(&input).unwrap(), &places, &HookOpinion::default(), &source)
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
        Permission::Held(request) if matches!(request.cause, PermissionCause::Stop { .. })
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
        bypass: Bypass::Allowed,
        rules: Arc::new(Rules(vec![Rule::parse("mcp__github__*", List::Deny, Source::Repo).unwrap()])),
        sandbox: Sandbox::Absent,
    }));
    assert!(!is_granted(&check(
        "mcp__github__get_issue",
        &Json::object(),
        &Places::default(),
        &HookOpinion::default(),
        &source
    )));
    assert!(is_granted(&check(
        "mcp__files__read",
        &Json::object(),
        &Places::default(),
        &HookOpinion::default(),
        &source
    )));
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
        bypass: Bypass::Allowed,
        rules: Arc::new(Rules(vec![Rule::parse("read(secret/**)", List::Deny, Source::Global).unwrap()])),
        sandbox: Sandbox::Absent,
    }));
    let places = Places { root: root.clone(), cwd: root, home: None };
    let input = json!({"files": [{"path": "innocent"}]});
    assert!(!is_granted(&check(
        &names::wire("read_file"),
        &Json::of(&input).unwrap(),
        &places,
        &HookOpinion::default(),
        &source
    )));
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
    let Permission::Denied { reason, note } = judged(Mode::Refuse, &[], "bash", json!({"command": "cargo test"}))
    else {
        panic!("it was granted")
    };
    assert!(reason.contains("mode refuse: it would ask (no rule decides)"), "{reason}");
    assert_eq!(note, Some(PermissionNote { granted: false, by: PermissionCause::Undecided { opaque: None } }));
}

fn held(permission: Permission) -> PermissionRequest {
    match permission {
        Permission::Held(request) => *request,
        other => panic!("not held: {other:?}"),
    }
}

#[test]
fn a_held_call_carries_what_is_shown_and_the_rules_that_would_allow_it() {
    let request = held(judged(Mode::Ask, &[], "bash", json!({"command": "cargo add serde --features derive"})));
    assert_eq!(request.headline(), "cargo add serde --features derive");
    assert_eq!(request.rules, ["bash(cargo add *)"]);
    assert_eq!(request.exact, ["bash(cargo add serde --features derive)"]);
    let opaque = held(judged(Mode::Edits, &[], "bash", json!({"command": "eval $X"})));
    assert!(opaque.rules.is_empty() && opaque.exact.is_empty());
    assert!(matches!(opaque.cause, PermissionCause::Undecided { opaque: Some(_) }));
    let interpreter = held(judged(Mode::Ask, &[], "bash", json!({"command": "python3 x.py"})));
    assert_eq!((interpreter.rules.len(), interpreter.exact.as_slice()), (0, &["bash(python3 x.py)".to_owned()][..]));
    let asked = held(judged(Mode::Open, &[(List::Ask, "bash(git push *)")], "bash", json!({"command": "git push"})));
    assert!(asked.rules.is_empty(), "an allow rule would not help: {asked:?}");
}

#[test]
fn an_edit_shows_its_diff() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::write(root.join("a.rs"), "one\ntwo\n").unwrap();
    let source = Fixed(Arc::new(ActivePolicy {
        mode: Mode::Ask,
        bypass: Bypass::Allowed,
        rules: Arc::default(),
        sandbox: Sandbox::Absent,
    }));
    let places = Places { root: root.clone(), cwd: root, home: None };
    let input = json!({"path": "a.rs", "edits": [{"old_string": "two", "new_string": "three"}]});
    let request =
        held(check(&names::wire("edit_file"), &Json::of(&input).unwrap(), &places, &HookOpinion::default(), &source));
    let RequestedAction::Edit { diff, .. } = &request.action else { panic!("{request:?}") };
    assert!(diff.contains("-two\n+three\n"), "{diff}");
    assert_eq!(request.headline(), "edit a.rs");
    let new = json!({"path": "new.rs", "content": "fn f() {}\n"});
    let request =
        held(check(&names::wire("write_file"), &Json::of(&new).unwrap(), &places, &HookOpinion::default(), &source));
    assert!(
        matches!(&request.action, RequestedAction::Edit { diff, .. } if diff.contains("+fn f() {}")),
        "{request:?}"
    );
}

#[test]
fn a_waiting_call_is_decided_by_a_rule_that_was_added_since() {
    let request = held(judged(Mode::Ask, &[], "bash", json!({"command": "cargo add serde"})));
    let policy = |list, text: &str| ActivePolicy {
        mode: Mode::Ask,
        bypass: Bypass::Allowed,
        rules: Arc::new(Rules(vec![Rule::parse(text, list, Source::Local).unwrap()])),
        sandbox: Sandbox::Absent,
    };
    let judged = |list, text| judge_again(&request, &policy(list, text), None).map(|note| note.granted);
    assert_eq!(judged(List::Allow, "bash(cargo add *)"), Some(true));
    assert_eq!(judged(List::Deny, "bash(cargo *)"), Some(false));
    assert_eq!(judged(List::Allow, "bash(cargo test *)"), None);
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
