//! The profiles that exist: built in, the person's, the repository's. What a name means, for a new task and for a launch.
//!
//! A task keeps its profile by a name that says where the profile comes from, so nothing that is added later takes its
//! place. A profile that is missing or cannot be used is a fault with its file and line; nothing stands in for it.

mod toolset;

use std::path::{Path, PathBuf};

use crate::base::Fault;
use crate::config::problem::Severity;
use crate::config::profile::{Flaw, Profile, Source, Trouble, full_name, split_name};
use crate::engine::snapshot::ProfileView;
use crate::git::repo_file::{self, Refusal, RepoFileError};
use crate::model::task::USUAL_PROFILE;
pub use toolset::Toolset;

/// How many files of a folder are looked at, and how long each may be.
const MOST_FILES: usize = 500;
const MOST_BYTES: usize = 128 << 10;

const BUILT_IN: [(&str, &str); 4] = [
    ("orchestrator", include_str!("../../assets/profiles/orchestrator.md")),
    ("engineer", include_str!("../../assets/profiles/engineer.md")),
    ("reviewer", include_str!("../../assets/profiles/reviewer.md")),
    ("researcher", include_str!("../../assets/profiles/researcher.md")),
];

/// Where profiles are looked for.
#[derive(Clone, Debug)]
pub struct Folders {
    pub user: PathBuf,
    /// The top of the repository, and its folder of profiles.
    pub project: Option<(PathBuf, PathBuf)>,
}

/// A profile whose tools are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usable {
    pub profile: Profile,
    pub tools: Toolset,
}

/// A profile, or the file that should be one.
#[derive(Clone, Debug)]
pub struct Entry {
    pub source: Source,
    pub name: String,
    pub file: String,
    pub read: Result<Usable, Vec<Flaw>>,
    /// What is worth knowing and stops nothing.
    pub warnings: Vec<Flaw>,
}

impl Entry {
    pub fn full_name(&self) -> String {
        full_name(self.source, &self.name)
    }
}

/// All of them.
#[derive(Clone, Debug)]
pub struct Profiles {
    entries: Vec<Entry>,
    default: String,
    folders: Option<Folders>,
}

impl Default for Profiles {
    fn default() -> Self {
        Self::built_in()
    }
}

impl Profiles {
    /// Returns those that are part of the program.
    pub fn built_in() -> Self {
        let entries = BUILT_IN.iter().map(|(name, text)| {
            let file = format!("the built-in profile {name}");
            entry(Source::BuiltIn, &file, name, Ok(text.as_bytes().to_vec()))
        });
        Self { entries: entries.collect(), default: USUAL_PROFILE.to_owned(), folders: None }
    }

    /// Reads every folder. `default` is the profile of a task for which none is chosen.
    pub fn load(folders: &Folders, default: &str) -> Self {
        let mut all = Self { default: default.to_owned(), folders: Some(folders.clone()), ..Self::built_in() };
        all.entries.extend(read_folder(Source::User, &folders.user, None));
        if let Some((top, folder)) = &folders.project {
            all.entries.extend(read_folder(Source::Project, folder, Some(top)));
        }
        all.tell_hidden();
        all
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the profile of a new task. A bare name is the person's profile, else a built-in one, else the
    /// repository's: a repository never takes the place of another.
    pub fn choose(&self, name: Option<&str>) -> Result<&Profile, Fault> {
        let name = name.unwrap_or(&self.default);
        let (source, bare) = split_name(name);
        let order = [Source::User, Source::BuiltIn, Source::Project];
        let mut sources = order.into_iter().filter(|found| source.is_none_or(|source| source == *found));
        let found = sources.find_map(|source| self.find(source, bare));
        match found {
            Some(entry) => usable(entry).map(|usable| &usable.profile),
            None => Err(self.missing(name)),
        }
    }

    /// Returns the profile that a task keeps as `full`.
    pub fn bound(&self, full: &str) -> Result<&Usable, Fault> {
        let (source, name) = split_name(full);
        let source = source.unwrap_or(Source::BuiltIn);
        match self.find(source, name) {
            Some(entry) => usable(entry),
            None => {
                let file = match (source, &self.folders) {
                    (Source::User, Some(folders)) => Some(folders.user.join(format!("{name}.md"))),
                    (Source::Project, Some(Folders { project: Some((_, folder)), .. })) => {
                        Some(folder.join(format!("{name}.md")))
                    }
                    _ => None,
                };
                let was = file.map(|file| format!(": {} is not there", file.display())).unwrap_or_default();
                Err(Fault::config(format!("the profile \"{full}\" of this task is gone{was}"))
                    .hint("put the file back and try again, or make the task anew with another profile"))
            }
        }
    }

    /// Returns those that can be chosen, each by the shortest name that means it.
    pub fn views(&self) -> Vec<ProfileView> {
        let usable = self.entries.iter().filter_map(|entry| Some((entry, entry.read.as_ref().ok()?)));
        let views = usable.map(|(entry, usable)| {
            let chosen = self.choose(Some(&entry.name)).is_ok_and(|found| found.source == entry.source);
            let name = if chosen { entry.name.clone() } else { format!("{}:{}", entry.source, entry.name) };
            ProfileView { name, description: usable.profile.description.clone() }
        });
        views.collect()
    }

    fn find(&self, source: Source, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.source == source && entry.name == name)
    }

    fn missing(&self, name: &str) -> Fault {
        let names: Vec<String> = self.views().into_iter().map(|view| view.name).collect();
        let fault = Fault::user(format!("there is no profile \"{name}\"; there are {}", names.join(", ")));
        fault.hint("`mxd agents` lists them and says what is wrong with those that cannot be used")
    }

    /// Says of the repository's profiles which of them cannot be reached by their bare name.
    fn tell_hidden(&mut self) {
        let taken: Vec<(String, Source)> = self
            .entries
            .iter()
            .filter(|entry| entry.source != Source::Project)
            .map(|entry| (entry.name.clone(), entry.source))
            .collect();
        for entry in self.entries.iter_mut().filter(|entry| entry.source == Source::Project) {
            let Some((name, source)) = taken.iter().find(|(name, _)| *name == entry.name) else { continue };
            let taken = if *source == Source::User { "a profile of your own" } else { "a built-in profile" };
            entry.warnings.push(Flaw::new(&entry.file, None, Trouble::Hidden { name: name.clone(), taken }));
        }
    }
}

fn usable(entry: &Entry) -> Result<&Usable, Fault> {
    entry.read.as_ref().map_err(|flaws| {
        let lines: Vec<String> = flaws.iter().map(ToString::to_string).collect();
        Fault::config(format!("the profile \"{}\" cannot be used: {}", entry.full_name(), lines.join("; ")))
            .hint("correct the file; `mxd agents` checks it")
    })
}

fn entry(source: Source, file: &str, stem: &str, bytes: Result<Vec<u8>, Trouble>) -> Entry {
    let read = bytes
        .map_err(|trouble| vec![Flaw::new(file, None, trouble)])
        .and_then(|bytes| Profile::read(source, file, stem, &bytes))
        .and_then(|profile| {
            let (tools, mut told) = Toolset::read(&profile);
            if told.iter().any(|flaw| flaw.severity() == Severity::Error) {
                told.retain(|flaw| flaw.severity() == Severity::Error);
                return Err(told);
            }
            Ok((Usable { profile, tools }, told))
        });
    match read {
        Ok((usable, told)) => {
            let warnings = usable.profile.warnings.iter().cloned().chain(told).collect();
            let name = usable.profile.name.clone();
            Entry { source, name, file: file.to_owned(), read: Ok(usable), warnings }
        }
        Err(flaws) => {
            Entry { source, name: stem.to_owned(), file: file.to_owned(), read: Err(flaws), warnings: Vec::new() }
        }
    }
}

/// Reads the profiles of a folder, in the order of their files. No folder: no profiles.
fn read_folder(source: Source, folder: &Path, within: Option<&Path>) -> Vec<Entry> {
    let Ok(listed) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = listed
        .flatten()
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("md")))
        .collect();
    files.sort();
    files.truncate(MOST_FILES);
    let mut entries: Vec<Entry> = Vec::new();
    for path in files {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        // A note beside the profiles is none.
        if stem.eq_ignore_ascii_case("readme") {
            continue;
        }
        let shown = within.and_then(|top| path.strip_prefix(top).ok()).unwrap_or(&path).display().to_string();
        let mut found = entry(source, &shown, &stem, read_file(&path, within));
        if entries.iter().any(|other| other.name == found.name) {
            let flaw = Flaw::new(&shown, None, Trouble::SameName(found.name.clone()));
            // It is listed under its file's name: the name belongs to the first.
            found = Entry { name: format!("{stem}.md"), read: Err(vec![flaw]), warnings: Vec::new(), ..found };
        }
        entries.push(found);
    }
    entries
}

/// Returns what is in a file. A link must not lead out of the repository: what an agent is told of a file's faults must
/// not be told of another's.
fn read_file(path: &Path, within: Option<&Path>) -> Result<Vec<u8>, Trouble> {
    let limit = MOST_BYTES as u64;
    // The user's own folder may be a link to anywhere; the files in it are regular all the same.
    let (top, file) = match within {
        Some(top) => (top.to_owned(), path.to_owned()),
        None => {
            let real = std::fs::canonicalize(path).map_err(|error| Trouble::Unreadable(error.to_string()))?;
            (real.parent().unwrap_or(Path::new("/")).to_owned(), real)
        }
    };
    match repo_file::read(&top, &file, limit) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(Trouble::Unreadable("it is not there".to_owned())),
        Err(RepoFileError { refusal: Refusal::LeadsOut | Refusal::LeadsIntoGit, .. }) => Err(Trouble::LeadsOut),
        Err(RepoFileError { refusal: Refusal::TooLarge(_), .. }) => Err(Trouble::TooLong(MOST_BYTES >> 10)),
        Err(RepoFileError { refusal, .. }) => Err(Trouble::Unreadable(refusal.to_string())),
    }
}

#[cfg(test)]
#[path = "profiles_tests.rs"]
mod tests;
