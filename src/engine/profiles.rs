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
use crate::engine::snapshot::ProfileView;
use crate::git::repo_file::{self, Refusal, RepoFileError};
use crate::model::task::DEFAULT_PROFILE;
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

#[derive(Clone, Debug)]
pub struct Profiles {
    entries: Vec<ProfileEntry>,
    default: String,
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
        Self { entries: entries.collect(), default: DEFAULT_PROFILE.to_owned(), folders: None }
    }

    /// Reads all folders. `default` is the profile of a task that names none.
    pub fn load(folders: &ProfileFolders, default: &str) -> Self {
        let mut profiles = Self { default: default.to_owned(), folders: Some(folders.clone()), ..Self::built_in() };
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

    /// Returns the profile for a new task. A bare name means the user's profile, then the built-in one, then the
    /// repository's: a repository cannot replace another profile.
    pub fn choose(&self, name: Option<&str>) -> Result<&Profile, Fault> {
        let name = name.unwrap_or(&self.default);
        let (source, bare) = split_name(name);
        let order = [Source::User, Source::BuiltIn, Source::Project];
        let mut sources = order.into_iter().filter(|found| source.is_none_or(|source| source == *found));
        let found = sources.find_map(|source| self.find(source, bare));
        match found {
            Some(entry) => usable(entry).map(|usable| &usable.profile),
            None => Err(self.unknown(name)),
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

    /// Returns the valid profiles, each with the shortest name that identifies it.
    pub fn views(&self) -> Vec<ProfileView> {
        let usable = self.entries.iter().filter_map(|entry| Some((entry, entry.read.as_ref().ok()?)));
        let views = usable.map(|(entry, usable)| {
            let chosen = self.choose(Some(&entry.name)).is_ok_and(|found| found.source == entry.source);
            let name = if chosen { entry.name.clone() } else { format!("{}:{}", entry.source, entry.name) };
            let is_default = name == self.default;
            ProfileView { name, description: usable.profile.description.clone(), is_default }
        });
        views.collect()
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
