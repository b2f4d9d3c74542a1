//! A load test: many agents at once, each with a few steps that leave a line in a ledger, a word to the task above, a
//! commit and a result; and a root that waits for all of them.

use std::collections::BTreeMap;
use std::process::Command;

use mxd::agent::compaction::SECTIONS;
use mxd::base::MicroUsd;
use serde_json::{Value, json};

use crate::cli_support::json_lines;
use crate::engine_family::fixture::FamilyFixture;
use crate::engine_family::talk::{self, Step, Talk, commit, wait};
use crate::engine_support::marked;
use crate::support::mock::seen::Seen;
use crate::support::mock::{Conversation, Fault, Script, Turn};

pub const GOAL: &str = "Lead the load.";
const BACK: &str = "Everybody is back.";

/// How many there are, and how much each has to do.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub agents: usize,
    pub steps: usize,
}

pub struct LoadTest {
    pub fixture: FamilyFixture,
    pub size: Size,
}

/// Returns what a worker is called.
fn name(number: usize) -> String {
    format!("W{number:02}")
}

fn report(title: &str) -> String {
    format!("{title} reports.")
}

fn label(title: &str, step: usize) -> String {
    format!("{title}-{step}")
}

/// Returns what everybody says, where the requests with these numbers meet faults.
fn script(size: Size, faults: &BTreeMap<usize, Fault>, ledger: &str) -> Script {
    let ledger = ledger.to_owned();
    let summary: Vec<String> =
        SECTIONS.iter().map(|section| format!("## {section}\nEverything that had to be done is done.")).collect();
    let mut script = Script::new()
        .fail_when_exhausted()
        .identify_by(talk::title)
        .summarise_when("Write it between <summary>", &summary.join("\n\n"))
        .with(Conversation::new("orchestrator"))
        .reason(move |title, seen| Some(think(title, seen, size, &ledger)));
    for number in 0..size.agents {
        script = script.with(Conversation::new(&name(number)));
    }
    for (number, fault) in faults {
        script = script.fault_at(*number, fault.clone());
    }
    script
}

fn think(title: &str, seen: &Seen, size: Size, ledger: &str) -> Turn {
    let talk = Talk::read(seen, title, ledger);
    // What was done before a summary is not to be seen any more, and is said to be done.
    let summarised = seen.user_texts().any(|text| text.contains("[summary "));
    let steps = if title == "orchestrator" {
        if summarised {
            // Who came back before the summary is not to be seen any more: it tries whenever somebody has come back.
            let refused = seen.last_results().any(|result| result.is_error);
            return if refused { wait() } else { over() };
        }
        if !(0..size.agents).all(|number| talk.completed(&name(number), "passed")) {
            return wait();
        }
        talk.done("passed", BACK)
    } else {
        worker(&talk, title, size.steps, summarised)
    };
    steps.err().unwrap_or_else(wait)
}

fn over() -> Turn {
    talk::tool("done", json!({ "status": "passed", "result": BACK }))
}

fn worker(talk: &Talk, title: &str, steps: usize, summarised: bool) -> Step {
    if !summarised {
        for step in 0..steps {
            talk.once(&label(title, step), "true")?;
        }
        talk.tell(&talk.above(), &report(title), false)?;
        talk.once(&label(title, steps), &commit(&format!("{title}.txt"), title))?;
    }
    talk.done("passed", &format!("{title} is done."))
}

impl LoadTest {
    /// A project with tasks that begin with the next run.
    pub fn hire(size: Size, faults: &BTreeMap<usize, Fault>) -> Self {
        let fixture = FamilyFixture::new(|ledger| script(size, faults, ledger));
        fixture.mxd(&["config", "set", "maxRunning", &(size.agents + 1).to_string()]).ok();
        for number in 0..size.agents {
            fixture.mxd(&["task", "new", &name(number)]).ok();
        }
        Self { fixture, size }
    }

    /// The command that lets everybody work; it has the goal as long as nobody has heard it.
    pub fn work(&self, more: &[&str]) -> Command {
        let goal = (!self.fixture.has_goal(GOAL)).then_some(GOAL);
        let args: Vec<&str> = ["run", "--json"].into_iter().chain(more.iter().copied()).chain(goal).collect();
        self.fixture.command(&args)
    }

    pub fn asks(&self) -> Vec<Value> {
        json_lines(&self.fixture.mxd(&["asks", "--json"]).ok())
    }

    /// Lets everything that waits for the user go on. Returns how much that was.
    pub fn encourage(&self) -> usize {
        let asks = self.asks();
        for ask in &asks {
            let first = ask["choices"][0]["label"].as_str().unwrap_or_default();
            assert!(["Try again", "Continue"].contains(&first), "an unexpected question: {ask:#}");
            self.fixture.mxd(&["answer", ask["id"].as_str().unwrap(), "1"]).ok();
        }
        asks.len()
    }

    /// Returns what the sessions say was spent.
    pub fn spent(&self) -> MicroUsd {
        let rows = json_lines(&self.fixture.mxd(&["cost", "--json"]).ok());
        MicroUsd(rows.iter().map(|row| row["cost_micro_usd"].as_u64().unwrap_or_default()).sum())
    }

    /// Fails if anything is lost, doubled, stuck or left behind.
    pub fn settle(&self) {
        let fixture = &self.fixture;
        fixture.mock.assert_clean();
        let tree = fixture.tree().unwrap();
        for node in tree.all() {
            assert_eq!(node.status.to_string(), "passed", "{} is not through\n{}", node.title, fixture.mock.story());
        }
        let ledger = fixture.ledger();
        let (mut said, mut wanted) = (Vec::new(), Vec::new());
        for number in 0..self.size.agents {
            let title = name(number);
            let session = fixture.session(tree.all().find(|node| node.title == title).unwrap().id);
            // Who was summarised on the way has been told that the rest is done.
            let whole = session.compactions == 0;
            for step in 0..=self.size.steps {
                let label = label(&title, step);
                let lines = ledger.iter().filter(|line| line.split(' ').next() == Some(&label)).count();
                assert!(lines == 1 || (!whole && lines == 0), "{label} was done {lines} times");
            }
            if whole {
                said.push((title.clone(), report(&title)));
                wanted.push(title);
            }
        }
        let said: Vec<(&str, &str, &str)> =
            said.iter().map(|(title, words)| (title.as_str(), "orchestrator", words.as_str())).collect();
        fixture.assert_messages_once(GOAL, &said);
        for title in wanted {
            let branches = fixture.world.git(&fixture.path, ["branch", "--list", "--format=%(refname:short)"]);
            let task = tree.all().find(|node| node.title == title).unwrap().id.to_string();
            let branch = branches.lines().find(|branch| branch.contains(&task)).expect("it has a branch");
            assert_eq!(fixture.world.git(&fixture.path, ["show", &format!("{branch}:{title}.txt")]), title);
        }
        fixture.assert_no_stray_worktree();
        assert_eq!(marked(&fixture.task_ids()), [], "processes were left behind");
        let check = fixture.mxd(&["check"]);
        assert_eq!(check.code, 0, "{check:?}");
        assert_eq!(self.asks(), [] as [Value; 0]);
    }
}
