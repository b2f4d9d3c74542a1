use std::fs;

use super::*;
use crate::base::ProjectId;
use crate::config::Home;

struct Place {
    _folder: tempfile::TempDir,
    files: SettingsFiles,
    top: PathBuf,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let (home, top) = (folder.path().join("home"), folder.path().join("repo"));
    fs::create_dir_all(&home).unwrap();
    fs::create_dir_all(top.join(".claude/hooks")).unwrap();
    fs::create_dir_all(top.join(".mxd")).unwrap();
    let project = Some(ProjectId::from_ulid(ulid::Ulid::nil()));
    let files = SettingsFiles { home: Home::at(&home), repository: Some(top.clone()), project };
    Place { _folder: folder, files, top }
}

fn states(place: &Place) -> Vec<(String, HookState)> {
    let listed = ListedHooks::read(&place.files, &place.files.merged().unwrap());
    listed.hooks.into_iter().map(|hook| (hook.definition.handler.label(), hook.state)).collect()
}

const STOP: &str = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "$CLAUDE_PROJECT_DIR/.claude/hooks/stop.sh"}]}]},
    "permissions": {"allow": ["Bash(ls)"]}, "model": "opus"}"#;

#[test]
fn a_repositorys_hook_waits_for_approval_and_again_when_its_script_changes() {
    let place = place();
    fs::write(place.top.join(".claude/settings.json"), STOP).unwrap();
    fs::write(place.top.join(".claude/hooks/stop.sh"), "exit 0").unwrap();
    let waiting = || match &states(&place)[..] {
        [(_, HookState::NeedsApproval { hash })] => Some(hash.clone()),
        _ => None,
    };
    let hash = waiting().expect("it needs approval");
    place.files.change(Layer::Local, |edit| edit.approve_hook(&hash)).unwrap();
    assert_eq!(waiting(), None);
    fs::write(place.top.join(".claude/hooks/stop.sh"), "exit 2").unwrap();
    assert!(waiting().is_some_and(|changed| changed != hash));
}

#[test]
fn the_users_own_hooks_run_at_once_and_can_be_switched_off() {
    let place = place();
    let own = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "own"}]}]}}"#;
    fs::write(place.files.home.config(), own).unwrap();
    assert_eq!(states(&place), [("own".to_owned(), HookState::Active)]);
    place.files.set(Layer::Global, "disableAllHooks", Some("true")).unwrap();
    assert_eq!(states(&place), [("own".to_owned(), HookState::Disabled)]);
}

#[test]
fn hooks_of_all_the_repositorys_files_are_proposals() {
    let place = place();
    let hooks = |command: &str| {
        format!(r#"{{"hooks": {{"Stop": [{{"hooks": [{{"type": "command", "command": "{command}"}}]}}]}}}}"#)
    };
    fs::write(place.top.join(".mxd/config.json"), hooks("a")).unwrap();
    fs::write(place.top.join(".mxd/hooks.json"), hooks("b")).unwrap();
    fs::write(place.top.join(".claude/settings.json"), hooks("c")).unwrap();
    let states = states(&place);
    assert_eq!(states.iter().map(|(label, _)| label.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert!(states.iter().all(|(_, state)| matches!(state, HookState::NeedsApproval { .. })));
}

#[test]
fn a_change_of_a_file_counts_at_the_next_event() {
    let place = place();
    let hooks = ProjectHooks::new(place.files.clone());
    assert!(!hooks.current().has(HookEvent::Stop));
    let own = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "own"}]}]}}"#;
    fs::write(place.files.home.config(), own).unwrap();
    assert!(hooks.current().has(HookEvent::Stop));
    // A broken file changes nothing.
    fs::write(place.files.home.config(), "{").unwrap();
    assert!(hooks.current().has(HookEvent::Stop));
}
