//! What each agent of the family does.

use super::talk::{Step, Talk, commit, merge, tool, wait};
use crate::support::mock::seen::Seen;
use crate::support::mock::{Conversation, Script, Turn, answer};
use mxd::tools::names;
use serde_json::json;

pub const GOAL: &str = "Build the kit.";
pub const QUESTION: &str = "Which colour?";

/// Every sentence that is said from task to task: who, to whom, what.
pub const SAID: [(&str, &str, &str); 5] = [
    ("orchestrator", "Gamma", "Start with what you know."),
    ("Alpha", "orchestrator", "Which format do you want?"),
    ("orchestrator", "Alpha", "Use plain text."),
    ("Alpha two", "orchestrator", "Two is nearly there."),
    ("orchestrator", "Beta", "Try once more: the second part matters."),
];

/// Every line of the ledger: what was done outside of the repository.
pub const LEDGER: [&str; 12] = [
    "alpha-first",
    "alpha-one",
    "alpha-two",
    "beta-first",
    "beta-second",
    "gamma",
    "merge-Alpha",
    "merge-Alpha-one",
    "merge-Alpha-two",
    "merge-Beta",
    "merge-Gamma",
    "review",
];

pub fn script(ledger: &str) -> Script {
    let ledger = ledger.to_owned();
    let mut script = Script::new().fail_when_exhausted().identify_by(super::talk::title);
    for title in ["orchestrator", "Alpha", "Alpha one", "Alpha two", "Beta"] {
        script = script.with(Conversation::new(title));
    }
    script
        .with(Conversation::new("Gamma").expect_fork_of("orchestrator"))
        .reason(move |conversation, seen| think(conversation, seen, &ledger))
}

fn think(title: &str, seen: &Seen, ledger: &str) -> Option<Turn> {
    let talk = Talk::read(seen, title, ledger);
    let steps = match title {
        "orchestrator" => orchestrator(&talk),
        "Alpha" => alpha(&talk),
        "Alpha one" => alpha_one(&talk),
        "Alpha two" => alpha_two(&talk),
        "Beta" => beta(&talk),
        "Gamma" => gamma(&talk),
        _ => return None,
    };
    Some(steps.err().unwrap_or_else(wait))
}

fn orchestrator(talk: &Talk) -> Step {
    if talk.is_new("Alpha") && talk.is_new("Beta") {
        let create =
            |title: &str| json!({ "title": title, "description": format!("Goal: {title} has done its part.") });
        let create_task = names::wire("create_task");
        let turn = answer().thinking("Three parts.").text("I split it.");
        return Err(turn.tool(&create_task, create("Alpha")).tool(&create_task, create("Beta")));
    }
    let alpha = talk.task("Alpha", "now")?;
    let beta = talk.task("Beta", "now")?;
    let gamma = talk.task("Gamma", "later")?;
    talk.fork(&gamma)?;
    talk.start(&gamma, SAID[0].2)?;
    if talk.has_heard(SAID[1].2) {
        talk.tell(&alpha, SAID[2].2, false)?;
    }
    if talk.completed("Beta", "failed") {
        talk.tell(&beta, SAID[4].2, false)?;
    }
    let parts = [("Alpha", &alpha), ("Beta", &beta), ("Gamma", &gamma)];
    let passed = |(title, _): &(&str, &String)| talk.completed(title, "passed");
    for (title, task) in parts.into_iter().filter(passed) {
        talk.once(&format!("merge-{title}"), &merge(title, task))?;
    }
    if !parts.iter().all(passed) {
        return Err(wait());
    }
    talk.once("review", "cat alpha.txt one.txt two.txt beta.txt second.txt gamma.txt")?;
    talk.close(&alpha)?;
    talk.close(&gamma)?;
    talk.done("passed", "The kit is built.")
}

fn alpha(talk: &Talk) -> Step {
    let colour = talk.ask(QUESTION, &["red", "blue"])?;
    talk.once("alpha-first", &commit("alpha.txt", &format!("alpha in {colour}")))?;
    talk.tell(&talk.above(), SAID[1].2, true)?;
    if !talk.has_heard(SAID[2].2) {
        return Err(wait());
    }
    let one = talk.task("Alpha one", "now")?;
    let two = talk.task("Alpha two", "now")?;
    let parts = [("Alpha one", "merge-Alpha-one", &one), ("Alpha two", "merge-Alpha-two", &two)];
    for (title, label, task) in parts {
        if talk.completed(title, "passed") {
            talk.once(label, &merge(title, task))?;
        }
    }
    if !parts.iter().all(|(title, ..)| talk.completed(title, "passed")) {
        return Err(wait());
    }
    talk.close(&one)?;
    talk.close(&two)?;
    talk.done("passed", "Alpha is whole.")
}

/// Leaves a process behind that would live for minutes if nobody ended it.
fn alpha_one(talk: &Talk) -> Step {
    let work = commit("one.txt", "one");
    talk.once("alpha-one", &format!("setsid sleep 321 > /dev/null 2>&1 &\n{work}"))?;
    talk.done("passed", "One is there.")
}

fn alpha_two(talk: &Talk) -> Step {
    talk.once("alpha-two", &commit("two.txt", "two"))?;
    let root = talk.root()?;
    talk.tell(&root, SAID[3].2, false)?;
    talk.done("passed", "Two is there.")
}

fn beta(talk: &Talk) -> Step {
    talk.once("beta-first", &commit("beta.txt", "beta"))?;
    talk.done("failed", "The second part is missing.")?;
    if !talk.has_heard(SAID[4].2) {
        return Err(wait());
    }
    talk.once("beta-second", &commit("second.txt", "second"))?;
    talk.done("passed", "Both parts are there.")
}

fn gamma(talk: &Talk) -> Step {
    if !talk.has_heard(SAID[0].2) {
        return Err(tool("yield", json!({})));
    }
    talk.once("gamma", &commit("gamma.txt", "gamma"))?;
    talk.done("passed", "Gamma follows from what was known.")
}
