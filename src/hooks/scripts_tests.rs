use super::*;
use crate::config::hooks::HookHandler;
use crate::config::{FileLocation, Layer};

fn hook(command: &str, args: Option<Vec<&str>>) -> HookDefinition {
    HookDefinition {
        event: None,
        event_name: "Stop".to_owned(),
        matcher: None,
        handler: HookHandler {
            command: Some(command.to_owned()),
            args: args.map(|args| args.into_iter().map(str::to_owned).collect()),
            ..HookHandler::default()
        },
        layer: Layer::Repo,
        place: FileLocation { file: "f".to_owned(), at: None },
    }
}

fn project() -> tempfile::TempDir {
    let project = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(project.path().join(".claude/my hooks")).unwrap();
    for file in [".claude/check.sh", ".claude/other.py", ".claude/my hooks/a b.sh"] {
        std::fs::write(project.path().join(file), file).unwrap();
    }
    project
}

#[test]
fn every_file_that_the_command_names_is_found_however_it_is_written() {
    let project = project();
    let absolute = format!("{}/.claude/check.sh", project.path().display());
    for (command, args, expected) in [
        (".claude/check.sh", None, 1),
        ("\"$CLAUDE_PROJECT_DIR\"/.claude/check.sh --all", None, 1),
        ("\"${CLAUDE_PROJECT_DIR}/.claude/check.sh\"", None, 1),
        ("$CLAUDE_PROJECT_DIR/.claude/check.sh", None, 1),
        ("python3 .claude/other.py < .claude/check.sh", None, 2),
        ("cd x && .claude/check.sh|tee log", None, 1),
        ("\"$CLAUDE_PROJECT_DIR/.claude/my hooks/a b.sh\"", None, 1),
        ("python3", Some(vec!["${CLAUDE_PROJECT_DIR}/.claude/other.py"]), 1),
        (absolute.as_str(), None, 1),
        ("jq -r .tool_input.command", None, 0),
        ("/bin/true", None, 0),
    ] {
        let found = read(&hook(command, args), project.path(), project.path()).unwrap();
        let contents: std::collections::BTreeSet<_> = found.iter().map(|(_, content)| content.clone()).collect();
        assert_eq!(contents.len(), expected, "{command}: {found:?}");
    }
}

#[test]
fn the_same_command_in_a_worktree_with_another_script_has_another_content() {
    let (project, worktree) = (project(), project());
    let relative = hook(".claude/check.sh", None);
    let fixed = hook("$CLAUDE_PROJECT_DIR/.claude/check.sh", None);
    let in_worktree = |hook: &HookDefinition| hook.approval_hash(&read(hook, project.path(), worktree.path()).unwrap());
    let approved = |hook: &HookDefinition| hook.approval_hash(&read(hook, project.path(), project.path()).unwrap());
    assert_eq!(in_worktree(&relative), approved(&relative));
    std::fs::write(worktree.path().join(".claude/check.sh"), "rm -rf /").unwrap();
    assert_ne!(in_worktree(&relative), approved(&relative));
    assert_eq!(in_worktree(&fixed), approved(&fixed));
    std::fs::remove_file(worktree.path().join(".claude/check.sh")).unwrap();
    assert_ne!(in_worktree(&relative), approved(&relative), "a script that an agent could create");
}
