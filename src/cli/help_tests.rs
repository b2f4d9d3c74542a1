use std::collections::BTreeSet;

use super::*;
use crate::cli::Cli;

fn every_command(command: &clap::Command, path: &str, each: &mut impl FnMut(&str, &clap::Command)) {
    each(path, command);
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        every_command(below, &format!("{path} {}", below.get_name()), each);
    }
}

#[test]
fn every_command_is_in_one_group() {
    let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let command = Cli::grouped();
    let declared: BTreeSet<&str> =
        command.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
    assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), declared);
    assert_eq!(grouped.len(), declared.len(), "each once");
}

#[test]
fn the_help_has_groups_options_and_examples_within_eighty_columns() {
    let help = Cli::grouped().render_long_help().to_string();
    for part in ["Start:\n", "Look:\n", "Options:\n", "-C, --project <PATH>", "Examples:\n", "mxd \"Add a login page\""]
    {
        assert!(help.contains(part), "{part:?} in {help}");
    }
    assert!(help.find("Start:") < help.find("Options:") && help.find("Options:") < help.find("Examples:"), "{help}");
    let short = Cli::grouped().render_help().to_string();
    let topics = short.lines().position(|line| line.contains("`mxd help TOPIC`")).unwrap();
    for line in short.lines().take(topics) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn every_argument_is_described_in_few_words() {
    let mut wrong = Vec::new();
    let mut command = Cli::grouped();
    command.build();
    every_command(&command, "mxd", &mut |path, command| {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let args = command.get_arguments().filter(|arg| !arg.is_hide_set());
        let helps =
            args.map(|arg| (arg.get_id().to_string(), arg.get_help().map(ToString::to_string).unwrap_or_default()));
        for (name, help) in helps.chain([("about".to_owned(), about)]) {
            let is_short = help.split(". ").all(|sentence| sentence.split_whitespace().count() <= 10);
            if help.is_empty() || !is_short {
                wrong.push(format!("{path} {name}: {help:?}"));
            }
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}
