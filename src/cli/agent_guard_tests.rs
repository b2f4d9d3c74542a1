use clap::Parser as _;

use super::super::Cli;
use super::*;

fn reach_of(line: &str) -> Reach {
    let cli = Cli::try_parse_from(["mxd"].into_iter().chain(line.split_whitespace())).unwrap();
    reach(cli.command.as_ref())
}

#[test]
fn commands_that_read_and_commands_that_change_are_distinguished() {
    for line in [
        "tree",
        "log 01ARZ3ND",
        "diff 01ARZ3ND",
        "cost",
        "help",
        "asks",
        "config list",
        "config get model",
        "mcp list",
        "permit list",
        "permit why ls",
        "merge 01ARZ3ND --preview",
        "rewind 01ARZ3ND --list",
        "gc --dry-run",
        "check",
        "import --list",
        "serve status",
    ] {
        assert_eq!(reach_of(line), Reach::Reads, "{line}");
    }
    for line in [
        "",
        "init",
        "run",
        "send 01ARZ3ND words",
        "answer 01ARZ3ND 1",
        "stop",
        "task new x",
        "config set model x",
        "config unset model",
        "mcp approve x --yes",
        "mcp test",
        "permit add bash --deny",
        "permit remove bash",
        "merge 01ARZ3ND",
        "rewind 01ARZ3ND --start",
        "gc",
        "check --repair",
        "import",
        "serve",
        "serve stop",
        "attach",
    ] {
        assert_eq!(reach_of(line), Reach::Changes, "{line}");
    }
}
