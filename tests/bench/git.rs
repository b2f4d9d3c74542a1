//! Worktrees and snapshots, beside git alone, on a repository of 20,000 files.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mxd::base::{IdSource, SystemClock, TaskId, TurnId};
use mxd::git::conflict_scan::ConflictScanner;
use mxd::git::snapshot::FILE_CAP;
use mxd::git::{BranchStart, WorktreeSpec, Worktrees, branch};
use tokio::runtime::Runtime;

use crate::Outcome;
use crate::fixture;
use crate::report::{Report, Row, Target, Unit};
use crate::rounds::{Paired, paired};

const FOLDERS: usize = 200;
const FEW_FOLDERS: usize = 10;
const FILES: usize = 100;
/// How many worktrees are made at once in one row.
const AT_ONCE: usize = 10;
const BRANCHES: usize = 20;

const ROWS: [&str; 6] = [
    "worktree, 20,000 files",
    "worktrees, 10 at once, 1,000 files",
    "snapshot, 20,000 files, 0 changes",
    "snapshot, 20,000 files, 1 change",
    "snapshot, 20,000 files, 1,000 changes",
    "conflict radar, 20 branches, 20,000 files",
];

struct Bench {
    runtime: Runtime,
    worktrees: Worktrees,
    ids: IdSource,
    top: PathBuf,
}

pub fn measure(report: &mut Report) -> Outcome {
    if !ROWS.iter().any(|row| report.wants(row)) {
        return Ok(());
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let top = folder.path().join("repository");
    let bench = Bench::new(&top, FOLDERS)?;
    creation(report, ROWS[0], 1, &bench)?;
    if report.wants(ROWS[1]) {
        creation(report, ROWS[1], AT_ONCE, &Bench::new(&folder.path().join("small"), FEW_FOLDERS)?)?;
    }
    snapshots(report, &bench)?;
    radar(report, &bench)
}

fn creation(report: &mut Report, row: &str, count: usize, bench: &Bench) -> Outcome {
    if !report.wants(row) {
        return Ok(());
    }
    let result = paired(|| bench.make(count), || bench.plain(count))?;
    let against = if count == 1 { "git worktree add" } else { "git worktree add, one after the other" };
    report.add(&costs(row, &result, against, Target::AtMost(1.1)))
}

fn snapshots(report: &mut Report, bench: &Bench) -> Outcome {
    let rows = [(ROWS[2], 0), (ROWS[3], 1), (ROWS[4], 1_000)];
    if !rows.iter().any(|(row, _)| report.wants(row)) {
        return Ok(());
    }
    let wanted = bench.wanted();
    let start = BranchStart::Branch("main".to_owned());
    bench.runtime.block_on(bench.worktrees.create(&wanted, &start))?;
    let other = bench.top.with_file_name("other");
    git(&bench.top, &["worktree", "add", "--quiet", "--detach", &other.display().to_string()])?;
    let index = bench.top.with_file_name("index");
    std::fs::copy(bench.top.join(".git/worktrees/other/index"), &index)?;
    let text = fixture::text(2_000);
    for (row, changes) in rows {
        if !report.wants(row) {
            continue;
        }
        let (mut ours, mut theirs) = (0_u32, 0_u32);
        let result = paired(
            || {
                ours += 1;
                change(&wanted.path, changes, ours, &text)?;
                let turn = TurnId::fresh(&bench.ids);
                let taken = bench.worktrees.take_snapshot(wanted.task, turn, &wanted.path, FILE_CAP);
                Ok(bench.runtime.block_on(taken).map(drop)?)
            },
            || {
                theirs += 1;
                change(&other, changes, theirs + 1_000_000, &text)?;
                for arguments in [&["add", "--all"][..], &["write-tree"][..]] {
                    run(Command::new("git").args(arguments).current_dir(&other).env("GIT_INDEX_FILE", &index))?;
                }
                Ok(())
            },
        )?;
        report.add(&costs(row, &result, "git add -A && git write-tree, an index of its own", Target::None))?;
    }
    Ok(())
}

fn radar(report: &mut Report, bench: &Bench) -> Outcome {
    if !report.wants(ROWS[5]) {
        return Ok(());
    }
    let text = fixture::text(2_000);
    let mut branches = Vec::new();
    for number in 0..BRANCHES {
        let name = format!("branch-{number}");
        git(&bench.top, &["checkout", "--quiet", "-b", &name, "main"])?;
        for file in 0..10 {
            let path = bench.top.join(format!("module_{}/part_{file}.rs", number / 2 * 2));
            std::fs::write(path, format!("{text}{number}\n"))?;
        }
        git(&bench.top, &["commit", "--quiet", "--all", "-m", "work"])?;
        branches.push(name);
    }
    let pairs: Vec<(usize, usize)> =
        (0..BRANCHES).flat_map(|one| (one + 1..BRANCHES).map(move |other| (one, other))).collect();
    let result = paired(
        || {
            Ok(bench
                .runtime
                .block_on(ConflictScanner::default().conflicts_between(
                    bench.worktrees.main(),
                    &branches,
                    &std::collections::BTreeMap::new(),
                ))
                .map(drop)?)
        },
        || {
            for (one, other) in &pairs {
                let mut command = Command::new("git");
                command
                    .args(["merge-tree", "--write-tree", &branches[*one], &branches[*other]])
                    .current_dir(&bench.top);
                // Code 1 says that they conflict.
                command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
            }
            Ok(())
        },
    )?;
    report.add(&costs(ROWS[5], &result, "git merge-tree for each pair", Target::None))
}

impl Bench {
    fn new(top: &Path, folders: usize) -> Outcome<Self> {
        plant(top, folders)?;
        let runtime = Runtime::new()?;
        let worktrees = runtime.block_on(Worktrees::open(top, &top.with_extension("worktrees"), None))?;
        let ids = IdSource::new(std::sync::Arc::new(SystemClock));
        Ok(Self { runtime, worktrees, ids, top: top.to_owned() })
    }

    fn wanted(&self) -> WorktreeSpec {
        let task = TaskId::fresh(&self.ids);
        WorktreeSpec { task, branch: branch::name(task, "bench"), path: self.worktrees.path_for(task, "bench") }
    }

    fn make(&self, count: usize) -> Outcome {
        let all: Vec<WorktreeSpec> = (0..count).map(|_| self.wanted()).collect();
        let start = BranchStart::Branch("main".to_owned());
        let made = futures::future::join_all(all.iter().map(|wanted| self.worktrees.create(wanted, &start)));
        for standing in self.runtime.block_on(made) {
            standing?;
        }
        Ok(())
    }

    fn plain(&self, count: usize) -> Outcome {
        for _ in 0..count {
            let name = format!("plain-{}", TaskId::fresh(&self.ids));
            let path = self.top.with_file_name(&name);
            git(
                &self.top,
                &["worktree", "add", "--quiet", "--no-track", "-b", &name, &path.display().to_string(), "main"],
            )?;
        }
        Ok(())
    }
}

/// Writes `count` files anew, spread over the tree.
fn change(top: &Path, count: usize, round: u32, text: &str) -> Outcome {
    for number in 0..count {
        let (folder, file) = (number % FOLDERS, number / FOLDERS);
        std::fs::write(top.join(format!("module_{folder}/part_{file}.rs")), format!("{text}{round} {number}\n"))?;
    }
    Ok(())
}

fn plant(top: &Path, folders: usize) -> Outcome {
    let text = fixture::text(2_000);
    for folder in 0..folders {
        let inside = top.join(format!("module_{folder}"));
        std::fs::create_dir_all(&inside)?;
        for file in 0..FILES {
            std::fs::write(inside.join(format!("part_{file}.rs")), format!("{text}{folder} {file}\n"))?;
        }
    }
    git(top, &["init", "--quiet", "--initial-branch=main"])?;
    for (key, value) in [("user.name", "bench"), ("user.email", "bench@example.org"), ("gc.auto", "0")] {
        git(top, &["config", key, value])?;
    }
    git(top, &["add", "--all"])?;
    git(top, &["commit", "--quiet", "-m", "start"])?;
    git(top, &["repack", "-a", "-d", "--quiet"])
}

fn git(folder: &Path, arguments: &[&str]) -> Outcome {
    run(Command::new("git").args(arguments).current_dir(folder))
}

fn run(command: &mut Command) -> Outcome {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into())
}

/// Returns a row that says how much longer ours takes.
fn costs(what: &str, result: &Paired, against: &str, target: Target) -> Row {
    Row {
        what: what.to_owned(),
        ours: result.ours.as_nanos() as f64,
        limit: result.limit.as_nanos() as f64,
        unit: Unit::NanosPerCall,
        ratio: 1.0 / result.speed,
        against: against.to_owned(),
        target,
    }
}
