//! `mxd permit`: lists, explains and changes what agents may do without asking.

mod review;

use serde::Serialize;

use crate::base::{Clock as _, Fault, SystemClock};
use crate::cli::agent_guard::Reach;
use crate::cli::config;
use crate::cli::console::{Console, Outcome};
use crate::cli::locate::{ProjectLocator, home};
use crate::config::{Layer, LayerFile, Merged};
use crate::engine::permissions::active_policy;
use crate::engine::settings_files::read;
use crate::permit::shell::{self, Role, Script};
use crate::permit::{Call, HookVerdict, List, Places, Policy, Rule, Sandbox, Source, Subject, Verdict, decide};

/// The setting with the day of the consent.
const CONSENT: &str = "bypassConsent";

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Explain whether a command may run, and why.
    ///
    /// Shows every command that it would run.
    Why {
        /// The shell command, quoted.
        #[arg(value_name = "COMMAND")]
        text: String,
        /// Print the decision as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Allow tasks of this project to have the mode bypass.
    ///
    /// Agents in that mode run everything that no rule denies or asks about. Asked once per project.
    Bypass {
        /// The project's name, to confirm.
        #[arg(value_name = "PROJECT")]
        name: String,
        /// Take the consent back.
        #[arg(long)]
        revoke: bool,
    },
    /// List the mode and the rules with their origin.
    List {
        /// Print one JSON rule per line.
        #[arg(long)]
        json: bool,
    },
    /// List rules with their use, and those that can go.
    ///
    /// Reads all sessions of the project.
    Review {
        /// Print one JSON rule per line.
        #[arg(long)]
        json: bool,
    },
    /// Add a rule.
    Add {
        /// Rule, such as 'bash(cargo test *)' or 'read(~/.ssh/**)'.
        rule: String,
        #[command(flatten)]
        list: ListArgs,
        #[command(flatten)]
        layer: LayerArgs,
    },
    /// Remove a rule.
    Remove {
        /// Rule, as `mxd permit list` prints it.
        rule: String,
        #[command(flatten)]
        layer: LayerArgs,
    },
}

impl Args {
    pub fn reach(&self) -> Reach {
        match self.action {
            Action::Why { .. } | Action::List { .. } | Action::Review { .. } => Reach::Reads,
            Action::Add { .. } | Action::Remove { .. } | Action::Bypass { .. } => Reach::Changes,
        }
    }
}

/// Selects a list.
#[derive(clap::Args, Clone, Copy)]
#[group(multiple = false)]
struct ListArgs {
    /// Allow matching calls (default).
    #[arg(long)]
    allow: bool,
    /// Ask for matching calls in every mode.
    #[arg(long)]
    ask: bool,
    /// Refuse matching calls in every mode.
    #[arg(long)]
    deny: bool,
}

impl ListArgs {
    fn list(self) -> List {
        match self {
            Self { ask: true, .. } => List::Ask,
            Self { deny: true, .. } => List::Deny,
            Self { ask: false, deny: false, .. } => List::Allow,
        }
    }
}

/// Selects a settings file.
#[derive(clap::Args, Clone, Copy)]
#[group(multiple = false)]
struct LayerArgs {
    /// Your settings for all projects.
    #[arg(long)]
    global: bool,
    /// The repository's settings, shared with its other users.
    #[arg(long)]
    repo: bool,
    /// Your settings for this project (default).
    #[arg(long)]
    local: bool,
}

impl LayerArgs {
    fn layer(self) -> Layer {
        match self {
            Self { global: true, .. } => Layer::Global,
            Self { repo: true, .. } => Layer::Repo,
            Self { global: false, repo: false, .. } => Layer::Local,
        }
    }
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: Args) -> Outcome {
    let home = home()?;
    match args.action {
        Action::Why { text, json } => {
            let merged = config::settings(console, here, &home)?;
            let files = here.settings_files(&home)?;
            let root = match files.repository {
                Some(repository) => repository,
                None => std::env::current_dir().map_err(|error| Fault::environment(error.to_string()))?,
            };
            why(console, &merged, &text, root, json)?;
        }
        Action::List { json } => {
            let merged = config::settings(console, here, &home)?;
            list(console, &merged, json)?;
        }
        Action::Review { json } => {
            let merged = config::settings(console, here, &home)?;
            review::run(console, here, &merged, json)?;
        }
        Action::Add { rule, list, layer } => {
            let (list, layer) = (list.list(), layer.layer());
            let parsed = Rule::parse(&rule, list, Source::Local).map_err(|error| Fault::user(error.to_string()))?;
            if layer == Layer::Repo && list == List::Allow {
                console.note("note: an allow rule in the repository does nothing until each user adds it, too");
            }
            config::change(console, here, &home, layer, |edit| edit.add_rule(list, &parsed.text))?;
        }
        Action::Bypass { name: typed, revoke } => {
            let name = here.locate(&home)?.project.name;
            if typed != name {
                return Err(Fault::user(format!("this project is called \"{name}\", not \"{typed}\""))
                    .hint("type the project's name to confirm")
                    .into());
            }
            let today = SystemClock.now().to_string().chars().take(10).collect::<String>();
            config::change(console, here, &home, Layer::Local, |edit| {
                if revoke { edit.unset(CONSENT) } else { edit.set(CONSENT, &today) }
            })?;
        }
        Action::Remove { rule, layer } => {
            let layer = layer.layer();
            let list = list_with(here, layer, &rule)?;
            config::change(console, here, &home, layer, |edit| edit.remove_rule(list, &rule))?;
        }
    }
    console.finish()?;
    Ok(0)
}

/// Returns the list of a file that holds the rule.
fn list_with(here: &ProjectLocator, layer: Layer, rule: &str) -> Result<List, Fault> {
    let files = here.settings_files(&home()?)?;
    let missing = || {
        Fault::user(format!("the {layer} settings have no rule {rule}"))
            .hint("`mxd permit list` lists the rules with their origin")
    };
    let path = files.path(layer).ok_or_else(missing)?;
    let bytes = read(layer, &path)?.unwrap_or_default();
    let file = LayerFile::read(layer, &path, &bytes);
    List::ALL.into_iter().find(|list| file.rule_texts(*list).any(|known| known == rule)).ok_or_else(missing)
}

#[derive(Serialize)]
struct RuleRow<'a> {
    list: &'static str,
    rule: &'a str,
    origin: &'static str,
    /// The repository proposes it, and it does nothing.
    proposed: bool,
}

fn list(console: &mut Console, merged: &Merged, json: bool) -> Result<(), crate::cli::console::Failure> {
    let row = |rule: &'_ Rule, proposed: bool| (rule.list.word(), rule.text.clone(), rule.source.word(), proposed);
    let rules = merged.rules.0.iter().map(|rule| row(rule, false));
    let rules: Vec<_> = rules.chain(merged.proposed_rules.iter().map(|rule| row(rule, true))).collect();
    if !json {
        let mode = active_policy(merged, Sandbox::Absent).mode;
        console.line(&format!("mode  {mode}"))?;
    }
    let width = rules.iter().map(|(_, rule, ..)| rule.chars().count()).max().unwrap_or(0);
    for (list, rule, origin, proposed) in &rules {
        if json {
            console.json(&RuleRow { list, rule, origin, proposed: *proposed })?;
            continue;
        }
        let note = if *proposed { "  (proposed; add it to make it count)" } else { "" };
        console.line(&format!("{list:<5} {rule:<width$}  {origin}{note}"))?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Explanation {
    decision: &'static str,
    reason: String,
    /// The commands that it would run. Incomplete if `opaque` is set.
    commands: Vec<String>,
    opaque: Option<String>,
}

fn why(
    console: &mut Console,
    merged: &Merged,
    text: &str,
    root: std::path::PathBuf,
    json: bool,
) -> Result<(), crate::cli::console::Failure> {
    let active = active_policy(merged, Sandbox::Absent);
    let script = shell::parse(text);
    let places = Places { root: root.clone(), cwd: root, home: std::env::home_dir() };
    let policy = Policy { mode: active.mode, rules: active.rules, sandbox: active.sandbox, places };
    let call = Call { tool: "bash", subject: Subject::Command { script: &script } };
    let decision = decide(&call, &HookVerdict::None, &policy);
    let explanation = Explanation {
        decision: match decision.verdict {
            Verdict::Grant => "granted",
            Verdict::Ask => "needs permission",
            Verdict::Refuse => "refused",
        },
        reason: decision.reason.to_string(),
        commands: commands(&script),
        opaque: script.opaque.as_ref().map(ToString::to_string),
    };
    if json {
        return console.json(&explanation);
    }
    console.line(&format!("{}: {}", explanation.decision, explanation.reason))?;
    for command in &explanation.commands {
        console.line(&format!("  runs {}", command.replace(shell::DYNAMIC, "$…")))?;
    }
    if let Some(why) = &explanation.opaque {
        console.line(&format!("  not understood: {why}; no allow rule for commands matches it"))?;
    }
    Ok(())
}

/// Returns the commands that run, without the guesses about a script that is not understood.
fn commands(script: &Script) -> Vec<String> {
    let runs = script.commands.iter().filter(|command| command.role == Role::Runs);
    runs.map(shell::Command::whole_text).filter(|text| !text.is_empty()).collect()
}
