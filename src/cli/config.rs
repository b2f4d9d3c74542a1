//! `mxd config`: reads settings with their origin, and changes one file at a time.

use std::path::PathBuf;

use crate::base::Fault;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::inside::Reach;
use crate::cli::looks;
use crate::cli::place::{Here, home};
use crate::config::paths::Home;
use crate::config::{
    Edit, EditError, Environment, KeyPath, Layer, LayerFile, Merged, Server, ServerState, SettingRow, Severity, Shown,
    merge, schema,
};
use crate::engine::settings_files::read;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Print the value in force.
    Get {
        /// A key, for example model or mcpServers.files.command.
        key: String,
        /// As JSON, with where it comes from.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        layer: Which,
    },
    /// Set a value.
    Set {
        /// A key, for example model or authGroups.main.apiKey.
        key: String,
        /// JSON, or a plain word where a text belongs.
        #[arg(allow_negative_numbers = true)]
        value: String,
        #[command(flatten)]
        layer: Which,
    },
    /// Remove a value, so that the next layer's or the default is in force.
    Unset {
        /// A key, for example model or mcpServers.files.
        key: String,
        #[command(flatten)]
        layer: Which,
    },
    /// Print every value in force and where it comes from.
    List {
        /// One value per line, as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        layer: Which,
    },
    /// Print a JSON Schema of the files, for editors: save it and name it as "$schema".
    Schema,
    /// Print where the files are.
    Path {
        #[command(flatten)]
        layer: Which,
    },
}

impl Args {
    /// Returns what the command does to the settings.
    pub fn reach(&self) -> Reach {
        match self.action {
            Action::Get { .. } | Action::List { .. } | Action::Schema | Action::Path { .. } => Reach::Reads,
            Action::Set { .. } | Action::Unset { .. } => Reach::Changes,
        }
    }
}

/// Which file is meant.
#[derive(clap::Args, Clone, Copy)]
#[group(multiple = false)]
struct Which {
    /// Yours, for all projects.
    #[arg(long)]
    global: bool,
    /// The repository's, shared with everybody who has it.
    #[arg(long)]
    repo: bool,
    /// Yours, for this project.
    #[arg(long)]
    local: bool,
}

impl Which {
    fn layer(self) -> Option<Layer> {
        match self {
            Self { global: true, .. } => Some(Layer::Global),
            Self { repo: true, .. } => Some(Layer::Repo),
            Self { local: true, .. } => Some(Layer::Local),
            Self { global: false, repo: false, local: false } => None,
        }
    }
}

pub fn run(console: &mut Console, here: &Here, args: Args) -> Outcome {
    let home = home()?;
    match args.action {
        Action::Schema => console.line(&format!("{:#}", schema()))?,
        Action::Get { key, json, layer } => {
            let said = said(console, here, &home, layer.layer())?;
            get(console, &said, &key, json)?;
        }
        Action::List { json, layer } => {
            let said = match layer.layer() {
                // Also where something is wrong: this is where people look then.
                None => Said { merged: with_warnings(console, here, &home)?, only: None },
                Some(_) => said(console, here, &home, layer.layer())?,
            };
            warn_of_looks(console, &home, &said.merged);
            list(console, &said, json)?;
            if let Some(fault) = said.merged.fault().filter(|_| said.only.is_none()) {
                console.finish()?;
                return Err(fault.into());
            }
        }
        Action::Set { key, value, layer } => {
            change(console, here, &home, layer.layer().unwrap_or(Layer::Global), |edit| edit.set(&key, &value))?;
            if key == "theme" || key == "keys" || key.starts_with("keys.") {
                warn_of_looks(console, &home, &here.settings(&home)?);
            }
        }
        Action::Unset { key, layer } => {
            change(console, here, &home, layer.layer().unwrap_or(Layer::Global), |edit| edit.unset(&key))?;
        }
        Action::Path { layer } => {
            for (found, path) in here.settings_files(&home)?.paths() {
                match layer.layer() {
                    None => console.line(&format!("{:<7} {}", found.word(), path.display()))?,
                    Some(wanted) if wanted == found => console.line(&path.display().to_string())?,
                    Some(_) => {}
                }
            }
            if let Some(layer) = layer.layer() {
                file_of(here, &home, layer)?;
            }
        }
    }
    console.finish()?;
    Ok(0)
}

/// What a question about settings is answered from.
struct Said {
    merged: Merged,
    /// The one file that was asked about. Nothing: all of them together.
    only: Option<(Layer, PathBuf)>,
}

impl Said {
    fn counts(&self, shown: &Shown) -> bool {
        self.only.as_ref().is_none_or(|(layer, _)| shown.origin.layer() == Some(*layer))
    }
}

/// Returns what is in force or, of one layer, what its file says.
fn said(console: &mut Console, here: &Here, home: &Home, layer: Option<Layer>) -> Result<Said, Failure> {
    let Some(layer) = layer else { return Ok(Said { merged: settings(console, here, home)?, only: None }) };
    let path = file_of(here, home, layer)?;
    let bytes = read(layer, &path)?.unwrap_or_default();
    let file = LayerFile::read(layer, &path, &bytes);
    // What else is wrong is the business of whoever uses the settings: here they are only shown.
    file.problems().iter().for_each(|problem| console.note(&format!("warning: {problem}")));
    let merged = merge(&Environment::default(), &[file])?;
    Ok(Said { merged, only: Some((layer, path)) })
}

/// Returns the settings, and says what is wrong with the files they come from.
pub(super) fn settings(console: &mut Console, here: &Here, home: &Home) -> Result<Merged, Failure> {
    let merged = with_warnings(console, here, home)?;
    match merged.fault() {
        Some(fault) => Err(fault.into()),
        None => Ok(merged),
    }
}

/// As [`settings`]. Only warnings are said; what is an error is left to the caller.
fn with_warnings(console: &mut Console, here: &Here, home: &Home) -> Result<Merged, Failure> {
    let merged = here.settings(home)?;
    for problem in merged.problems.iter().filter(|problem| problem.severity() == Severity::Warning) {
        console.note(&format!("warning: {problem}"));
    }
    Ok(merged)
}

/// Says what the screen would complain of.
fn warn_of_looks(console: &mut Console, home: &Home, merged: &Merged) {
    looks::problems(home, merged).iter().for_each(|problem| console.note(&format!("warning: {problem}")));
}

fn get(console: &mut Console, said: &Said, key: &str, json: bool) -> Result<(), Failure> {
    let path: KeyPath =
        key.parse().map_err(|error: crate::config::key_path::InvalidPath| Fault::user(error.to_string()))?;
    match (said.merged.get(&path).map_err(Fault::from)?.filter(|shown| said.counts(shown)), &said.only) {
        (Some(shown), _) if json => console.json(&SettingRow::from(&shown)),
        (Some(shown), _) => console.line(&shown.plain()),
        (None, Some((layer, file))) => Err(Fault::user(format!("{path} is not set in {}", file.display()))
            .hint(format!(
                "set it with `mxd config set --{layer} {path} …`, or leave --{layer} out for what is in force"
            ))
            .into()),
        (None, None) => Err(Fault::user(format!("{path} is not set, and has no default"))
            .hint(format!("set it with `mxd config set {path} …`"))
            .into()),
    }
}

fn list(console: &mut Console, said: &Said, json: bool) -> Result<(), Failure> {
    for shown in said.merged.list().into_iter().filter(|shown| said.counts(shown)) {
        if json {
            console.json(&SettingRow::from(&shown))?;
        } else {
            console.line(&shown.to_string())?;
        }
    }
    if said.only.is_some() {
        let waits = |server: &&Server| matches!(server.state, ServerState::NeedsApproval { .. });
        for server in said.merged.servers.iter().filter(waits) {
            console.note(&format!(
                "note: mcpServers.{} does nothing until you approve it ({})",
                server.name, server.origin
            ));
        }
    }
    Ok(())
}

fn file_of(here: &Here, home: &Home, layer: Layer) -> Result<PathBuf, Fault> {
    if let Some(path) = here.settings_files(home)?.path(layer) {
        return Ok(path);
    }
    // Says what is missing: the repository, or its registration.
    here.located(home)?;
    Err(Fault::internal("a registered project has no settings file"))
}

/// Changes the file of a layer, and says so.
pub(super) fn change(
    console: &mut Console,
    here: &Here,
    home: &Home,
    layer: Layer,
    edit: impl FnOnce(&Edit<'_>) -> Result<String, EditError>,
) -> Result<(), Failure> {
    let path = file_of(here, home, layer)?;
    here.settings_files(home)?.change(layer, edit)?;
    console.line(&format!("{} changed", path.display()))
}
