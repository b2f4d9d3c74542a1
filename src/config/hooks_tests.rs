use std::path::Path;

use super::*;
use crate::config::{Environment, ProblemKind, Severity, merge};

fn file(layer: Layer, text: &str) -> LayerFile {
    LayerFile::read(layer, Path::new("config.json"), text.as_bytes())
}

fn matches(matcher: &str, name: &str) -> bool {
    Matcher::parse(matcher).unwrap().matches(&[name.to_owned()])
}

#[test]
fn a_matcher_of_plain_names_matches_whole_names_only() {
    for (matcher, name, expected) in [
        ("", "Bash", true),
        ("*", "Bash", true),
        ("Bash", "Bash", true),
        ("Bash", "BashOutput", false),
        ("bash", "Bash", false),
        ("Edit|Write", "Write", true),
        ("Edit | Write", "Write", true),
        ("Edit, Write", "Write", true),
        ("Edit|Write", "MultiEdit", false),
        ("mcp__memory__store", "mcp__memory__store", true),
    ] {
        assert_eq!(matches(matcher, name), expected, "{matcher} on {name}");
    }
}

#[test]
fn any_other_matcher_is_a_regular_expression_that_may_match_a_part() {
    for (matcher, name, expected) in [
        ("mcp__.*", "mcp__memory__store", true),
        ("Edit.*", "MultiEdit", true),
        ("^Edit.*", "MultiEdit", false),
        ("Notebook.*", "Bash", false),
        (".*", "Bash", true),
        ("^(?!Read$).*", "Read", false),
        ("^(?!Read$).*", "Bash", true),
        (r"mcp__.*__write\b", "mcp__fs__write", true),
    ] {
        assert_eq!(matches(matcher, name), expected, "{matcher} on {name}");
    }
    assert!(Matcher::parse("mcp__(").is_err());
}

#[test]
fn hooks_of_all_files_add_up_in_order_with_their_place() {
    let global = file(
        Layer::Global,
        r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "a"}]}]}}"#,
    );
    let local = file(
        Layer::Local,
        "{\"hooks\": {\n\"PreToolUse\": [{\"hooks\": [{\"type\": \"http\", \"url\": \"http://127.0.0.1:1/h\"}, {\"type\": \"command\", \"command\": \"c\", \"args\": [\"x\"]}]}]}}",
    );
    let found = definitions(&[global.clone(), local.clone()]);
    let shown: Vec<_> = found.iter().map(|hook| (hook.layer, hook.handler.label())).collect();
    assert_eq!(
        shown,
        [
            (Layer::Global, "a".to_owned()),
            (Layer::Local, "http://127.0.0.1:1/h".to_owned()),
            (Layer::Local, "c x".to_owned())
        ]
    );
    assert_eq!(found[1].place.at.map(|at| at.line), Some(2));
    let merged = merge(&Environment::default(), &[global, local]).unwrap();
    assert_eq!(merged.settings.hooks["PreToolUse"].len(), 2);
}

#[test]
fn the_hooks_of_a_repository_are_no_setting_of_the_user() {
    let repo = file(Layer::Repo, r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "a"}]}]}}"#);
    assert_eq!(repo.problems(), []);
    assert_eq!(definitions(std::slice::from_ref(&repo)).len(), 1);
    let merged = merge(&Environment::default(), &[repo]).unwrap();
    assert!(merged.settings.hooks.is_empty());
}

#[test]
fn a_misspelt_event_is_kept_and_reported_with_the_nearest_one() {
    let read =
        file(Layer::Global, r#"{"hooks": {"PreToolUsage": [{"hooks": [{"type": "command", "command": "a"}]}]}}"#);
    let [problem] = read.problems() else { panic!("{:?}", read.problems()) };
    assert_eq!(problem.severity(), Severity::Warning);
    let ProblemKind::UnknownHookEvent { event, nearest, .. } = &problem.kind else { panic!("{problem}") };
    assert_eq!((event.as_str(), nearest.as_deref()), ("PreToolUsage", Some("PreToolUse")));
    assert_eq!(definitions(&[read])[0].event, None);
}

#[test]
fn a_handler_without_what_it_calls_and_an_invalid_matcher_are_errors() {
    for text in [
        r#"{"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}"#,
        r#"{"hooks": {"Stop": [{"hooks": [{"type": "http", "command": "a"}]}]}}"#,
        r#"{"hooks": {"Stop": [{"matcher": "(", "hooks": []}]}}"#,
        r#"{"hooks": {"Stop": [{"matcher": "a"}]}}"#,
        r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "a", "timeout": 0}]}]}}"#,
    ] {
        assert!(file(Layer::Global, text).fault().is_some(), "{text}");
    }
}

#[test]
fn a_guard_that_fails_blocks_by_default_and_other_hooks_do_not() {
    let handler = HookHandler { command: Some("a".to_owned()), ..HookHandler::default() };
    assert_eq!(handler.on_failure(HookEvent::PreToolUse), OnFailure::Block);
    assert_eq!(handler.on_failure(HookEvent::MergeBefore), OnFailure::Block);
    assert_eq!(handler.on_failure(HookEvent::PostToolUse), OnFailure::Continue);
    let lenient = HookHandler { on_failure: Some(OnFailure::Continue), ..handler };
    assert_eq!(lenient.on_failure(HookEvent::PreToolUse), OnFailure::Continue);
}

#[test]
fn an_approval_covers_the_handler_and_the_scripts_that_it_names() {
    let read = |command: &str| {
        let text = serde_json::json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}});
        definitions(&[file(Layer::Repo, &text.to_string())]).remove(0)
    };
    let script = |content: &str| vec![("check.sh".to_owned(), content.as_bytes().to_vec())];
    let approved = read("./check.sh").approval_hash(&script("exit 0"));
    assert_eq!(read("./check.sh").approval_hash(&script("exit 0")), approved);
    assert_ne!(read("./check.sh").approval_hash(&script("exit 1")), approved);
    assert_ne!(read("./check.sh --all").approval_hash(&script("exit 0")), approved);
}
