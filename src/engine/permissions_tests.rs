use std::path::Path;

use super::*;
use crate::config::{Environment, Layer, LayerFile, merge};

fn mode(settings: &str, sandbox: Sandbox) -> Mode {
    let file = LayerFile::read(Layer::Local, Path::new("local.json"), settings.as_bytes());
    active_policy(&merge(&Environment::default(), &[file]).unwrap(), sandbox).mode
}

#[test]
fn an_unset_mode_is_open_until_a_sandbox_holds() {
    assert_eq!(mode("", Sandbox::Absent), Mode::Open);
    assert_eq!(mode("", Sandbox::Holds), Mode::Sandboxed);
    assert_eq!(mode(r#"{"permissions": {"mode": "ask"}}"#, Sandbox::Holds), Mode::Ask);
}

#[test]
fn bypass_does_not_count_for_root() {
    let expected = if process::is_root() { Mode::Edits } else { Mode::Bypass };
    let settings = r#"{"permissions": {"mode": "bypassPermissions"}, "bypassConsent": "2026-11-19"}"#;
    assert_eq!(mode(settings, Sandbox::Absent), expected);
}

#[test]
fn bypass_needs_consent() {
    assert_eq!(mode(r#"{"permissions": {"mode": "bypass"}}"#, Sandbox::Absent), Mode::Edits);
}

#[test]
fn a_changed_file_counts_at_once_and_a_broken_one_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let home = crate::config::Home::locate(Some(folder.path().as_os_str()), None, None).unwrap();
    let config = home.config();
    std::fs::write(&config, "{}").unwrap();
    let files = SettingsFiles { home, repository: None, project: None };
    let policy = active_policy(&files.merged().unwrap(), Sandbox::Absent);
    let permissions = Permissions::new(files, policy, None);
    assert_eq!(permissions.current().rules.0.len(), 0);
    std::fs::write(&config, r#"{"permissions": {"deny": ["bash(rm *)"]}}"#).unwrap();
    assert_eq!(permissions.current().rules.0.len(), 1);
    std::fs::write(&config, r#"{"permissions": {"deny": ["bash(rm"]}}"#).unwrap();
    assert_eq!(permissions.current().rules.0.len(), 1, "the last rules that could be read apply");
}
