//! `kill -9` in the middle of a merge, of its undoing and of a rewind: at the next start everything is finished or undone,
//! nothing is lost, and the repository is sound. `MXD_KILLS` says how often (4 by default).

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::painted;
use crate::cli_support::{Project, World};
use crate::git_support::files;

fn kills() -> u32 {
    std::env::var("MXD_KILLS").ok().and_then(|often| often.parse().ok()).unwrap_or(4)
}

/// Runs a command and kills it after `wait`, if it is not done by then. Tells how long it took if it was.
fn cut_short(project: &Project<'_>, args: &[&str], wait: Duration) -> Option<Duration> {
    let mut command = project.world.mxd_command(&project.path);
    let mut child = command.args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while begun.elapsed() < wait {
        if child.try_wait().unwrap().is_some() {
            return Some(begun.elapsed());
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

fn sound(world: &World, folder: &Path) {
    world.git(folder, ["fsck", "--strict", "--no-dangling"]);
    assert_eq!(world.git(folder, ["for-each-ref", "refs/mxd/pending"]), "", "nothing is left half done");
}

/// Opens the project and closes it again: what was interrupted is finished or undone.
fn start_anew(project: &Project<'_>) {
    project.mxd(["stop"]).ok();
}

#[test]
fn a_merge_and_its_undoing_killed_anywhere_are_finished_or_undone() {
    let world = World::new();
    let project = painted(&world);
    let id = project.id("Painter");
    let (before, base) = (files(&project.path), world.git(&project.path, ["rev-parse", "main"]));
    // How long one takes says where the kills go.
    let whole = cut_short(&project, &["merge", &id], Duration::from_secs(60)).expect("it ends");
    let after = files(&project.path);
    assert_ne!(after, before);
    project.mxd(["merge", &id, "--undo"]).ok();
    for kill in 0..kills() {
        let merged = world.git(&project.path, ["rev-parse", "main"]) != base;
        let args: &[&str] = if merged { &["merge", &id, "--undo"] } else { &["merge", &id] };
        cut_short(&project, args, whole * (kill + 1) / kills());
        start_anew(&project);
        sound(&world, &project.path);
        let merged = world.git(&project.path, ["rev-parse", "main"]) != base;
        assert_eq!(files(&project.path), if merged { after.clone() } else { before.clone() }, "kill {kill}");
        assert_eq!(world.git(&project.path, ["status", "--porcelain", "--untracked-files=no"]), "", "kill {kill}");
    }
    if world.git(&project.path, ["rev-parse", "main"]) != base {
        // Also what was finished after a crash can be taken back.
        project.mxd(["merge", &id, "--undo"]).ok();
    }
    assert_eq!((files(&project.path), world.git(&project.path, ["rev-parse", "main"])), (before, base));
}

#[test]
fn a_rewind_killed_anywhere_is_finished_or_never_happened() {
    let world = World::new();
    let project = painted(&world);
    let (id, worktree) = (project.id("Painter"), project.worktree("Painter"));
    let all = files(&worktree);
    let whole = cut_short(&project, &["rewind", &id, "--to", "1"], Duration::from_secs(60)).expect("it ends");
    let back = files(&worktree);
    assert_ne!(all, back);
    project.mxd(["rewind", &id, "--redo"]).ok();
    for kill in 0..kills() {
        let is_back = files(&worktree) == back;
        let args: &[&str] = if is_back { &["rewind", &id, "--redo"] } else { &["rewind", &id, "--to", "1"] };
        cut_short(&project, args, whole * (kill + 1) / kills());
        start_anew(&project);
        sound(&world, &project.path);
        let (now, turns) = (files(&worktree), super::turns(&project, "Painter").len());
        let expected = if turns == 1 { &back } else { &all };
        assert_eq!(&now, expected, "kill {kill}: files and {turns} turns belong together");
        assert!(matches!(turns, 1 | 4), "kill {kill}");
    }
}
