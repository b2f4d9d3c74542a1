use super::*;

fn edit(root: &str, path: &str, diff: &str) -> PermissionRequest {
    PermissionRequest {
        tool: "edit_file".to_owned(),
        action: RequestedAction::Edit { paths: vec![format!("{root}/{path}")], diff: diff.to_owned() },
        root: root.to_owned(),
        cwd: root.to_owned(),
        ..PermissionRequest::default()
    }
}

fn command(root: &str, cwd: &str, command: &str) -> PermissionRequest {
    PermissionRequest {
        tool: "bash".to_owned(),
        action: RequestedAction::Command { command: command.to_owned() },
        root: root.to_owned(),
        cwd: cwd.to_owned(),
        ..PermissionRequest::default()
    }
}

#[test]
fn equal_calls_of_two_worktrees_are_the_same() {
    assert!(edit("/w/a", "src/x.rs", "+1").is_same_call(&edit("/w/b", "src/x.rs", "+1")));
    assert!(!edit("/w/a", "src/x.rs", "+1").is_same_call(&edit("/w/b", "src/x.rs", "+2")));
    assert!(!edit("/w/a", "src/x.rs", "+1").is_same_call(&edit("/w/b", "src/y.rs", "+1")));
    assert!(command("/w/a", "/w/a/sub", "make").is_same_call(&command("/w/b", "/w/b/sub", "make")));
    assert!(!command("/w/a", "/w/a/sub", "make").is_same_call(&command("/w/b", "/w/b", "make")));
    assert!(!command("/w/a", "/w/a", "make").is_same_call(&command("/w/b", "/w/b", "make x")));
}

#[test]
fn a_path_is_named_relative_to_its_worktree() {
    assert_eq!(edit("/w/a", "src/x.rs", "").headline(), "edit src/x.rs");
    assert_eq!(edit("", "etc/hosts", "").headline(), "edit /etc/hosts");
    assert_eq!(command("/w", "/w", "cargo  add\n serde").headline(), "cargo add serde");
}

#[test]
fn a_request_survives_a_round_trip_and_an_old_one_without_fields_is_read() {
    let request = edit("/w/a", "src/x.rs", "+1");
    let text = serde_json::to_string(&request).unwrap();
    assert_eq!(serde_json::from_str::<PermissionRequest>(&text).unwrap(), request);
    assert_eq!(serde_json::from_str::<PermissionRequest>("{}").unwrap(), PermissionRequest::default());
}
