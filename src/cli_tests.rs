use clap::CommandFactory as _;

use super::*;

#[test]
fn the_commands_are_put_together_correctly() {
    Cli::command().debug_assert();
}
