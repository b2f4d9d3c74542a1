use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::*;

struct Ground {
    _folder: tempfile::TempDir,
    inside: PathBuf,
    outside: PathBuf,
    fence: Fence,
}

fn ground() -> Ground {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let (inside, outside) = (base.join("in"), base.join("out"));
    for path in [inside.join("a/b"), inside.join(".git/hooks"), inside.join("sub/.git"), outside.clone()] {
        fs::create_dir_all(path).unwrap();
    }
    fs::write(outside.join("secret"), "untouched").unwrap();
    symlink(&outside, inside.join("escape")).unwrap();
    symlink("../out/new", inside.join("dangling")).unwrap();
    symlink("a/b", inside.join("short")).unwrap();
    symlink(inside.join("a"), inside.join("absolute")).unwrap();
    symlink(".git", inside.join("innocent")).unwrap();
    symlink("loop", inside.join("loop")).unwrap();
    let fence = Fence::new(&inside).unwrap();
    Ground { _folder: folder, inside, outside, fence }
}

fn write(ground: &Ground, path: &str) -> Result<PathBuf, String> {
    let writable = ground.fence.for_writing(path, &ground.inside).map_err(|error| error.to_string())?;
    let slot = Slot::make(&writable).map_err(|error| error.to_string())?;
    let before = slot.found(u64::MAX).map_err(|error| error.to_string())?;
    slot.replace(b"written", before.as_ref().map(|found| &found.metadata)).map_err(|error| error.to_string())?;
    Ok(slot.path().to_owned())
}

#[test]
fn writing_inside_works_also_through_links_that_stay_inside() {
    let ground = ground();
    for path in ["new", "x/y/z", "short/c", "absolute/d", "a/../e", "./f", "nowhere/../g"] {
        let written = write(&ground, path).unwrap();
        assert_eq!(fs::read(&written).unwrap(), b"written", "{path}");
        assert!(written.starts_with(&ground.inside));
    }
    let absolute = ground.inside.join("abs");
    assert_eq!(write(&ground, absolute.to_str().unwrap()), Ok(absolute));
}

#[test]
fn writing_outside_is_refused_with_a_sentence() {
    let ground = ground();
    for path in ["../out/x", "/etc/mxd-test", "escape/x", "a/../../out/x", "dangling", "short/../../../out/x"] {
        let refusal = write(&ground, path).unwrap_err();
        assert!(refusal.contains("is outside the worktree"), "{path}: {refusal}");
    }
    assert_eq!(fs::read_dir(&ground.outside).unwrap().count(), 1);
}

#[test]
fn git_data_and_files_with_keys_are_never_written() {
    let mut ground = ground();
    for path in [".git/hooks/pre-commit", ".GIT/config", ".git", "innocent/config", "sub/.git/config", "a/.git"] {
        assert!(write(&ground, path).unwrap_err().contains("git's own data"), "{path}");
    }
    assert!(write(&ground, ".gitignore").is_ok() && write(&ground, "a/.github/x").is_ok());
    ground.fence = ground.fence.clone().hide(&ground.inside.join("keys")).unwrap();
    assert!(write(&ground, "keys/mine").unwrap_err().contains("is protected"));
}

/// Folders that somebody else knows of.
#[derive(Debug)]
struct Told(Result<Vec<PathBuf>, String>);

impl Hooks for Told {
    fn folders(&self) -> Result<Vec<PathBuf>, String> {
        self.0.clone()
    }
}

fn with_hooks(ground: &Ground, folders: &[&str]) -> Fence {
    let folders = folders.iter().map(|folder| ground.inside.join(folder)).collect();
    ground.fence.clone().with_hooks(Arc::new(Told(Ok(folders))))
}

#[test]
fn folders_of_hooks_are_never_written_whether_or_not_they_exist_and_whatever_leads_there() {
    let mut ground = ground();
    ground.fence = with_hooks(&ground, &["a/b", ".githooks", "escape/hooks", "/elsewhere"]);
    for path in [
        "a/b/pre-commit",
        "a/b/lib/helper.sh",
        "short/pre-commit",
        "absolute/b/x",
        "a/x/../b/y",
        ".githooks/x",
        ".GitHooks/x",
    ] {
        let refusal = write(&ground, path).unwrap_err();
        assert!(refusal.contains("by core.hooksPath") && refusal.contains("ask them to make it"), "{path}: {refusal}");
    }
    assert!(write(&ground, ".githooks").is_err(), "nor the folder itself, as a file");
    for path in ["a/c", "a/bc/x", ".githooks2/x", "pre-commit"] {
        assert!(write(&ground, path).is_ok(), "{path}");
    }
    // A folder that is spelled through a link is the folder that the link leads to.
    ground.fence = with_hooks(&ground, &["absolute"]);
    assert!(write(&ground, "a/new").unwrap_err().contains("core.hooksPath"));
}

#[test]
fn a_worktree_whose_top_or_parent_has_the_hooks_can_still_be_worked_in() {
    let mut ground = ground();
    ground.fence = with_hooks(&ground, &["."]);
    assert!(write(&ground, "pre-push").unwrap_err().contains("core.hooksPath"));
    assert!(write(&ground, "README.md").is_ok() && write(&ground, "src/pre-push").is_ok());
    ground.fence = with_hooks(&ground, &[".."]);
    assert!(write(&ground, "commit-msg").is_ok(), "git looks for it one folder higher");
}

#[test]
fn nothing_is_written_while_nobody_can_tell_where_hooks_are() {
    let mut ground = ground();
    ground.fence = ground.fence.clone().with_hooks(Arc::new(Told(Err("line 3 is odd".to_owned()))));
    let refusal = write(&ground, "a/new").unwrap_err();
    assert!(refusal.contains("cannot be read: line 3 is odd"), "{refusal}");
}

#[test]
fn git_data_under_another_name_is_closed_but_not_a_worktree_inside_of_it() {
    let mut ground = ground();
    ground.fence = ground.fence.clone().with_git_data(&ground.inside.join("absolute/b")).unwrap();
    assert!(write(&ground, "a/b/hooks/pre-commit").unwrap_err().contains("git's own data"));
    ground.fence = Fence::new(&ground.inside).unwrap().with_git_data(ground.inside.parent().unwrap()).unwrap();
    assert!(write(&ground, "a/b/free").is_ok());
}

#[test]
fn a_path_that_names_no_file_is_refused() {
    let ground = ground();
    assert!(write(&ground, "").unwrap_err().contains("empty"));
    assert!(write(&ground, "a/").unwrap_err().contains("folder"));
    assert!(write(&ground, ".").unwrap_err().contains("folder"));
    assert!(write(&ground, "a\0b").unwrap_err().contains("zero byte"));
    assert!(write(&ground, "loop").unwrap_err().contains("too many symbolic links"));
    assert!(write(&ground, "a/b").is_err(), "a folder is in the way");
}

#[test]
fn reading_outside_is_marked_and_hidden_places_are_closed() {
    let ground = ground();
    let read = |fence: &Fence, path: &str| fence.for_reading(path, &ground.inside);
    assert!(!read(&ground.fence, "a/x").unwrap().is_outside);
    assert!(read(&ground.fence, "escape/secret").unwrap().is_outside);
    let fence = ground.fence.clone().hide(&ground.outside.join("secret")).unwrap();
    assert!(matches!(read(&fence, "escape/secret"), Err(FenceError::Hidden(_))));
    for path in ["/proc/self/environ", "/proc/1/environ", "/proc/thread-self/environ"] {
        if cfg!(target_os = "linux") {
            assert!(matches!(read(&fence, path), Err(FenceError::Hidden(_))), "{path}");
        }
    }
    assert!(read(&fence, "/proc/cpuinfo").is_ok());
}

#[test]
fn a_replaced_file_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let ground = ground();
    let path = ground.inside.join("run.sh");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    let slot = Slot::open(&ground.fence.for_writing("run.sh", &ground.inside).unwrap()).unwrap();
    let found = slot.found(1000).unwrap().unwrap();
    slot.replace(b"new", Some(&found.metadata)).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o751);
    assert_eq!(fs::read(&path).unwrap(), b"new");
    let names: Vec<_> = fs::read_dir(&ground.inside).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains(".tmp")), "{names:?}");
}

#[test]
fn a_link_swapped_in_during_the_write_leads_nowhere() {
    let ground = ground();
    let (stop, swaps) = (AtomicBool::new(false), std::sync::atomic::AtomicU32::new(0));
    let (target, aside) = (ground.inside.join("swap"), ground.inside.join("aside"));
    fs::create_dir(&target).unwrap();
    let (mut written, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The writer may make the folder anew while it is away; then this round is skipped.
            while !stop.load(Ordering::Relaxed) {
                let _ = fs::rename(&target, &aside);
                if symlink(&ground.outside, &target).is_ok() {
                    swaps.fetch_add(1, Ordering::Relaxed);
                    let _ = fs::remove_file(&target);
                }
                if fs::rename(&aside, &target).is_err() {
                    let _ = fs::remove_dir_all(&aside);
                }
            }
        });
        while written + refused < 300 || swaps.load(Ordering::Relaxed) < 300 {
            match write(&ground, "swap/file") {
                Ok(_) => written += 1,
                Err(_) => refused += 1,
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    let escaped: Vec<_> = fs::read_dir(&ground.outside).unwrap().flatten().map(|entry| entry.file_name()).collect();
    println!("swaps {}, written {written}, refused {refused}, escaped {}", swaps.into_inner(), escaped.len() - 1);
    assert_eq!(escaped, ["secret"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn no_path_reaches_outside_or_into_git(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "a", "b", "..", ".", "escape", "short", "absolute", "innocent", "dangling", ".git", "new", "sub",
                "secret", "hooks", "out", "in", "",
            ]),
            1..7,
        ),
        absolute in any::<bool>(),
    ) {
        let ground = ground();
        let mut path = parts.join("/");
        if absolute {
            path = format!("{}/{path}", ground.inside.display());
        }
        let before = listing(&ground.inside.join(".git"));
        if let Ok(written) = write(&ground, &path) {
            let found = written.canonicalize().unwrap();
            prop_assert!(found.starts_with(&ground.inside), "{path} reached {}", found.display());
        }
        prop_assert_eq!(fs::read_to_string(ground.outside.join("secret")).unwrap(), "untouched");
        prop_assert_eq!(fs::read_dir(&ground.outside).unwrap().count(), 1);
        prop_assert_eq!(listing(&ground.inside.join(".git")), before);
    }
}

fn listing(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        found.push(entry.path());
        if entry.file_type().unwrap().is_dir() {
            found.extend(listing(&entry.path()));
        }
    }
    found
}

#[test]
fn what_somebody_else_wrote_meanwhile_is_not_replaced() {
    let ground = ground();
    let path = ground.inside.join("shared");
    let slot = Slot::make(&ground.fence.for_writing("shared", &ground.inside).unwrap()).unwrap();
    std::fs::write(&path, "theirs").unwrap();
    let error = slot.replace(b"ours", None).unwrap_err();
    assert!(error.to_string().contains("changed by something else"), "{error}");
    let found = slot.found(100).unwrap().unwrap();
    std::fs::write(&path, "theirs, and longer").unwrap();
    assert!(slot.replace(b"ours", Some(&found.metadata)).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "theirs, and longer");
    assert_eq!(
        std::fs::read_dir(&ground.inside)
            .unwrap()
            .flatten()
            .filter(|e| e.path().extension() == Some("tmp".as_ref()))
            .count(),
        0
    );
}

#[test]
fn no_temporary_file_is_ever_seen_in_the_worktree() {
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicBool, Ordering};
    let ground = ground();
    let fence = Fence::new(&ground.inside).unwrap().with_staging(&ground.inside.join(".git"));
    fs::write(ground.inside.join("a/old"), "old").unwrap();
    let names = |folder: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(ground.inside.join(folder)).unwrap().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let over = AtomicBool::new(false);
    let content = vec![b'x'; 8 << 20];
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut seen = BTreeSet::new();
            while !over.load(Ordering::Acquire) {
                seen.extend(names("a"));
            }
            seen
        });
        for name in ["a/old", "a/new"] {
            let slot = Slot::make(&fence.for_writing(name, &ground.inside).unwrap()).unwrap();
            let before = slot.found(u64::MAX).unwrap();
            slot.replace(&content, before.as_ref().map(|found| &found.metadata)).unwrap();
        }
        over.store(true, Ordering::Release);
        let seen = watcher.join().unwrap();
        assert!(seen.iter().all(|name| ["b", "old", "new"].contains(&name.as_str())), "{seen:?}");
    });
    assert_eq!(fs::metadata(ground.inside.join("a/new")).unwrap().len(), 8 << 20);
    assert_eq!(names(".git"), BTreeSet::from(["hooks".to_owned()]));
}

#[test]
fn a_staging_folder_that_is_gone_is_done_without() {
    let ground = ground();
    let fence = Fence::new(&ground.inside).unwrap().with_staging(&ground.inside.join("nowhere"));
    let slot = Slot::make(&fence.for_writing("new", &ground.inside).unwrap()).unwrap();
    slot.replace(b"written", None).unwrap();
    assert_eq!(fs::read(ground.inside.join("new")).unwrap(), b"written");
}
