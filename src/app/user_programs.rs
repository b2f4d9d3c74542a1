//! Runs the user's programs: clipboard, `notify.command`, editor, pager.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::{Fault, IdSource, RunId};
use crate::process::{self, ChildSpec, Environment};
use crate::term::clipboard;
use crate::term::editor::{self, Tool};

const CLIPBOARD_TIMEOUT: Duration = Duration::from_secs(2);
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(30);

/// Copies a text with the first clipboard program that works. Returns the remaining steps if none did.
pub(super) async fn copy(steps: Vec<clipboard::Step>, text: &str) -> Option<Vec<clipboard::Step>> {
    let mut steps = steps.into_iter();
    while let Some(step) = steps.next() {
        let clipboard::Step::Program { program, arguments } = &step else {
            return Some(std::iter::once(step).chain(steps).collect());
        };
        let fed = tokio::time::timeout(CLIPBOARD_TIMEOUT, process::run_with_input(program, arguments, text)).await;
        if matches!(fed, Ok(Ok(status)) if status.success()) {
            return None;
        }
    }
    Some(Vec::new())
}

/// Runs the user's `notify.command`. The error is a message for the user.
pub(super) async fn run_notify_command(ids: &IdSource, command: &str, notice: &str) -> Result<(), String> {
    let id = format!("notify-{}", RunId::fresh(ids));
    let mut environment = Environment::new().with("MXD_NOTICE", notice);
    for name in ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"] {
        environment = environment.inherit(name);
    }
    let spec = ChildSpec { environment, ..ChildSpec::new(id, "sh", std::env::temp_dir()) };
    let failed = |why: String| format!("notify.command failed: {why}");
    let process = process::start(spec.arguments(["-c", command])).map_err(|error| failed(error.to_string()))?;
    let Ok(exit) = tokio::time::timeout(NOTIFY_TIMEOUT, process.wait_exited()).await else {
        process.kill();
        return Err(failed(format!("it did not finish within {} s and was killed", NOTIFY_TIMEOUT.as_secs())));
    };
    if exit.is_success() {
        return Ok(());
    }
    let output = String::from_utf8_lossy(&process.output().snapshot().head).into_owned();
    let code = exit.code.map_or_else(|| "it was killed".to_owned(), |code| format!("exit code {code}"));
    Err(failed(format!("{code}: {}", crate::base::text::headline(&crate::base::sanitize::line(&output), 120))))
}

/// Opens a text in the user's editor. Returns the edited text.
pub(super) async fn edit(text: &str) -> Result<String, Fault> {
    let tool = editor::editor(|name| std::env::var(name).ok())?;
    let file = scratch_file("md");
    let failed =
        |what: &str, error: &dyn std::fmt::Display| Fault::environment(format!("{what} {}: {error}", file.display()));
    write_private(&file, text).map_err(|error| failed("cannot write", &error))?;
    let edited = open_in(&tool, std::slice::from_ref(&file)).await;
    let edited = edited.and_then(|()| std::fs::read_to_string(&file).map_err(|error| failed("cannot read", &error)));
    let _ = std::fs::remove_file(&file);
    edited
}

/// Opens files in the user's editor. Fails if the editor exits with an error, which cancels the edit.
pub async fn edit_files(files: &[PathBuf]) -> Result<(), Fault> {
    let tool = editor::editor(|name| std::env::var(name).ok())?;
    open_in(&tool, files).await
}

async fn open_in(tool: &Tool, files: &[PathBuf]) -> Result<(), Fault> {
    let words = tool.arguments.iter().map(std::ffi::OsString::from);
    let arguments: Vec<_> = words.chain(files.iter().map(|file| file.clone().into_os_string())).collect();
    match process::run_on_terminal(&tool.program, &arguments).await {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Fault::user(format!("the editor `{}` failed ({status}); nothing changed", tool.program))),
        Err(error) => Err(Fault::environment(format!("cannot start the editor `{}`: {error}", tool.program))
            .hint("set another one in your shell, for example: export EDITOR=vim")),
    }
}

/// Shows a text in the user's pager.
pub(super) async fn page(text: &str) -> Result<(), Fault> {
    let tool = editor::pager(|name| std::env::var(name).ok())?;
    let file = scratch_file("txt");
    write_private(&file, text)
        .map_err(|error| Fault::environment(format!("cannot write {}: {error}", file.display())))?;
    let mut arguments = tool.arguments.clone();
    arguments.push(file.to_string_lossy().into_owned());
    let status = process::run_on_terminal(&tool.program, &arguments).await;
    let _ = std::fs::remove_file(&file);
    status
        .map(|_| ())
        .map_err(|error| Fault::environment(format!("cannot start the pager `{}`: {error}", tool.program)))
}

fn scratch_file(extension: &str) -> PathBuf {
    std::env::temp_dir().join(format!("mxd-{}.{extension}", ulid::Ulid::generate()))
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
#[path = "user_programs_tests.rs"]
mod tests;
