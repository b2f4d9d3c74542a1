//! Two processes at the same instant: never two writers, and nobody's registration is lost.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use mxd::base::{Clock, IdSource, ProjectId, SystemClock};
use mxd::model::Project;
use mxd::store::lock::{EngineLock, LockError};
use mxd::store::registry::Registry;
use mxd::store::{RealDisk, StoreError};

const ROLE: &str = "MXD_TEST_LOCK_CHILD";

/// Another process of this test binary that runs only `test`, with a folder to work in.
struct Other {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Other {
    fn start(test: &str, folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture", "--test-threads=1"])
            .env(ROLE, folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    fn tell(&mut self, word: &str) {
        writeln!(self.input, "{word}").unwrap();
        self.input.flush().unwrap();
    }

    /// Returns the rest of the next line that starts with `tag`: the test harness prints as well.
    fn hear(&mut self, tag: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the other process went away");
            if let Some((_, rest)) = line.split_once(tag) {
                return rest.trim().to_owned();
            }
        }
    }

    fn finish(mut self) {
        drop(self.input);
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success(), "{rest}");
    }
}

/// Returns the folder to work in, if this process is one of the others.
fn role() -> Option<PathBuf> {
    std::env::var_os(ROLE).map(PathBuf::from)
}

fn lines_of_stdin() -> impl Iterator<Item = String> {
    std::io::stdin().lines().map(Result::unwrap)
}

fn note(ledger: &Path, word: &str) {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(ledger).unwrap();
    writeln!(file, "{word} {}", std::process::id()).unwrap();
}

/// One of the two: for each line on its input it tries for the lock and says how it went.
fn contend(folder: &Path) {
    let (lock, ledger) = (folder.join("engine.lock"), folder.join("ledger"));
    println!("@ready {}", std::process::id());
    let mut lines = lines_of_stdin();
    while let Some(word) = lines.next() {
        assert_eq!(word, "go");
        match EngineLock::acquire(&lock, SystemClock.now()) {
            Ok(guard) => {
                note(&ledger, "begin");
                println!("@won");
                // Held until the other has said how it fared, so that every round has a contest.
                assert_eq!(lines.next().as_deref(), Some("release"));
                note(&ledger, "end");
                drop(guard);
                println!("@released");
            }
            Err(LockError::Held(holder)) => {
                let pid = holder.as_ref().map_or(0, |holder| holder.pid);
                println!("@lost {pid} {}", LockError::Held(holder));
            }
            Err(error @ LockError::Store(_)) => panic!("{error}"),
        }
    }
}

#[test]
fn two_processes_at_the_same_instant_are_never_two_writers() {
    const TEST: &str = "store_lock::two_processes_at_the_same_instant_are_never_two_writers";
    const ROUNDS: usize = 200;
    if let Some(folder) = role() {
        return contend(&folder);
    }
    let folder = tempfile::tempdir().unwrap();
    let mut wins = [0, 0];
    for round in 0..ROUNDS {
        let mut pair = [Other::start(TEST, folder.path()), Other::start(TEST, folder.path())];
        let pids: Vec<String> = pair.iter_mut().map(|other| other.hear("@ready ")).collect();
        // Alternating who hears first, so that both win sometimes.
        pair[round % 2].tell("go");
        pair[1 - round % 2].tell("go");
        let answers: Vec<String> = pair.iter_mut().map(|other| other.hear("@")).collect();
        let winners: Vec<usize> = (0..2).filter(|who| answers[*who] == "won").collect();
        assert_eq!(winners.len(), 1, "round {round}: {answers:?}");
        let winner = winners[0];
        wins[winner] += 1;
        let loser = &answers[1 - winner];
        assert!(loser.starts_with(&format!("lost {} ", pids[winner])), "round {round}: the loser says {loser:?}");
        assert!(loser.contains(&format!("process {} has been working", pids[winner])), "{loser}");
        pair[winner].tell("release");
        assert_eq!(pair[winner].hear("@"), "released");
        pair.into_iter().for_each(Other::finish);
    }

    let ledger = fs::read_to_string(folder.path().join("ledger")).unwrap();
    let lines: Vec<_> = ledger.lines().collect();
    let whole = |pair: &[&str]| {
        pair.len() == 2 && pair[0].strip_prefix("begin ").is_some_and(|pid| pair[1].strip_prefix("end ") == Some(pid))
    };
    let overlaps = lines.chunks(2).filter(|pair| !whole(pair)).count();
    println!("rounds: {}, overlaps: {overlaps}, wins: {wins:?}", lines.len() / 2);
    assert_eq!((lines.len(), overlaps), (2 * ROUNDS, 0));
}

#[test]
fn a_lock_left_by_a_killed_process_is_free() {
    const TEST: &str = "store_lock::a_lock_left_by_a_killed_process_is_free";
    if let Some(folder) = role() {
        return contend(&folder);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine.lock");
    assert_eq!(EngineLock::holder(&path).unwrap(), None, "nobody was ever here");
    let mut other = Other::start(TEST, folder.path());
    let pid: u32 = other.hear("@ready ").parse().unwrap();
    other.tell("go");
    assert_eq!(other.hear("@"), "won");
    let holder = EngineLock::holder(&path).unwrap().unwrap().unwrap();
    assert_eq!(holder.pid, pid);
    other.child.kill().unwrap();
    other.child.wait().unwrap();
    assert_eq!(EngineLock::holder(&path).unwrap(), None);
    let guard = EngineLock::acquire(&path, SystemClock.now()).unwrap();
    let Some(Some(holder)) = EngineLock::holder(&path).unwrap() else { panic!("held by us") };
    assert_eq!(holder.pid, std::process::id());
    assert!(matches!(EngineLock::acquire(&path, SystemClock.now()), Err(LockError::Held(Some(by))) if by == holder));
    drop(guard);
    assert!(path.exists(), "the file is never removed");
}

#[test]
fn asking_who_holds_a_lock_never_keeps_anybody_from_taking_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine.lock");
    drop(EngineLock::acquire(&path, SystemClock.now()).unwrap());
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    EngineLock::holder(&path).unwrap();
                }
            });
        }
        let refused = (0..300).filter(|_| EngineLock::acquire(&path, SystemClock.now()).is_err()).count();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(refused, 0);
    });
}

fn project(ids: &IdSource, name: String) -> Project {
    Project {
        id: ProjectId::fresh(ids),
        path: PathBuf::from("/src").join(&name),
        name,
        base_branch: "main".to_owned(),
        created_at: SystemClock.now(),
        former: Vec::new(),
        extra: serde_json::Map::new(),
    }
}

fn register_many(folder: &Path) -> Result<(), StoreError> {
    let registry = Registry::new(Arc::new(RealDisk), folder.join("projects.json"));
    let ids = IdSource::new(Arc::new(SystemClock));
    println!("@ready");
    for word in lines_of_stdin() {
        let own = registry.register(project(&ids, format!("{word}-{}", std::process::id())))?;
        let shared = registry.register(project(&ids, format!("{word}-shared")))?;
        println!("@done {} {}", own.id, shared.id);
    }
    Ok(())
}

#[test]
fn two_processes_that_register_at_once_keep_both() {
    const TEST: &str = "store_lock::two_processes_that_register_at_once_keep_both";
    const ROUNDS: usize = 20;
    if let Some(folder) = role() {
        return register_many(&folder).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let mut pair = [Other::start(TEST, folder.path()), Other::start(TEST, folder.path())];
    for other in &mut pair {
        other.hear("@ready");
    }
    let registry = Registry::new(Arc::new(RealDisk), folder.path().join("projects.json"));
    let mut expected = std::collections::BTreeSet::new();
    for round in 0..ROUNDS {
        for other in &mut pair {
            other.tell(&round.to_string());
        }
        let answers: Vec<_> = pair.iter_mut().map(|other| other.hear("@done ")).collect();
        let shared: Vec<_> = answers.iter().map(|answer| answer.split(' ').nth(1).unwrap()).collect();
        assert_eq!(shared[0], shared[1], "one path is one project");
        expected.extend(answers.iter().flat_map(|answer| answer.split(' ').map(str::to_owned)));
        let found: std::collections::BTreeSet<_> =
            registry.list().unwrap().iter().map(|project| project.id.to_string()).collect();
        assert_eq!(found, expected, "round {round}");
    }
    pair.into_iter().for_each(Other::finish);
    println!("registrations: {}, lost: 0", expected.len());
}
