use super::*;
use crate::config::profile::Source;

fn toolset(fields: &str) -> (Toolset, Vec<String>) {
    let text = format!("---\n{fields}\n---\nprompt");
    let profile = Profile::read(Source::User, "x.md", "x", text.as_bytes()).unwrap();
    let (tools, flaws) = Toolset::read(&profile);
    (tools, flaws.iter().map(ToString::to_string).collect())
}

fn own(tools: &Toolset) -> Vec<&'static str> {
    names::ALL.into_iter().filter(|name| tools.allows(&names::wire(name))).collect()
}

#[test]
fn without_lists_there_is_everything() {
    let (tools, flaws) = toolset("description: d");
    assert_eq!((own(&tools), flaws), (names::ALL.to_vec(), vec![]));
    assert!(tools.allows("mcp__files__read") && tools.allows_external() && tools.allows_delegation());
}

#[test]
fn a_list_of_another_program_leaves_its_counterparts_and_what_the_tree_needs() {
    let (tools, flaws) = toolset("tools: Read, Grep, Glob, MultiEdit");
    let mut expected = vec![names::READ_FILE, names::SEARCH, names::LIST_FILES, names::EDIT_FILE];
    expected.extend(TALK.into_iter().chain(NEEDED));
    expected.sort_unstable();
    assert_eq!((own(&tools), flaws), (expected, vec![]));
    assert!(!tools.allows_external() && !tools.allows_delegation() && !tools.allows("mcp__files__read"));
    assert!(toolset("tools: Task").0.allows_delegation());
}

#[test]
fn a_name_can_be_taken_away_also_one_that_needs_no_mention() {
    let (tools, flaws) = toolset("disallowed_tools: [Bash, clarify, mcp__web]");
    assert_eq!(flaws, [""; 0]);
    for gone in ["mcp__mxd__bash", "mcp__mxd__clarify", "mcp__web__fetch"] {
        assert!(!tools.allows(gone), "{gone}");
    }
    assert!(tools.allows("mcp__mxd__read_file") && tools.allows("mcp__website__fetch"));
}

#[test]
fn servers_are_named_whole_or_tool_by_tool() {
    let (tools, flaws) = toolset("tools: mcp__files__*, web/fetch, mcp__mxd__bash");
    assert_eq!(flaws, [""; 0]);
    assert!(tools.allows("mcp__files__read") && tools.allows("mcp__web__fetch") && tools.allows("mcp__mxd__bash"));
    assert!(!tools.allows("mcp__web__post") && !tools.allows("mcp__mxd__read_file") && tools.allows_external());
}

#[test]
fn what_cannot_be_kept_is_refused_with_its_line() {
    let (_, flaws) = toolset("description: d\ntools: Bash(git:*), WebFetch, raed_file\ndisallowed_tools:\n  - done");
    assert_eq!(
        flaws,
        [
            "x.md:3: Bash(git:*): a tool is allowed or not, never a part of it; write its name alone",
            "x.md:3: the tool WebFetch does not exist here and is passed over",
            "x.md:3: there is no tool raed_file; did you mean read_file?",
            "x.md:5: done cannot be taken away: without it an agent could not end its work",
        ]
    );
}
