//! A whole family of agents, over HTTP, by the real binary: a root that makes three tasks in worktrees, one of which makes
//! two of its own; a fork, a question to the user, messages up and down, a failure and its second try, merges.
//!
//! Once as it comes, and once killed again and again on the way: what is left must be the same.

#![allow(clippy::result_large_err, reason = "a turn that ends a step early is small change in a test")]

pub mod fixture;
mod kills;
mod models;
pub mod talk;

use std::collections::BTreeSet;

use crate::engine_support::marked;
use crate::support::mock;
use fixture::{FamilyFixture, Outcome};

/// What the family comes to.
fn expected() -> Outcome {
    let tasks = [
        " > orchestrator [passed] Passed: The kit is built.",
        "orchestrator > Alpha [closed] Passed: Alpha is whole.",
        "Alpha > Alpha one [closed] Passed: One is there.",
        "Alpha > Alpha two [closed] Passed: Two is there.",
        "orchestrator > Beta [passed] Failed: The second part is missing. / Passed: Both parts are there.",
        "orchestrator > Gamma [closed] Passed: Gamma follows from what was known.",
    ];
    let files = [
        ("alpha.txt", "alpha in blue"),
        ("beta.txt", "beta"),
        ("gamma.txt", "gamma"),
        ("one.txt", "one"),
        ("second.txt", "second"),
        ("two.txt", "two"),
    ];
    let commits = [
        ("start", ""),
        ("Set up", ""),
        ("Write alpha.txt", "Alpha"),
        ("Write one.txt", "Alpha one"),
        ("Write two.txt", "Alpha two"),
        ("Write beta.txt", "Beta"),
        ("Write second.txt", "Beta"),
        ("Write gamma.txt", "Gamma"),
        ("Merge Alpha one", "Alpha"),
        ("Merge Alpha two", "Alpha"),
        ("Merge Alpha", "orchestrator"),
        ("Merge Beta", "orchestrator"),
        ("Merge Gamma", "orchestrator"),
    ];
    Outcome {
        tasks: tasks.map(str::to_owned).into(),
        files: files.map(|(name, text)| (name.to_owned(), text.to_owned())).into(),
        commits: commits.map(|(subject, task)| (subject.to_owned(), task.to_owned())).into(),
        ledger: models::LEDGER.map(str::to_owned).into(),
    }
}

#[test]
fn a_family_of_agents_builds_a_kit_over_http() {
    let fixture = FamilyFixture::new(models::script);
    let first = fixture.mxd(&["run", "--json", models::GOAL]);
    assert_eq!(first.code, 2, "{}\n{}", first.err, fixture.mock.story());
    assert_eq!(fixture.answer_all(), 1);
    let second = fixture.mxd(&["run", "--json"]);
    assert_eq!(second.code, 0, "{}\n{}", second.err, fixture.mock.story());
    fixture.mock.assert_clean();
    assert_eq!(fixture.outcome(), expected());
    assert_eq!(fixture.ledger().len(), models::LEDGER.len(), "{:?}", fixture.ledger());
    fixture.assert_messages_once(models::GOAL, &models::SAID);
    fixture.assert_no_stray_worktree();
    assert_eq!(marked(&fixture.task_ids()), []);

    let tree = fixture.tree().unwrap();
    let requests = fixture.mock.requests();
    let asked: BTreeSet<&str> = requests.iter().map(|record| record.conversation.as_str()).collect();
    assert_eq!(asked.len(), 6, "{asked:?}");
    let gamma = fixture.mock.requests_of("Gamma");
    assert!(gamma[0].continues.is_some(), "the fork goes on from a request of the root");
    assert!(requests.iter().all(|record| record.outcome == mock::Outcome::Answered), "{}", fixture.mock.story());

    // What the endpoint said it cost is what the sessions have, and what they have is what the commands say.
    let mut paid = mock::reply::Tokens::default();
    for record in requests.iter().filter(|record| !record.path.ends_with("count_tokens")) {
        paid.input += record.charged.input;
        paid.output += record.charged.output;
        paid.cache_read += record.charged.cache_read;
        paid.cache_write_5m += record.charged.cache_write_5m;
        paid.cache_write_1h += record.charged.cache_write_1h;
    }
    let sessions: Vec<_> = tree.all().map(|node| fixture.session(node.id)).collect();
    let sum = |count: fn(&mxd::model::usage::Tokens) -> u64| sessions.iter().map(|s| count(&s.tokens)).sum::<u64>();
    assert_eq!(
        (
            sum(|t| t.input),
            sum(|t| t.output),
            sum(|t| t.cache_read),
            sum(|t| t.cache_write_5m),
            sum(|t| t.cache_write_1h)
        ),
        (paid.input, paid.output, paid.cache_read, paid.cache_write_5m, paid.cache_write_1h)
    );
    assert!(paid.cache_read > 0, "nothing was read from the cache");
    // Sonnet's prices, per million tokens, in millionths of a dollar: the dollar sign falls out.
    let price = paid.input * 3_000_000
        + paid.output * 15_000_000
        + paid.cache_read * 300_000
        + paid.cache_write_5m * 3_750_000
        + paid.cache_write_1h * 6_000_000;
    let rows = crate::cli_support::json_lines(&fixture.mxd(&["cost", "--json"]).ok());
    let cost: u64 = rows.iter().map(|row| row["cost_micro_usd"].as_u64().unwrap()).sum();
    let responses: u64 = rows.iter().map(|row| row["responses"].as_u64().unwrap()).sum();
    assert!(cost.abs_diff(price / 1_000_000) <= responses, "{cost} against {}", price / 1_000_000);
    assert_eq!(responses, sessions.iter().map(|session| session.responses).sum::<u64>());
    assert!(sessions.iter().all(|session| session.repairs == 0));
    let lines = first.out.lines().chain(second.out.lines()).count();
    println!("{} requests, {responses} turns, {} tasks, {lines} lines of output", requests.len(), sessions.len());
}
