//! The available profiles: built-in, the user's and the repository's. Resolves profile names for new tasks and for
//! launches.
//!
//! A task stores the full name of its profile, which includes the source, so that a profile added later cannot replace
//! it. A missing or invalid profile is an error with its file and line. There is no fallback.

mod toolset;

use std::path::{Path, PathBuf};

use crate::base::Fault;
use crate::config::problem::Severity;
use crate::config::profile::{Profile, ProfileProblem, ProfileProblemKind, Source, full_name, split_name};
use crate::engine::snapshot::{BrokenProfile, ProfileView};
use crate::git::repo_file::{self, Refusal, RepoFileError};
use crate::model::task::{DEFAULT_PROFILE, Overrides};
pub use toolset::Toolset;

/// How many files of a folder are read, and how long each may be.
const MAX_FILES: usize = 500;
const MAX_BYTES: usize = 128 << 10;

const BUILT_IN: [(&str, &str); 4] = [
    ("orchestrator", include_str!("../../assets/profiles/orchestrator.md")),
    ("engineer", include_str!("../../assets/profiles/engineer.md")),
    ("reviewer", include_str!("../../assets/profiles/reviewer.md")),
    ("researcher", include_str!("../../assets/profiles/researcher.md")),
];

/// The folders that contain profiles.
#[derive(Clone, Debug)]
pub struct ProfileFolders {
    pub user: PathBuf,
    /// The top folder of the repository, and its folder of profiles.
    pub project: Option<(PathBuf, PathBuf)>,
}

/// A valid profile with its tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsableProfile {
    pub profile: Profile,
    pub tools: Toolset,
}

impl UsableProfile {
    /// Returns the profile with what a task changes of it.
    pub fn with_overrides(&self, overrides: &Overrides) -> Self {
        let mut changed = self.clone();
        let profile = &mut changed.profile;
        let Overrides { append, model, effort, max_turns } = overrides;
        if let Some(model) = model {
            profile.model = Some(model.clone()).filter(|model| !model.eq_ignore_ascii_case("inherit"));
        }
        profile.effort = effort.clone().or_else(|| profile.effort.take());
        profile.max_turns = max_turns.or(profile.max_turns);
        if let Some(append) = append {
            let prompt = format!("{}\n\n{append}", profile.prompt);
            prompt.trim().clone_into(&mut profile.prompt);
        }
        changed
    }
}

/// A profile file, valid or not.
#[derive(Clone, Debug)]
pub struct ProfileEntry {
    pub source: Source,
    pub name: String,
    pub file: String,
    pub read: Result<UsableProfile, Vec<ProfileProblem>>,
    /// Problems that do not prevent the use of the profile.
    pub warnings: Vec<ProfileProblem>,
}

impl ProfileEntry {
    pub fn full_name(&self) -> String {
        full_name(self.source, &self.name)
    }
}

/// Who does new tasks for which nobody is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// This profile.
    Profile(String),
    /// Nobody until the user has chosen.
    Ask,
    /// The profile of the task above.
    Inherit,
}

impl Selection {
    /// Reads the value of the setting `profile`.
    pub fn of(setting: &str) -> Self {
        match setting.trim() {
            "ask" => Self::Ask,
            "inherit" => Self::Inherit,
            name => Self::Profile(name.to_owned()),
        }
    }

    /// Returns the value of the setting.
    pub fn word(&self) -> &str {
        match self {
            Self::Profile(name) => name,
            Self::Ask => "ask",
            Self::Inherit => "inherit",
        }
    }

    pub fn describe(&self) -> &str {
        match self {
            Self::Profile(name) => name,
            Self::Ask => "ask (you choose for each task)",
            Self::Inherit => "inherit (the profile of the task above)",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Profiles {
    entries: Vec<ProfileEntry>,
    selection: Selection,
    folders: Option<ProfileFolders>,
}

impl Default for Profiles {
    fn default() -> Self {
        Self::built_in()
    }
}

impl Profiles {
    /// Returns the profiles that are part of the program.
    pub fn built_in() -> Self {
        let entries = BUILT_IN.iter().map(|(name, text)| {
            let file = format!("the built-in profile {name}");
            entry(Source::BuiltIn, &file, name, Ok(text.as_bytes().to_vec()))
        });
        Self { entries: entries.collect(), selection: Selection::of(DEFAULT_PROFILE), folders: None }
    }

    /// Reads all folders. `default` is the setting `profile`: see [`Selection::of`].
    pub fn load(folders: &ProfileFolders, default: &str) -> Self {
        let mut profiles =
            Self { selection: Selection::of(default), folders: Some(folders.clone()), ..Self::built_in() };
        profiles.entries.extend(read_folder(Source::User, &folders.user, None));
        if let Some((top, folder)) = &folders.project {
            profiles.entries.extend(read_folder(Source::Project, folder, Some(top)));
        }
        profiles.warn_about_hidden();
        profiles
    }

    pub fn entries(&self) -> &[ProfileEntry] {
        &self.entries
    }

    #[cfg(test)]
    pub fn with_selection(self, setting: &str) -> Self {
        Self { selection: Selection::of(setting), ..self }
    }

    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Returns the profile with this name. A bare name means the user's profile, then the built-in one, then the
    /// repository's: a repository cannot replace another profile.
    pub fn choose(&self, name: &str) -> Result<&Profile, Fault> {
        match self.named(name) {
            Some(entry) => usable(entry).map(|usable| &usable.profile),
            None => Err(self.unknown(name)),
        }
    }

    fn named(&self, name: &str) -> Option<&ProfileEntry> {
        let (source, bare) = split_name(name);
        let order = [Source::User, Source::BuiltIn, Source::Project];
        let mut sources = order.into_iter().filter(|found| source.is_none_or(|source| source == *found));
        sources.find_map(|source| self.find(source, bare))
    }

    /// Returns the full name of the profile of a new task below one with the profile `above`. `None` leaves the task
    /// without a profile until the user has chosen.
    pub fn of_new_task(&self, name: Option<&str>, above: Option<&str>) -> Result<Option<String>, Fault> {
        match (name, &self.selection) {
            (Some(name), _) => self.choose(name).map(|it| Some(it.full_name())),
            (None, Selection::Profile(name)) => self.choose(name).map(|it| Some(it.full_name())),
            (None, Selection::Inherit) => {
                above.map(|above| self.by_full_name(above).map(|usable| usable.profile.full_name())).transpose()
            }
            (None, Selection::Ask) => Ok(None),
        }
    }

    /// Returns the selected profile. `None` if there is none, or it cannot be used.
    pub fn default_profile(&self) -> Option<&Profile> {
        match &self.selection {
            Selection::Profile(name) => self.named(name)?.read.as_ref().ok().map(|usable| &usable.profile),
            Selection::Ask | Selection::Inherit => None,
        }
    }

    /// Fails if the selected profile cannot be used.
    pub fn check_selection(&self) -> Result<(), Fault> {
        match &self.selection {
            Selection::Profile(name) => self.choose(name).map(drop),
            Selection::Ask | Selection::Inherit => Ok(()),
        }
    }

    /// Returns the profile with the full name that a task stores.
    pub fn by_full_name(&self, full: &str) -> Result<&UsableProfile, Fault> {
        let (source, name) = split_name(full);
        let source = source.unwrap_or(Source::BuiltIn);
        match self.find(source, name) {
            Some(entry) => usable(entry),
            None => {
                let file = match (source, &self.folders) {
                    (Source::User, Some(folders)) => Some(folders.user.join(format!("{name}.md"))),
                    (Source::Project, Some(ProfileFolders { project: Some((_, folder)), .. })) => {
                        Some(folder.join(format!("{name}.md")))
                    }
                    _ => None,
                };
                let path = file.map(|file| format!(": {} is missing", file.display())).unwrap_or_default();
                Err(Fault::config(format!("the task's profile \"{full}\" does not exist{path}"))
                    .hint("restore the file and try again, or create the task again with another profile"))
            }
        }
    }

    /// Returns what is wrong with the selection, and with each file that cannot be used.
    pub fn faults(&self) -> Vec<Fault> {
        let broken = self.entries.iter().filter_map(|entry| usable(entry).err());
        let selection = self.check_selection().err();
        let mut faults: Vec<Fault> = Vec::new();
        for fault in selection.into_iter().chain(broken) {
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
        faults
    }

    /// Returns the valid profiles, each with the shortest name that identifies it.
    pub fn views(&self) -> Vec<ProfileView> {
        let default = self.default_profile().map(Profile::full_name);
        let usable = self.entries.iter().filter_map(|entry| Some((entry, entry.read.as_ref().ok()?)));
        let views = usable.map(|(entry, usable)| {
            let chosen = self.choose(&entry.name).is_ok_and(|found| found.source == entry.source);
            let name = if chosen { entry.name.clone() } else { format!("{}:{}", entry.source, entry.name) };
            let is_default = default.as_ref().is_some_and(|default| *default == entry.full_name());
            let profile = &usable.profile;
            ProfileView {
                name,
                full_name: entry.full_name(),
                label: profile.label.clone(),
                description: profile.description.clone(),
                model: profile.model.clone(),
                backend: profile.backend.clone(),
                mode: profile.permissions.map(|mode| mode.word().to_owned()),
                tools: profile.tools.as_ref().map(Vec::len),
                is_default,
            }
        });
        views.collect()
    }

    /// Returns the profiles that cannot be used, each with its first error.
    pub fn broken(&self) -> Vec<BrokenProfile> {
        let broken = self.entries.iter().filter_map(|entry| {
            let problem = entry.read.as_ref().err()?.first()?.to_string();
            Some(BrokenProfile { full_name: entry.full_name(), problem })
        });
        broken.collect()
    }

    fn find(&self, source: Source, name: &str) -> Option<&ProfileEntry> {
        self.entries.iter().find(|entry| entry.source == source && entry.name == name)
    }

    fn unknown(&self, name: &str) -> Fault {
        let names: Vec<String> = self.views().into_iter().map(|view| view.name).collect();
        let fault = Fault::user(format!("there is no profile \"{name}\"; available: {}", names.join(", ")));
        fault.hint("`mxd agents` lists profiles and their problems")
    }

    /// Adds a warning to profiles of the repository that their bare name does not reach.
    fn warn_about_hidden(&mut self) {
        let taken: Vec<(String, Source)> = self
            .entries
            .iter()
            .filter(|entry| entry.source != Source::Project)
            .map(|entry| (entry.name.clone(), entry.source))
            .collect();
        for entry in self.entries.iter_mut().filter(|entry| entry.source == Source::Project) {
            let Some((name, source)) = taken.iter().find(|(name, _)| *name == entry.name) else { continue };
            let taken = if *source == Source::User { "your own profile" } else { "a built-in profile" };
            entry.warnings.push(ProfileProblem::new(
                &entry.file,
                None,
                ProfileProblemKind::Hidden { name: name.clone(), taken },
            ));
        }
    }
}

fn usable(entry: &ProfileEntry) -> Result<&UsableProfile, Fault> {
    entry.read.as_ref().map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Fault::config(format!("the profile \"{}\" cannot be used: {}", entry.full_name(), lines.join("; ")))
            .hint("fix the file; `mxd agents` checks it")
    })
}

fn entry(source: Source, file: &str, stem: &str, bytes: Result<Vec<u8>, ProfileProblemKind>) -> ProfileEntry {
    let read = bytes
        .map_err(|trouble| vec![ProfileProblem::new(file, None, trouble)])
        .and_then(|bytes| Profile::read(source, file, stem, &bytes))
        .and_then(|profile| {
            let (tools, mut tool_problems) = Toolset::read(&profile);
            if tool_problems.iter().any(|problem| problem.severity() == Severity::Error) {
                tool_problems.retain(|problem| problem.severity() == Severity::Error);
                return Err(tool_problems);
            }
            Ok((UsableProfile { profile, tools }, tool_problems))
        });
    match read {
        Ok((usable, tool_problems)) => {
            let warnings = usable.profile.warnings.iter().cloned().chain(tool_problems).collect();
            let name = usable.profile.name.clone();
            ProfileEntry { source, name, file: file.to_owned(), read: Ok(usable), warnings }
        }
        Err(problems) => ProfileEntry {
            source,
            name: stem.to_owned(),
            file: file.to_owned(),
            read: Err(problems),
            warnings: Vec::new(),
        },
    }
}

/// Reads the profiles of a folder, sorted by file name. Empty if the folder does not exist.
fn read_folder(source: Source, folder: &Path, within: Option<&Path>) -> Vec<ProfileEntry> {
    let Ok(listed) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = listed
        .flatten()
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("md")))
        .collect();
    files.sort();
    files.truncate(MAX_FILES);
    let mut entries: Vec<ProfileEntry> = Vec::new();
    for path in files {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if stem.eq_ignore_ascii_case("readme") {
            continue;
        }
        let shown = within.and_then(|top| path.strip_prefix(top).ok()).unwrap_or(&path).display().to_string();
        let mut found = entry(source, &shown, &stem, read_file(&path, within));
        if entries.iter().any(|other| other.name == found.name) {
            let problem = ProfileProblem::new(&shown, None, ProfileProblemKind::SameName(found.name.clone()));
            // The first file keeps the name. This one is listed under its file name.
            found =
                ProfileEntry { name: format!("{stem}.md"), read: Err(vec![problem]), warnings: Vec::new(), ..found };
        }
        entries.push(found);
    }
    entries
}

/// Reads a profile file. A link must not lead out of the repository: agents see the problems of a profile, which must
/// not reveal another file's content.
fn read_file(path: &Path, within: Option<&Path>) -> Result<Vec<u8>, ProfileProblemKind> {
    let limit = MAX_BYTES as u64;
    // The user's own folder may be a link. Its files are read all the same.
    let (top, file) = match within {
        Some(top) => (top.to_owned(), path.to_owned()),
        None => {
            let real =
                std::fs::canonicalize(path).map_err(|error| ProfileProblemKind::Unreadable(error.to_string()))?;
            (real.parent().unwrap_or(Path::new("/")).to_owned(), real)
        }
    };
    match repo_file::read(&top, &file, limit) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(ProfileProblemKind::Unreadable("it does not exist".to_owned())),
        Err(RepoFileError { refusal: Refusal::LeadsOut | Refusal::LeadsIntoGit, .. }) => {
            Err(ProfileProblemKind::LeadsOut)
        }
        Err(RepoFileError { refusal: Refusal::TooLarge(_), .. }) => Err(ProfileProblemKind::TooLong(MAX_BYTES >> 10)),
        Err(RepoFileError { refusal, .. }) => Err(ProfileProblemKind::Unreadable(refusal.to_string())),
    }
}

#[cfg(test)]
#[path = "profiles_tests.rs"]
mod tests;
