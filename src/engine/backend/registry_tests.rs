use std::path::Path;

use super::*;
use crate::config::profile::Source;
use crate::config::{Environment, Layer, LayerFile, merge};

fn settings(text: &str) -> Settings {
    let file = LayerFile::read(Layer::Global, Path::new("config.json"), text.as_bytes());
    assert_eq!(file.problems(), []);
    merge(&Environment::new(|_| None), &[file]).unwrap().settings
}

fn profile(backend: &str) -> Profile {
    let text = format!("---\nname: a\ndescription: b\nbackend: {backend}\n---\nDo it.");
    Profile::read(Source::User, "a.md", "a", text.as_bytes()).unwrap()
}

#[test]
fn a_profile_chooses_and_the_setting_decides_for_the_others() {
    let table = BackendTable::of(&settings(r#"{"backend": "codex", "backends": {"own": {"command": "x"}}}"#));
    assert_eq!(table.of_profile(Some(&profile("claude"))).label, "Claude Code");
    assert_eq!(table.of_profile(Some(&profile("acp:own"))).label, "own");
    assert_eq!(table.of_profile(Some(&profile("native"))).can, Capabilities::ALL);
    assert_eq!(table.of_profile(None).label, "Codex");
    let single = BackendTable::single("clerk", Capabilities::ALL);
    assert_eq!(single.of_profile(Some(&profile("claude"))).label, "clerk");
}

#[test]
fn a_backend_that_may_not_be_used_is_refused_with_the_next_step() {
    let refused = |name: &str, text: &str| choose(name, "a.md:3", &settings(text)).err().unwrap();
    for (fault, words, step) in [
        (refused("nope", "{}"), "there is no backend \"nope\"", "backends.nope.command"),
        (refused("claude", r#"{"outsideAgents": false}"#), "switched off", "outsideAgents true"),
        (refused("claude", r#"{"backends": {"claude": {"disabled": true}}}"#), "is disabled", "disabled false"),
        (
            refused("own", r#"{"backends": {"own": {"protocol": "json"}}}"#),
            "there is no backend \"own\"",
            "own.command",
        ),
    ] {
        assert!(fault.message.starts_with("a.md:3: ") && fault.message.contains(words), "{fault:?}");
        assert!(fault.hints.iter().any(|hint| hint.contains(step)), "{fault:?}");
    }
}

#[test]
fn settings_change_how_a_known_program_is_started() {
    let program =
        choose("gemini", "", &settings(r#"{"backends": {"gemini": {"command": "/opt/gemini", "env": {"A": "b"}}}}"#))
            .unwrap();
    assert_eq!((program.command.as_str(), program.args.clone()), ("/opt/gemini", vec!["--acp".to_owned()]));
    assert!(program.known.is_some());
}
