//! The power goes while agents work, on a real file system: it lives in a file, the file is copied in the middle of
//! everything, and what the kernel had not written by then is not in the copy. What was acknowledged before is.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use mxd::store::{RealDisk, Sessions};
use rustix::process::Signal;
use serde_json::Value;

use super::scenario::{self, Scenario};
use crate::cli_support::World;
use crate::engine_support::{PATIENCE, Running};
use crate::support::dice::{Dice, fresh_seed, number};

fn sh(script: &str, arguments: &[&Path]) -> Output {
    Command::new("sh").args(["-ec", script, "sh"]).args(arguments).output().unwrap()
}

/// A file system in a file. Goes with its folder.
struct Card {
    folder: tempfile::TempDir,
}

impl Card {
    /// Nothing: this machine lets us mount nothing.
    fn insert() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let card = Self { folder };
        let made = sh(
            "truncate -s 192M \"$1\"; mkfs.ext4 -q -F \"$1\"; mkdir \"$2\"; mount -o loop \"$1\" \"$2\"",
            &[&card.image(), &card.place()],
        );
        made.status.success().then_some(card)
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("card")
    }

    fn place(&self) -> PathBuf {
        self.folder.path().join("place")
    }

    /// Copies what has reached the card. A copy during which something was written is no moment, and is made again.
    fn cut(&self) -> PathBuf {
        let (image, copy) = (self.image(), self.folder.path().join("copy"));
        for _ in 0..100 {
            let before = fs::metadata(&image).unwrap().modified().unwrap();
            let copied = sh("cp --sparse=always \"$1\" \"$2\"", &[&image, &copy]);
            assert!(copied.status.success(), "{copied:?}");
            if fs::metadata(&image).unwrap().modified().unwrap() == before {
                return copy;
            }
        }
        panic!("it is written to all the while");
    }

    /// Puts the copy in the place of the card, for one command alone, and takes the data out. Returns what `mxd check` said.
    fn read(&self, scenario: &Scenario, copy: &Path, out: &Path) -> String {
        let script = r#"
            mount -o loop "$1" "$2"
            cd "$4"
            code=0; "$MXD" check --repair || code=$?
            echo "returned $code"
            cp -a "$3" "$5"
        "#;
        let mut command = scenario.fixture.world.command("unshare", self.folder.path());
        command.args(["-m", "sh", "-ec", script, "sh"]).env("MXD", env!("CARGO_BIN_EXE_mxd"));
        let data = scenario.fixture.world.data();
        command.args([copy, &self.place(), &data, &scenario.fixture.path, out]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        let _ = sh("umount -l \"$1\"", &[&self.place()]);
    }
}

/// Returns the events that have been said to be kept, with their sessions.
fn acknowledged(seen: &[Value]) -> BTreeSet<(String, String)> {
    let told = seen.iter().filter(|line| line["update"] == "event");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    told.map(|line| (text(&line["task"]), text(&line["event"]["id"]))).collect()
}

fn kept(sessions: &Path) -> BTreeSet<(String, String)> {
    let mut kept = BTreeSet::new();
    for entry in fs::read_dir(sessions).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(task) = name.strip_suffix(".jsonl") else { continue };
        let read = Sessions::new(Arc::new(RealDisk), sessions).stream(task.parse().unwrap(), |event| {
            kept.insert((task.to_owned(), event.id.to_string()));
        });
        read.unwrap();
    }
    kept
}

#[derive(Debug, Default)]
struct Tally {
    cuts: u64,
    runs: u64,
    acknowledged: usize,
    lost: usize,
}

/// Lets the power go so often. Nothing: this machine lets us mount nothing.
fn play(dice: &mut Dice, durability: &str, wanted: u64) -> Option<Tally> {
    let mut tally = Tally::default();
    while tally.cuts < wanted {
        let card = Card::insert()?;
        let scenario = Scenario::within(World::below(&card.place()));
        scenario.fixture.mxd(&["config", "set", "durability", durability]).ok();
        // What was there before the work begins is not what this is about.
        assert!(sh("sync -f \"$1\"", &[&card.place()]).status.success());
        let sessions = scenario.fixture.folder.sessions();
        let sessions = sessions.strip_prefix(scenario.fixture.world.data()).unwrap();
        let mut running = Running::start(scenario.fixture.command(&["run", "--json", scenario::GOAL]));
        tally.runs += 1;
        let mut next = dice.below(30);
        while running.line_within(PATIENCE).is_ok() {
            if (running.seen.len() as u64) < next || tally.cuts == wanted {
                continue;
            }
            next = running.seen.len() as u64 + 5 + dice.below(25);
            running.signal(Signal::STOP);
            let copy = card.cut();
            let before = acknowledged(&running.seen);
            let out = card.folder.path().join(format!("out-{}", tally.cuts));
            let said = card.read(&scenario, &copy, &out);
            running.signal(Signal::CONT);
            assert!(said.contains("returned 0") || said.contains("returned 1"), "{said}");
            let kept = kept(&out.join(sessions));
            tally.lost += before.iter().filter(|event| !kept.contains(event)).count();
            tally.acknowledged += before.len();
            tally.cuts += 1;
        }
        assert_eq!(running.end().code, 0, "{}", scenario.fixture.mock.story());
    }
    Some(tally)
}

#[test]
#[ignore = "minutes, and needs root for a mount; `cargo proof`"]
fn proof_the_power_goes_on_a_real_file_system() {
    let seed = fresh_seed("proof_the_power_goes");
    let mut dice = Dice::new(seed);
    let Some(tally) = play(&mut dice, "sync", number("MXD_CUTS", 200)) else {
        println!("SKIPPED: nobody but root may mount a file system that lives in a file");
        return;
    };
    println!("seed {seed}, saved as it is by default: {tally:?}");
    assert_eq!(tally.lost, 0, "seed {seed}: {tally:?}");
    // What is left to the system is what this looks for: without it, nobody would know that it can be found.
    println!("left to the system: {:?}", play(&mut dice, "os", 10));
}
