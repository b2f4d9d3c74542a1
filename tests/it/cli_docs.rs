//! What the pages show is what the program does: the help, and every example of a disk format.

use std::collections::BTreeSet;

use mxd::model::Project;
use mxd::model::event::{Body, Event};
use mxd::model::{TaskNode, Tree};
use mxd::store::lock::Holder;
use mxd::store::repository_owners::Owner;
use mxd::store::{Blobs, RealDisk};

use crate::cli_support::World;

fn page(name: &str) -> String {
    std::fs::read_to_string(format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Returns the blocks of a page that are marked with `mark`.
fn blocks(page: &str, mark: &str) -> Vec<String> {
    let opening = format!("```{mark}\n");
    page.split(&opening).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn every_example_of_an_event_is_read_and_written_as_it_stands() {
    let page = page("docs/dev/disk-format.md");
    let mut shown = BTreeSet::new();
    for line in blocks(&page, "jsonl").iter().flat_map(|block| block.lines()) {
        let event = Event::parse(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(!matches!(event.body, Body::Unknown(_)), "not understood: {line}");
        assert_eq!(serde_json::to_string(&event).unwrap(), line);
        shown.insert(event.body.kind().to_owned());
    }
    let all: BTreeSet<_> = Body::KINDS.iter().map(|kind| (*kind).to_owned()).collect();
    assert_eq!(shown, all, "the page shows every type there is");
}

#[test]
fn the_examples_of_small_files_are_what_the_store_reads() {
    let page = page("docs/dev/disk-format.md");
    let examples = blocks(&page, "json");
    let [tree, projects, owners, lock] = examples.as_slice() else { panic!("{} examples", examples.len()) };

    let tree: serde_json::Value = serde_json::from_str(tree).unwrap();
    let nodes: Vec<TaskNode> = serde_json::from_value(tree["nodes"].clone()).unwrap();
    let rebuilt = Tree::from_nodes(Some(serde_json::from_value(tree["root"].clone()).unwrap()), nodes).unwrap();
    assert_eq!(rebuilt.notes, Vec::<String>::new());

    let projects: serde_json::Value = serde_json::from_str(projects).unwrap();
    let listed: Vec<Project> = serde_json::from_value(projects["projects"].clone()).unwrap();
    assert!(listed[0].extra.is_empty(), "{listed:?}");
    let owners: serde_json::Value = serde_json::from_str(owners).unwrap();
    serde_json::from_value::<Vec<Owner>>(owners["owners"].clone()).unwrap();
    serde_json::from_str::<Holder>(lock).unwrap();
}

#[test]
fn the_blob_of_the_example_has_the_name_that_its_content_gives() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::new(std::sync::Arc::new(RealDisk), folder.path());
    let blob = blobs.put(b"pub fn add(a: i64, b: i64) -> i64 { a + b }\n").unwrap();
    assert!(
        page("docs/dev/disk-format.md").contains(&format!("{{\"blob\":\"{}\",\"bytes\":{}}}", blob.blob, blob.bytes))
    );
}

#[test]
fn the_reference_has_every_command_and_examples_use_no_other() {
    let world = World::new();
    let help = world.mxd(&world.root(), ["--help"]).ok();
    let listed = help.split("Start:").nth(1).unwrap().split("Options:").next().unwrap();
    let commands: BTreeSet<&str> = listed
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|c| !c.is_empty())
        .collect();
    let reference = page("docs/cli.md");
    for command in &commands {
        assert!(reference.contains(&format!("\n## mxd {command}\n")), "docs/cli.md does not describe `mxd {command}`");
    }
    for name in ["README.md", "docs/getting-started.md", "docs/everyday.md", "docs/review-and-merge.md", "docs/cli.md"]
    {
        for used in blocks(&page(name), "console").iter().flat_map(|block| block.lines()) {
            let command = used.strip_prefix("$ mxd ").and_then(|rest| rest.split_whitespace().next());
            // A quoted sentence is a goal.
            if let Some(command) = command.filter(|command| !command.starts_with('"')) {
                assert!(commands.contains(command), "{name}: there is no `mxd {command}`");
            }
        }
    }
}

#[test]
fn the_readmes_test_command_is_the_first_thing_that_ci_runs() {
    let script = page(".ci/run");
    let first = script.lines().find_map(|line| line.strip_prefix("step ")).unwrap();
    assert_eq!(first, "cargo test");
    assert!(page("README.md").contains("```\ncargo test\n```"));
}

/// Returns the names that a filter of `cargo test` could match below a folder: of files, and of functions in them.
fn names_below(folder: &std::path::Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            names_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path.file_stem().unwrap().to_string_lossy().into_owned());
            let functions = std::fs::read_to_string(&path).unwrap();
            let functions = functions.lines().filter_map(|line| line.trim_start().split_once("fn "));
            found.extend(functions.map(|(_, rest)| rest.split(['(', '<']).next().unwrap_or_default().to_owned()));
        }
    }
}

#[test]
fn every_test_that_a_page_names_exists() {
    let names = |folder: &str| {
        let mut found = Vec::new();
        names_below(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut found);
        found
    };
    let (it, pty, lib) = (names("tests/it"), names("tests/pty"), names("src"));
    let mut tried = 0;
    let pages =
        ["docs/reliability.md", "docs/dev/reliability-notes.md", "docs/dev/testing.md", "docs/dev/performance.md"];
    for page in pages.map(page) {
        for (_, command) in page.match_indices("cargo test ").map(|(at, _)| page[at..].split_at("cargo test ".len())) {
            let command = command.split(['`', '\n', '#']).next().unwrap_or_default();
            let mut words = command.split_whitespace().take_while(|word| *word != "--");
            let mut names = &lib;
            while let Some(word) = words.next() {
                match word {
                    "--test" => names = if words.next() == Some("pty") { &pty } else { &it },
                    flag if flag.starts_with('-') => {}
                    filter => {
                        let wanted = filter.trim_end_matches(':').rsplit("::").next().unwrap_or(filter);
                        assert!(
                            names.iter().any(|name| name.contains(wanted)),
                            "no test matches `cargo test {command}`"
                        );
                        tried += 1;
                    }
                }
            }
        }
    }
    assert!(tried > 20, "{tried} filters were found");

    let notes = page("docs/dev/reliability-notes.md");
    let defects = notes.split("## Defects").nth(1).unwrap().split("\n## ").next().unwrap();
    let named: Vec<&str> = defects.lines().filter_map(|row| row.strip_suffix("` |")?.rsplit('`').next()).collect();
    for test in &named {
        assert!(
            [&it, &pty, &lib].iter().any(|names| names.iter().any(|name| name == test)),
            "there is no test `{test}`"
        );
    }
    assert!(named.len() > 20, "{} tests were found", named.len());
}
