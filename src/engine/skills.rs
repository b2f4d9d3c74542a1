//! Skills: folders with a `SKILL.md` that tell an agent how to do something. Its opening message lists them by name and
//! description; it reads the text with a tool when it needs it.
//!
//! The repository's skills (`.mxd/skills`, `.claude/skills`) come before the user's of the same name, because they are
//! about this repository. A skill is text: nothing in it runs by itself.

pub mod store;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::base::{sanitize, text};
use crate::config::front_matter;
use crate::config::profile::{ListedName, Profile, Source};
use crate::config::yaml::Value;
use crate::git::repo_file;
use crate::model::render;

/// The file that makes a folder a skill.
pub const FILE: &str = "SKILL.md";
/// How many folders are looked at, how long a file may be, and how much of it an agent gets.
const MAX_FOLDERS: usize = 500;
const MAX_BYTES: u64 = 128 << 10;
/// A line of the list stays below 40 tokens.
const LINE_CHARS: usize = 120;
const MAX_NAME: usize = 64;

/// The folders that contain skills.
#[derive(Clone, Debug)]
pub struct SkillFolders {
    pub user: PathBuf,
    /// The top folder of the repository.
    pub project: Option<PathBuf>,
}

/// A skill that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    pub source: Source,
    pub folder: PathBuf,
    pub text: String,
}

/// A folder with a skill, usable or not.
#[derive(Clone, Debug)]
pub struct SkillEntry {
    pub source: Source,
    /// The name of the folder.
    pub name: String,
    pub file: PathBuf,
    /// The skill, or what is wrong with its file.
    pub read: Result<Skill, String>,
    /// Another skill of the same name is used instead.
    pub hidden: bool,
}

impl Skill {
    /// Returns everything that an agent gets of it.
    pub fn whole(&self) -> String {
        format!("# Skill {}\n\nIts files are in {}.\n\n{}", self.name, self.folder.display(), self.text.trim())
    }
}

/// Reads all skills, sorted by name.
pub fn load(folders: &SkillFolders) -> Vec<SkillEntry> {
    let mut entries = Vec::new();
    if let Some(top) = &folders.project {
        for folder in [".mxd/skills", ".claude/skills"] {
            entries.extend(read_folder(Source::Project, &top.join(folder), Some(top)));
        }
    }
    entries.extend(read_folder(Source::User, &folders.user, None));
    // Stable, so that the first of a name stays first.
    entries.sort_by(|one: &SkillEntry, other| one.name.cmp(&other.name));
    for at in 1..entries.len() {
        let taken = entries[..at].iter().rev().take_while(|other| other.name == entries[at].name);
        entries[at].hidden = taken.into_iter().any(|other| other.read.is_ok());
    }
    entries
}

/// Returns the skills that a profile is told of, sorted by name.
pub fn of_profile(entries: Vec<SkillEntry>, profile: &Profile) -> Vec<Skill> {
    let listed = |list: &[ListedName], name: &str| list.iter().any(|listed| listed.name == name);
    let usable = entries.into_iter().filter(|entry| !entry.hidden).filter_map(|entry| entry.read.ok());
    let wanted = usable.filter(|skill| {
        profile.skills.as_ref().is_none_or(|names| listed(names, &skill.name)) || listed(&profile.preload, &skill.name)
    });
    wanted.collect()
}

/// Returns what the opening message says about skills: those in `preload` as a whole, the others as a list. Also names
/// the skills that the profile wants and that do not exist.
pub fn opening(skills: &[Skill], profile: &Profile) -> Vec<String> {
    let is_preloaded = |skill: &Skill| profile.preload.iter().any(|name| name.name == skill.name);
    let mut notes: Vec<String> = skills
        .iter()
        .filter(|skill| is_preloaded(skill))
        .map(|skill| render::escape_tags(&skill.whole()).into_owned())
        .collect();
    let mut list = String::new();
    for skill in skills.iter().filter(|skill| !is_preloaded(skill)) {
        let line = text::headline(&format!("{}: {}", skill.name, skill.description), LINE_CHARS);
        let _ = write!(list, "\n- {}", render::escape_tags(&sanitize::line(&line)));
    }
    if !list.is_empty() {
        notes.push(format!("Skills (read one with use_skill before you do what it is about):{list}"));
    }
    let wanted = profile.skills.iter().flatten().chain(&profile.preload);
    let missing: Vec<&str> = wanted
        .map(|listed| listed.name.as_str())
        .filter(|name| *name != "*" && !skills.iter().any(|skill| skill.name == *name))
        .collect();
    if !missing.is_empty() {
        notes.push(format!("[skills of this profile that do not exist here: {}]", missing.join(", ")));
    }
    notes
}

fn read_folder(source: Source, folder: &Path, within: Option<&Path>) -> Vec<SkillEntry> {
    let Ok(listed) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut folders: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders.truncate(MAX_FOLDERS);
    folders.into_iter().filter_map(|folder| entry(source, &folder, within)).collect()
}

/// Returns the skill in a folder, or `None` if the folder has no [`FILE`].
fn entry(source: Source, folder: &Path, within: Option<&Path>) -> Option<SkillEntry> {
    let file = folder.join(FILE);
    let name = folder.file_name()?.to_string_lossy().into_owned();
    let bytes = match within {
        Some(top) => repo_file::read(top, &file, MAX_BYTES),
        None => {
            // The user's own folder may be a link.
            let real = std::fs::canonicalize(&file).ok()?;
            let top = real.parent().unwrap_or(Path::new("/")).to_owned();
            repo_file::read(&top, &real, MAX_BYTES)
        }
    };
    let read = match bytes {
        Ok(None) => return None,
        Ok(Some(bytes)) => parse(source, folder, &name, &bytes),
        Err(error) => Err(error.refusal.to_string()),
    };
    let name = read.as_ref().map_or(name, |skill| skill.name.clone());
    Some(SkillEntry { source, name, file, read, hidden: false })
}

/// Parses a `SKILL.md`. The error is a message that begins with the line.
pub fn parse(source: Source, folder: &Path, folder_name: &str, bytes: &[u8]) -> Result<Skill, String> {
    let words = std::str::from_utf8(bytes).map_err(|_| "the file is not UTF-8 text; save it as UTF-8".to_owned())?;
    let parsed = front_matter::parse(words).map_err(|error| format!("line {}: {error}", error.at.line))?;
    let field = |name: &str| {
        parsed.entries.iter().find(|entry| entry.key.eq_ignore_ascii_case(name)).map(|entry| match &entry.value {
            Value::Text { text, .. } => Ok(text.split_whitespace().collect::<Vec<_>>().join(" ")),
            _ => Err(format!("line {}: {name} must be a string", entry.at.line)),
        })
    };
    let name = field("name").transpose()?.filter(|name| !name.is_empty()).unwrap_or_else(|| folder_name.to_owned());
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.len() > MAX_NAME || !name.chars().all(is_name) {
        return Err(format!("\"{name}\" is not a skill name: use up to {MAX_NAME} letters, digits, - _ and ."));
    }
    let description = field("description").transpose()?.filter(|text| !text.is_empty());
    let description =
        description.ok_or("line 1: description is missing: say when to use this skill, so that agents find it")?;
    let text = parsed.body.trim().to_owned();
    if text.is_empty() {
        return Err("the skill has no text: write it below the second ---".to_owned());
    }
    Ok(Skill { name, description, source, folder: folder.to_owned(), text })
}

#[cfg(test)]
#[path = "skills_tests.rs"]
mod tests;
