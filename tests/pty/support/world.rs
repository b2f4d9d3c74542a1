//! A world for one program: a home of its own, an environment that says nothing about this machine, and no network.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use tempfile::TempDir;

/// Where a program runs.
pub struct World {
    folder: TempDir,
    /// Where programs are started.
    cwd: PathBuf,
    variables: Vec<(OsString, OsString)>,
}

impl World {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir(&home).unwrap();
        let cwd = folder.path().to_owned();
        let mut world = Self { folder, cwd, variables: Vec::new() };
        for (name, value) in [
            ("TERM", "xterm-256color"),
            ("COLORTERM", "truecolor"),
            ("LANG", "C.UTF-8"),
            // Nobody listens there: what tries to reach the network fails at once.
            ("HTTP_PROXY", "http://127.0.0.1:9"),
            ("HTTPS_PROXY", "http://127.0.0.1:9"),
            ("ALL_PROXY", "http://127.0.0.1:9"),
            ("NO_PROXY", "127.0.0.1,localhost"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "A Person"),
            ("GIT_AUTHOR_EMAIL", "person@example.com"),
            ("GIT_COMMITTER_NAME", "A Person"),
            ("GIT_COMMITTER_EMAIL", "person@example.com"),
        ] {
            world = world.with(name, value);
        }
        let data = world.path("data");
        let path = std::env::var_os("PATH").unwrap_or_default();
        world.with("HOME", home).with("MXD_HOME", data).with("PATH", path)
    }

    /// Sets a variable of the program's environment.
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let name = name.into();
        self.variables.retain(|(known, _)| *known != name);
        self.variables.push((name, value.into()));
        self
    }

    /// Takes a variable out of the program's environment.
    pub fn without(mut self, name: &str) -> Self {
        self.variables.retain(|(known, _)| known != name);
        self
    }

    /// Makes a folder in which programs are started from now on.
    pub fn within(mut self, name: &str) -> Self {
        self.cwd = self.path(name);
        std::fs::create_dir_all(&self.cwd).unwrap();
        self
    }

    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns a command that sees this world and nothing of the real one, without a terminal.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.cwd).env_clear().stdin(Stdio::null());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }

    /// Writes a program of a few shell lines and returns its path.
    pub fn script(&self, name: &str, lines: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path(name);
        std::fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }
}

/// Returns the path of an example of this package, as new as these tests. `cargo test` builds it with them; when only a
/// part of the tests was asked for, it is built now.
pub fn example(name: &str) -> PathBuf {
    static BUILDING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let tests = std::env::current_exe().unwrap();
    let profile = tests.parent().unwrap().parent().unwrap();
    let path = profile.join("examples").join(name);
    // Not compared with this test, which may be younger by a moment: then everything would be built once more in its midst.
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if modified(&path) < ["src", "tests", "Cargo.lock"].map(|part| newest(&root.join(part))).into_iter().max().flatten()
    {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--offline", "--example", name]);
        cargo.current_dir(root).env("CARGO_TARGET_DIR", profile.parent().unwrap());
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().unwrap().success(), "{name} could not be built");
        // Nothing to do leaves the file as old as it was.
        let _ = File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
    }
    path
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|file| file.modified()).ok()
}

/// Returns when a file, or the youngest file below a folder, was last changed.
fn newest(path: &Path) -> Option<SystemTime> {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().filter_map(|entry| newest(&entry.path())).max(),
        Err(_) => modified(path),
    }
}
