//! The settings: what is wrong with the files, and the servers of external tools that they name.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{Finding, Level};
use crate::cli::looks;
use crate::cli::place::{Here, shell_word};
use crate::config::paths::Home;
use crate::config::settings::Transport;
use crate::config::{Layer, LayerFile, Problem, Server, ServerState, Severity, Trouble, holds_secret};
use crate::engine::settings_files;

pub(super) fn files(here: &Here, home: &Home) -> Vec<Finding> {
    let paths = match here.settings_files(home).map(|files| files.paths()) {
        Ok(paths) => paths,
        Err(fault) => return vec![Finding::of_fault("settings", &fault)],
    };
    let mut findings = Vec::new();
    let mut read = 0;
    for (layer, path) in paths {
        let bytes = match settings_files::read(layer, &path) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => continue,
            Err(fault) => {
                findings.push(Finding::of_fault("settings", &fault));
                continue;
            }
        };
        read += 1;
        findings.extend(LayerFile::read(layer, &path, &bytes).problems().iter().map(|problem| judge(layer, problem)));
        findings.extend(open_secret(layer, &path, &bytes));
    }
    // What is wrong only between the files, such as a name that none of them defines.
    if let Ok(merged) = here.settings(home) {
        let between =
            |problem: &&Problem| matches!(problem.trouble, Trouble::NoSuchGroup { .. } | Trouble::Variable { .. });
        findings.extend(merged.problems.iter().filter(between).map(|problem| judge(Layer::Global, problem)));
        let looks = looks::problems(home, &merged).into_iter();
        findings.extend(looks.map(|text| Finding::warning("settings", text).advise("correct the name in the file")));
    }
    if findings.is_empty() {
        let text = if read == 0 { "no file: the defaults are in force".to_owned() } else { format!("{read} read") };
        findings.push(Finding::ok("settings", text));
    }
    findings
}

fn judge(layer: Layer, problem: &Problem) -> Finding {
    let level = match problem.severity() {
        Severity::Warning => Level::Warning,
        Severity::Error => Level::Error,
    };
    let finding = Finding::new("settings", level, problem.to_string());
    match &problem.trouble {
        Trouble::Wrong { key, .. } | Trouble::Missing { key, .. } | Trouble::Clash { key, .. } => {
            finding.run(format!("mxd config unset --{layer} {}", shell_word(&key.to_string())))
        }
        Trouble::NoSuchGroup { groups, .. } if groups.is_empty() => {
            finding.run("mxd config set --global authGroups.main.provider anthropic")
        }
        Trouble::NoSuchGroup { key, groups, .. } => {
            let group = groups.first().map(String::as_str).unwrap_or_default();
            finding.run(format!("mxd config set --{} {key} {}", layer_of(problem), shell_word(group)))
        }
        Trouble::NotHere { .. } => finding.advise("move it there, or take it out of the repository's file"),
        Trouble::Unreadable(_)
        | Trouble::Syntax(_)
        | Trouble::NotUtf8(_)
        | Trouble::ByteOrderMark
        | Trouble::NotAnObject(_)
        | Trouble::Newer(_)
        | Trouble::Unknown { .. }
        | Trouble::Duplicate { .. } => finding.advise("correct the file in an editor"),
        Trouble::Variable { .. } => finding.advise("correct the variable in your shell, or unset it"),
    }
}

/// Returns the layer whose file a problem between files is in.
fn layer_of(problem: &Problem) -> Layer {
    let file = Path::new(&problem.place.file);
    let in_project =
        file.parent().and_then(Path::parent).and_then(Path::file_name).is_some_and(|name| name == "projects");
    if in_project { Layer::Local } else { Layer::Global }
}

fn open_secret(layer: Layer, path: &Path, bytes: &[u8]) -> Option<Finding> {
    let mode = fs::metadata(path).ok()?.permissions().mode();
    let is_open = layer != Layer::Repo && mode & 0o077 != 0 && holds_secret(&String::from_utf8_lossy(bytes));
    let text = format!("{} holds a secret, and others on this machine may open it", path.display());
    is_open.then(|| Finding::warning("settings", text).run("mxd check --repair"))
}

/// Looks at the servers of external tools without starting any.
pub(super) fn servers(here: &Here, servers: &[Server]) -> Vec<Finding> {
    let root = here.repository().map(|place| place.top).or_else(|_| here.folder()).unwrap_or_default();
    servers.iter().map(|server| judge_server(server, &root)).collect()
}

fn judge_server(server: &Server, root: &Path) -> Finding {
    let name = &server.name;
    let test = format!("mxd mcp test {}", shell_word(name));
    match &server.state {
        ServerState::Disabled => Finding::ok("tool server", format!("{name}: disabled")),
        ServerState::NeedsApproval { .. } => {
            Finding::warning("tool server", format!("{name}: the repository asks for it, and it waits for you"))
                .run("mxd mcp list")
                .run(format!("mxd mcp approve {}", shell_word(name)))
        }
        ServerState::Active => match &server.server.transport {
            Transport::Http { url, .. } => Finding::ok("tool server", format!("{name}: {url}; `{test}` asks it")),
            Transport::Stdio { command, cwd, .. } => {
                let folder = cwd.as_ref().map_or_else(|| root.to_owned(), |cwd| root.join(cwd));
                if !folder.is_dir() {
                    let text = format!("{name}: the folder {} does not exist", folder.display());
                    return Finding::error("tool server", text)
                        .run(format!("mkdir -p {}", shell_word(&folder.display().to_string())));
                }
                if !is_program(command, &folder) {
                    let text = format!("{name}: there is no program \"{command}\"");
                    let off = format!("mxd config set --{} mcpServers.{name}.disabled true", server.origin.word());
                    return Finding::error("tool server", text).advise("install it, or correct the entry").run(off);
                }
                Finding::ok("tool server", format!("{name}: {command}; `{test}` starts it"))
            }
        },
    }
}

/// Tells whether there is such a program, as a shell would look for it.
fn is_program(command: &str, folder: &Path) -> bool {
    let executable =
        |path: &Path| path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    if command.contains('/') {
        return executable(&folder.join(command));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| executable(&folder.join(command)))
}
