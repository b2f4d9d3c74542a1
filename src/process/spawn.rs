//! Starts a program in a session of its own, by `posix_spawn`.
//!
//! The standard library can ask for a session only between `fork` and `exec`. A `fork` copies the page tables of the whole
//! process, and every page that any thread writes next is copied, too: with many agents that cost more than all their
//! commands did. `posix_spawn` borrows the memory until the program runs, and copies nothing.

#![allow(unsafe_code, reason = "posix_spawn has no safe interface that knows both a session and a folder")]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::ptr;

use libc::{c_char, c_int, c_short};
use rustix::fs::{Access, access};
use rustix::process::Pid;

/// A session of its own. On Apple's systems, where a pipe cannot be made so that nobody inherits it by accident, also: no
/// descriptor but those that are named.
#[cfg(target_vendor = "apple")]
const ON_ITS_OWN: c_int = 0x0400 | 0x4000;
#[cfg(not(target_vendor = "apple"))]
const ON_ITS_OWN: c_int = libc::POSIX_SPAWN_SETSID as c_int;

/// Where programs are looked for if the environment does not say.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// What runs a file that the system does not know how to run: a script without a first line that says so.
const SHELL: &CStr = c"/bin/sh";

/// A program to be started.
#[derive(Debug)]
pub(super) struct Order<'o> {
    pub(super) program: &'o OsStr,
    pub(super) arguments: &'o [OsString],
    pub(super) cwd: &'o Path,
    /// An open directory to start in. It wins over `cwd`, which then only serves to find the program.
    pub(super) cwd_dir: Option<BorrowedFd<'o>>,
    pub(super) environment: &'o BTreeMap<OsString, OsString>,
    /// Its input, output and error stream.
    pub(super) streams: [BorrowedFd<'o>; 3],
}

/// Starts a program. It leads a session and a group of its own, and inherits no descriptor but its three streams.
pub(super) fn spawn(order: &Order<'_>) -> io::Result<Pid> {
    let file = c_string(find(order)?.as_os_str().as_bytes())?;
    let mut arguments = vec![c_string(order.program.as_bytes())?];
    for argument in order.arguments {
        arguments.push(c_string(argument.as_bytes())?);
    }
    let variable =
        |(name, value): (&OsString, &OsString)| c_string(&[name.as_bytes(), b"=", value.as_bytes()].concat());
    let environment = order.environment.iter().map(variable).collect::<io::Result<Vec<_>>>()?;
    let actions = Actions::new(order)?;
    match spawn_file(&file, &actions, &arguments, &environment) {
        Err(error) if error.raw_os_error() == Some(libc::ENOEXEC) => {
            arguments[0] = file;
            arguments.insert(0, SHELL.to_owned());
            spawn_file(SHELL, &actions, &arguments, &environment)
        }
        spawned => spawned,
    }
}

/// Finds the file of a program as a shell in the child would: by the child's own `PATH`, seen from its folder.
fn find(order: &Order<'_>) -> io::Result<PathBuf> {
    if order.program.as_bytes().contains(&b'/') {
        // Apple's systems would start a relative one in its folder, and say that they did not find it.
        let file = if cfg!(target_vendor = "apple") { order.cwd.join(order.program) } else { order.program.into() };
        return Ok(file);
    }
    let path = order.environment.get(OsStr::new("PATH")).map_or(OsStr::new(USUAL_PATH), OsString::as_os_str);
    let mut why = io::ErrorKind::NotFound;
    for folder in std::env::split_paths(path) {
        let file = order.cwd.join(folder).join(order.program);
        if !file.is_file() {
            continue;
        }
        if access(&file, Access::EXEC_OK).is_ok() {
            return Ok(file);
        }
        why = io::ErrorKind::PermissionDenied;
    }
    Err(why.into())
}

fn c_string(bytes: &[u8]) -> io::Result<CString> {
    CString::new(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

fn spawn_file(file: &CStr, actions: &Actions, arguments: &[CString], environment: &[CString]) -> io::Result<Pid> {
    let attributes = Attributes::new()?;
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    let mut pid = 0;
    // SAFETY: both lists end with a null pointer, and they, the strings, the actions and the attributes outlive the call.
    check(unsafe {
        libc::posix_spawn(
            &raw mut pid,
            file.as_ptr(),
            actions.0.as_ptr(),
            attributes.0.as_ptr(),
            arguments.as_ptr(),
            environment.as_ptr(),
        )
    })?;
    Pid::from_raw(pid).ok_or_else(|| io::ErrorKind::Other.into())
}

/// Returns a list as C wants it. The strings must outlive it.
fn pointers(strings: &[CString]) -> Vec<*mut c_char> {
    strings.iter().map(|string| string.as_ptr().cast_mut()).chain([ptr::null_mut()]).collect()
}

fn check(code: c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// What happens in the child before its program runs.
struct Actions(Box<MaybeUninit<libc::posix_spawn_file_actions_t>>);

impl Actions {
    fn new(order: &Order<'_>) -> io::Result<Self> {
        let cwd = c_string(order.cwd.as_os_str().as_bytes())?;
        let mut actions = Box::new(MaybeUninit::uninit());
        // SAFETY: the call makes an empty list of it.
        check(unsafe { libc::posix_spawn_file_actions_init(actions.as_mut_ptr()) })?;
        let mut this = Self(actions);
        let list = this.0.as_mut_ptr();
        match order.cwd_dir {
            // SAFETY: the list was made above, and the descriptor is open for as long as the order lives.
            Some(dir) => check(unsafe { libc::posix_spawn_file_actions_addfchdir_np(list, dir.as_raw_fd()) })?,
            // SAFETY: as above; the path is copied into the list.
            None => check(unsafe { libc::posix_spawn_file_actions_addchdir_np(list, cwd.as_ptr()) })?,
        }
        for (stream, target) in order.streams.iter().zip(0..) {
            // SAFETY: as above; the descriptor is open for as long as the order lives.
            check(unsafe { libc::posix_spawn_file_actions_adddup2(list, stream.as_raw_fd(), target) })?;
        }
        Ok(this)
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: it was made in `new`, and nobody uses it any more. The call cannot fail for a list that was made.
        unsafe { libc::posix_spawn_file_actions_destroy(self.0.as_mut_ptr()) };
    }
}

/// How the child differs from us: its own session, no signal blocked, a broken pipe ends it as it ends any program.
struct Attributes(Box<MaybeUninit<libc::posix_spawnattr_t>>);

impl Attributes {
    fn new() -> io::Result<Self> {
        let mut attributes = Box::new(MaybeUninit::uninit());
        // SAFETY: the call fills it with what holds by default.
        check(unsafe { libc::posix_spawnattr_init(attributes.as_mut_ptr()) })?;
        let mut this = Self(attributes);
        let kept = this.0.as_mut_ptr();
        let flags = libc::POSIX_SPAWN_SETSIGDEF as c_int | libc::POSIX_SPAWN_SETSIGMASK as c_int | ON_ITS_OWN;
        let flags = c_short::try_from(flags).map_err(io::Error::other)?;
        let mut signals = MaybeUninit::uninit();
        // SAFETY: the set is emptied before it is read, and what holds it was made above.
        unsafe {
            libc::sigemptyset(signals.as_mut_ptr());
            check(libc::posix_spawnattr_setsigmask(kept, signals.as_ptr()))?;
            libc::sigaddset(signals.as_mut_ptr(), libc::SIGPIPE);
            check(libc::posix_spawnattr_setsigdefault(kept, signals.as_ptr()))?;
            check(libc::posix_spawnattr_setflags(kept, flags))?;
        }
        Ok(this)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: as for the actions.
        unsafe { libc::posix_spawnattr_destroy(self.0.as_mut_ptr()) };
    }
}

#[cfg(test)]
#[path = "spawn_tests.rs"]
mod tests;
