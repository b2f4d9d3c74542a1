//! `mxd config`: prints settings with their origin, and changes one file at a time.

use std::path::PathBuf;

use crate::base::Fault;
use crate::cli::agent_guard::Reach;
use crate::cli::agents::folders;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::locate::{ProjectLocator, home};
use crate::cli::ui_checks;
use crate::config::paths::Home;
use crate::config::{
    EditError, Environment, KeyPath, Layer, LayerFile, MaskedSetting, Merged, Server, ServerState, SettingRow,
    SettingsEdit, Severity, merge, schema,
};
use crate::engine::profiles::Profiles;
use crate::engine::settings_files::read;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Print the effective value.
    Get {
        /// Key, such as model or mcpServers.files.command.
        key: String,
        /// Print the value and its origin as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        layer: LayerArgs,
    },
    /// Set a value.
    Set {
        /// Key, such as model or authGroups.main.apiKey.
        key: String,
        /// A JSON value, or plain text.
        #[arg(allow_negative_numbers = true)]
        value: String,
        #[command(flatten)]
        layer: LayerArgs,
    },
    /// Remove a value; the next layer or default applies.
    Unset {
        /// Key, such as model or mcpServers.files.
        key: String,
        #[command(flatten)]
        layer: LayerArgs,
    },
    /// List effective values and their origins.
    List {
        /// Print one JSON value per line.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        layer: LayerArgs,
    },
    /// Print the JSON Schema of the settings files.
    ///
    /// For editors: save it and refer to it as "$schema".
    Schema,
    /// Print the paths of the settings files.
    Path {
        #[command(flatten)]
        layer: LayerArgs,
    },
}

impl Args {
    pub fn reach(&self) -> Reach {
        match self.action {
            Action::Get { .. } | Action::List { .. } | Action::Schema | Action::Path { .. } => Reach::Reads,
            Action::Set { .. } | Action::Unset { .. } => Reach::Changes,
        }
    }
}

/// Selects one settings file.
#[derive(clap::Args, Clone, Copy)]
#[group(multiple = false)]
struct LayerArgs {
    /// Your settings for all projects.
    #[arg(long)]
    global: bool,
    /// The repository's settings, shared with its other users.
    #[arg(long)]
    repo: bool,
    /// Your settings for this project.
    #[arg(long)]
    local: bool,
}

impl LayerArgs {
    fn layer(self) -> Option<Layer> {
        match self {
            Self { global: true, .. } => Some(Layer::Global),
            Self { repo: true, .. } => Some(Layer::Repo),
            Self { local: true, .. } => Some(Layer::Local),
            Self { global: false, repo: false, local: false } => None,
        }
    }
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: Args) -> Outcome {
    let home = home()?;
    match args.action {
        Action::Schema => console.line(&format!("{:#}", schema()))?,
        Action::Get { key, json, layer } => {
            let view = load_view(console, here, &home, layer.layer())?;
            get(console, &view, &key, json)?;
        }
        Action::List { json, layer } => {
            let view = match layer.layer() {
                // Also with errors: users list the settings to find them.
                None => SettingsView { merged: with_warnings(console, here, &home)?, only: None },
                Some(_) => load_view(console, here, &home, layer.layer())?,
            };
            warn_about_ui(console, &home, &view.merged);
            list(console, &view, json)?;
            if let Some(fault) = view.merged.fault().filter(|_| view.only.is_none()) {
                console.finish()?;
                return Err(fault.into());
            }
        }
        Action::Set { key, value, layer } => {
            let layer = layer.layer().unwrap_or(Layer::Global);
            check_names(here, &home, layer, &key, &value)?;
            change(console, here, &home, layer, |edit| edit.set(&key, &value))?;
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

/// The settings that `get` and `list` print.
struct SettingsView {
    merged: Merged,
    /// The selected file. `None` for the effective settings of all files.
    only: Option<(Layer, PathBuf)>,
}

impl SettingsView {
    fn includes(&self, shown: &MaskedSetting) -> bool {
        self.only.as_ref().is_none_or(|(layer, _)| shown.origin.layer() == Some(*layer))
    }
}

/// Loads the effective settings, or those of one layer's file.
fn load_view(
    console: &mut Console,
    here: &ProjectLocator,
    home: &Home,
    layer: Option<Layer>,
) -> Result<SettingsView, Failure> {
    let Some(layer) = layer else { return Ok(SettingsView { merged: settings(console, here, home)?, only: None }) };
    let path = file_of(here, home, layer)?;
    let bytes = read(layer, &path)?.unwrap_or_default();
    let file = LayerFile::read(layer, &path, &bytes);
    // Errors are only warnings here, because the settings are only printed.
    file.problems().iter().for_each(|problem| console.note(&format!("warning: {problem}")));
    let merged = merge(&Environment::default(), &[file])?;
    Ok(SettingsView { merged, only: Some((layer, path)) })
}

/// Returns the effective settings and prints warnings. Fails if a file has errors.
pub(super) fn settings(console: &mut Console, here: &ProjectLocator, home: &Home) -> Result<Merged, Failure> {
    let merged = with_warnings(console, here, home)?;
    match merged.fault() {
        Some(fault) => Err(fault.into()),
        None => Ok(merged),
    }
}

/// Like [`settings`], but leaves errors to the caller.
fn with_warnings(console: &mut Console, here: &ProjectLocator, home: &Home) -> Result<Merged, Failure> {
    let merged = here.settings(home)?;
    for problem in merged.problems.iter().filter(|problem| problem.severity() == Severity::Warning) {
        console.note(&format!("warning: {problem}"));
    }
    Ok(merged)
}

/// Prints problems that only the UI can detect.
fn warn_about_ui(console: &mut Console, home: &Home, merged: &Merged) {
    ui_checks::problems(home, merged).iter().for_each(|problem| console.note(&format!("warning: {problem}")));
}

fn get(console: &mut Console, view: &SettingsView, key: &str, json: bool) -> Result<(), Failure> {
    let path: KeyPath =
        key.parse().map_err(|error: crate::config::key_path::InvalidPath| Fault::user(error.to_string()))?;
    match (view.merged.get(&path).map_err(Fault::from)?.filter(|shown| view.includes(shown)), &view.only) {
        (Some(shown), _) if json => console.json(&SettingRow::from(&shown)),
        (Some(shown), _) => console.line(&shown.plain()),
        (None, Some((layer, file))) => Err(Fault::user(format!("{path} is not set in {}", file.display()))
            .hint(format!("set it with `mxd config set --{layer} {path} …`, or omit --{layer} for the effective value"))
            .into()),
        (None, None) => Err(Fault::user(format!("{path} is not set and has no default"))
            .hint(format!("set it with `mxd config set {path} …`"))
            .into()),
    }
}

fn list(console: &mut Console, view: &SettingsView, json: bool) -> Result<(), Failure> {
    for shown in view.merged.list().into_iter().filter(|shown| view.includes(shown)) {
        if json {
            console.json(&SettingRow::from(&shown))?;
        } else {
            console.line(&shown.to_string())?;
        }
    }
    if view.only.is_some() {
        let needs_approval = |server: &&Server| matches!(server.state, ServerState::NeedsApproval { .. });
        for server in view.merged.servers.iter().filter(needs_approval) {
            console.note(&format!(
                "note: mcpServers.{} is inactive until you approve it ({})",
                server.name, server.origin
            ));
        }
    }
    Ok(())
}

/// Fails if the value names a theme, an action, a key or a profile that does not exist.
fn check_names(here: &ProjectLocator, home: &Home, layer: Layer, key: &str, value: &str) -> Result<(), Fault> {
    let path: KeyPath =
        key.parse().map_err(|error: crate::config::key_path::InvalidPath| Fault::user(error.to_string()))?;
    let problem = match path.key() {
        "theme" | "keys" => {
            let file = file_of(here, home, layer)?;
            // Only the new value counts: another one may be wrong already.
            let edit = SettingsEdit { layer, file: &file, text: "{}" };
            // A value of the wrong type is reported by the change itself.
            let Ok(text) = edit.set(key, value) else { return Ok(()) };
            let merged = merge(&Environment::default(), &[LayerFile::read(layer, &file, text.as_bytes())])?;
            ui_checks::sentences(home, &merged).into_iter().next()
        }
        "profile" => {
            let found = Profiles::load(&folders(here, home), value.trim_matches('"')).check_selection().err();
            found.map(|fault| fault.message)
        }
        _ => None,
    };
    match problem {
        Some(problem) => Err(Fault::config(format!("{key} was not set: {problem}"))),
        None => Ok(()),
    }
}

fn file_of(here: &ProjectLocator, home: &Home, layer: Layer) -> Result<PathBuf, Fault> {
    if let Some(path) = here.settings_files(home)?.path(layer) {
        return Ok(path);
    }
    // Fails with what is missing: the repository, or its registration.
    here.locate(home)?;
    Err(Fault::internal("a registered project has no settings file"))
}

/// Edits the settings file of a layer.
pub(super) fn change(
    console: &mut Console,
    here: &ProjectLocator,
    home: &Home,
    layer: Layer,
    edit: impl FnOnce(&SettingsEdit<'_>) -> Result<String, EditError>,
) -> Result<(), Failure> {
    let path = file_of(here, home, layer)?;
    here.settings_files(home)?.change(layer, edit)?;
    console.line(&format!("{} changed", path.display()))
}
