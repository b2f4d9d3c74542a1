//! A small family that does everything there is to do once: tasks, a fork, tools with an effect outside, messages up and
//! down, a compaction, results, a merge by an agent and one by the user, a task put away.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::RecvTimeoutError;

use mxd::agent::compaction::SECTIONS;
use mxd::tools::names;
use serde_json::json;

use crate::cli_support::{Ran, World, json_lines};
use crate::engine_family::fixture::{FamilyFixture, Outcome};
use crate::engine_family::talk::{self, Step, Talk, commit, merge, tool, wait};
use crate::engine_support::{PATIENCE, Running, marked};
use crate::support::meddler::{Call, Meddle, calls};
use crate::support::mock::seen::Seen;
use crate::support::mock::{Conversation, Script, Turn};

pub const GOAL: &str = "Keep the scenario.";
const SAID: [(&str, &str, &str); 3] = [
    ("orchestrator", "Right", "Go on from here."),
    ("Left", "orchestrator", "Which paper?"),
    ("orchestrator", "Left", "Plain paper."),
];
const LEDGER: [&str; 4] = ["left", "merge-Right", "plan", "right"];
/// A window that what `LONG` prints does not fit in beside the rest: what follows is a compaction.
const WINDOW: &str = "15000";
const LONG: &str = "seq -w 1 5500";

pub fn script(ledger: &str) -> Script {
    let ledger = ledger.to_owned();
    let summary: Vec<String> = SECTIONS
        .iter()
        .map(|section| format!("## {section}\nThe paper is written; the user above has been asked and has answered."))
        .collect();
    Script::new()
        .fail_when_exhausted()
        .identify_by(talk::title)
        .summarise_when("Write it between <summary>", &summary.join("\n\n"))
        .with(Conversation::new("orchestrator"))
        .with(Conversation::new("Left"))
        .with(Conversation::new("Right").expect_fork_of("orchestrator"))
        .reason(move |title, seen| think(title, seen, &ledger))
}

fn think(title: &str, seen: &Seen, ledger: &str) -> Option<Turn> {
    let talk = Talk::read(seen, title, ledger);
    let steps = match title {
        "orchestrator" => orchestrator(&talk),
        "Left" => left(&talk, seen),
        "Right" => right(&talk),
        _ => return None,
    };
    Some(steps.err().unwrap_or_else(wait))
}

fn orchestrator(talk: &Talk) -> Step {
    talk.once("plan", "true")?;
    let left = talk.task("Left", "now")?;
    let right = talk.task("Right", "later")?;
    talk.fork(&right)?;
    talk.start(&right, SAID[0].2)?;
    if talk.has_heard(SAID[1].2) {
        talk.tell(&left, SAID[2].2, false)?;
    }
    if talk.completed("Right", "passed") {
        talk.once("merge-Right", &merge("Right", &right))?;
        talk.close(&right)?;
    }
    if !(talk.completed("Left", "passed") && talk.completed("Right", "passed")) {
        return Err(wait());
    }
    talk.finish("passed", "The scenario is kept.")
}

fn left(talk: &Talk, seen: &Seen) -> Step {
    if !seen.user_texts().any(|text| text.contains("[summary 1 of Left]")) {
        talk.once("left", &commit("left.txt", "left"))?;
        talk.tell(&talk.above(), SAID[1].2, true)?;
        if !talk.has_heard(SAID[2].2) {
            return Err(wait());
        }
        let long = || json!({ "command": LONG });
        return Err(tool("bash", long()).tool(&names::wire("bash"), long()));
    }
    talk.finish("passed", "Left is written.")
}

fn right(talk: &Talk) -> Step {
    if !talk.has_heard(SAID[0].2) {
        return Err(wait());
    }
    talk.once("right", &commit("right.txt", "right"))?;
    talk.finish("passed", "Right is written.")
}

/// What must be the same, however often the program died on the way.
#[derive(Debug, PartialEq, Eq)]
pub struct State {
    outcome: Outcome,
    /// Whose branches there are; a task's is called by its title.
    branches: BTreeSet<String>,
    /// Who was told what by whom, in each session, but for what was said again.
    said: BTreeSet<String>,
    compactions: usize,
}

/// The scenario, and how far the user has come with it.
pub struct Scenario {
    pub fixture: FamilyFixture,
    trace: PathBuf,
}

/// Which of the user's commands dies, and where.
#[derive(Clone, Debug)]
pub struct Death {
    /// The run that has the goal is 0, the merge after it 1.
    pub command: usize,
    pub call: usize,
    pub torn: bool,
}

impl Scenario {
    pub fn open() -> Self {
        Self::within(World::on_disk())
    }

    pub fn within(world: World) -> Self {
        let fixture = FamilyFixture::within(world, script);
        fixture.mxd(&["config", "set", "models.\"claude-sonnet-4-6\".window", WINDOW]).ok();
        let trace = fixture.world.root().join("trace");
        Self { fixture, trace }
    }

    /// The user's way from the goal to the merge. Each death happens at most once; returns the calls that were died at.
    pub fn keep(&self, deaths: &[Death]) -> Vec<Call> {
        let mut due: Vec<Option<&Death>> = deaths.iter().map(Some).collect();
        let mut meddle = |command: usize| {
            let next = due.iter_mut().find(|death| death.is_some_and(|death| death.command == command));
            next.and_then(Option::take).map(|death| Meddle::Die { call: death.call, torn: death.torn })
        };
        let mut died = Vec::new();
        loop {
            let goal = (!self.fixture.has_goal(GOAL)).then_some(GOAL);
            let args: Vec<&str> = ["run", "--json"].into_iter().chain(goal).collect();
            match self.play(self.fixture.command(&args), meddle(0), &mut died) {
                Some(ran) if ran.code == 0 => break,
                Some(ran) => panic!("it returned {}\n{}\n{}", ran.code, ran.err, self.fixture.mock.story()),
                None => assert!(died.len() <= deaths.len(), "it dies by itself: {died:?}"),
            }
        }
        while !self.is_merged() {
            let tree = self.fixture.tree().unwrap();
            let left = tree.all().find(|node| node.title == "Left").unwrap().id.to_string();
            match self.play(self.fixture.command(&["merge", &left, "--json"]), meddle(1), &mut died) {
                Some(ran) => assert_eq!(ran.code, 0, "{}\n{}", ran.err, self.fixture.mock.story()),
                None => assert!(died.len() <= deaths.len(), "it dies by itself: {died:?}"),
            }
        }
        // Whatever the last one left half done is settled by the next start.
        self.fixture.mxd(&["stop"]).ok();
        died
    }

    /// Plays it to the end and writes down every call. Returns the calls of the run and those of the merge.
    pub fn watch(&self) -> [Vec<Call>; 2] {
        let watched = |command: &mut Command| {
            let _ = std::fs::remove_file(&self.trace);
            let output = Meddle::Watch.with(command, &self.trace).output().unwrap();
            assert!(output.status.success(), "{output:?}\n{}", self.fixture.mock.story());
            calls(&self.trace)
        };
        let run = watched(&mut self.fixture.command(&["run", "--json", GOAL]));
        let tree = self.fixture.tree().unwrap();
        let left = tree.all().find(|node| node.title == "Left").unwrap().id.to_string();
        let merge = watched(&mut self.fixture.command(&["merge", &left]));
        [run, merge]
    }

    /// Plays one command to its end. Nothing: it died.
    fn play(&self, mut command: Command, meddle: Option<Meddle>, died: &mut Vec<Call>) -> Option<Ran> {
        let _ = std::fs::remove_file(&self.trace);
        if let Some(meddle) = meddle {
            meddle.with(&mut command, &self.trace);
        }
        let mut running = Running::start(command);
        loop {
            match running.line_within(PATIENCE) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("stuck: nothing happens any more\n{:#?}\n{}", running.seen.last(), self.fixture.mock.story())
                }
            }
        }
        match running.over() {
            (Some(_), ran) => Some(ran),
            (None, _) => {
                died.extend(calls(&self.trace));
                None
            }
        }
    }

    fn is_merged(&self) -> bool {
        let log = self.fixture.world.git(&self.fixture.path, ["log", "--format=%s", "main"]);
        log.lines().any(|subject| subject == "Write left.txt")
    }

    /// A write that was cut short at the very end stays in a session that nobody adds anything to. It never counted: `mxd
    /// check` names it, and nothing else is mended here.
    fn mend_torn_ends(&self) {
        let check = self.fixture.mxd(&["check"]);
        let torn = |line: &str| line.contains("an interrupted write");
        if check.out.lines().any(torn) && check.out.lines().filter(|line| line.starts_with("warning")).all(torn) {
            self.fixture.mxd(&["check", "--repair"]);
        }
    }

    /// Fails if anything is lost, doubled, stuck or left behind. Returns what it has come to.
    pub fn settle(&self) -> State {
        let fixture = &self.fixture;
        fixture.mock.assert_clean();
        fixture.assert_nobody_is_lost();
        let ledger = fixture.ledger();
        for label in LEDGER {
            let lines: Vec<&String> = ledger.iter().filter(|line| line.split(' ').next() == Some(label)).collect();
            assert_eq!(lines.len(), 1, "{label} was done as often as {lines:?}");
        }
        fixture.assert_messages_once(GOAL, &SAID);
        fixture.assert_no_stray_worktree();
        assert_eq!(marked(&fixture.task_ids()), [], "processes were left behind");
        self.mend_torn_ends();
        let check = fixture.mxd(&["check"]);
        assert_eq!(check.code, 0, "{check:?}");
        assert_eq!(json_lines(&fixture.mxd(&["asks", "--json"]).ok()), [] as [serde_json::Value; 0]);
        fixture.world.git(&fixture.path, ["fsck", "--strict", "--no-dangling"]);
        assert_eq!(fixture.world.git(&fixture.path, ["status", "--porcelain"]), "", "the checkout is not clean");
        assert_eq!(fixture.world.git(&fixture.path, ["for-each-ref", "refs/mxd/pending"]), "");

        let tree = fixture.tree().unwrap();
        let branches = fixture.world.git(&fixture.path, ["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        let named = |branch: &str| {
            let whose = tree.all().find(|node| branch.contains(&node.id.to_string()));
            whose.map_or_else(|| branch.to_owned(), |node| node.title.clone())
        };
        let sessions = tree.all().map(|node| (node.title.clone(), fixture.session(node.id))).collect::<Vec<_>>();
        let said = sessions.iter().flat_map(|(title, session)| {
            let messages = session.messages.iter().filter(|message| !message.body.starts_with("<work_context"));
            messages.map(move |message| format!("{title}: {}", message.body.trim_end_matches(" (again)")))
        });
        State {
            outcome: fixture.outcome(),
            branches: branches.lines().map(named).collect(),
            said: said.filter(|line| SAID.iter().any(|(.., words)| line.ends_with(words))).collect(),
            compactions: sessions.iter().map(|(_, session)| session.compactions).sum(),
        }
    }
}
