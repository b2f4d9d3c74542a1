//! `mxd import --hooks --permissions`: takes over lifecycle hooks and permission rules from Claude Code's settings.
//!
//! What is added is printed. A repository's own hooks are not copied: they are read where they are, after an approval.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::base::{Fault, sanitize};
use crate::cli::config::change;
use crate::cli::console::{Console, Failure};
use crate::cli::locate::{ProjectLocator, home};
use crate::config::hooks::{HookGroup, definitions};
use crate::config::{HookDefinition, Layer, LayerFile};
use crate::engine::settings_files::read;
use crate::permit::{List, Mode, Rule, Source};

/// What to take over.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    pub hooks: bool,
    pub permissions: bool,
    /// Only print what would be added.
    pub preview: bool,
}

pub fn run(console: &mut Console, here: &ProjectLocator, parts: Parts) -> Result<(), Failure> {
    let top = here.repository()?.top;
    let user = directories::BaseDirs::new().map(|dirs| dirs.home_dir().join(".claude/settings.json"));
    let shared = top.join(".claude/settings.json");
    let files = [
        (Layer::Global, user),
        (Layer::Local, Some(shared.clone())),
        (Layer::Local, Some(top.join(".claude/settings.local.json"))),
    ];
    let mut added = 0;
    for (layer, path) in files {
        let Some((path, bytes)) = path.and_then(|path| Some((path.clone(), std::fs::read(path).ok()?))) else {
            continue;
        };
        if parts.hooks && path == shared {
            console.note(&format!("the hooks in {} are read there; see `mxd hooks list`", path.display()));
        } else if parts.hooks {
            added += import_hooks(console, here, layer, &path, &bytes, parts.preview)?;
        }
        if parts.permissions {
            added += import_rules(console, here, layer, &path, &bytes, parts.preview)?;
        }
    }
    if added == 0 {
        console.note("nothing to import from Claude Code's settings");
    }
    Ok(())
}

/// Returns the hooks that the layer has already.
fn known_hooks(here: &ProjectLocator, layer: Layer) -> Result<Vec<HookDefinition>, Fault> {
    let Some(path) = here.settings_files(&home()?)?.path(layer) else { return Ok(Vec::new()) };
    let bytes = read(layer, &path)?.unwrap_or_default();
    Ok(definitions(&[LayerFile::read(layer, &path, &bytes)]))
}

fn import_hooks(
    console: &mut Console,
    here: &ProjectLocator,
    layer: Layer,
    path: &Path,
    bytes: &[u8],
    preview: bool,
) -> Result<usize, Failure> {
    let file = LayerFile::read_hooks(layer, path, bytes);
    for problem in file.problems() {
        console.note(&format!("warning: {problem}"));
    }
    let known = known_hooks(here, layer)?;
    let is_same = |a: &HookDefinition, b: &HookDefinition| {
        a.event_name == b.event_name && a.matcher == b.matcher && a.handler == b.handler
    };
    let found = definitions(&[file]);
    let new: Vec<&HookDefinition> =
        found.iter().filter(|hook| !known.iter().any(|known| is_same(known, hook))).collect();
    let mut events: BTreeMap<&str, Vec<HookGroup>> = BTreeMap::new();
    for hook in known.iter().chain(new.iter().copied()) {
        let group = HookGroup { matcher: hook.matcher.clone(), hooks: vec![hook.handler.clone()] };
        events.entry(&hook.event_name).or_default().push(group);
    }
    for hook in &new {
        console.line(&format!("{layer}: hook {}", sanitize::line(&hook.to_string())))?;
    }
    if preview {
        return Ok(new.len());
    }
    for (event, groups) in events {
        if !new.iter().any(|hook| hook.event_name == event) {
            continue;
        }
        let value = serde_json::to_string(&groups).map_err(|error| Fault::internal(error.to_string()))?;
        let key = crate::config::KeyPath::top("hooks").child(event).to_string();
        change(console, here, &home()?, layer, |edit| edit.set(&key, &value))?;
    }
    Ok(new.len())
}

fn import_rules(
    console: &mut Console,
    here: &ProjectLocator,
    layer: Layer,
    path: &Path,
    bytes: &[u8],
    preview: bool,
) -> Result<usize, Failure> {
    let settings: Value = serde_json::from_slice(bytes)
        .map_err(|error| Fault::config(format!("{}: invalid JSON: {error}", PathBuf::from(path).display())))?;
    let permissions = &settings["permissions"];
    let files = here.settings_files(&home()?)?;
    let own = match files.path(layer) {
        Some(path) => LayerFile::read(layer, &path, &read(layer, &path)?.unwrap_or_default()),
        None => return Ok(0),
    };
    let mut added = 0;
    for list in List::ALL {
        for text in permissions[list.word()].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if own.rule_texts(list).any(|known| known == text) {
                continue;
            }
            if let Err(error) = Rule::parse(text, list, Source::Local) {
                console.note(&format!("warning: {}: {error}", path.display()));
                continue;
            }
            console.line(&format!("{layer}: {list} {}", sanitize::line(text)))?;
            added += 1;
            if !preview {
                change(console, here, &home()?, layer, |edit| edit.add_rule(list, text))?;
            }
        }
    }
    let mode = permissions["defaultMode"].as_str().and_then(|word| word.parse::<Mode>().ok());
    // The user decides about this one by hand: it switches everything off.
    if let Some(mode) = mode.filter(|mode| *mode != Mode::Bypass) {
        console.line(&format!("{layer}: mode {mode}"))?;
        added += 1;
        if !preview {
            change(console, here, &home()?, layer, |edit| edit.set("permissions.mode", mode.word()))?;
        }
    }
    Ok(added)
}
