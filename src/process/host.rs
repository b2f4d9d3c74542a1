//! The host of a program that may leave processes anywhere: in sessions and groups of their own, without our markers.
//!
//! A host is this program again, started between the engine and the agent program ([`host_spec`], [`run_host`]). It is
//! the subreaper of everything below it, so what loses its parent becomes its child and stays findable. It ends when the
//! program has ended, when it is told to, or when the engine is gone; before it exits, nothing of the program is left.
//! Systems without subreapers fall back to groups, parents and markers.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::process::{Pid, WaitOptions, getpid, getppid, wait};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use super::child::ChildSpec;
use super::table;
use super::terminate::{Targets, terminate_blocking};

/// The hidden subcommand that is a host.
pub const HOST_COMMAND: &str = "__host";

/// How long the program may take to end after TERM. Less than the engine gives the host.
const HOST_GRACE: Duration = Duration::from_millis(1200);
/// How often the parent is looked at on systems without process handles.
const PARENT_POLL: Duration = Duration::from_secs(1);

static HOST_PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Sets the program that serves as a host: the path of `mxd`. Later calls change nothing. Without it, programs are
/// started directly.
pub fn set_host_program(path: PathBuf) {
    let _ = HOST_PROGRAM.set(path);
}

/// Returns the program that serves as a host, if it is known.
pub fn host_program() -> Option<PathBuf> {
    HOST_PROGRAM.get().cloned()
}

/// Returns the same program below a host, if there is one.
pub fn host_spec(spec: ChildSpec) -> ChildSpec {
    let Some(host) = HOST_PROGRAM.get() else { return spec };
    let ChildSpec { program, arguments, .. } = spec;
    let mut hosted: Vec<OsString> = vec![HOST_COMMAND.into(), "--".into(), program];
    hosted.extend(arguments);
    ChildSpec { program: host.clone().into_os_string(), arguments: hosted, ..spec }
}

/// Why a host ends.
enum HostEnd {
    Exited(io::Result<ExitStatus>),
    Told,
}

/// Runs a program as a host: until it has ended, or until this process is told to end. Returns its exit code.
pub fn run_host(program: &OsString, arguments: &[OsString]) -> io::Result<ExitCode> {
    let parent = getppid();
    become_subreaper();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let end = runtime.block_on(async {
        let (mut terminated, mut interrupted, mut hung_up) =
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?);
        let mut child = tokio::process::Command::from(command(program, arguments)).spawn()?;
        // End of file must reach both sides when the program ends, not when the host does.
        release_pipes()?;
        let orphaned = wait_for_parent(parent);
        Ok::<_, io::Error>(tokio::select! {
            status = child.wait() => HostEnd::Exited(status),
            _ = terminated.recv() => HostEnd::Told,
            _ = interrupted.recv() => HostEnd::Told,
            _ = hung_up.recv() => HostEnd::Told,
            Ok(()) = orphaned => HostEnd::Told,
        })
    })?;
    // The runtime may still hold the child, which only has to be reaped.
    drop(runtime);
    terminate_descendants();
    Ok(match end {
        HostEnd::Exited(Ok(status)) => ExitCode::from(exit_code(status)),
        HostEnd::Exited(Err(_)) | HostEnd::Told => ExitCode::from(128 + 15),
    })
}

fn command(program: &OsString, arguments: &[OsString]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// Replaces our stdin and stdout, which the program has inherited.
fn release_pipes() -> io::Result<()> {
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(())
}

#[cfg(target_os = "linux")]
fn become_subreaper() {
    // Without it, orphans are found by their markers.
    let _ = rustix::process::set_child_subreaper(Some(getpid()));
}

#[cfg(not(target_os = "linux"))]
fn become_subreaper() {
    let _ = getpid();
}

/// Resolves when the process that started us has ended.
fn wait_for_parent(parent: Option<Pid>) -> oneshot::Receiver<()> {
    let (gone, orphaned) = oneshot::channel();
    let wait = std::thread::Builder::new().name("parent".to_owned()).stack_size(64 << 10).spawn(move || {
        if let Some(handle) = parent.and_then(|parent| table::get(parent.as_raw_pid())).as_ref().and_then(table::handle)
        {
            let mut waiting = [rustix::event::PollFd::new(&handle, rustix::event::PollFlags::IN)];
            while getppid() == parent && rustix::event::poll(&mut waiting, None) == Err(rustix::io::Errno::INTR) {}
        } else {
            while getppid() == parent {
                std::thread::sleep(PARENT_POLL);
            }
        }
        let _ = gone.send(());
    });
    // Without the thread the host ends with the program or a signal.
    if let Err(error) = wait {
        tracing::warn!(%error, "a host cannot watch its parent");
    }
    orphaned
}

/// Terminates everything below this process and reaps it.
fn terminate_descendants() {
    let us = getpid().as_raw_pid();
    let find = || {
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        let entries = table::all();
        let below = table::descendants(&entries, &std::iter::once(us).collect());
        let members = entries.into_iter().filter(|entry| !entry.zombie && below.contains(&entry.pid)).collect();
        Targets { members, group: None }
    };
    terminate_blocking(find, HOST_GRACE);
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
