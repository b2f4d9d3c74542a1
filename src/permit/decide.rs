//! The order of evaluation: hooks, deny rules, stops, ask rules, mode, allow rules, read-only, sandbox, Ask.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::permit::call::{Call, PathView, Places, Subject};
use crate::permit::mode::Mode;
use crate::permit::read_only;
use crate::permit::rule::{Access, CommandTexts, List, Match, Rule, Rules, Source};
use crate::permit::shell::{Command, Opaque, Role, Script, Word};
use crate::permit::stops::{self, Stop};

/// What the hooks before a call said, joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HookVerdict {
    #[default]
    None,
    Allow,
    Ask,
    Deny,
}

/// Whether a sandbox surrounds the commands of the task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sandbox {
    #[default]
    Absent,
    Holds,
}

/// What applies to the calls of one task.
#[derive(Clone, Debug)]
pub struct Policy {
    pub mode: Mode,
    pub rules: Arc<Rules>,
    pub sandbox: Sandbox,
    pub places: Places,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Grant,
    Ask,
    Refuse,
}

/// A verdict and what led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub verdict: Verdict,
    pub reason: Reason,
}

/// What decided about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    Hook,
    Rule {
        list: List,
        source: Source,
        rule: String,
    },
    /// A deny rule would match if an expansion has a certain value.
    RulePossible {
        source: Source,
        rule: String,
    },
    Stop(Stop),
    Mode(Mode),
    /// A tool for tasks and messages, which has rules of its own.
    Coordination,
    ReadOnly,
    Sandbox,
    /// Nothing decided. `None` if the call is understood.
    Undecided(Option<Opaque>),
    /// It would have asked.
    WouldAsk(Box<Reason>),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hook => f.write_str("a hook decided"),
            Self::Rule { list, source, rule } => write!(f, "{source} {list} rule {rule}"),
            Self::RulePossible { source, rule } => {
                write!(f, "the {source} deny rule {rule} may match: the command contains an expansion")
            }
            Self::Stop(stop) => stop.fmt(f),
            Self::Mode(mode) => write!(f, "mode {mode}"),
            Self::Coordination => f.write_str("it concerns only tasks and messages"),
            Self::ReadOnly => f.write_str("it only reads"),
            Self::Sandbox => f.write_str("it runs inside the sandbox"),
            Self::Undecided(None) => f.write_str("no rule decides"),
            Self::Undecided(Some(opaque)) => write!(f, "the command is not understood: {opaque}"),
            Self::WouldAsk(why) => write!(f, "mode refuse: it would ask ({why})"),
        }
    }
}

/// Decides about a call.
pub fn decide(call: &Call<'_>, hook: &HookVerdict, policy: &Policy) -> Decision {
    let decision = evaluate(call, hook, policy);
    if decision.verdict == Verdict::Ask && policy.mode == Mode::Refuse {
        return refuse(Reason::WouldAsk(Box::new(decision.reason)));
    }
    decision
}

fn evaluate(call: &Call<'_>, hook: &HookVerdict, policy: &Policy) -> Decision {
    if *hook == HookVerdict::Deny {
        return refuse(Reason::Hook);
    }
    let facts = if policy.rules.restrict() { Some(Facts::of(call, &policy.places)) } else { None };
    let strongest = |list| facts.as_ref().and_then(|facts| strongest(call, facts, list, policy));
    let possible = match strongest(List::Deny) {
        Some((Match::Yes, rule)) => return refuse(rule_reason(rule)),
        Some((Match::Maybe, rule)) => Some(rule),
        Some((Match::No, _)) | None => None,
    };
    if let Some(stop) = stops::find(call, &policy.places).filter(|stop| applies(stop, policy.mode)) {
        return ask(Reason::Stop(stop));
    }
    if let Some(rule) = possible {
        return ask(Reason::RulePossible { source: rule.source, rule: rule.text.clone() });
    }
    if *hook == HookVerdict::Ask {
        return ask(Reason::Hook);
    }
    if let Some((_, rule)) = strongest(List::Ask) {
        return ask(rule_reason(rule));
    }
    if *hook == HookVerdict::Allow {
        return grant(Reason::Hook);
    }
    if let Some(decision) = by_mode(call, policy) {
        return decision;
    }
    if let Some(rule) = allowing(call, policy) {
        return grant(rule_reason(rule));
    }
    if only_reads(call) {
        return grant(Reason::ReadOnly);
    }
    if matches!(call.subject, Subject::Coordinates { .. }) {
        return grant(Reason::Coordination);
    }
    let is_command = matches!(call.subject, Subject::Command { .. });
    if is_command && policy.mode == Mode::Sandboxed && policy.sandbox == Sandbox::Holds {
        return grant(Reason::Sandbox);
    }
    ask(Reason::Undecided(match &call.subject {
        Subject::Command { script } => script.opaque.clone(),
        _ => None,
    }))
}

fn grant(reason: Reason) -> Decision {
    Decision { verdict: Verdict::Grant, reason }
}

fn ask(reason: Reason) -> Decision {
    Decision { verdict: Verdict::Ask, reason }
}

fn refuse(reason: Reason) -> Decision {
    Decision { verdict: Verdict::Refuse, reason }
}

fn rule_reason(rule: &Rule) -> Reason {
    Reason::Rule { list: rule.list, source: rule.source, rule: rule.text.clone() }
}

/// Without a mode, only the removals that are certain are stopped.
fn applies(stop: &Stop, mode: Mode) -> bool {
    mode != Mode::Open || matches!(stop, Stop::CriticalRemoval { .. })
}

/// A call in the forms that deny and ask rules look at, made once for all rules.
struct Facts<'c> {
    commands: Vec<CommandTexts<'c>>,
    reads: Vec<PathView>,
    edits: Vec<PathView>,
}

impl<'c> Facts<'c> {
    fn of(call: &'c Call<'_>, places: &Places) -> Self {
        let mut facts = Self { commands: Vec::new(), reads: Vec::new(), edits: Vec::new() };
        let view = |path: &PathBuf| places.view(path);
        match &call.subject {
            Subject::Command { script } => facts.add_script(script, places),
            Subject::Reads { paths } => facts.reads = paths.iter().map(view).collect(),
            Subject::Edits { paths } => facts.edits = paths.iter().map(view).collect(),
            Subject::Network { .. } | Subject::Coordinates { .. } | Subject::External => {}
        }
        facts
    }

    fn add_script(&mut self, script: &'c Script, places: &Places) {
        let folders = folders(script, places);
        let views =
            |text: &str| -> Vec<PathView> { folders.iter().map(|places| places.view(&places.resolve(text))).collect() };
        for redirect in &script.redirects {
            let paths = if redirect.writes { &mut self.edits } else { &mut self.reads };
            paths.extend(views(&redirect.target.text));
        }
        for command in &script.commands {
            self.commands.push(CommandTexts::of(command));
            // There is a guess that begins at each word.
            let words = match command.role {
                Role::Inner | Role::Guess => command.words.get(..1).unwrap_or_default(),
                Role::Runs | Role::Wrapper => command.arguments(),
            };
            let changes = !read_only::reads(command);
            for word in words {
                // The value of an option may be a path: `--file=x`.
                let value = word.text.split_once('=').map_or("", |(_, value)| value);
                for text in [word.text.as_str(), value].into_iter().filter(|text| !text.is_empty()) {
                    let paths = views(text);
                    if changes {
                        self.edits.extend(paths.iter().cloned());
                    }
                    self.reads.extend(paths);
                }
            }
        }
    }

    fn caught_by(&self, rule: &Rule, call: &Call<'_>) -> Match {
        let named = self.reads.iter().any(|path| rule.matches_path(Access::Read, path))
            || self.edits.iter().any(|path| rule.matches_path(Access::Edit, path))
            || matches!(call.subject, Subject::Network { host } if rule.matches_host(host));
        if named || rule.matches_tool(call.tool) {
            return Match::Yes;
        }
        self.commands.iter().map(|command| rule.catches(command)).max().unwrap_or(Match::No)
    }
}

impl Rules {
    /// Returns true if one of these rules matches the call, or could, as for a deny rule.
    pub fn may_deny(&self, call: &Call<'_>, places: &Places) -> bool {
        let facts = Facts::of(call, places);
        self.0.iter().any(|rule| facts.caught_by(rule, call) != Match::No)
    }
}

/// Returns the places with each folder that the script may be in: the current one, and those it changes to.
fn folders(script: &Script, places: &Places) -> Vec<Places> {
    const MOST: usize = 8;
    let mut folders = vec![places.clone()];
    for command in script.commands.iter().filter(|command| matches!(command.name(), Some("cd" | "pushd"))) {
        let target = command.arguments().iter().find(|word| !word.text.starts_with('-'));
        let Some(target) = target.filter(|_| folders.len() < MOST) else { continue };
        let last = folders.last().unwrap_or(places);
        folders.push(Places { cwd: last.resolve(&target.text), ..places.clone() });
    }
    folders
}

/// Returns the deny or ask rule that matches most surely.
fn strongest<'p>(call: &Call<'_>, facts: &Facts<'_>, list: List, policy: &'p Policy) -> Option<(Match, &'p Rule)> {
    let mut possible: Option<(Match, &Rule)> = None;
    for rule in policy.rules.of(list) {
        match facts.caught_by(rule, call) {
            Match::Yes => return Some((Match::Yes, rule)),
            Match::Maybe => possible = possible.or(Some((Match::Maybe, rule))),
            Match::No => {}
        }
    }
    possible
}

fn by_mode(call: &Call<'_>, policy: &Policy) -> Option<Decision> {
    let mode = policy.mode;
    let reason = Reason::Mode(mode);
    match mode {
        Mode::Ask | Mode::Refuse => None,
        Mode::Edits | Mode::Sandboxed => {
            (!only_reads(call) && edits_inside(call, &policy.places)).then(|| grant(reason))
        }
        Mode::Plan => (!only_reads(call)).then(|| refuse(reason)),
        Mode::Delegate => {
            let delegates = matches!(call.subject, Subject::Coordinates { .. }) || only_reads(call);
            (!delegates).then(|| refuse(reason))
        }
        Mode::Open | Mode::Bypass => Some(grant(reason)),
    }
}

fn only_reads(call: &Call<'_>) -> bool {
    match &call.subject {
        Subject::Reads { .. } => true,
        Subject::Command { script } => {
            read_only::is_read_only(script)
                && script.redirects.iter().all(|redirect| !redirect.writes || is_sink(&redirect.target.text))
        }
        Subject::Coordinates { reads_only } => *reads_only,
        Subject::Edits { .. } | Subject::Network { .. } | Subject::External => false,
    }
}

fn is_sink(target: &str) -> bool {
    matches!(target, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
}

/// Returns true for an edit of files in the worktree, by a tool or by a simple command.
fn edits_inside(call: &Call<'_>, places: &Places) -> bool {
    const EDITORS: [&str; 7] = ["mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed"];
    match &call.subject {
        Subject::Edits { paths } => paths.iter().all(|path| places.is_inside(path)),
        Subject::Command { script } => {
            let stays = |text: &str| !text.starts_with('-') && places.is_inside(&places.resolve(text));
            let edits = |command: &Command| {
                let is_editor =
                    command.name().is_some_and(|name| EDITORS.contains(&name)) && command.assignments.is_empty();
                let certain = command.arguments().iter().all(Word::is_certain);
                let runs_nothing =
                    command.whole_only.is_none() || (command.name() == Some("sed") && is_plain_edit(command));
                is_editor
                    && certain
                    && runs_nothing
                    && command.arguments().iter().all(|word| is_plain_option(&word.text) || stays(&word.text))
            };
            let is_fine = |command: &Command| command.role != Role::Runs || read_only::reads(command) || edits(command);
            script.opaque.is_none()
                && !script.changes_folder
                && script.commands.iter().all(is_fine)
                && script.redirects.iter().all(|redirect| {
                    !redirect.writes
                        || is_sink(&redirect.target.text)
                        || (!redirect.target.is_dynamic && stays(&redirect.target.text))
                })
        }
        Subject::Reads { .. } | Subject::Network { .. } | Subject::Coordinates { .. } | Subject::External => false,
    }
}

/// Returns true for an option that names no path.
fn is_plain_option(text: &str) -> bool {
    text.starts_with('-') && !text.contains('/') && !text.contains("..")
}

/// `sed -i` with a script that is only allowed as a whole because it writes.
fn is_plain_edit(command: &Command) -> bool {
    command.whole_only == Some(crate::permit::shell::WRITES_FILES)
}

/// Returns a rule that allows the call, together with other rules if it has several parts.
fn allowing<'p>(call: &Call<'_>, policy: &'p Policy) -> Option<&'p Rule> {
    let rules = || policy.rules.of(List::Allow);
    if let Some(rule) = rules().find(|rule| rule.matches_tool(call.tool)) {
        return Some(rule);
    }
    let places = &policy.places;
    let for_paths = |paths: &[PathBuf], access| {
        let mut found = None;
        for path in paths {
            let view = places.view(path);
            found = Some(rules().find(|rule| rule.matches_path(access, &view))?);
        }
        found
    };
    match &call.subject {
        Subject::Command { script } => {
            let mut found = None;
            if script.opaque.is_some() {
                return None;
            }
            for command in script.commands.iter().filter(|command| command.role == Role::Runs) {
                if let Some(rule) = rules().find(|rule| rule.allows(command)) {
                    found = Some(rule);
                } else if !read_only::reads(command) {
                    return None;
                }
            }
            let may_write = |target: &Word| {
                let path = places.resolve(&target.text);
                let is_known = target.known().is_some() && !script.changes_folder;
                let in_worktree = matches!(policy.mode, Mode::Edits | Mode::Sandboxed) && places.is_inside(&path);
                is_sink(&target.text) || (is_known && (in_worktree || for_paths(&[path], Access::Edit).is_some()))
            };
            let writes = script.redirects.iter().filter(|redirect| redirect.writes);
            let mut targets = writes.map(|redirect| &redirect.target);
            targets.all(may_write).then_some(found).flatten()
        }
        Subject::Reads { paths } => for_paths(paths, Access::Read),
        Subject::Edits { paths } => for_paths(paths, Access::Edit),
        Subject::Network { host } => rules().find(|rule| rule.matches_host(host)),
        Subject::Coordinates { .. } | Subject::External => None,
    }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
