use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::*;

struct Fixture {
    _folder: tempfile::TempDir,
    inside: PathBuf,
    outside: PathBuf,
    fence: PathPolicy,
}

fn fixture() -> Fixture {
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
    let fence = PathPolicy::new(&inside).unwrap();
    Fixture { _folder: folder, inside, outside, fence }
}

fn write(fixture: &Fixture, path: &str) -> Result<PathBuf, String> {
    let writable = fixture.fence.for_writing(path, &fixture.inside).map_err(|error| error.to_string())?;
    let slot = FileTarget::make(&writable).map_err(|error| error.to_string())?;
    let before = slot.read(u64::MAX).map_err(|error| error.to_string())?;
    slot.replace(b"written", before.as_ref().map(|found| &found.metadata)).map_err(|error| error.to_string())?;
    Ok(slot.path().to_owned())
}

#[test]
fn writing_inside_works_also_through_links_that_stay_inside() {
    let fixture = fixture();
    for path in ["new", "x/y/z", "short/c", "absolute/d", "a/../e", "./f", "nowhere/../g"] {
        let written = write(&fixture, path).unwrap();
        assert_eq!(fs::read(&written).unwrap(), b"written", "{path}");
        assert!(written.starts_with(&fixture.inside));
    }
    let absolute = fixture.inside.join("abs");
    assert_eq!(write(&fixture, absolute.to_str().unwrap()), Ok(absolute));
}

#[test]
fn writing_outside_is_refused() {
    let fixture = fixture();
    for path in ["../out/x", "/etc/mxd-test", "escape/x", "a/../../out/x", "dangling", "short/../../../out/x"] {
        let refusal = write(&fixture, path).unwrap_err();
        assert!(refusal.contains("is outside the worktree"), "{path}: {refusal}");
    }
    assert_eq!(fs::read_dir(&fixture.outside).unwrap().count(), 1);
}

#[test]
fn git_data_and_files_with_keys_are_never_written() {
    let mut fixture = fixture();
    for path in [".git/hooks/pre-commit", ".GIT/config", ".git", "innocent/config", "sub/.git/config", "a/.git"] {
        assert!(write(&fixture, path).unwrap_err().contains("git's own data"), "{path}");
    }
    assert!(write(&fixture, ".gitignore").is_ok() && write(&fixture, "a/.github/x").is_ok());
    fixture.fence = fixture.fence.clone().hide(&fixture.inside.join("keys")).unwrap();
    assert!(write(&fixture, "keys/mine").unwrap_err().contains("is protected"));
}

/// Fixed folders of hooks.
#[derive(Debug)]
struct FixedHooks(Result<Vec<PathBuf>, String>);

impl HookLocator for FixedHooks {
    fn folders(&self) -> Result<Vec<PathBuf>, String> {
        self.0.clone()
    }
}

fn with_hooks(fixture: &Fixture, folders: &[&str]) -> PathPolicy {
    let folders = folders.iter().map(|folder| fixture.inside.join(folder)).collect();
    fixture.fence.clone().with_hooks(Arc::new(FixedHooks(Ok(folders))))
}

#[test]
fn folders_of_hooks_are_never_written_existing_or_not_by_any_path() {
    let mut fixture = fixture();
    fixture.fence = with_hooks(&fixture, &["a/b", ".githooks", "escape/hooks", "/elsewhere"]);
    for path in [
        "a/b/pre-commit",
        "a/b/lib/helper.sh",
        "short/pre-commit",
        "absolute/b/x",
        "a/x/../b/y",
        ".githooks/x",
        ".GitHooks/x",
    ] {
        let refusal = write(&fixture, path).unwrap_err();
        assert!(refusal.contains("by core.hooksPath") && refusal.contains("ask them to make it"), "{path}: {refusal}");
    }
    assert!(write(&fixture, ".githooks").is_err(), "nor the folder itself, as a file");
    for path in ["a/c", "a/bc/x", ".githooks2/x", "pre-commit"] {
        assert!(write(&fixture, path).is_ok(), "{path}");
    }
    // A folder given through a link is the folder that the link leads to.
    fixture.fence = with_hooks(&fixture, &["absolute"]);
    assert!(write(&fixture, "a/new").unwrap_err().contains("core.hooksPath"));
}

#[test]
fn a_worktree_whose_root_or_parent_has_the_hooks_is_writable() {
    let mut fixture = fixture();
    fixture.fence = with_hooks(&fixture, &["."]);
    assert!(write(&fixture, "pre-push").unwrap_err().contains("core.hooksPath"));
    assert!(write(&fixture, "README.md").is_ok() && write(&fixture, "src/pre-push").is_ok());
    fixture.fence = with_hooks(&fixture, &[".."]);
    assert!(write(&fixture, "commit-msg").is_ok(), "git looks for it one folder higher");
}

#[test]
fn nothing_is_written_while_the_hooks_are_unknown() {
    let mut fixture = fixture();
    fixture.fence = fixture.fence.clone().with_hooks(Arc::new(FixedHooks(Err("line 3 is odd".to_owned()))));
    let refusal = write(&fixture, "a/new").unwrap_err();
    assert!(refusal.contains("cannot be read: line 3 is odd"), "{refusal}");
}

#[test]
fn git_data_under_another_name_is_denied_but_not_a_worktree_inside() {
    let mut fixture = fixture();
    fixture.fence = fixture.fence.clone().with_git_data(&fixture.inside.join("absolute/b")).unwrap();
    assert!(write(&fixture, "a/b/hooks/pre-commit").unwrap_err().contains("git's own data"));
    fixture.fence = PathPolicy::new(&fixture.inside).unwrap().with_git_data(fixture.inside.parent().unwrap()).unwrap();
    assert!(write(&fixture, "a/b/free").is_ok());
}

#[test]
fn a_path_that_names_no_file_is_refused() {
    let fixture = fixture();
    assert!(write(&fixture, "").unwrap_err().contains("empty"));
    assert!(write(&fixture, "a/").unwrap_err().contains("folder"));
    assert!(write(&fixture, ".").unwrap_err().contains("folder"));
    assert!(write(&fixture, "a\0b").unwrap_err().contains("zero byte"));
    assert!(write(&fixture, "loop").unwrap_err().contains("too many symbolic links"));
    assert!(write(&fixture, "a/b").is_err(), "a folder is in the way");
}

#[test]
fn reading_outside_is_marked_and_hidden_paths_are_denied() {
    let fixture = fixture();
    let read = |fence: &PathPolicy, path: &str| fence.for_reading(path, &fixture.inside);
    assert!(!read(&fixture.fence, "a/x").unwrap().is_outside);
    assert!(read(&fixture.fence, "escape/secret").unwrap().is_outside);
    let fence = fixture.fence.clone().hide(&fixture.outside.join("secret")).unwrap();
    assert!(matches!(read(&fence, "escape/secret"), Err(PathPolicyError::Hidden(_))));
    for path in ["/proc/self/environ", "/proc/1/environ", "/proc/thread-self/environ"] {
        if cfg!(target_os = "linux") {
            assert!(matches!(read(&fence, path), Err(PathPolicyError::Hidden(_))), "{path}");
        }
    }
    assert!(read(&fence, "/proc/cpuinfo").is_ok());
}

#[test]
fn a_replaced_file_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = fixture();
    let path = fixture.inside.join("run.sh");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    let slot = FileTarget::open(&fixture.fence.for_writing("run.sh", &fixture.inside).unwrap()).unwrap();
    let found = slot.read(1000).unwrap().unwrap();
    slot.replace(b"new", Some(&found.metadata)).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o751);
    assert_eq!(fs::read(&path).unwrap(), b"new");
    let names: Vec<_> = fs::read_dir(&fixture.inside).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains(".tmp")), "{names:?}");
}

#[test]
fn a_link_swapped_in_during_the_write_leads_nowhere() {
    let fixture = fixture();
    let (stop, swaps) = (AtomicBool::new(false), std::sync::atomic::AtomicU32::new(0));
    let (target, aside) = (fixture.inside.join("swap"), fixture.inside.join("aside"));
    fs::create_dir(&target).unwrap();
    let (mut written, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The writer may create the folder again meanwhile; then this iteration is skipped.
            while !stop.load(Ordering::Relaxed) {
                let _ = fs::rename(&target, &aside);
                if symlink(&fixture.outside, &target).is_ok() {
                    swaps.fetch_add(1, Ordering::Relaxed);
                    let _ = fs::remove_file(&target);
                }
                if fs::rename(&aside, &target).is_err() {
                    let _ = fs::remove_dir_all(&aside);
                }
            }
        });
        while written + refused < 300 || swaps.load(Ordering::Relaxed) < 300 {
            match write(&fixture, "swap/file") {
                Ok(_) => written += 1,
                Err(_) => refused += 1,
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    let escaped: Vec<_> = fs::read_dir(&fixture.outside).unwrap().flatten().map(|entry| entry.file_name()).collect();
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
        let fixture = fixture();
        let mut path = parts.join("/");
        if absolute {
            path = format!("{}/{path}", fixture.inside.display());
        }
        let before = listing(&fixture.inside.join(".git"));
        if let Ok(written) = write(&fixture, &path) {
            let found = written.canonicalize().unwrap();
            prop_assert!(found.starts_with(&fixture.inside), "{path} reached {}", found.display());
        }
        prop_assert_eq!(fs::read_to_string(fixture.outside.join("secret")).unwrap(), "untouched");
        prop_assert_eq!(fs::read_dir(&fixture.outside).unwrap().count(), 1);
        prop_assert_eq!(listing(&fixture.inside.join(".git")), before);
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
fn concurrent_changes_are_not_replaced() {
    let fixture = fixture();
    let path = fixture.inside.join("shared");
    let slot = FileTarget::make(&fixture.fence.for_writing("shared", &fixture.inside).unwrap()).unwrap();
    std::fs::write(&path, "theirs").unwrap();
    let error = slot.replace(b"ours", None).unwrap_err();
    assert!(error.to_string().contains("changed by something else"), "{error}");
    let found = slot.read(100).unwrap().unwrap();
    std::fs::write(&path, "theirs, and longer").unwrap();
    assert!(slot.replace(b"ours", Some(&found.metadata)).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "theirs, and longer");
    assert_eq!(
        std::fs::read_dir(&fixture.inside)
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
    let fixture = fixture();
    let fence = PathPolicy::new(&fixture.inside).unwrap().with_staging(&fixture.inside.join(".git"));
    fs::write(fixture.inside.join("a/old"), "old").unwrap();
    let names = |folder: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(fixture.inside.join(folder)).unwrap().flatten();
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
            let slot = FileTarget::make(&fence.for_writing(name, &fixture.inside).unwrap()).unwrap();
            let before = slot.read(u64::MAX).unwrap();
            slot.replace(&content, before.as_ref().map(|found| &found.metadata)).unwrap();
        }
        over.store(true, Ordering::Release);
        let seen = watcher.join().unwrap();
        assert!(seen.iter().all(|name| ["b", "old", "new"].contains(&name.as_str())), "{seen:?}");
    });
    assert_eq!(fs::metadata(fixture.inside.join("a/new")).unwrap().len(), 8 << 20);
    assert_eq!(names(".git"), BTreeSet::from(["hooks".to_owned()]));
}

#[test]
fn a_missing_staging_folder_is_tolerated() {
    let fixture = fixture();
    let fence = PathPolicy::new(&fixture.inside).unwrap().with_staging(&fixture.inside.join("nowhere"));
    let slot = FileTarget::make(&fence.for_writing("new", &fixture.inside).unwrap()).unwrap();
    slot.replace(b"written", None).unwrap();
    assert_eq!(fs::read(fixture.inside.join("new")).unwrap(), b"written");
}
