//! `mxd config`: reads settings with their origin, and changes one file at a time.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::base::Fault;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::inside::Reach;
use crate::cli::looks;
use crate::cli::place::{self, Here, home};
use crate::config::paths::Home;
use crate::config::{
    Edit, EditError, Environment, KeyPath, Layer, LayerFile, Merged, Server, ServerState, Severity, Shown,
    holds_secret, merge, schema,
};
use crate::git::repo_file;
use crate::store::disk::{Disk as _, RealDisk};
use crate::store::{StoreError, files, lock, replace};

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
            for (found, path) in here.config_files(&home)? {
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
    let bytes = place::read(layer, &path)?.unwrap_or_default();
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
        (Some(shown), _) if json => console.json(&shown),
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
            console.json(&shown)?;
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
    let files = here.config_files(home)?;
    if let Some((_, path)) = files.into_iter().find(|(found, _)| *found == layer) {
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
    change_quietly(here, home, layer, edit)?;
    console.line(&format!("{} changed", file_of(here, home, layer)?.display()))
}

/// Changes the file of a layer.
pub(super) fn change_quietly(
    here: &Here,
    home: &Home,
    layer: Layer,
    edit: impl FnOnce(&Edit<'_>) -> Result<String, EditError>,
) -> Result<(), Fault> {
    let path = file_of(here, home, layer)?;
    // One lock for all files, in our own folder: a repository is no place for one.
    let _guard = lock::exclusive(&home.config().with_extension("lock"))?;
    let bytes = place::read(layer, &path)?.unwrap_or_default();
    let Ok(text) = str::from_utf8(&bytes) else {
        let fault = Fault::config(format!("{} is not valid UTF-8", path.display()));
        return Err(kept(fault.hint("correct it in an editor; nothing was changed"), &path, &bytes));
    };
    let changed = edit(&Edit { layer, file: &path, text }).map_err(|error| match error {
        EditError::Broken(_) => kept(error.into(), &path, &bytes),
        EditError::Path(_)
        | EditError::Nowhere(_)
        | EditError::Refused(_)
        | EditError::Incomplete { .. }
        | EditError::NotEditable { .. }
        | EditError::NotSet { .. } => error.into(),
    })?;
    write(&path, layer, &changed)
}

/// Keeps a copy of a file that was not changed because nobody can tell what it says, and adds where it is.
fn kept(fault: Fault, path: &Path, bytes: &[u8]) -> Fault {
    match files::keep_beside(&RealDisk, path, bytes) {
        Ok(copy) => fault.hint(format!("a copy of it is kept in {}", copy.display())),
        Err(error) => fault.hint(format!("no copy of it could be kept: {error}")),
    }
}

/// Returns the file that `path` leads to. A link may lead to one that does not exist yet.
fn behind_links(path: &Path) -> PathBuf {
    /// As many links in a row as the system itself follows.
    const MOST: usize = 40;
    let next = |link: &PathBuf| Some(link.parent()?.join(fs::read_link(link).ok()?));
    let last = std::iter::successors(Some(path.to_owned()), next).take(MOST).last();
    last.unwrap_or_else(|| path.to_owned())
}

/// Replaces a settings file. A link stays a link: people keep their settings elsewhere. The repository's must not lead
/// out of it.
fn write(path: &Path, layer: Layer, text: &str) -> Result<(), Fault> {
    let path = match layer {
        Layer::Repo => repo_file::writable(place::repository_of(path), path)?,
        Layer::Global | Layer::Local => behind_links(path),
    };
    let before = fs::metadata(&path).ok().map(|meta| meta.permissions().mode() & 0o777);
    if let Some(folder) = path.parent().filter(|_| layer != Layer::Repo) {
        RealDisk.create_dirs(folder).map_err(StoreError::io("create", folder))?;
    }
    replace::replace(&RealDisk, &path, text.as_bytes())?;
    // New files are private. One that is shared by git, or was opened up by its owner, may be read again, unless
    // there is a secret in it now.
    let wanted = before.or((layer == Layer::Repo).then_some(0o644)).filter(|_| !holds_secret(text));
    if let Some(mode) = wanted {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))
            .map_err(StoreError::io("set the mode of", &path))?;
    }
    Ok(())
}
