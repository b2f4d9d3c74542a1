//! Programs of the person's own that the screen calls on: clipboard, notices, editor, pager.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::{Fault, IdSource, RunId};
use crate::process::{self, Environment, Spec};
use crate::term::clipboard;
use crate::term::editor::{self, Tool};

/// How long a clipboard program may take.
const CLIPBOARD_LIMIT: Duration = Duration::from_secs(2);
/// How long the person's own command for notices may take.
const NOTICE_LIMIT: Duration = Duration::from_secs(30);

/// Gives a text to the first clipboard program that takes it. Returns the ways that are left if none did.
pub(super) async fn copy(steps: Vec<clipboard::Step>, text: &str) -> Option<Vec<clipboard::Step>> {
    let mut steps = steps.into_iter();
    while let Some(step) = steps.next() {
        let clipboard::Step::Program { program, arguments } = &step else {
            return Some(std::iter::once(step).chain(steps).collect());
        };
        let fed = tokio::time::timeout(CLIPBOARD_LIMIT, process::hand_text(program, arguments, text)).await;
        if matches!(fed, Ok(Ok(status)) if status.success()) {
            return None;
        }
    }
    Some(Vec::new())
}

/// Runs the person's own command for a notice. Returns what to tell them if it does not work.
pub(super) async fn tell(ids: &IdSource, command: &str, notice: &str) -> Result<(), String> {
    let id = format!("notify-{}", RunId::fresh(ids));
    let mut environment = Environment::new().with("MXD_NOTICE", notice);
    for name in ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"] {
        environment = environment.keep(name);
    }
    let spec = Spec { environment, ..Spec::new(id, "sh", std::env::temp_dir()) };
    let failed = |why: String| format!("notify.command does not work: {why}");
    let process = process::start(spec.arguments(["-c", command])).map_err(|error| failed(error.to_string()))?;
    let Ok(exit) = tokio::time::timeout(NOTICE_LIMIT, process.left()).await else {
        process.kill();
        return Err(failed(format!("it was not done after {} s and was ended", NOTICE_LIMIT.as_secs())));
    };
    if exit.is_success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&process.output().glimpse().head).into_owned();
    let code = exit.code.map_or_else(|| "it was killed".to_owned(), |code| format!("it ended with {code}"));
    Err(failed(format!("{code} {}", crate::base::text::headline(&crate::base::sanitize::line(&said), 120))))
}

/// Lets the person edit a text with their own editor. Nothing: the editor failed, or there is none.
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

/// Lets the person edit files with their own editor. An editor that fails says that nothing is to come of it.
pub async fn edit_files(files: &[PathBuf]) -> Result<(), Fault> {
    let tool = editor::editor(|name| std::env::var(name).ok())?;
    open_in(&tool, files).await
}

async fn open_in(tool: &Tool, files: &[PathBuf]) -> Result<(), Fault> {
    let words = tool.arguments.iter().map(std::ffi::OsString::from);
    let arguments: Vec<_> = words.chain(files.iter().map(|file| file.clone().into_os_string())).collect();
    match process::on_terminal(&tool.program, &arguments).await {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            Err(Fault::user(format!("the editor `{}` ended with {status}; nothing was taken over", tool.program)))
        }
        Err(error) => Err(Fault::environment(format!("the editor `{}` cannot be started: {error}", tool.program))
            .hint("set another one in your shell, such as: export EDITOR=vim")),
    }
}

/// Shows a text in the person's own pager.
pub(super) async fn read(text: &str) -> Result<(), Fault> {
    let tool = editor::pager(|name| std::env::var(name).ok())?;
    let file = scratch_file("txt");
    write_private(&file, text)
        .map_err(|error| Fault::environment(format!("cannot write {}: {error}", file.display())))?;
    let mut arguments = tool.arguments.clone();
    arguments.push(file.to_string_lossy().into_owned());
    let status = process::on_terminal(&tool.program, &arguments).await;
    let _ = std::fs::remove_file(&file);
    status
        .map(|_| ())
        .map_err(|error| Fault::environment(format!("the pager `{}` cannot be started: {error}", tool.program)))
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
#[path = "programs_tests.rs"]
mod tests;
