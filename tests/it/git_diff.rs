//! Differences as data: what changed, line by line, bounded.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use mxd::git::diff::{self, DiffEndpoint, DiffSettings, Whitespace};
use mxd::git::merge::{MergeOutcome, MergeRequest, MergeStrategy};
use mxd::git::{Checkout, WorktreeSpec};
use mxd::model::diff::{CutReason, Diff, FileDiff, FileKind as Kind, FileStatus, LineKind};

use crate::git_support::{Scene, at_home, commit_all, git, odd_name};

async fn checkout(scene: &Scene, wanted: &WorktreeSpec) -> Checkout {
    scene.worktrees().await.checkout(&wanted.path).await.unwrap()
}

fn file<'d>(diff: &'d Diff, path: &str) -> &'d FileDiff {
    let found = diff.files.iter().find(|file| file.path().is_some_and(|name| name == Path::new(path)));
    found.unwrap_or_else(|| panic!("{path} in {:?}", diff.files.iter().map(FileDiff::path).collect::<Vec<_>>()))
}

at_home! {
    async fn lines_have_their_numbers_on_both_sides() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("a.txt"), "zero\none\nTWO\nthree").unwrap();
        let here = checkout(&scene, &wanted).await;
        let diff = diff::between(&here, &DiffEndpoint::Commit("main".into()), &DiffEndpoint::Worktree, &DiffSettings::default()).await.unwrap();
        let changed = file(&diff, "a.txt");
        assert_eq!((changed.status, changed.added, changed.removed), (FileStatus::Modified, 3, 2));
        let lines: Vec<_> = changed.hunks[0].lines.iter().map(|line| (line.kind, line.old, line.new, line.text.as_str(), line.unended)).collect();
        assert_eq!(lines, [
            (LineKind::Added, None, Some(1), "zero", false),
            (LineKind::Context, Some(1), Some(2), "one", false),
            (LineKind::Removed, Some(2), None, "two", false),
            (LineKind::Removed, Some(3), None, "three", false),
            (LineKind::Added, None, Some(3), "TWO", false),
            (LineKind::Added, None, Some(4), "three", true),
        ]);
        let reverse = diff::between(&here, &DiffEndpoint::Worktree, &DiffEndpoint::Commit("main".into()), &DiffSettings::default()).await.unwrap();
        assert_eq!((reverse.added(), reverse.removed()), (2, 3));
    }

    async fn every_kind_of_change_is_told_apart() {
        let scene = Scene::new();
        let text = "a file with\nenough lines\nto be found again\nwhen it moves\nsomewhere\n";
        fs::write(scene.top.join("old name"), text).unwrap();
        fs::write(scene.top.join("binary"), [0, 1, 2]).unwrap();
        scene.commit_all("more");
        let wanted = scene.made(1).await;
        let path = &wanted.path;
        git(path, ["mv", "old name", "new name"]);
        fs::write(path.join("binary"), [0, 9]).unwrap();
        fs::remove_file(path.join("dir/b.txt")).unwrap();
        fs::set_permissions(path.join("run.sh"), fs::Permissions::from_mode(0o644)).unwrap();
        fs::remove_file(path.join("link")).unwrap();
        fs::write(path.join("link"), "a file now").unwrap();
        fs::write(path.join(odd_name()), "odd\n").unwrap();
        let here = checkout(&scene, &wanted).await;
        let diff = diff::since_base(&here, "main", &DiffSettings::default()).await.unwrap();
        let renamed = file(&diff, "new name");
        assert_eq!((renamed.status, renamed.old.as_ref().unwrap().path.to_str()), (FileStatus::Renamed, Some("old name")));
        let binary = file(&diff, "binary");
        assert_eq!((binary.status, binary.cut, binary.hunks.len()), (FileStatus::Modified, Some(CutReason::Binary), 0));
        let deleted = file(&diff, "dir/b.txt");
        assert_eq!((deleted.status, deleted.new.as_ref(), deleted.removed), (FileStatus::Deleted, None, 1));
        let mode = file(&diff, "run.sh");
        assert_eq!((mode.old.as_ref().unwrap().kind, mode.new.as_ref().unwrap().kind), (Kind::Executable, Kind::File));
        assert!(diff.files.iter().any(|file| file.status == FileStatus::TypeChanged));
        let odd = diff.files.iter().find(|file| file.path().is_some_and(|path| path == odd_name())).unwrap();
        assert_eq!((odd.status, odd.added), (FileStatus::Untracked, 1));
        commit_all(path, "all of it");
        let committed = diff::since_base(&here, "main", &DiffSettings::default()).await.unwrap();
        assert_eq!(committed.files.len(), diff.files.len());
    }

    async fn what_came_in_from_the_base_is_not_the_tasks_work_also_once_that_has_all_of_it() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let (wanted, other) = (scene.made(1).await, scene.made(2).await);
        let here = checkout(&scene, &wanted).await;
        let names = async || {
            let diff = diff::since_base(&here, "main", &DiffSettings::default()).await.unwrap();
            diff.files.iter().map(|file| file.path().unwrap().to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let base = |name: &str| {
            fs::write(scene.top.join(name), name).unwrap();
            scene.commit_all(name);
        };
        let own = |name: &str| {
            fs::write(wanted.path.join(name), name).unwrap();
            commit_all(&wanted.path, name);
        };
        let land = async |wanted: &WorktreeSpec| {
            let (branch, target) = (wanted.branch.clone(), "main".to_owned());
            let message = "outcome".to_owned();
            let request = MergeRequest { task: wanted.task, branch, target, strategy: MergeStrategy::Merge, message, expected: None };
            assert!(matches!(worktrees.merge(&request).await.unwrap(), MergeOutcome::Done { .. }));
        };
        own("own-1");
        base("base-1");
        own("own-2");
        git(&wanted.path, ["merge", "--quiet", "--no-edit", "main"]);
        own("own-3");
        base("base-2");
        assert_eq!(names().await, ["own-1", "own-2", "own-3"]);
        land(&wanted).await;
        assert_eq!(names().await, ["own-1", "own-2", "own-3"], "merged, without what it took in");
        // Whatever else the base gains, by commits and by merges.
        base("base-3");
        fs::write(other.path.join("other"), "other").unwrap();
        commit_all(&other.path, "other");
        land(&other).await;
        base("base-4");
        assert_eq!(names().await, ["own-1", "own-2", "own-3"]);
        // What comes after it was merged is new, until that is merged as well.
        own("own-4");
        assert_eq!(names().await, ["own-4"]);
        git(&wanted.path, ["merge", "--quiet", "--no-edit", "main"]);
        land(&wanted).await;
        assert_eq!(names().await, ["own-4"]);
    }

    async fn a_base_that_was_only_moved_to_a_branch_still_shows_its_work() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        for name in ["own-1", "own-2"] {
            fs::write(wanted.path.join(name), name).unwrap();
            commit_all(&wanted.path, name);
        }
        git(&scene.top, ["merge", "--quiet", "--ff-only", &wanted.branch]);
        for further in [false, true] {
            if further {
                scene.commit_all("further");
            }
            let here = checkout(&scene, &wanted).await;
            let diff = diff::since_base(&here, "main", &DiffSettings::default()).await.unwrap();
            assert_eq!(diff.files.len(), 2, "{diff:?}");
        }
    }

    async fn submodules_show_their_commits() {
        let scene = Scene::new();
        let inner = scene.root.join("inner");
        git(&scene.root, ["init", "--quiet", "inner"]);
        let first = commit_all(&inner, "first");
        git(&scene.top, ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.to_str().unwrap(), "sub"]);
        let before = scene.commit_all("submodule");
        let second = commit_all(&scene.top.join("sub"), "second");
        let after = scene.commit_all("moved");
        let worktrees = scene.worktrees().await;
        let diff = diff::between(worktrees.main(), &DiffEndpoint::Commit(before), &DiffEndpoint::Commit(after), &DiffSettings::default()).await.unwrap();
        let sub = file(&diff, "sub");
        let (old, new) = (sub.old.as_ref().unwrap(), sub.new.as_ref().unwrap());
        assert_eq!((old.kind, old.id.as_str(), new.id.as_str()), (Kind::Submodule, first.as_str(), second.as_str()));
    }

    async fn white_space_counts_as_much_as_is_asked() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("a.txt"), "one\n  two\nthree  \n").unwrap();
        let here = checkout(&scene, &wanted).await;
        for (whitespace, added) in [(Whitespace::Counts, 2), (Whitespace::Amount, 1), (Whitespace::Ignored, 0)] {
            let wish = DiffSettings { whitespace, ..DiffSettings::default() };
            let diff = diff::since_base(&here, "main", &wish).await.unwrap();
            assert_eq!(diff.added(), added, "{whitespace:?}");
        }
    }

    async fn what_is_too_much_is_cut_and_said_so() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        let many: String = (0..50_000).flat_map(|number: u32| ["line ".to_owned(), number.to_string(), "\n".to_owned()]).collect();
        fs::write(wanted.path.join("many.txt"), &many).unwrap();
        fs::write(wanted.path.join("wide.txt"), "x".repeat(10_000)).unwrap();
        fs::write(wanted.path.join("zz.txt"), "z").unwrap();
        let here = checkout(&scene, &wanted).await;
        let wish = DiffSettings { max_files: 2, max_lines: 100, max_columns: 50, ..DiffSettings::default() };
        let diff = diff::since_base(&here, "main", &wish).await.unwrap();
        assert_eq!((diff.files.len(), diff.hidden_files), (2, 1));
        let long = file(&diff, "many.txt");
        assert_eq!((long.added, long.hunks[0].lines.len(), long.cut), (50_000, 100, Some(CutReason::Lines(49_900))));
        let wide = &file(&diff, "wide.txt").hunks[0].lines[0];
        assert_eq!((wide.text.len(), wide.hidden), (50, 9_950));
        let small = DiffSettings { max_bytes: 1_000, ..DiffSettings::default() };
        let diff = diff::since_base(&here, "main", &small).await.unwrap();
        assert_eq!((file(&diff, "many.txt").cut, file(&diff, "zz.txt").cut), (Some(CutReason::TooLarge), None));
        let whole = diff::since_base(&here, "main", &DiffSettings { max_lines: usize::MAX, ..DiffSettings::default() }).await.unwrap();
        assert_eq!(file(&whole, "many.txt").hunks[0].lines.len(), 50_000);
    }

    async fn only_what_is_asked_for_and_any_two_ends() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("a.txt"), "changed\n").unwrap();
        fs::write(wanted.path.join("dir/b.txt"), "changed\n").unwrap();
        let here = checkout(&scene, &wanted).await;
        let wish = DiffSettings { only: vec!["dir".into()], ..DiffSettings::default() };
        let diff = diff::since_base(&here, "main", &wish).await.unwrap();
        assert_eq!((diff.files.len(), diff.files[0].path().unwrap().to_str()), (1, Some("dir/b.txt")));
        let tree = git(&wanted.path, ["rev-parse", "main^{tree}"]);
        let all = diff::between(&here, &DiffEndpoint::Empty, &DiffEndpoint::Tree(tree.clone()), &DiffSettings::default()).await.unwrap();
        assert!(all.files.len() == 5 && all.files.iter().all(|file| file.status == FileStatus::Added));
        let same = diff::between(&here, &DiffEndpoint::Tree(tree), &DiffEndpoint::Commit("main".into()), &DiffSettings::default()).await.unwrap();
        assert_eq!(same, Diff::default());
        assert!(diff::between(&here, &DiffEndpoint::Commit("gone".into()), &DiffEndpoint::Worktree, &DiffSettings::default()).await.is_err());
    }
}
