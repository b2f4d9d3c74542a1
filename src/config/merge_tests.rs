use std::ffi::OsString;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::base::MicroUsd;
use crate::config::settings::{AuthError, Durability, Provider};
use crate::model::event::CacheLife;

fn file(layer: Layer, text: &str) -> LayerFile {
    LayerFile::read(layer, Path::new(layer.word()), text.as_bytes())
}

fn merged(global: &str, repo: &str, local: &str) -> Merged {
    let files = [file(Layer::Local, local), file(Layer::Global, global), file(Layer::Repo, repo)];
    merge(&Environment::default(), &files).unwrap()
}

fn origin(merged: &Merged, path: &str) -> String {
    merged.origin(&path.parse().unwrap()).map_or_else(|| "nothing".to_owned(), ToString::to_string)
}

#[test]
fn without_files_the_defaults_apply() {
    let merged = merged("", "", "");
    let settings = &merged.settings;
    assert_eq!(merged.problems, []);
    assert_eq!((settings.max_depth, settings.max_running, settings.theme.as_str()), (3, 16, "auto"));
    assert_eq!(settings.durability, Durability::Sync);
    assert_eq!((settings.cache.root, settings.cache.child), (CacheLife::OneHour, CacheLife::FiveMinutes));
    assert!(settings.notify.desktop && !settings.notify.bell);
    assert_eq!((settings.budget, settings.clarify_timeout, settings.session_keep), (None, None, None));
    assert_eq!(origin(&merged, "maxDepth"), "default");
    assert_eq!(origin(&merged, "model"), "nothing");
}

#[test]
fn the_nearest_layer_wins_and_is_the_origin() {
    let cases = [
        (["1", "2", "3"], 3, "local: local:1:2"),
        (["3", "2", ""], 2, "repo: repo:1:2"),
        (["", "2", ""], 2, "repo: repo:1:2"),
        (["null", "2", ""], 2, "repo: repo:1:2"),
        (["1", "2", ""], 1, "global: global:1:2"),
        (["1", "null", ""], 1, "global: global:1:2"),
        (["1", "", ""], 1, "global: global:1:2"),
        (["1", "", "3"], 3, "local: local:1:2"),
        (["", "2", "null"], 0, "nothing"),
    ];
    for (values, dollars, from) in cases {
        let texts = values.map(|v| if v.is_empty() { String::new() } else { format!("{{\"budgetUsd\": {v}}}") });
        let merged = merged(&texts[0], &texts[1], &texts[2]);
        let expected = (dollars > 0).then_some(MicroUsd(dollars * 1_000_000));
        assert_eq!(merged.settings.budget, expected, "{values:?}");
        assert_eq!(origin(&merged, "budgetUsd"), from);
    }
    assert_eq!(merged(r#"{"maxDepth": 9}"#, "", r#"{"maxDepth": null}"#).settings.max_depth, 3);
}

#[test]
fn maps_are_merged_and_the_nearest_wins_per_name() {
    let merged = merged(
        r#"{"keys": {"quit": "q", "help": "h", "up": "k"},
            "authGroups": {"a": {"provider": "openai", "apiKey": "k1"}, "b": {"provider": "anthropic"}},
            "models": {"m": {"window": 1}, "n": {"window": 2}}}"#,
        "",
        r#"{"keys": {"help": ["?", "f1"], "up": null},
            "authGroups": {"a": {"provider": "anthropic"}},
            "models": {"m": {"maxOutput": 3}}, "defaultAuth": "a"}"#,
    );
    let keys: Vec<_> = merged.settings.keys.iter().map(|(name, keys)| (name.as_str(), keys.0.join(" "))).collect();
    assert_eq!(keys, [("help", "? f1".to_owned()), ("quit", "q".to_owned())]);
    // An entry is replaced as a whole: a key must not end up with another provider.
    let (name, group) = merged.settings.root_auth().unwrap();
    assert_eq!((name, group.provider, group.api_key.is_none()), ("a", Provider::Anthropic, true));
    assert_eq!(merged.settings.auth_groups.len(), 2);
    assert_eq!((merged.settings.models["m"].window, merged.settings.models["n"].window), (None, Some(2)));
    assert!(origin(&merged, "keys.help").starts_with("local: local:1:"));
    assert!(origin(&merged, "keys.quit").starts_with("global: global:1:"));
}

#[test]
fn fields_of_an_object_are_single_values() {
    let merged = merged(r#"{"cache": {"root": "5m", "child": "1h"}}"#, r#"{"cache": {"child": null}}"#, "");
    assert_eq!(
        (merged.settings.cache.root, merged.settings.cache.child),
        (CacheLife::FiveMinutes, CacheLife::FiveMinutes)
    );
    assert_eq!(origin(&merged, "cache.child"), "default");
}

#[test]
fn prices_and_times_become_exact_numbers() {
    let merged = merged(
        r#"{"models": {"m": {"prices": {"input": 0.3, "cacheWrite5m": 3.75, "cacheWrite1h": 0}}}, "clarifyTimeoutMs": 1500,
            "mcpServers": {"s": {"url": "https://h/mcp", "timeoutMs": 20}, "p": {"command": "c"}}}"#,
        "",
        "",
    );
    let prices = merged.settings.models["m"].prices.unwrap();
    assert_eq!(prices.input, Some(MicroUsd(300_000)));
    assert_eq!(prices.cache_write_5m, Some(MicroUsd(3_750_000)));
    assert_eq!((prices.cache_write_1h, prices.output), (Some(MicroUsd(0)), None));
    assert_eq!(merged.settings.clarify_timeout.unwrap().as_millis(), 1500);
    assert_eq!(merged.settings.mcp_servers["s"].timeout.as_millis(), 20);
    assert_eq!(merged.settings.mcp_servers["p"].timeout.as_millis(), 60_000);
}

fn with_environment(local: &str) -> Merged {
    let lookup = |name: &str| match name {
        "ANTHROPIC_API_KEY" | "OPENAI_API_KEY" => Some(OsString::from("sk-from-the-environment")),
        _ => None,
    };
    merge(&Environment::new(lookup), &[file(Layer::Local, local)]).unwrap()
}

#[test]
fn the_environment_has_the_lowest_precedence() {
    let chosen = |local: &str| with_environment(local).settings.root_auth().map(|(name, _)| name.to_owned());
    assert_eq!(chosen("").unwrap(), "env-anthropic");
    assert_eq!(chosen(r#"{"defaultAuth": "env-openai"}"#).unwrap(), "env-openai");
    assert_eq!(chosen(r#"{"authGroups": {"mine": {"provider": "openai"}}}"#).unwrap(), "mine");
    let two = r#"{"authGroups": {"x": {"provider": "openai"}, "y": {"provider": "openai"}}}"#;
    assert_eq!(chosen(two).unwrap_err(), AuthError::Several(vec!["x".to_owned(), "y".to_owned()]));
    let own = with_environment(r#"{"authGroups": {"env-anthropic": {"provider": "anthropic", "apiKey": "own"}}}"#);
    assert_eq!(own.settings.auth_groups["env-anthropic"].api_key.as_ref().unwrap().expose(), "own");
    assert_eq!(merged("", "", "").settings.root_auth().unwrap_err(), AuthError::None);
}

#[test]
fn sub_tasks_use_the_roots_settings_by_default() {
    let plain = with_environment(r#"{"model": "big"}"#).settings;
    assert_eq!((plain.child_model(), plain.child_auth().unwrap().0), (Some("big"), "env-anthropic"));
    let told = with_environment(r#"{"model": "big", "childModel": "small", "childAuth": "env-openai"}"#).settings;
    assert_eq!((told.child_model(), told.child_auth().unwrap().0), (Some("small"), "env-openai"));
}

#[test]
fn a_group_that_does_not_exist_is_an_error_where_it_is_named() {
    let merged = with_environment("{\n\"childAuth\": \"nobody\"}");
    let sentence = merged.fault().unwrap().message;
    assert!(sentence.starts_with("local:2:1: childAuth names the auth group \"nobody\""), "{sentence}");
    assert!(sentence.contains("env-anthropic, env-openai"), "{sentence}");
}

#[test]
fn problems_of_all_layers_are_collected() {
    let merged = merged(r#"{"modle": 1}"#, r#"{"verify": "rm -rf /"}"#, r#"{"maxDepth": "x"}"#);
    assert_eq!(merged.problems.len(), 3);
    assert_eq!(merged.settings.verify, None);
    assert!(merged.fault().unwrap().message.contains("maxDepth"));
}

#[test]
fn a_repository_may_only_make_a_limit_stricter() {
    let running = |global: &str, repo: &str| merged(global, repo, "").settings.max_running;
    assert_eq!(running("", r#"{"maxRunning": 4}"#), 4);
    assert_eq!(running("", r#"{"maxRunning": 900}"#), 16);
    assert_eq!(running(r#"{"maxRunning": 2}"#, r#"{"maxRunning": null}"#), 2);
    let strict = |global: &str, repo: &str| {
        let settings = merged(global, repo, "").settings;
        (settings.max_depth, settings.max_tasks, settings.max_tasks_per_turn)
    };
    assert_eq!(strict("", r#"{"maxDepth": 64, "maxTasks": 9999, "maxTasksPerTurn": 900}"#), (3, 200, 20));
    assert_eq!(strict("", r#"{"maxDepth": 1, "maxTasks": 5, "maxTasksPerTurn": 2}"#), (1, 5, 2));
    assert_eq!(strict(r#"{"maxDepth": 9}"#, r#"{"maxDepth": 10}"#).0, 9);
    let timeout =
        |global: &str, repo: &str| merged(global, repo, "").settings.clarify_timeout.map(|time| time.as_millis());
    assert_eq!(timeout("", r#"{"clarifyTimeoutMs": 1}"#), None, "a question that waits for ever stays one");
    assert_eq!(timeout(r#"{"clarifyTimeoutMs": 500}"#, r#"{"clarifyTimeoutMs": 1}"#), Some(500));
    assert_eq!(timeout(r#"{"clarifyTimeoutMs": 500}"#, r#"{"clarifyTimeoutMs": 900}"#), Some(900));
}

fn some_settings() -> impl Strategy<Value = String> {
    let member = prop::sample::select(vec![
        r#""model": "a""#,
        r#""model": null"#,
        r#""maxDepth": 64"#,
        r#""sessionKeep": 4294967295"#,
        r#""budgetUsd": 999999999"#,
        r#""clarifyTimeoutMs": 18446744073709551615"#,
        r#""keys": {"a": [], "b": "x", "c": null}"#,
        r#""mcpServers": {"s": {"command": "c", "env": {"A": null}, "args": null, "timeoutMs": null}}"#,
        r#""mcpServers": {"s": {"url": "http://h", "headers": {"A": "b"}, "disabled": null}, "t": null}"#,
        r#""authGroups": {"g": {"provider": "scripted", "script": null}, "h": {"provider": null}}"#,
        r#""cache": {"root": null}"#,
        r#""notify": {"bell": true, "command": null}"#,
        r#""models": {"m": {"window": null, "prices": {"input": null, "output": 1e3}}, "n": {"prices": null}}"#,
        r#""approvedMcpServers": null"#,
        r#""theme": null"#,
    ]);
    prop::collection::vec(member, 0..6).prop_map(|members| format!("{{{}}}", members.join(",")))
}

proptest! {
    #[test]
    fn every_accepted_file_can_be_merged(g in some_settings(), r in some_settings(), l in some_settings()) {
        let merged = merged(&g, &r, &l);
        for shown in merged.list() {
            prop_assert_eq!(merged.get(&shown.path).unwrap().unwrap(), shown);
        }
    }
}

#[test]
fn permission_rules_of_all_layers_add_up_and_a_repository_only_proposes_to_allow() {
    let merged = merged(
        r#"{"permissions": {"deny": ["read(~/.ssh/**)"], "allow": ["bash(ls *)"]}}"#,
        r#"{"permissions": {"deny": ["bash(git push *)"], "ask": ["edit(docs/**)"], "allow": ["bash(*)", "bash(make *)"]}}"#,
        r#"{"permissions": {"allow": ["bash(make *)"]}}"#,
    );
    assert_eq!(merged.problems, []);
    let rules: Vec<(&str, &str, &str)> =
        merged.rules.0.iter().map(|rule| (rule.list.word(), rule.text.as_str(), rule.source.word())).collect();
    let expected = [
        ("deny", "read(~/.ssh/**)", "global"),
        ("allow", "bash(ls *)", "global"),
        ("deny", "bash(git push *)", "repo"),
        ("ask", "edit(docs/**)", "repo"),
        ("allow", "bash(make *)", "local"),
    ];
    assert_eq!(rules, expected);
    let proposed: Vec<&str> = merged.proposed_rules.iter().map(|rule| rule.text.as_str()).collect();
    assert_eq!(proposed, ["bash(*)"], "what the user has added is no proposal");
    assert_eq!(merged.settings.permissions.allow, ["bash(ls *)", "bash(make *)"]);
}

#[test]
fn a_repository_can_only_make_the_permission_mode_stricter() {
    let mode = |global: &str, repo: &str, local: &str| {
        let text = |mode: &str| {
            if mode.is_empty() { String::new() } else { format!(r#"{{"permissions": {{"mode": "{mode}"}}}}"#) }
        };
        merged(&text(global), &text(repo), &text(local)).settings.permissions.mode
    };
    assert_eq!(mode("", "", ""), None);
    assert_eq!(mode("", "edits", ""), Some(Mode::Edits));
    assert_eq!(mode("", "bypassPermissions", ""), None);
    assert_eq!(mode("ask", "edits", ""), Some(Mode::Ask));
    assert_eq!(mode("edits", "plan", ""), Some(Mode::Plan));
    assert_eq!(mode("edits", "plan", "edits"), Some(Mode::Edits), "the user decides about their own project");
}

#[test]
fn an_invalid_rule_is_an_error_with_its_place() {
    let merged = merged("", "", "{\"permissions\": {\"deny\": [\"bash(x\"]}}");
    let [problem] = merged.problems.as_slice() else { panic!("{:?}", merged.problems) };
    assert!(problem.to_string().contains("permissions.deny"), "{problem}");
    assert!(merged.fault().is_some(), "a deny rule that cannot be read must not be skipped");
}
