//! Conflicts that the user solves in `$EDITOR`: every kind of them, what is refused, what is kept, and what the agent hears.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;

use super::read;
use crate::cli_support::{Project, Ran, World};
use crate::engine_support::{agent, bash, done, play, root};

/// A project in which a task and the base branch have changed the same things.
fn at_odds<'w>(world: &'w World, before: &str, task: &str, base: &str) -> Project<'w> {
    let turns = json!([bash(&format!("{task} && git add -A && git commit -q -m task")), done("passed", "written")]);
    play(world, json!([root(json!([])), agent("Writer", turns)]));
    let project = world.project("app");
    shell(&project, before);
    project.new_task("Writer");
    assert_eq!(project.run([]).code, 0, "{}", project.log("Writer"));
    shell(&project, base);
    project
}

fn shell(project: &Project<'_>, line: &str) {
    let ran = project.world.paste(&project.path, &format!("{line} && git add -A && git commit -q -m step"));
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// Merges with a script as the editor: it gets the files as its arguments.
fn edit(project: &Project<'_>, script: &str, more: &[&str]) -> Ran {
    let editor = project.world.root().join("editor.sh");
    fs::write(&editor, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = project.world.mxd_command(&project.path);
    command.env("EDITOR", &editor).args(["merge", &project.id("Writer"), "--edit"]).args(more);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

fn refs(project: &Project<'_>) -> String {
    project.world.git(&project.path, ["for-each-ref", "refs/heads", "refs/mxd/pending", "refs/mxd/undo"])
}

fn sound(project: &Project<'_>, worktree: &Path) {
    project.world.git(&project.path, ["fsck", "--strict", "--no-dangling"]);
    assert_eq!(project.world.git(&project.path, ["status", "--porcelain"]), "");
    assert_eq!(project.world.git(worktree, ["status", "--porcelain"]), "");
    assert_eq!(project.world.git(&project.path, ["for-each-ref", "refs/mxd/pending"]), "");
}

#[test]
fn what_the_user_made_of_the_conflicts_is_checked_merged_told_and_taken_back() {
    let world = World::new();
    let project = at_odds(
        &world,
        "printf 'one\\ntwo\\nthree\\n' > a.txt",
        "printf 'one\\ntask\\nthree\\n' > a.txt; echo t > b.txt",
        "printf 'one\\nbase\\nthree\\n' > a.txt; echo b > b.txt",
    );
    project.mxd(["config", "set", "verify", "grep -q both a.txt"]).ok();
    let (id, before) = (project.id("Writer"), refs(&project));
    project.mxd(["merge", &id]).refused(3, "--edit");

    // An editor that is left with an error, marks that are left: nothing happened, and what was solved stays.
    edit(&project, "exit 1", &[]).refused(3, "exit status: 1");
    edit(&project, "printf 'one\\nboth\\nthree\\n' > \"$1\"", &[])
        .refused(3, "1 file still has conflict marks, such as \"b.txt\"");
    assert_eq!(refs(&project), before);
    let said = edit(&project, "grep -q both \"$1\" && grep -q '<<<<<<<' \"$2\" && echo both > \"$2\"", &[]).ok();
    assert!(said.contains("merged into main"), "{said}");
    assert_eq!(
        (read(&project.path.join("a.txt")), read(&project.path.join("b.txt"))),
        ("one\nboth\nthree\n".into(), "both\n".into())
    );
    let worktree = project.worktree("Writer");
    assert_eq!(read(&worktree.join("a.txt")), "one\nboth\nthree\n", "the agent goes on from there");
    sound(&project, &worktree);
    let log = project.mxd(["log", &id, "--json"]).ok();
    assert!(log.contains("solved the conflicts by hand") && log.contains("- a.txt"), "{log}");
    let message = world.git(&worktree, ["log", "-1", "--format=%B"]);
    assert!(message.contains("Conflicts resolved by hand:\n- a.txt\n- b.txt"), "{message}");
    assert!(
        !project.folder.worktrees().join(".solving").join(&id).exists(),
        "drafts that are in a commit are not kept"
    );

    project.mxd(["merge", &id, "--undo"]).ok();
    assert_eq!(read(&project.path.join("a.txt")), "one\nbase\nthree\n");
    // What was solved is in the branch: it need not be solved again.
    project.mxd(["merge", &id, "--squash"]).ok();
    assert_eq!(read(&project.path.join("a.txt")), "one\nboth\nthree\n");
    assert_eq!(world.git(&project.path, ["log", "-1", "--format=%P"]).split(' ').count(), 1);
}

#[test]
fn a_check_that_fails_keeps_what_was_solved_and_merges_nothing() {
    let world = World::new();
    let project = at_odds(&world, "echo one > a.txt", "echo task > a.txt", "echo base > a.txt");
    project.mxd(["config", "set", "verify", "grep -q good a.txt"]).ok();
    edit(&project, "echo bad > \"$1\"", &[]).refused(3, "nothing was merged: `grep -q good a.txt` failed");
    assert_eq!(read(&project.path.join("a.txt")), "base\n");
    assert_eq!(read(&project.worktree("Writer").join("a.txt")), "bad\n");
    sound(&project, &project.worktree("Writer"));
    // Without conflicts there is nothing to edit.
    project.mxd(["config", "set", "verify", "true"]).ok();
    edit(&project, "exit 1", &[]).ok();
    assert_eq!(read(&project.path.join("a.txt")), "bad\n");
}

#[test]
fn what_has_no_lines_is_decided_by_a_word() {
    let world = World::new();
    let project = at_odds(
        &world,
        "printf 'a\\0b' > logo; seq 9 > ours-gone; seq 9 > theirs-gone; seq 20 29 > moved; echo x > mode; printf 'n\\n' > $(printf 'odd\\377')",
        "printf 'a\\0t' > logo; rm ours-gone; echo t >> theirs-gone; git mv moved moved-t; rm mode; ln -s logo mode; printf 't\\n' > $(printf 'odd\\377')",
        "printf 'a\\0m' > logo; echo m >> ours-gone; rm theirs-gone; git mv moved moved-m; chmod +x mode; echo y > mode; printf 'm\\n' > $(printf 'odd\\377')",
    );
    let before = refs(&project);
    // The list comes first; a file whose name is not text is opened like any other.
    edit(&project, "for file in \"$@\"; do case $file in *CONFLICTS) cp \"$file\" ../list;; *) echo solved > \"$file\";; esac; done", &[])
        .refused(3, "still are not decided");
    assert_eq!(refs(&project), before);
    let list = read(&world.root().join("list"));
    for line in [
        "logo: both changed it (binary file)",
        "ours-gone: changed in the target, deleted",
        "theirs-gone: changed by the task, deleted",
    ] {
        assert!(list.contains(line), "{line} in {list}");
    }
    let decide = "sed -i -e '/ logo:/s/^?/task/' -e '/ ours-gone:/s/^?/target/' -e '/ theirs-gone:/s/^?/target/' \
                  -e '/ moved-t:/s/^?/task/' -e '/ moved-m:/s/^?/task/' -e 's/^?/task/' \"$1\"";
    edit(&project, decide, &[]).ok();
    assert_eq!(fs::read(project.path.join("logo")).unwrap(), b"a\0t");
    assert!(read(&project.path.join("ours-gone")).ends_with("m\n"));
    assert!(!project.path.join("theirs-gone").exists());
    assert!(
        project.path.join("moved-t").exists()
            && !project.path.join("moved-m").exists()
            && !project.path.join("moved").exists()
    );
    assert!(project.path.join("mode").is_symlink());
    let odd = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"odd\xff");
    assert_eq!(read(&project.path.join(odd)), "solved\n");
    sound(&project, &project.worktree("Writer"));
}

#[test]
fn what_was_solved_outlives_other_changes_of_the_target_and_new_conflicts_are_asked_about() {
    let world = World::new();
    let project = at_odds(
        &world,
        "echo one > a.txt; echo one > b.txt",
        "echo task > a.txt; echo task > b.txt",
        "echo base > a.txt",
    );
    edit(&project, "echo both > \"$1\"; exit 1", &[]).refused(3, "nothing changed");
    // The base gains something that has nothing to do with it, and something that has.
    shell(&project, "echo base > b.txt; echo c > c.txt");
    edit(&project, "grep -q both \"$1\" && grep -q '<<<<<<<' \"$2\" && echo b > \"$2\"", &[]).ok();
    assert_eq!((read(&project.path.join("a.txt")), read(&project.path.join("b.txt"))), ("both\n".into(), "b\n".into()));
    assert!(project.path.join("c.txt").exists());
    sound(&project, &project.worktree("Writer"));
}

#[test]
fn windows_lines_and_lines_that_look_like_marks_are_no_trouble() {
    let world = World::new();
    let project = at_odds(
        &world,
        "printf 'one\\r\\ntwo\\r\\n' > crlf.txt; printf '<<<<<<< a guide\\n=======\\n>>>>>>> to git\\nx\\n' > guide.md",
        "printf 'one\\r\\ntask\\r\\n' > crlf.txt; printf '<<<<<<< a guide\\n=======\\n>>>>>>> to git\\ntask\\n' > guide.md",
        "printf 'one\\r\\nbase\\r\\n' > crlf.txt; printf '<<<<<<< a guide\\n=======\\n>>>>>>> to git\\nbase\\n' > guide.md",
    );
    // Takes the task's side of everything, as a user who deletes lines would.
    let script = "sed -i -e '/^<<<<<<<* mxd/d' -e '/^=======\\r*$/,/^>>>>>>> main/d' \"$1\"\n\
                  sed -i -e '/^<<<<<<<< mxd/d' -e '/^========$/,/^>>>>>>>> main/d' \"$2\"";
    edit(&project, script, &[]).ok();
    assert_eq!(read(&project.path.join("crlf.txt")), "one\r\ntask\r\n");
    assert_eq!(read(&project.path.join("guide.md")), "<<<<<<< a guide\n=======\n>>>>>>> to git\ntask\n");
}

#[test]
fn what_came_in_with_the_target_is_not_in_the_diff_of_the_task() {
    let world = World::new();
    let project = at_odds(
        &world,
        "echo one > a.txt",
        "echo task > a.txt; echo own > own.txt",
        "echo base > a.txt; echo base > base.txt",
    );
    let id = project.id("Writer");
    edit(&project, "echo both > \"$1\"", &[]).ok();
    assert!(project.worktree("Writer").join("base.txt").exists());
    let merged = project.mxd(["diff", &id, "--stat"]).ok();
    assert_eq!(merged, "M a.txt +1 -1\nA own.txt +1 -0\n2 files, +2 -1\n");
    project.mxd(["merge", &id, "--undo"]).ok();
    assert_eq!(project.mxd(["diff", &id, "--stat"]).ok(), merged, "nor while it is on the branch alone");
}

fn drafts(project: &Project<'_>, id: &str) -> std::path::PathBuf {
    project.folder.worktrees().join(".solving").join(id)
}

#[test]
fn drafts_that_nobody_worked_on_go_with_their_task() {
    let world = World::new();
    let project = at_odds(
        &world,
        "echo one > a.txt; seq 9 > gone.txt",
        "echo task > a.txt; rm gone.txt",
        "echo base > a.txt; echo base >> gone.txt",
    );
    let id = project.id("Writer");
    edit(&project, "exit 1", &[]).refused(3, "nothing changed");
    assert!(drafts(&project, &id).join("files/a.txt").exists() && drafts(&project, &id).join("CONFLICTS").exists());
    assert_eq!(project.mxd(["gc"]).ok(), "nothing to free\n", "the task may need them");
    let copy = world.root().join("copy");
    assert!(
        world.command("cp", &world.root()).arg("-a").args([&drafts(&project, &id), &copy]).status().unwrap().success()
    );
    project.mxd(["task", "delete", &id]).ok();
    assert!(!project.folder.worktrees().join(".solving").exists(), "nor the folder around it");
    // As a crash leaves them, or whoever copies a data folder.
    fs::create_dir(project.folder.worktrees().join(".solving")).unwrap();
    fs::rename(&copy, drafts(&project, &id)).unwrap();
    let would = project.mxd(["gc", "--dry-run"]).ok();
    let what = format!("drafts of conflicts in {}", drafts(&project, &id).display());
    assert!(would.contains(&format!("would free: {what}")) && drafts(&project, &id).exists(), "{would}");
    let freed = project.mxd(["gc"]).ok();
    assert!(freed.contains(&format!("freed: {what}")) && !drafts(&project, &id).exists(), "{freed}");
}

#[test]
fn what_somebody_solved_outlives_the_task_and_is_used_when_that_comes_back() {
    let world = World::new();
    let project = at_odds(
        &world,
        "echo one > a.txt; seq 9 > gone.txt",
        "echo task > a.txt; rm gone.txt",
        "echo base > a.txt; echo base >> gone.txt",
    );
    let id = project.id("Writer");
    edit(&project, "echo half > \"$2\"; exit 1", &[]).refused(3, "nothing changed");
    let closed = project.mxd(["task", "close", &id]).ok();
    assert!(closed.contains("Conflict drafts are kept in"), "{closed}");
    let said = project.mxd(["gc"]).ok();
    let draft = drafts(&project, &id).join("files/a.txt");
    assert!(said.contains("skipped: drafts of conflicts") && said.contains(draft.to_str().unwrap()), "{said}");
    project.mxd(["task", "delete", &id]).ok();
    let said = project.mxd(["gc"]).ok();
    assert!(said.contains("skipped: drafts of conflicts") && said.contains("you edited"), "{said}");
    assert_eq!(read(&draft), "half\n");
    project.mxd(["restore", &id]).ok();
    assert!(!project.mxd(["gc"]).ok().contains("drafts of conflicts"), "they are the task's again");
    edit(&project, "grep -q half \"$2\" && sed -i 's/^?/task/' \"$1\"", &[]).ok();
    assert_eq!(read(&project.path.join("a.txt")), "half\n");
    assert!(!drafts(&project, &id).exists());
}

#[test]
fn a_word_that_was_decided_and_a_file_that_an_editor_left_count_as_work() {
    let world = World::new();
    let project = at_odds(&world, "seq 9 > gone.txt", "rm gone.txt", "echo base >> gone.txt");
    let id = project.id("Writer");
    let folder = drafts(&project, &id);
    edit(&project, "sed -i 's/^?/task/' \"$1\"; exit 1", &[]).refused(3, "nothing changed");
    project.mxd(["task", "close", &id]).ok();
    let list = folder.join("CONFLICTS");
    let said = project.mxd(["gc"]).ok();
    assert!(said.contains(&format!("you edited {}", list.display())), "{said}");
    // Without the word, but with what an editor left when it crashed.
    fs::write(&list, read(&list).replace("task ", "? ")).unwrap();
    fs::write(folder.join(".CONFLICTS.swp"), "half").unwrap();
    let said = project.mxd(["gc"]).ok();
    assert!(said.contains(&format!("you edited {}", folder.join(".CONFLICTS.swp").display())), "{said}");
    fs::remove_file(folder.join(".CONFLICTS.swp")).unwrap();
    assert!(project.mxd(["gc"]).ok().contains("freed: drafts of conflicts") && !folder.exists());
}
