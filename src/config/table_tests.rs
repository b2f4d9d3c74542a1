use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use crate::config::{Environment, LayerFile, ProblemKind, Severity, merge};

/// Returns every declared key with a path, using made-up names for the entries of maps.
fn declared() -> Vec<(KeyPath, &'static Key)> {
    fn walk(found: &mut Vec<(KeyPath, &'static Key)>, path: &KeyPath, kind: &'static Kind) {
        match kind {
            Kind::Map { of, .. } => walk(found, &path.child("some"), of),
            Kind::Object { fields, .. } => {
                for key in *fields {
                    found.push((path.child(key.name), key));
                    walk(found, &path.child(key.name), &key.kind);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    for key in KEYS {
        found.push((KeyPath::top(key.name), key));
        walk(&mut found, &KeyPath::top(key.name), &key.kind);
    }
    found
}

/// Returns a file with `json` at `path` on its last line, and the required siblings.
fn file_with(path: &KeyPath, json: &str) -> String {
    let (last, above) = path.parts().split_last().unwrap();
    let open = above.iter().fold(String::new(), |open, part| open + "{\"" + part + "\": ");
    let sibling = match path.parts() {
        [top, _, field] if top == "authGroups" => match field.as_str() {
            "provider" => "",
            "api" => "\"provider\": \"openai\",",
            "script" => "\"provider\": \"scripted\",",
            _ => "\"provider\": \"anthropic\",",
        },
        [top, _, field] if top == "mcpServers" => match field.as_str() {
            "command" | "url" => "",
            "headers" => "\"url\": \"http://localhost/mcp\",",
            _ => "\"command\": \"run\",",
        },
        _ => "",
    };
    format!("{open}{{{sibling}\n\"{last}\": {json}{}", "}".repeat(path.parts().len()))
}

fn read(text: &str) -> LayerFile {
    LayerFile::read(Layer::Local, Path::new("local.json"), text.as_bytes())
}

#[test]
fn every_example_is_accepted_without_problems() {
    for (path, key) in declared() {
        let file = read(&file_with(&path, key.example));
        assert_eq!(file.problems(), [], "{path}");
    }
    for key in FILE_KEYS {
        assert_eq!(read(&format!("{{{}}}", key.sample())).problems(), [], "{}", key.name);
    }
}

#[test]
fn every_key_refuses_a_wrong_type_with_file_line_key_and_example() {
    for (path, key) in declared() {
        // No setting accepts a list of lists, and only flags accept a flag.
        let wrong = if matches!(key.kind, Kind::Flag) { "\"yes\"" } else { "[[true]]" };
        let file = read(&file_with(&path, wrong));
        let errors: Vec<_> = file.problems().iter().filter(|p| p.severity() == Severity::Error).collect();
        assert!(!errors.is_empty(), "{path} took {wrong}");
        let sentence = errors[0].to_string();
        assert!(sentence.starts_with("local.json:2:"), "{sentence}");
        assert!(sentence.contains(&path.to_string()), "{sentence}");
        assert!(sentence.contains(&key.sample()), "{sentence}");
        assert!(file.fault().unwrap().to_string().contains(&sentence));
    }
}

#[test]
fn every_default_is_a_value_that_would_be_accepted() {
    for (path, key) in declared() {
        if let Need::Default(json) = key.need {
            assert_eq!(read(&file_with(&path, json)).problems(), [], "{path}");
        }
    }
}

#[test]
fn every_key_reaches_the_typed_settings() {
    let none = merge(&Environment::default(), &[]).unwrap().settings;
    for key in KEYS {
        let json = match key.name {
            // Examples that equal the default change nothing. These do.
            "maxDepth" => "5",
            "durability" => "\"os\"",
            "cache" => r#"{"child": "1h"}"#,
            "defaultAuth" | "childAuth" => "\"nobody\"",
            _ => key.example,
        };
        let merged = merge(&Environment::default(), &[read(&format!("{{\"{}\": {json}}}", key.name))]).unwrap();
        assert_ne!(merged.settings, none, "{} has no effect", key.name);
    }
}

#[test]
fn every_declared_path_resolves_to_its_key() {
    for (path, key) in declared() {
        let resolved = resolve(&path).unwrap();
        assert_eq!(resolved.key.name, key.name, "{path}");
    }
}

#[test]
fn names_are_unique_and_descriptions_are_sentences() {
    let mut seen = BTreeSet::new();
    for (path, key) in declared() {
        assert!(seen.insert(path.to_string()), "{path} twice");
        assert!(key.doc.ends_with('.'), "{path}: {}", key.doc);
    }
}

#[test]
fn a_typo_suggests_the_right_name() {
    for (written, meant) in [
        ("modle", "model"),
        ("Model", "model"),
        ("max_depth", "maxDepth"),
        ("budget", "budgetUsd"),
        ("mcpservers", "mcpServers"),
        ("authGroup", "authGroups"),
        ("clarify_timeout_ms", "clarifyTimeoutMs"),
    ] {
        assert_eq!(nearest(written, KEYS, None).as_deref(), Some(meant), "{written}");
    }
    assert_eq!(nearest("zzzz", KEYS, None), None);
    let above = KeyPath::top("authGroups").child("a.b");
    let Kind::Map { of: Kind::Object { fields, .. }, .. } = KEYS[0].kind else { panic!("authGroups is a map") };
    assert_eq!(nearest("apikey", fields, Some(&above)).as_deref(), Some("authGroups.\"a.b\".apiKey"));
}

#[test]
fn an_invalid_path_names_its_first_invalid_part() {
    let at = |text: &str| resolve(&text.parse().unwrap()).unwrap_err();
    assert!(matches!(at("colour"), PathError::Unknown { .. }));
    assert!(matches!(at("model.name"), PathError::NoParts { at, .. } if at.to_string() == "model"));
    assert!(matches!(at("models.gpt-4.1.window"), PathError::Unknown { at, .. } if at.to_string() == "models.gpt-4.1"));
    assert!(matches!(at("mcpServers.mxd.command"), PathError::Name { .. }));
    assert!(matches!(at("mcpServers.x.args.0"), PathError::NoParts { .. }));
}

#[test]
fn no_repository_can_reach_a_credential_a_host_or_a_command() {
    for key in KEYS {
        let text = format!("{{\n{}}}", key.sample());
        let file = LayerFile::read(Layer::Repo, Path::new(".mxd/config.json"), text.as_bytes());
        let refused = matches!(
            key.name,
            "authGroups"
                | "defaultAuth"
                | "childAuth"
                | "models"
                | "profile"
                | "review"
                | "verify"
                | "mouse"
                | "notify"
                | "approvedMcpServers"
                | "declinedMcpServers"
                | "bypassConsent"
                | "approvedHooks"
                | "disableAllHooks"
                | "allowedHttpHookUrls"
                | "approvedLifecycleHooks"
                | "declinedHooks"
                | "approvedTasks"
                | "declinedTasks"
                | "approvedProjects"
                | "declinedProjects"
                | "keys"
                | "sessionKeep"
                | "durability"
                | "onHangup"
                | "hosts"
                | "serve"
                | "backend"
                | "backends"
                | "outsideAgents"
        );
        assert_eq!(file.value(key.name).is_none(), refused, "{}", key.name);
        if refused {
            let [problem] = file.problems() else { panic!("{}: {:?}", key.name, file.problems()) };
            assert_eq!(problem.severity(), Severity::Warning);
            assert!(matches!(problem.kind, ProblemKind::WrongLayer { .. }));
            let sentence = problem.to_string();
            assert!(sentence.starts_with(".mxd/config.json:2:"), "{sentence}");
            assert!(sentence.contains(key.name) && sentence.contains("mxd config set --"), "{sentence}");
        }
    }
}

/// A new setting must not be open to repositories by mistake, so it must be listed here.
#[test]
fn only_these_settings_may_come_with_a_repository() {
    let open: Vec<_> = KEYS.iter().filter(|key| key.allowed == Allowed::Everywhere).map(|key| key.name).collect();
    let expected = [
        "model",
        "childModel",
        "effort",
        "cache",
        "budgetUsd",
        "maxDepth",
        "maxTasks",
        "maxTasksPerTurn",
        "maxRunning",
        "clarifyTimeoutMs",
        // They do nothing before they are approved.
        "hooks",
        "mcpServers",
        "permissions",
        "theme",
    ];
    let (open, expected): (BTreeSet<_>, BTreeSet<_>) = (open.into_iter().collect(), expected.into_iter().collect());
    assert_eq!(open, expected);
}
