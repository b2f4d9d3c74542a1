use super::*;
use crate::config::profile::Source;

fn toolset(fields: &str) -> (Toolset, Vec<String>) {
    let text = format!("---\nname: x\ndescription: d\n{fields}\n---\nprompt");
    let profile = Profile::read(Source::User, "x.md", "x", text.as_bytes()).unwrap();
    let (tools, problems) = Toolset::read(&profile);
    (tools, problems.iter().map(ToString::to_string).collect())
}

fn own(tools: &Toolset) -> Vec<&'static str> {
    names::ALL.into_iter().filter(|name| tools.allows(&names::wire(name))).collect()
}

#[test]
fn without_lists_everything_is_allowed() {
    let (tools, problems) = toolset("label: l");
    assert_eq!((own(&tools), problems), (names::ALL.to_vec(), vec![]));
    assert!(tools.allows("mcp__files__read") && tools.allows_external() && tools.allows_delegation());
}

#[test]
fn a_list_for_another_program_allows_the_equivalents_and_the_implicit_tools() {
    let (tools, problems) = toolset("tools: Read, Grep, Glob, MultiEdit");
    let mut expected = vec![names::READ_FILE, names::SEARCH, names::LIST_FILES, names::EDIT_FILE];
    expected.extend(IMPLICIT.into_iter().chain(REQUIRED));
    expected.sort_unstable();
    assert_eq!((own(&tools), problems), (expected, vec![]));
    assert!(!tools.allows_external() && !tools.allows_delegation() && !tools.allows("mcp__files__read"));
    assert!(toolset("tools: Task").0.allows_delegation());
}

#[test]
fn an_implicit_tool_can_be_disallowed() {
    let (tools, problems) = toolset("disallowed_tools: [Bash, clarify, mcp__web]");
    assert_eq!(problems, [""; 0]);
    for gone in ["mcp__mxd__bash", "mcp__mxd__clarify", "mcp__web__fetch"] {
        assert!(!tools.allows(gone), "{gone}");
    }
    assert!(tools.allows("mcp__mxd__read_file") && tools.allows("mcp__website__fetch"));
}

#[test]
fn a_list_can_name_servers_or_single_tools() {
    let (tools, problems) = toolset("tools: mcp__files__*, web/fetch, mcp__mxd__bash");
    assert_eq!(problems, [""; 0]);
    assert!(tools.allows("mcp__files__read") && tools.allows("mcp__web__fetch") && tools.allows("mcp__mxd__bash"));
    assert!(!tools.allows("mcp__web__post") && !tools.allows("mcp__mxd__read_file") && tools.allows_external());
}

#[test]
fn invalid_names_are_reported_with_their_line() {
    let (_, problems) = toolset("tools: Bash(git:*), WebFetch, raed_file\ndisallowed_tools:\n  - done");
    let expected = [
        "x.md:4: Bash(git:*): ",
        "x.md:4: the tool WebFetch ",
        "x.md:4: there is no tool raed_file; did you mean read_file?",
        "x.md:6: done ",
    ];
    assert_eq!(problems.len(), expected.len(), "{problems:?}");
    for (problem, start) in problems.iter().zip(expected) {
        assert!(problem.starts_with(start), "{problem}");
    }
}
