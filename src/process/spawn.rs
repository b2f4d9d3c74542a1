//! Starts a program in its own session, with `posix_spawn`.
//!
//! The standard library can create a session only between `fork` and `exec`. A `fork` copies the page tables of the
//! whole process and makes every later page write a copy; with many agents that cost more than their commands did.
//! `posix_spawn` shares the memory until the program runs, and copies nothing.

#![allow(unsafe_code, reason = "posix_spawn has no safe interface with both a session and a folder")]

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

/// Start a new session. On Apple systems, where a pipe cannot be created close-on-exec atomically, also close all
/// descriptors that are not listed.
#[cfg(target_vendor = "apple")]
const SESSION_FLAGS: c_int = 0x0400 | 0x4000;
#[cfg(not(target_vendor = "apple"))]
const SESSION_FLAGS: c_int = libc::POSIX_SPAWN_SETSID as c_int;

/// The search path if the environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Runs scripts without a `#!` line.
const SHELL: &CStr = c"/bin/sh";

/// A program to start.
#[derive(Debug)]
pub(super) struct SpawnRequest<'o> {
    pub(super) program: &'o OsStr,
    pub(super) arguments: &'o [OsString],
    pub(super) cwd: &'o Path,
    /// An open directory to start in. Takes precedence over `cwd`, which then only serves to find the program.
    pub(super) cwd_dir: Option<BorrowedFd<'o>>,
    pub(super) environment: &'o BTreeMap<OsString, OsString>,
    /// Stdin, stdout and stderr.
    pub(super) streams: [BorrowedFd<'o>; 3],
}

/// Starts a program as the leader of a new session and group. It inherits only its three streams.
pub(super) fn spawn(request: &SpawnRequest<'_>) -> io::Result<Pid> {
    let file = c_string(find_program(request)?.as_os_str().as_bytes())?;
    let mut arguments = vec![c_string(request.program.as_bytes())?];
    for argument in request.arguments {
        arguments.push(c_string(argument.as_bytes())?);
    }
    let variable =
        |(name, value): (&OsString, &OsString)| c_string(&[name.as_bytes(), b"=", value.as_bytes()].concat());
    let environment = request.environment.iter().map(variable).collect::<io::Result<Vec<_>>>()?;
    let actions = Actions::new(request)?;
    match spawn_file(&file, &actions, &arguments, &environment) {
        Err(error) if error.raw_os_error() == Some(libc::ENOEXEC) => {
            arguments[0] = file;
            arguments.insert(0, SHELL.to_owned());
            spawn_file(SHELL, &actions, &arguments, &environment)
        }
        spawned => spawned,
    }
}

/// Finds the program's file as a shell in the child would: with the child's `PATH`, relative to its folder.
fn find_program(request: &SpawnRequest<'_>) -> io::Result<PathBuf> {
    if request.program.as_bytes().contains(&b'/') {
        // Apple systems resolve a relative path before changing the folder.
        let file =
            if cfg!(target_vendor = "apple") { request.cwd.join(request.program) } else { request.program.into() };
        return Ok(file);
    }
    let path = request.environment.get(OsStr::new("PATH")).map_or(OsStr::new(DEFAULT_PATH), OsString::as_os_str);
    let mut kind = io::ErrorKind::NotFound;
    for folder in std::env::split_paths(path) {
        let file = request.cwd.join(folder).join(request.program);
        if !file.is_file() {
            continue;
        }
        if access(&file, Access::EXEC_OK).is_ok() {
            return Ok(file);
        }
        kind = io::ErrorKind::PermissionDenied;
    }
    Err(kind.into())
}

fn c_string(bytes: &[u8]) -> io::Result<CString> {
    CString::new(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

fn spawn_file(file: &CStr, actions: &Actions, arguments: &[CString], environment: &[CString]) -> io::Result<Pid> {
    let attributes = Attributes::new()?;
    let (arguments, environment) = (c_pointers(arguments), c_pointers(environment));
    let mut pid = 0;
    // SAFETY: both arrays are null-terminated, and they, the strings, the actions and the attributes outlive the call.
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

/// Returns a null-terminated array. The strings must outlive it.
fn c_pointers(strings: &[CString]) -> Vec<*mut c_char> {
    strings.iter().map(|string| string.as_ptr().cast_mut()).chain([ptr::null_mut()]).collect()
}

fn check(code: c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// Actions in the child before its program runs.
struct Actions(Box<MaybeUninit<libc::posix_spawn_file_actions_t>>);

impl Actions {
    fn new(request: &SpawnRequest<'_>) -> io::Result<Self> {
        let cwd = c_string(request.cwd.as_os_str().as_bytes())?;
        let mut actions = Box::new(MaybeUninit::uninit());
        // SAFETY: the call initialises an empty list.
        check(unsafe { libc::posix_spawn_file_actions_init(actions.as_mut_ptr()) })?;
        let mut this = Self(actions);
        let list = this.0.as_mut_ptr();
        match request.cwd_dir {
            // SAFETY: the list was initialised above, and the descriptor is open for as long as the request lives.
            Some(dir) => check(unsafe { libc::posix_spawn_file_actions_addfchdir_np(list, dir.as_raw_fd()) })?,
            // SAFETY: as above; the path is copied into the list.
            None => check(unsafe { libc::posix_spawn_file_actions_addchdir_np(list, cwd.as_ptr()) })?,
        }
        for (stream, target) in request.streams.iter().zip(0..) {
            // SAFETY: as above; the descriptor is open for as long as the request lives.
            check(unsafe { libc::posix_spawn_file_actions_adddup2(list, stream.as_raw_fd(), target) })?;
        }
        Ok(this)
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: initialised in `new` and not used after this. The call cannot fail for an initialised list.
        unsafe { libc::posix_spawn_file_actions_destroy(self.0.as_mut_ptr()) };
    }
}

/// Attributes of the child: its own session, no blocked signals, default SIGPIPE.
struct Attributes(Box<MaybeUninit<libc::posix_spawnattr_t>>);

impl Attributes {
    fn new() -> io::Result<Self> {
        let mut attributes = Box::new(MaybeUninit::uninit());
        // SAFETY: the call initialises it with the defaults.
        check(unsafe { libc::posix_spawnattr_init(attributes.as_mut_ptr()) })?;
        let mut this = Self(attributes);
        let raw = this.0.as_mut_ptr();
        let flags = libc::POSIX_SPAWN_SETSIGDEF as c_int | libc::POSIX_SPAWN_SETSIGMASK as c_int | SESSION_FLAGS;
        let flags = c_short::try_from(flags).map_err(io::Error::other)?;
        let mut signals = MaybeUninit::uninit();
        // SAFETY: the set is emptied before it is read, and the attributes were initialised above.
        unsafe {
            libc::sigemptyset(signals.as_mut_ptr());
            check(libc::posix_spawnattr_setsigmask(raw, signals.as_ptr()))?;
            libc::sigaddset(signals.as_mut_ptr(), libc::SIGPIPE);
            check(libc::posix_spawnattr_setsigdefault(raw, signals.as_ptr()))?;
            check(libc::posix_spawnattr_setflags(raw, flags))?;
        }
        Ok(this)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: as for `Actions`.
        unsafe { libc::posix_spawnattr_destroy(self.0.as_mut_ptr()) };
    }
}

#[cfg(test)]
#[path = "spawn_tests.rs"]
mod tests;
