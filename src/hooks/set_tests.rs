use serde_json::{Value, json};

use super::*;
use crate::config::LayerFile;
use crate::config::hooks::definitions;

fn set(hooks: &Value) -> HookSet {
    let text = json!({ "hooks": hooks }).to_string();
    let file = LayerFile::read(Layer::Global, Path::new("config.json"), text.as_bytes());
    assert_eq!(file.problems(), []);
    let hooks = definitions(&[file]).iter().filter_map(|hook| Hook::new(hook, None).ok()).collect();
    HookSet { hooks, http: HttpPolicy::default() }
}

fn labels(hooks: Vec<&Hook>) -> Vec<String> {
    hooks.into_iter().map(|hook| hook.handler.label()).collect()
}

#[test]
fn an_event_calls_the_hooks_whose_matcher_fits_and_equal_ones_once() {
    let command = |command: &str| json!({"type": "command", "command": command});
    let set = set(&json!({
        "SessionStart": [
            {"matcher": "startup|resume", "hooks": [command("a"), command("b")]},
            {"hooks": [command("a"), {"type": "command", "command": "a", "args": []}]},
            {"matcher": "compact", "hooks": [command("c")]},
        ],
        "Stop": [{"hooks": [command("d")]}],
    }));
    assert_eq!(labels(set.matching(HookEvent::SessionStart, &["startup".to_owned()])), ["a", "b", "a"]);
    assert_eq!(labels(set.matching(HookEvent::SessionStart, &["compact".to_owned()])), ["a", "a", "c"]);
    assert_eq!(labels(set.matching(HookEvent::Stop, &[])), ["d"]);
    assert!(set.has(HookEvent::Stop) && !set.has(HookEvent::PreToolUse));
}

#[test]
fn a_hook_that_cannot_run_says_why() {
    let text = json!({"hooks": {"Stop": [{"hooks": [
        {"type": "prompt", "prompt": "Is it done?"},
        {"type": "command", "command": "a", "shell": "powershell"},
    ]}], "NoEvent": [{"hooks": [{"type": "command", "command": "a"}]}]}})
    .to_string();
    let file = LayerFile::read(Layer::Global, Path::new("config.json"), text.as_bytes());
    assert!(definitions(&[file]).iter().all(|hook| Hook::new(hook, None).is_err()));
}

#[test]
fn addresses_are_limited_by_patterns() {
    let policy = |patterns: &[&str]| HttpPolicy { allowed: Some(patterns.iter().map(|p| (*p).to_owned()).collect()) };
    assert!(HttpPolicy::default().allows("http://anywhere/"));
    assert!(policy(&["https://hooks.example.com/*"]).allows("https://hooks.example.com/a/b"));
    assert!(!policy(&["https://hooks.example.com/*"]).allows("https://evil.com/hooks.example.com/"));
    assert!(policy(&["http://*:80*/x"]).allows("http://h:8080/x"));
    assert!(!policy(&["http://a/x"]).allows("http://a/xy"));
    assert!(!policy(&[]).allows("http://a/"));
}
