//! Words advice for the screen: messages of the engine name commands of the shell, the screen names its keys.

use crate::base::Fault;
use crate::ui::action::Action;

/// What stands for a command of the shell. Longer commands come before those that they begin with.
const COMMANDS: [(&str, &[Action]); 13] = [
    ("mxd merge TASK --resolve", &[Action::Merge, Action::TellAgent]),
    ("mxd merge TASK --edit", &[Action::Merge, Action::SolveConflicts]),
    ("mxd merge TASK", &[Action::Merge]),
    ("mxd stop TASK", &[Action::Stop]),
    ("mxd asks", &[Action::NextAsk]),
    ("mxd rewind TASK --list", &[Action::Rewind]),
    ("mxd diff TASK", &[Action::ShowDiff]),
    ("mxd restore TASK", &[Action::RestoreTask]),
    ("mxd task edit TASK --budget", &[Action::Budget]),
    ("mxd config set model", &[Action::ChooseModel]),
    ("mxd config set budgetUsd", &[Action::Settings]),
    ("mxd cost", &[Action::CostColumn]),
    ("mxd agents", &[Action::ChooseProfile]),
];

/// The screen shows the tasks itself.
const TREE: &str = "mxd tree";

/// Returns a fault in words for the screen. `key` names the key of an action.
pub fn fault(fault: &Fault, key: impl Fn(Action) -> String) -> String {
    let hints = fault.hints.iter().filter(|hint| command(hint) != Some(TREE));
    let hints = hints.map(|hint| format!("\n  hint: {}", in_keys(hint, &key)));
    std::iter::once(in_keys(&fault.message, &key)).chain(hints).collect()
}

/// Replaces commands of the shell by the keys that do the same. A command without a key stays.
pub fn in_keys(text: &str, key: impl Fn(Action) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, quoted, after)) = next_quoted(rest) {
        out.push_str(before);
        match keys(quoted, &key) {
            Some(keys) => out.push_str(&keys),
            None => {
                out.push('`');
                out.push_str(quoted);
                out.push('`');
            }
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn keys(quoted: &str, key: impl Fn(Action) -> String) -> Option<String> {
    let (_, actions) = COMMANDS.iter().find(|(command, _)| quoted.starts_with(command))?;
    Some(actions.iter().map(|action| key(*action)).collect::<Vec<_>>().join(", then "))
}

/// Returns the first command that a text names.
fn command(text: &str) -> Option<&str> {
    next_quoted(text).map(|(_, quoted, _)| quoted)
}

/// Splits a text at its first part in backticks.
fn next_quoted(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('`')?;
    let (quoted, after) = rest.split_once('`')?;
    Some((before, quoted, after))
}

#[cfg(test)]
#[path = "advice_tests.rs"]
mod tests;
