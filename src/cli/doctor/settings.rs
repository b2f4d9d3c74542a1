//! Checks of the settings files and of the MCP servers that they configure.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{Finding, Level};
use crate::base::text;
use crate::cli::agents;
use crate::cli::locate::{ProjectLocator, shell_word};
use crate::cli::skill;
use crate::cli::ui_checks;
use crate::config::Settings;
use crate::config::paths::Home;
use crate::config::profile::NATIVE;
use crate::config::settings::Transport;
use crate::config::{Layer, LayerFile, Problem, ProblemKind, Server, ServerState, Severity, holds_secret};
use crate::engine::backend::outside::Program;
use crate::engine::backend::registry::{choose, plain_name, programs};
use crate::engine::profiles::Profiles;
use crate::engine::settings_files;
use crate::engine::skills;
use crate::outside::locate::Login;

pub(super) fn files(here: &ProjectLocator, home: &Home) -> Vec<Finding> {
    let paths = match here.settings_files(home).map(|files| files.paths()) {
        Ok(paths) => paths,
        Err(fault) => return vec![Finding::from_fault("settings", &fault)],
    };
    let mut findings = Vec::new();
    let mut read = 0;
    for (layer, path) in paths {
        let bytes = match settings_files::read(layer, &path) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => continue,
            Err(fault) => {
                findings.push(Finding::from_fault("settings", &fault));
                continue;
            }
        };
        read += 1;
        findings.extend(LayerFile::read(layer, &path, &bytes).problems().iter().map(|problem| judge(layer, problem)));
        findings.extend(open_secret(layer, &path, &bytes));
    }
    // Problems between files, such as a name that no file defines.
    if let Ok(merged) = here.settings(home) {
        let between =
            |problem: &&Problem| matches!(problem.kind, ProblemKind::NoSuchGroup { .. } | ProblemKind::Variable { .. });
        findings.extend(merged.problems.iter().filter(between).map(|problem| judge(Layer::Global, problem)));
        let ui_problems = ui_checks::problems(home, &merged).into_iter();
        findings.extend(ui_problems.map(|text| Finding::warning("settings", text).advise("fix the name in the file")));
    }
    if findings.is_empty() {
        let text = if read == 0 {
            "no files, using defaults".to_owned()
        } else {
            text::count(read, "file read", "files read")
        };
        findings.push(Finding::ok("settings", text));
    }
    findings
}

/// Reports profiles that cannot be used, and the warnings of the others.
pub(super) fn profiles(here: &ProjectLocator, home: &Home, selected: &str) -> Vec<Finding> {
    let profiles = Profiles::load(&agents::folders(here, home), selected);
    let mut findings = Vec::new();
    if let Err(fault) = profiles.check_selection() {
        let text = format!("new tasks cannot start: {}", fault.message);
        findings.push(Finding::error("profiles", text).run("mxd agents use NAME"));
    }
    for entry in profiles.entries() {
        let errors = entry.read.as_ref().err().into_iter().flatten();
        findings.extend(errors.map(|error| {
            Finding::error("profiles", error.to_string()).advise("fix the file in an editor").run("mxd agents")
        }));
        findings.extend(entry.warnings.iter().map(|warning| Finding::warning("profiles", warning.to_string())));
    }
    if findings.is_empty() {
        findings.push(Finding::ok("profiles", text::count(profiles.entries().len(), "profile", "profiles")));
    }
    findings
}

/// Reports skills that cannot be used.
pub(super) fn skills(here: &ProjectLocator, home: &Home) -> Vec<Finding> {
    let entries = skills::load(&skill::folders(here, home));
    let problem = |entry: &skills::SkillEntry| {
        let reason = entry.read.as_ref().err()?;
        let text = format!("{}: {reason}", entry.file.display());
        Some(Finding::warning("skills", text).advise("fix the file in an editor").run("mxd skill check"))
    };
    entries.iter().filter_map(problem).collect()
}

fn judge(layer: Layer, problem: &Problem) -> Finding {
    let level = match problem.severity() {
        Severity::Warning => Level::Warning,
        Severity::Error => Level::Error,
    };
    let finding = Finding::new("settings", level, problem.to_string());
    match &problem.kind {
        ProblemKind::Wrong { key, .. } | ProblemKind::Missing { key, .. } | ProblemKind::Clash { key, .. } => {
            finding.run(format!("mxd config unset --{layer} {}", shell_word(&key.to_string())))
        }
        ProblemKind::NoSuchGroup { groups, .. } if groups.is_empty() => {
            finding.run("mxd config set --global authGroups.main.provider anthropic")
        }
        ProblemKind::NoSuchGroup { key, groups, .. } => {
            let group = groups.first().map(String::as_str).unwrap_or_default();
            finding.run(format!("mxd config set --{} {key} {}", layer_of(problem), shell_word(group)))
        }
        ProblemKind::WrongLayer { .. } => finding.advise("move it there, or remove it from the repository's file"),
        ProblemKind::Unreadable(_)
        | ProblemKind::Syntax(_)
        | ProblemKind::NotUtf8(_)
        | ProblemKind::ByteOrderMark
        | ProblemKind::NotAnObject(_)
        | ProblemKind::Newer(_)
        | ProblemKind::Unknown { .. }
        | ProblemKind::UnknownHookEvent { .. }
        | ProblemKind::Duplicate { .. } => finding.advise("fix the file in an editor"),
        ProblemKind::Variable { .. } => finding.advise("fix the variable in your shell, or unset it"),
    }
}

/// Returns the layer of the file that has the problem.
fn layer_of(problem: &Problem) -> Layer {
    let file = Path::new(&problem.place.file);
    let in_project =
        file.parent().and_then(Path::parent).and_then(Path::file_name).is_some_and(|name| name == "projects");
    if in_project { Layer::Local } else { Layer::Global }
}

fn open_secret(layer: Layer, path: &Path, bytes: &[u8]) -> Option<Finding> {
    let mode = fs::metadata(path).ok()?.permissions().mode();
    let is_open = layer != Layer::Repo && mode & 0o077 != 0 && holds_secret(&String::from_utf8_lossy(bytes));
    let text = format!("{} holds a secret and is readable by other users", path.display());
    is_open.then(|| Finding::warning("settings", text).run("mxd check --repair"))
}

/// Checks the MCP servers without starting any.
pub(super) fn servers(here: &ProjectLocator, servers: &[Server]) -> Vec<Finding> {
    let root = here.repository().map(|place| place.top).or_else(|_| here.folder()).unwrap_or_default();
    servers.iter().map(|server| judge_server(server, &root)).collect()
}

fn judge_server(server: &Server, root: &Path) -> Finding {
    let name = &server.name;
    let test = format!("mxd mcp test {}", shell_word(name));
    match &server.state {
        ServerState::Disabled => Finding::ok("tool server", format!("{name}: disabled")),
        ServerState::NeedsApproval { .. } => {
            Finding::warning("tool server", format!("{name}: requested by the repository, needs your approval"))
                .run("mxd mcp list")
                .run(format!("mxd mcp approve {}", shell_word(name)))
        }
        ServerState::Active => match &server.server.transport {
            Transport::Http { url, .. } => Finding::ok("tool server", format!("{name}: {url}; test it with `{test}`")),
            Transport::Stdio { command, cwd, .. } => {
                let folder = cwd.as_ref().map_or_else(|| root.to_owned(), |cwd| root.join(cwd));
                if !folder.is_dir() {
                    let text = format!("{name}: the folder {} does not exist", folder.display());
                    return Finding::error("tool server", text)
                        .run(format!("mkdir -p {}", shell_word(&folder.display().to_string())));
                }
                if !is_program(command, &folder) {
                    let text = format!("{name}: program \"{command}\" not found");
                    let off = format!("mxd config set --{} mcpServers.{name}.disabled true", server.origin.word());
                    return Finding::error("tool server", text).advise("install it, or fix the entry").run(off);
                }
                Finding::ok("tool server", format!("{name}: {command}; test it with `{test}`"))
            }
        },
    }
}

/// Checks the outside agent programs without starting any: those that are installed, and the one that was chosen.
pub(super) fn backends(settings: &Settings) -> Vec<Finding> {
    const CHECK: &str = "agent program";
    if !settings.outside_agents {
        return vec![Finding::note(CHECK, "outside agent programs are switched off")];
    }
    let is_chosen = |program: &Program| plain_name(&settings.backend) == program.name;
    let judged = programs(settings).into_iter().filter_map(|program| {
        let chosen = is_chosen(&program);
        let test = format!("mxd backends test {}", shell_word(&program.name));
        match program.missing() {
            Some(fault) if chosen => Some(Finding::from_fault(CHECK, &fault)),
            Some(_) => None,
            None if chosen && program.disabled => {
                let enable = format!("mxd config set --global backends.{}.disabled false", program.name);
                Some(
                    Finding::error(CHECK, format!("{}: disabled, but chosen for all tasks", program.label)).run(enable),
                )
            }
            None => {
                let version = program.version().map(|version| format!(" {version}")).unwrap_or_default();
                let text = format!("{}{version}: installed; try it out with `{test}`", program.label);
                let finding = if chosen && program.login() == Login::Missing {
                    Finding::warning(CHECK, format!("{}{version}: no login found", program.label)).run(test)
                } else {
                    Finding::ok(CHECK, text)
                };
                Some(finding)
            }
        }
    });
    let mut findings: Vec<Finding> = judged.collect();
    let chosen = plain_name(&settings.backend);
    if chosen != NATIVE && !programs(settings).iter().any(is_chosen) {
        let fault = choose(chosen, "the setting backend", settings).err();
        findings.extend(fault.map(|fault| Finding::from_fault(CHECK, &fault)));
    }
    findings
}

/// Returns true if a shell in `folder` would find the program.
fn is_program(command: &str, folder: &Path) -> bool {
    let executable =
        |path: &Path| path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    if command.contains('/') {
        return executable(&folder.join(command));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| executable(&folder.join(command)))
}
