//! `mxd init` and `mxd projects`, by the real binary, in every kind of place a user can stand.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::cli_support::{Ran, World, hinted_commands, json_lines};

const MEMORY: &str = ".mxd/memory.md";
const EXAMPLE: &str = ".mxd/hooks/setup_worktree.sh.example";

/// The paths of the registered projects.
fn registered(world: &World) -> Vec<String> {
    let rows = json_lines(&world.mxd(&world.root(), ["projects", "--json"]).ok());
    rows.iter().map(|row| row["path"].as_str().unwrap().to_owned()).collect()
}

fn display(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn a_fresh_repository_is_registered_and_gets_its_files_and_no_commit() {
    let world = World::new();
    let repo = world.repository("calc");
    fs::write(repo.join("Cargo.lock"), "").unwrap();
    let out = world.mxd(&repo, ["init"]).ok();

    assert!(out.starts_with(&format!("{} is registered as ", repo.display())), "{out}");
    assert!(out.contains("(base branch main)"), "{out}");
    assert!(out.contains(&format!("wrote {MEMORY}\nwrote {EXAMPLE}\n")), "{out}");
    assert!(fs::read_to_string(repo.join(EXAMPLE)).unwrap().contains("\ncargo fetch\n"));
    assert!(fs::read_to_string(repo.join(MEMORY)).unwrap().starts_with("# Memory\n"));
    assert_eq!(world.git(&repo, ["rev-list", "--count", "HEAD"]), "1");
    assert_eq!(world.git(&repo, ["diff", "--cached", "--name-only"]), "");
    assert_eq!(registered(&world), [display(&repo)]);
}

#[test]
fn a_second_time_changes_nothing() {
    let world = World::new();
    let repo = world.repository("calc");
    let first = world.mxd(&repo, ["init"]).ok();
    let id = first.split_whitespace().find(|word| word.len() == 26).unwrap();
    let registry = fs::read(world.home().projects()).unwrap();

    let again = world.mxd(&repo, ["init"]).ok();
    assert_eq!(again, format!("{} is registered already as {id} (base branch main)\n", repo.display()));
    assert_eq!(fs::read(world.home().projects()).unwrap(), registry);
}

#[test]
fn what_is_there_already_is_never_overwritten() {
    let world = World::new();
    let repo = world.repository("calc");
    fs::create_dir_all(repo.join(".mxd/hooks")).unwrap();
    fs::write(repo.join(MEMORY), "mine").unwrap();
    // A link that leads nowhere is somebody's, too.
    std::os::unix::fs::symlink("nowhere", repo.join(EXAMPLE)).unwrap();

    let out = world.mxd(&repo, ["init", "--commit"]).ok();
    assert!(!out.contains("wrote") && !out.contains("committed"), "{out}");
    assert_eq!(fs::read_to_string(repo.join(MEMORY)).unwrap(), "mine");
    assert!(!repo.join(".mxd/hooks/nowhere").exists());
}

#[test]
fn a_subfolder_and_a_given_path_mean_the_repository_they_are_in() {
    let world = World::new();
    let repo = world.repository("calc");
    let deep = repo.join("src/deep");
    fs::create_dir_all(&deep).unwrap();
    world.mxd(&deep, ["init"]).ok();
    assert!(repo.join(MEMORY).is_file() && !deep.join(".mxd").exists());

    let other = world.repository("other");
    world.mxd(&world.root(), ["init", "other"]).ok();
    world.mxd(&world.root(), ["-C", "other", "init"]).ok();
    assert_eq!(registered(&world), [display(&repo), display(&other)]);
}

#[test]
fn a_linked_worktree_means_its_main_checkout() {
    let world = World::new();
    let repo = world.repository("calc");
    world.git(&repo, ["worktree", "add", "-q", "../side", "-b", "side"]);
    let side = world.root().join("side");

    let Ran { code, out, err } = world.mxd(&side, ["init"]);
    assert_eq!(code, 0);
    assert!(err.contains(&format!("{} is another checkout of {}", side.display(), repo.display())), "{err}");
    assert!(out.contains("(base branch main)"), "the main checkout's branch counts: {out}");
    assert!(repo.join(MEMORY).is_file() && !side.join(".mxd").exists());
    assert_eq!(registered(&world), [display(&repo)]);
}

#[test]
fn a_worktree_in_the_data_folder_belongs_to_its_project_and_is_none_itself() {
    let world = World::new();
    let project = world.project("calc");
    let tree = project.folder.worktrees().join("01-fix");
    world.git(&project.path, ["worktree", "add", "-q", "-b", "fix", tree.to_str().unwrap()]);

    let ran = world.mxd(&tree, ["init"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("is registered already"), "{ran:?}");
    assert_eq!(registered(&world), [display(&project.path)]);
    assert_eq!(world.mxd(&tree, ["tree"]).ok(), "no tasks yet\n");
}

#[test]
fn the_hints_lead_a_newcomer_from_an_empty_folder_to_a_registered_project() {
    let world = World::new();
    let folder = world.folder("it's a \"new\" one");
    let mut steps = Vec::new();
    // Whatever is said, do that; then try again.
    for _ in 0..4 {
        let ran = world.mxd(&folder, ["init"]);
        if ran.code == 0 {
            assert!(ran.out.contains("is registered as"), "{ran:?}");
            break;
        }
        let err = ran.refused(3, "");
        let command = hinted_commands(&err).into_iter().next().expect("a next step");
        let pasted = world.paste(&world.root(), &command);
        assert_eq!(pasted.code, 0, "{command}: {pasted:?}");
        steps.push(command);
    }
    assert_eq!(steps.len(), 2, "{steps:?}");
    assert!(steps[0].starts_with("git init ") && steps[1].contains("commit --allow-empty"), "{steps:?}");
    assert_eq!(registered(&world), [display(&folder)]);
}

#[test]
fn places_without_a_checkout_or_a_commit_are_refused_and_not_registered() {
    let world = World::new();
    let plain = world.folder("plain");
    world.mxd(&plain, ["init"]).refused(3, "is not inside a git repository");

    let unborn = world.folder("unborn");
    world.git(&unborn, ["init", "-q"]);
    world.mxd(&unborn, ["init"]).refused(3, "has no commit yet");

    let bare = world.folder("bare.git");
    world.git(&bare, ["init", "-q", "--bare"]);
    world.mxd(&bare, ["init"]).refused(3, "is a bare repository");

    world.mxd(&world.root(), ["init", "gone"]).refused(3, "does not exist");
    world.mxd(&world.root(), ["-C", "gone", "init"]).refused(3, "does not exist");
    assert_eq!(registered(&world), Vec::<String>::new());
    assert!(!unborn.join(".mxd").exists());
}

#[test]
fn a_worktree_of_a_bare_repository_is_refused_too() {
    let world = World::new();
    let repo = world.repository("calc");
    let bare = world.root().join("store.git");
    world.git(&repo, ["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    world.git(&bare, ["worktree", "add", "-q", "../side", "-b", "side"]);
    world.mxd(&world.root().join("side"), ["init"]).refused(3, "is a bare repository");
}

#[test]
fn a_detached_head_is_refused_and_the_hint_works() {
    let world = World::new();
    let repo = world.repository("a b");
    world.git(&repo, ["checkout", "-q", "--detach"]);
    let err = world.mxd(&repo, ["init"]).refused(3, "its HEAD is detached");
    let command = hinted_commands(&err).remove(0).replace("<branch>", "main");
    let pasted = world.paste(&world.root(), &command);
    assert_eq!(pasted.code, 0, "{command}: {pasted:?}");
    world.mxd(&repo, ["init"]).ok();
}

#[test]
fn an_unusual_branch_and_an_unusual_path_are_kept_exactly() {
    let world = World::new();
    let repo = world.repository("it's \"quoted\" $HOME");
    world.git(&repo, ["checkout", "-q", "-b", "feature/größe-§1+x"]);
    world.mxd(&repo, ["init"]).ok();
    let rows = json_lines(&world.mxd(&repo, ["projects", "--json"]).ok());
    assert_eq!(rows[0]["base_branch"], "feature/größe-§1+x");
    assert_eq!(rows[0]["path"], display(&repo));
    assert_eq!(rows[0]["name"], "it's \"quoted\" $HOME");
    assert_eq!(rows[0]["exists"], true);
}

#[test]
fn another_branch_later_does_not_move_the_base_branch() {
    let world = World::new();
    let project = world.project("calc");
    world.git(&project.path, ["checkout", "-q", "-b", "next"]);
    let ran = project.mxd(["init"]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("(base branch main)"), "{ran:?}");
    assert!(ran.err.contains("you are on next; the base branch is main"), "{ran:?}");
}

#[test]
fn a_base_branch_that_was_renamed_is_named_anew() {
    let world = World::new();
    let project = world.project("calc");
    world.git(&project.path, ["branch", "-m", "main", "trunk"]);
    let checked = project.mxd(["doctor"]);
    assert!(checked.out.contains("the base branch main does not exist"), "{checked:?}");
    assert!(checked.out.contains("--base trunk`"), "{checked:?}");
    project.mxd(["init", "--base", "nowhere"]).refused(3, "there is no branch \"nowhere\"");
    let ran = project.mxd(["init", "--base", "trunk"]);
    assert!(ran.out.contains("(base branch trunk)"), "{ran:?}");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    assert!(project.mxd(["projects"]).ok().contains("  trunk  "));
}

#[test]
fn a_folder_that_cannot_be_written_is_a_sentence_and_not_a_panic() {
    let world = World::new();
    let repo = world.repository("calc");
    // Not by permissions: they do not hold for root.
    fs::write(repo.join(".mxd"), "in the way").unwrap();
    let err = world.mxd(&repo, ["init"]).refused(1, "cannot create");
    assert!(err.contains(&display(&repo.join(".mxd"))), "{err}");

    fs::remove_file(repo.join(".mxd")).unwrap();
    fs::write(world.root().join("file"), "").unwrap();
    let output = world.mxd_command(&repo).env("MXD_HOME", world.root().join("file/data")).arg("init").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("file/data"), "{err}");
}

#[test]
fn missing_permission_is_named_with_what_to_do() {
    let world = World::new();
    let repo = world.repository("calc");
    fs::set_permissions(&repo, fs::Permissions::from_mode(0o555)).unwrap();
    let holds = fs::write(repo.join("probe"), "").is_err();
    let ran = world.mxd(&repo, ["init"]);
    fs::set_permissions(&repo, fs::Permissions::from_mode(0o755)).unwrap();
    if holds {
        let err = ran.refused(1, "permission denied");
        assert!(err.contains("hint: make the file and its folder writable"), "{err}");
    } else {
        ran.ok(); // root may write anywhere
    }
}

#[test]
fn commit_takes_its_own_files_and_leaves_staged_things_staged() {
    let world = World::new();
    let repo = world.repository("calc");
    fs::write(world.home_folder().join(".gitconfig"), "[user]\n\tname = Ann\n\temail = ann@example.org\n").unwrap();
    fs::write(repo.join("staged.txt"), "half done").unwrap();
    world.git(&repo, ["add", "staged.txt"]);
    fs::write(repo.join("loose.txt"), "not yet").unwrap();

    let out = world.mxd(&repo, ["init", "--commit"]).ok();
    let id = out.lines().find_map(|line| line.strip_prefix("committed as ")).unwrap().to_owned();
    assert!(world.git(&repo, ["rev-parse", "HEAD"]).starts_with(&id), "{out}");
    let committed = world.git(&repo, ["show", "--format=%an <%ae>", "--name-only", "HEAD"]);
    assert_eq!(committed, format!("Ann <ann@example.org>\n\n{EXAMPLE}\n{MEMORY}"));
    assert_eq!(world.git(&repo, ["status", "--porcelain"]), "A  staged.txt\n?? loose.txt");

    let again = world.mxd(&repo, ["init", "--commit"]).ok();
    assert!(!again.contains("committed"), "there is nothing to commit: {again}");
}

#[test]
fn commit_is_by_whom_the_environment_names_as_with_git_itself() {
    let world = World::new();
    let repo = world.repository("calc");
    let mut command = world.mxd_command(&repo);
    command.env("GIT_AUTHOR_NAME", "Ann").env("GIT_AUTHOR_EMAIL", "ann@example.org");
    command.env("GIT_COMMITTER_NAME", "Bob").env("GIT_COMMITTER_EMAIL", "bob@example.org");
    let output = command.args(["init", "--commit"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let by = world.git(&repo, ["show", "-s", "--format=%an <%ae>, %cn <%ce>", "HEAD"]);
    assert_eq!(by, "Ann <ann@example.org>, Bob <bob@example.org>");
}

#[test]
fn commit_without_an_identity_says_so_and_the_hints_work() {
    let world = World::new();
    let repo = world.repository("calc");
    let ran = world.mxd(&repo, ["init", "--commit"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.contains("git does not know who you are"), "{ran:?}");
    assert!(repo.join(MEMORY).is_file());
    assert_eq!(world.git(&repo, ["rev-list", "--count", "HEAD"]), "1");
    assert_eq!(world.git(&repo, ["diff", "--cached", "--name-only"]), "", "the index is as it was");

    for command in hinted_commands(&ran.err) {
        let pasted = world.paste(&repo, &command.replace('…', "Ann"));
        assert_eq!(pasted.code, 0, "{command}: {pasted:?}");
    }
    fs::remove_dir_all(repo.join(".mxd")).unwrap();
    assert!(world.mxd(&repo, ["init", "--commit"]).ok().contains("committed as"));
}

#[test]
fn a_repository_of_another_user_is_not_trusted_until_git_does() {
    let world = World::new();
    let repo = world.repository("theirs");
    if std::os::unix::fs::chown(&repo, Some(12345), None).is_err() {
        return; // only root can give a folder away
    }
    std::os::unix::fs::chown(repo.join(".git"), Some(12345), None).unwrap();
    let err = world.mxd(&repo, ["init"]).refused(3, "belongs to another user");
    let command = hinted_commands(&err).remove(0);
    assert_eq!(world.paste(&repo, &command).code, 0, "{command}");
    world.mxd(&repo, ["init"]).ok();
}

#[test]
fn git_variables_do_not_decide_which_project_is_meant() {
    let world = World::new();
    let (here, other) = (world.repository("here"), world.repository("other"));
    let mut command = world.mxd_command(&here);
    command.env("GIT_DIR", other.join(".git")).env("GIT_WORK_TREE", &other);
    assert!(command.arg("init").status().unwrap().success());
    assert_eq!(registered(&world), [display(&here)]);
}

#[test]
fn projects_says_what_is_there_and_what_is_gone() {
    let world = World::new();
    let ran = world.mxd(&world.root(), ["projects"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(ran.err.contains("no repository is registered yet"), "{ran:?}");
    assert_eq!(world.mxd(&world.root(), ["projects", "--json"]).ok(), "");

    let (a, b) = (world.project("a"), world.project("longer"));
    fs::remove_dir_all(&b.path).unwrap();
    let out = world.mxd(&world.root(), ["projects"]).ok();
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].ends_with(&format!("a       main  {}", a.path.display())), "{out}");
    assert!(lines[1].ends_with("(folder not found)"), "{out}");
}

#[test]
fn two_at_the_same_time_register_once() {
    let world = World::new();
    let repo = world.repository("calc");
    let children: Vec<_> = (0..8)
        .map(|_| {
            let mut command = world.mxd_command(&repo);
            command.arg("init").stdout(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(registered(&world), [display(&repo)]);
}
