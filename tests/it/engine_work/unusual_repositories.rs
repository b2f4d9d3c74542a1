//! The same on repositories that are not like the others: submodules, files of Git LFS, names that are not text, Windows'
//! line endings, huge files, renames; and a user who works in the worktree at the same time.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::{Value, json};

use super::read;
use crate::cli_support::{Project, World};
use crate::engine_support::{agent, bash, done, play, root};
use crate::git_support::files;

/// A project whose task has done `turns`, in a repository that was set up with `before`.
fn worked<'w>(world: &'w World, before: &str, turns: &[&str]) -> Project<'w> {
    let mut all: Vec<Value> = turns.iter().map(|turn| bash(turn)).collect();
    all.push(done("passed", "done"));
    play(world, json!([root(json!([])), agent("Worker", Value::Array(all))]));
    let project = world.project("app");
    shell(&project, before);
    project.new_task("Worker");
    let ran = project.run([]);
    assert_eq!(ran.code, 0, "{ran:?} {}", project.log("Worker"));
    project
}

fn shell(project: &Project<'_>, line: &str) {
    let ran = project.world.paste(&project.path, line);
    assert_eq!(ran.code, 0, "{ran:?}");
}

fn status(project: &Project<'_>) -> String {
    project.world.git(&project.path, ["status", "--porcelain"])
}

const COMMIT: &str = "git add -A && git commit -q -m step";

#[test]
fn names_that_are_not_text_go_through_everything() {
    let world = World::new();
    let odd = "$(printf 'b\\377d')";
    let make = format!("mkdir d && echo one > d/{odd} && echo x > \"$(printf 'line\\nbreak')\" && {COMMIT}");
    let change = format!("echo two >> d/{odd}; echo new > {odd}");
    let project = worked(&world, &make, &[&change, COMMIT]);
    let (id, worktree) = (project.id("Worker"), project.worktree("Worker"));
    let stat = project.mxd(["diff", &id, "--stat"]).ok();
    assert!(stat.contains("M d/b\u{fffd}d +1 -0") && stat.contains("2 files"), "{stat}");
    let name = OsStr::from_bytes(b"b\xffd");
    project.mxd(["merge", &id]).ok();
    assert_eq!(
        (read(&project.path.join("d").join(name)), read(&project.path.join(name))),
        ("one\ntwo\n".into(), "new\n".into())
    );
    assert_eq!(status(&project), "");
    project.mxd(["merge", &id, "--undo"]).ok();
    assert_eq!(read(&project.path.join("d").join(name)), "one\n");
    let preview = project.mxd(["rewind", &id, "--start", "--preview"]).ok();
    assert!(preview.contains("b\u{fffd}d"), "{preview}");
    project.mxd(["rewind", &id, "--start"]).ok();
    assert_eq!(read(&worktree.join("d").join(name)), "one\n");
    assert!(!worktree.join(name).exists());
    world.git(&project.path, ["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn a_patch_has_every_byte_and_every_name_and_git_applies_it() {
    let world = World::new();
    let before =
        format!("seq 40 > old.txt && printf 'a\\r\\nb\\r\\n' > win.dat && echo '#!/bin/sh' > run.sh && {COMMIT}");
    let change = "printf 'caf\\351 \\033[31mred\\n' > latin.txt; head -c 9000 /dev/zero | tr '\\0' x > long.txt; \
        echo a > 'sp ace'; echo b > \"$(printf 'tab\\there')\"; echo c > \"$(printf 'line\\nbreak')\"; \
        echo d > \"$(printf 'b\\377d')\"; echo e > 'quo\"te'; sed -i 's/7/seven/' old.txt; git mv old.txt new.txt; \
        printf 'a\\r\\nB\\r\\n' > win.dat; chmod +x run.sh; ln -s new.txt link";
    let project = worked(&world, &before, &[change, COMMIT]);
    let id = project.id("Worker");
    let patch = world.root().join("all.patch");
    let out = world.mxd_command(&project.path).args(["diff", &id]).output().unwrap();
    assert!(out.status.success(), "{out:?}");
    fs::write(&patch, &out.stdout).unwrap();
    world.git(&project.path, ["apply", "--index", &patch.display().to_string()]);
    let theirs = world.git(&project.worktree("Worker"), ["rev-parse", "HEAD^{tree}"]);
    assert_eq!(world.git(&project.path, ["write-tree"]), theirs, "{}", String::from_utf8_lossy(&out.stdout));
    let stat = project.mxd(["diff", &id, "--stat"]).ok();
    assert!(stat.contains("M run.sh +0 -0 (was a regular file, is now an executable)"), "{stat}");
    // The preview names both the removed and the restored file.
    let preview = project.mxd(["rewind", &id, "--start", "--preview"]).ok();
    assert!(
        preview.contains("file: new.txt is removed\n") && preview.contains("file: old.txt is restored\n"),
        "{preview}"
    );
}

#[test]
fn submodules_are_shown_by_their_commits_merged_and_left_alone_by_a_rewind() {
    let world = World::new();
    let library = world.repository("library");
    fs::write(library.join("lib.txt"), "1").unwrap();
    world.git(&library, ["add", "-A"]);
    world.git(&library, ["commit", "-q", "-m", "one"]);
    let allow = "git -c protocol.file.allow=always";
    let add = format!("{allow} submodule --quiet add ../library lib && {COMMIT}");
    let update =
        format!("{allow} submodule --quiet update --init && (cd lib && echo 2 > lib.txt && git commit -q -a -m two)");
    let project = worked(&world, &add, &[&update, COMMIT]);
    let (id, worktree) = (project.id("Worker"), project.worktree("Worker"));
    let moved = world.git(&worktree.join("lib"), ["rev-parse", "HEAD"]);
    let found: Value = serde_json::from_str(&project.mxd(["diff", &id, "--json"]).ok()).unwrap();
    assert_eq!(
        (&found["files"][0]["new"]["kind"], &found["files"][0]["new"]["id"]),
        (&json!("submodule"), &json!(moved)),
        "{found:#}"
    );
    // Both sides moved it: that is a conflict with a name of its own.
    shell(&project, "(cd lib && echo 3 > lib.txt && git commit -q -a -m three) && git commit -q -a -m base");
    let preview: Value = serde_json::from_str(&project.mxd(["merge", &id, "--preview", "--json"]).out).unwrap();
    assert_eq!(preview["conflicts"][0]["kind"], "submodule", "{preview:#}");
    project.mxd(["merge", &id]).refused(3, "conflicts with main in 1 file, such as lib");
    world.git(&project.path, ["reset", "-q", "--hard", "HEAD~1"]);
    world.git(&project.path, ["-c", "protocol.file.allow=always", "submodule", "--quiet", "update"]);
    project.mxd(["merge", &id]).ok();
    assert!(world.git(&project.path, ["ls-tree", "main", "lib"]).contains(&moved));
    // What is in a submodule is its own affair.
    project.mxd(["rewind", &id, "--start"]).ok();
    assert_eq!(read(&worktree.join("lib/lib.txt")), "2\n");
    world.git(&project.path, ["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn pointers_of_git_lfs_stay_pointers_with_and_without_the_filter() {
    let pointer = |hash: char| {
        format!("version https://git-lfs.github.com/spec/v1\\noid sha256:{}\\nsize 4\\n", hash.to_string().repeat(64))
    };
    for filter in [false, true] {
        let world = World::new();
        // A stand-in for git-lfs: what is in the repository is a pointer, what is in the worktree is not.
        let set_up = "git config filter.lfs.clean 'sed s/CONTENT/version/' && git config filter.lfs.smudge 'sed s/version/CONTENT/' && git config filter.lfs.required true && ";
        let before = format!(
            "{}echo '*.bin filter=lfs diff=lfs merge=lfs -text' > .gitattributes && printf '{}' > x.bin && {COMMIT}",
            if filter { set_up } else { "" },
            pointer('a')
        );
        let change = format!("printf '{}' > x.bin; echo y > y.txt", pointer('b'));
        let project = worked(&world, &before, &[&change, COMMIT]);
        let (id, worktree) = (project.id("Worker"), project.worktree("Worker"));
        let diff = project.mxd(["diff", &id]).ok();
        assert!(diff.contains(&format!("+oid sha256:{}", "b".repeat(64))), "filter {filter}: {diff}");
        project.mxd(["merge", &id]).ok();
        let stored = world.git(&project.path, ["cat-file", "-p", "main:x.bin"]);
        assert!(stored.starts_with("version ") && stored.contains(&"b".repeat(64)), "filter {filter}: {stored}");
        assert_eq!(status(&project), "", "filter {filter}");
        let shown = read(&project.path.join("x.bin"));
        assert!(shown.starts_with(if filter { "CONTENT" } else { "version" }), "filter {filter}: {shown}");
        project.mxd(["rewind", &id, "--start"]).ok();
        assert!(read(&worktree.join("x.bin")).contains(&"a".repeat(64)), "filter {filter}");
        assert_eq!(world.git(&worktree, ["status", "--porcelain"]), "", "filter {filter}");
        // Both sides changed the content: their pointers conflict.
        project.mxd(["rewind", &id, "--redo"]).ok();
        project.mxd(["merge", &id, "--undo"]).ok();
        shell(&project, &format!("printf '{}' > x.bin && {COMMIT}", pointer('c')));
        project.mxd(["merge", &id]).refused(3, "such as x.bin");
    }
}

#[test]
fn files_of_windows_come_back_as_they_were() {
    let world = World::new();
    let before = format!(
        "printf '*.txt eol=crlf\\n' > .gitattributes && printf 'one\\r\\ntwo\\r\\n' > a.txt && printf 'a\\r\\nb\\n' > mixed.dat && {COMMIT}"
    );
    let project =
        worked(&world, &before, &["printf 'one\\r\\n2\\r\\n' > a.txt; printf 'a\\r\\nb\\r\\n' > mixed.dat", COMMIT]);
    let (id, worktree) = (project.id("Worker"), project.worktree("Worker"));
    let diff = project.mxd(["diff", &id, "a.txt"]).ok();
    assert!(diff.contains("-two\n+2\n"), "only what was changed: {diff}");
    // What is asked without the project being opened is asked of the same bytes that were kept.
    assert_eq!(project.mxd(["diff", &id, "--turn", "2..", "--stat"]).ok(), "0 files, +0 -0\n");
    assert_eq!(project.mxd(["diff", &id, "--turn", "1..", "--stat"]).ok(), "0 files, +0 -0\n");
    let preview = project.mxd(["rewind", &id, "--to", "1", "--preview"]).ok();
    assert!(!preview.contains("file:") && preview.contains("commit:"), "no file would change: {preview}");
    let all = files(&worktree);
    project.mxd(["rewind", &id, "--start"]).ok();
    assert_eq!(
        (read(&worktree.join("a.txt")), read(&worktree.join("mixed.dat"))),
        ("one\r\ntwo\r\n".into(), "a\r\nb\n".into())
    );
    project.mxd(["rewind", &id, "--redo"]).ok();
    assert_eq!(files(&worktree), all);
    project.mxd(["merge", &id]).ok();
    assert_eq!((read(&project.path.join("a.txt")), status(&project).as_str()), ("one\r\n2\r\n".into(), ""));
}

#[test]
fn files_of_many_lines_and_many_bytes_are_compared_kept_and_merged() {
    let world = World::new();
    let before = format!("seq 50000 > lines.txt && {COMMIT}");
    let change = "sed -i 's/^/x/' lines.txt; head -c 25000000 /dev/zero | tr '\\0' z > big.txt; echo small > small.txt";
    let project = worked(&world, &before, &[change, COMMIT]);
    let (id, worktree) = (project.id("Worker"), project.worktree("Worker"));
    let stat = project.mxd(["diff", &id, "--stat"]).ok();
    assert!(stat.contains("M lines.txt +50000 -50000"), "{stat}");
    let patch = project.mxd(["diff", &id, "lines.txt"]).ok();
    assert_eq!(
        patch.lines().filter(|line| line.starts_with("+x") || line.starts_with('-')).count(),
        100_001,
        "with the name"
    );
    assert!(stat.contains("A big.txt +0 -0 (too large to compare line by line, "), "{stat}");
    let whole = project.mxd(["diff", &id, "big.txt"]).ok();
    assert!(whole.len() > 25_000_000, "a patch has all of it: {}", whole.len());
    // What is larger than is kept stays where it is; everything else goes back.
    project.mxd(["rewind", &id, "--start", "--files"]).ok();
    assert!(!worktree.join("small.txt").exists());
    assert_eq!(read(&worktree.join("lines.txt")).lines().next(), Some("1"));
    project.mxd(["rewind", &id, "--redo"]).ok();
    assert_eq!(fs::metadata(worktree.join("big.txt")).unwrap().len(), 25_000_000);
    assert_eq!(world.git(&worktree, ["status", "--porcelain"]), "");
    project.mxd(["merge", &id]).ok();
    assert_eq!(fs::metadata(project.path.join("big.txt")).unwrap().len(), 25_000_000);
}

#[test]
fn renames_by_both_and_changes_of_kind_are_conflicts_with_a_name() {
    let world = World::new();
    let before = format!("seq 20 > moved; echo tool > tool; {COMMIT}");
    let project = worked(&world, &before, &["git mv moved moved-task; rm tool; ln -s moved-task tool", COMMIT]);
    let id = project.id("Worker");
    shell(&project, &format!("git mv moved moved-base && echo other > tool && chmod +x tool && {COMMIT}"));
    let ran = project.mxd(["merge", &id, "--preview", "--json"]);
    let preview: Value = serde_json::from_str(&ran.out).unwrap();
    let kinds: Vec<(&str, &str)> = preview["conflicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|conflict| (conflict["path"].as_str().unwrap(), conflict["kind"].as_str().unwrap()))
        .collect();
    for expected in [("moved", "both_moved"), ("tool", "mode")] {
        assert!(kinds.contains(&expected), "{expected:?} in {kinds:?}");
    }
    project.mxd(["merge", &id, "--resolve"]).ok();
    let log = project.mxd(["log", &id, "--json"]).ok();
    assert!(
        log.contains("both renamed it, to different names") && log.contains("a file, a program or a link"),
        "{log}"
    );
}

#[test]
fn a_user_who_commits_during_the_check_is_not_merged_unchecked() {
    let world = World::new();
    let project =
        worked(&world, "echo one > a.txt && git add -A && git commit -q -m one", &["echo two > b.txt", COMMIT]);
    let (id, before) = (project.id("Worker"), world.git(&project.path, ["rev-parse", "main"]));
    // The check itself plays the user.
    project
        .mxd(["config", "set", "verify", "test -e c.txt || { echo c > c.txt; git add -A; git commit -q -m person; }"])
        .ok();
    project.mxd(["merge", &id]).refused(3, "moved meanwhile");
    assert_eq!(world.git(&project.path, ["rev-parse", "main"]), before);
    project.mxd(["merge", &id]).ok();
    assert!(project.path.join("c.txt").exists() && project.path.join("b.txt").exists());
    // Somebody who changes the base meanwhile is not written over either.
    project.mxd(["merge", &id, "--undo"]).ok();
    project.mxd(["config", "set", "verify", &format!("echo mine > {}/b.txt; sleep 0", project.path.display())]).ok();
    let refusal = project.mxd(["merge", &id]).refused(3, "b.txt");
    assert_eq!(read(&project.path.join("b.txt")), "mine\n", "{refusal}");
    assert_eq!(world.git(&project.path, ["rev-parse", "main"]), before);
    assert_eq!(world.git(&project.path, ["for-each-ref", "refs/mxd/pending", "refs/mxd/undo"]), "");
}
