//! The long test: agents that go on and on, a model API that fails now and then, and deaths in between. What must not grow
//! is looked at all the while.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use mxd::agent::compaction::SECTIONS;
use serde_json::Value;

use super::chaos::faults;
use crate::cli_support::json_lines;
use crate::engine_family::fixture::FamilyFixture;
use crate::engine_family::talk::{self, Step, Talk, wait};
use crate::engine_support::{PATIENCE, Running, marked};
use crate::support::dice::{Dice, fresh_seed, number};
use crate::support::mock::seen::{Entry, Seen};
use crate::support::mock::{Conversation, Script, Turn, pattern};

const GOAL: &str = "Go on.";
/// Small, so that everybody is summarised again and again.
const WINDOW: &str = "16000";
/// What a step prints when it is time to come to an end.
const ENOUGH: &str = "ENOUGH";

fn name(number: usize) -> String {
    format!("S{number:02}")
}

fn script(agents: usize, seed: u64, ledger: &str) -> Script {
    let ledger = ledger.to_owned();
    let summary: Vec<String> = SECTIONS.iter().map(|section| format!("## {section}\nIt goes on as before.")).collect();
    let mut script = Script::new()
        .fail_when_exhausted()
        .identify_by(talk::title)
        .summarise_when("Write it between <summary>", &summary.join("\n\n"))
        .with(Conversation::new("orchestrator"))
        .reason(move |title, seen| Some(think(title, seen, &ledger)));
    for number in 0..agents {
        script = script.with(Conversation::new(&name(number)));
    }
    for (number, fault) in faults(seed, 25) {
        script = script.fault_at(number, fault);
    }
    script
}

fn think(title: &str, seen: &Seen, ledger: &str) -> Turn {
    if title == "orchestrator" {
        return wait();
    }
    let talk = Talk::read(seen, title, ledger);
    endless(&talk, title, seen, ledger).err().unwrap_or_else(wait)
}

/// Does one thing after the other, each under a name that no other has, until a file says that it is enough.
fn endless(talk: &Talk, title: &str, seen: &Seen, ledger: &str) -> Step {
    let summaries = seen.user_texts().filter_map(|text| pattern::capture(r"\[summary ([0-9]+) of", text).ok()?);
    let segment = summaries.last().unwrap_or_default();
    let enough = seen.entries.iter().flat_map(Entry::results).any(|result| result.text.contains(ENOUGH));
    for step in 0..10_000 {
        if enough && talk.is_first(&format!("{title}-{segment}-{step}")) {
            break;
        }
        let work =
            format!("sleep 1; head -c 500 /dev/urandom | base64 -w 0; echo; cat {ledger}.stop 2> /dev/null || true");
        talk.once(&format!("{title}-{segment}-{step}"), &work)?;
    }
    talk.done("passed", "Enough.")
}

/// What was seen of a living process.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    /// Seconds since its start.
    age: u64,
    /// Kilobytes of memory.
    memory: u64,
    files: usize,
    threads: u64,
}

fn sample(pid: u32, age: Duration) -> Option<Sample> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_matches([':', '\t', ' ']).split(' ').next()?.parse().ok()
    };
    let files = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
    Some(Sample { age: age.as_secs(), memory: field("VmRSS")?, files, threads: field("Threads")? })
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Returns the median memory and the most open files in a part of a life.
fn summed(samples: &[Sample]) -> (u64, usize) {
    let memory = median(samples.iter().map(|sample| sample.memory).collect());
    (memory, samples.iter().map(|sample| sample.files).max().unwrap_or_default())
}

/// Lets a process live until a moment. Returns what was seen of it, and whether it ended by itself.
fn live(fixture: &FamilyFixture, running: &mut Running, until: Instant) -> (Vec<Sample>, bool) {
    let (begun, mut samples, mut next) = (Instant::now(), Vec::new(), Instant::now());
    loop {
        if Instant::now() >= next {
            samples.extend(sample(running.pid(), begun.elapsed()));
            next += Duration::from_secs(1);
            let reached = fixture.mock.look(|mind| mind.gates_reached.clone());
            reached.iter().for_each(|gate| fixture.mock.open(gate));
            fixture.mock.forget_bodies();
        }
        let left = until.min(next).saturating_duration_since(Instant::now());
        match running.line_within(left) {
            // Nobody needs them, and there are many.
            Ok(_) => running.seen.clear(),
            Err(RecvTimeoutError::Disconnected) => return (samples, true),
            Err(RecvTimeoutError::Timeout) if Instant::now() >= until => return (samples, false),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn encourage(fixture: &FamilyFixture) -> usize {
    let asks = json_lines(&fixture.mxd(&["asks", "--json"]).ok());
    for ask in &asks {
        fixture.mxd(&["answer", ask["id"].as_str().unwrap(), "1"]).ok();
    }
    asks.len()
}

fn start(fixture: &FamilyFixture) -> Running {
    let goal = (!fixture.has_goal(GOAL)).then_some(GOAL);
    Running::start(fixture.command(&["run", "--json"].into_iter().chain(goal).collect::<Vec<_>>()))
}

#[test]
#[ignore = "half an hour, or MXD_SOAK seconds; `cargo proof`"]
fn proof_soak() {
    let length = Duration::from_secs(number("MXD_SOAK", 1_800));
    let agents = usize::try_from(number("MXD_AGENTS", 50)).unwrap();
    let seed = fresh_seed("proof_soak");
    let mut dice = Dice::new(seed);
    let fixture = FamilyFixture::new(|ledger| script(agents, seed, ledger));
    fixture.mxd(&["config", "set", "maxRunning", &(agents + 1).to_string()]).ok();
    fixture.mxd(&["config", "set", "models.\"claude-sonnet-4-6\".window", WINDOW]).ok();
    (0..agents).for_each(|number| drop(fixture.mxd(&["task", "new", &name(number)]).ok()));

    // Half of the time it dies again and again; the other half it lives, so that what grows would show.
    let begun = Instant::now();
    let (mut kills, mut asked, mut lives) = (0, 0, Vec::new());
    while begun.elapsed() < length / 2 {
        let mut running = start(&fixture);
        let until = Instant::now() + Duration::from_millis(2_000 + dice.below(20_000));
        let (samples, ended) = live(&fixture, &mut running, until);
        running.kill();
        kills += usize::from(!ended);
        asked += encourage(&fixture);
        lives.push(samples);
    }
    let mut longest = Vec::new();
    while begun.elapsed() < length {
        let mut running = start(&fixture);
        let (samples, ended) = live(&fixture, &mut running, begun + length);
        assert!(!ended || begun.elapsed() >= length || encourage(&fixture) > 0, "seed {seed}: it stopped by itself");
        if samples.len() > longest.len() {
            longest = samples;
        }
        running.kill();
        kills += 1;
    }
    let stop = fixture.world.root().join("ledger.stop");
    fs::write(&stop, format!("{ENOUGH}\n")).unwrap();
    loop {
        let (mut running, mut quiet) = (start(&fixture), Instant::now());
        loop {
            match running.line_within(Duration::from_millis(500)) {
                Ok(_) => quiet = Instant::now(),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    assert!(quiet.elapsed() < 4 * PATIENCE, "seed {seed}: stuck\n{:#?}", running.seen.last());
                    let reached = fixture.mock.look(|mind| mind.gates_reached.clone());
                    reached.iter().for_each(|gate| fixture.mock.open(gate));
                }
            }
        }
        let ran = running.end();
        match ran.code {
            0 => break,
            2 => asked += encourage(&fixture),
            code => panic!("seed {seed}: it returned {code}: {}", ran.err),
        }
    }
    report(&fixture, agents, (kills, asked), &lives, &longest, begun);
    settle(&fixture, agents);
}

fn report(
    fixture: &FamilyFixture,
    agents: usize,
    (kills, asked): (usize, usize),
    lives: &[Vec<Sample>],
    longest: &[Sample],
    begun: Instant,
) {
    let tree = fixture.tree().unwrap();
    let (mut bytes, mut events, mut compactions, mut repairs) = (0, 0_u64, 0, 0);
    for node in tree.all() {
        bytes += fs::metadata(fixture.sessions().path(node.id)).map_or(0, |found| found.len());
        fixture.sessions().stream(node.id, |_| events += 1).unwrap();
        let session = fixture.session(node.id);
        compactions += session.compactions;
        repairs += session.repairs;
    }
    println!(
        "{:.0} s with {agents} agents: {kills} kills, {} requests, {asked} questions answered, {compactions} compactions, {repairs} \
         calls of unknown outcome; {events} events in {} kB of sessions, {} bytes each",
        begun.elapsed().as_secs_f64(),
        fixture.mock.count(),
        bytes / 1024,
        bytes / events.max(1)
    );
    let young = |lives: &[Vec<Sample>]| {
        let samples: Vec<Sample> =
            lives.iter().flatten().filter(|sample| (5..10).contains(&sample.age)).copied().collect();
        summed(&samples)
    };
    let (first, last) = lives.split_at(lives.len() / 2);
    let ((before, _), (after, _)) = (young(first), young(last));
    println!(
        "memory 5 to 10 s after a start: {before} kB in the first {} lives, {after} kB in the last {}",
        first.len(),
        last.len()
    );
    let quarter = longest.len() / 4;
    let (early, late) = (summed(&longest[quarter..2 * quarter]), summed(&longest[longest.len() - quarter..]));
    let threads = longest.iter().map(|sample| sample.threads).max().unwrap_or_default();
    println!(
        "the longest life, {} s: {} kB and {} files in its second quarter, {} kB and {} files in its last; {threads} threads",
        longest.last().map_or(0, |sample| sample.age),
        early.0,
        early.1,
        late.0,
        late.1
    );
    assert!(after <= before + before / 3 + 20_000, "a start needs more memory than before: {before} kB, {after} kB");
    assert!(late.0 <= early.0 + early.0 / 4 + 20_000, "memory grows: {early:?}, {late:?}");
    assert!(late.1 <= early.1 + 40, "open files grow: {early:?}, {late:?}");
    assert!(bytes / events.max(1) < 4_096, "events of {} bytes", bytes / events.max(1));
}

fn settle(fixture: &FamilyFixture, agents: usize) {
    fixture.mock.assert_clean();
    let ledger = fixture.ledger();
    let mut often: BTreeMap<&str, usize> = BTreeMap::new();
    ledger.iter().for_each(|line| *often.entry(line.split(' ').next().unwrap()).or_default() += 1);
    let twice: Vec<_> = often.iter().filter(|(_, often)| **often > 1).collect();
    assert!(twice.is_empty(), "done twice: {twice:?}");
    let who: BTreeSet<&str> = often.keys().filter_map(|label| label.split('-').next()).collect();
    assert_eq!(who.len(), agents, "everybody did something");
    let tree = fixture.tree().unwrap();
    for node in tree.all().filter(|node| node.parent.is_some()) {
        assert_eq!(node.status.to_string(), "passed", "{}", node.title);
    }
    fixture.assert_messages_once(GOAL, &[]);
    fixture.assert_no_stray_worktree();
    assert_eq!(marked(&fixture.task_ids()), [], "processes were left behind");
    let check = fixture.mxd(&["check"]);
    assert_eq!(check.code, 0, "{check:?}");
    assert_eq!(json_lines(&fixture.mxd(&["asks", "--json"]).ok()), [] as [Value; 0]);
    println!("{} things were done, each once", often.len());
}
