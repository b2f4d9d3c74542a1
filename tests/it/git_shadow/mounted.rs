//! A mount namespace around each command, with the mounts of a shadow: a sandbox that does nothing else.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use mxd::git::shadow::{Access, Inside, Mount, Shadow};
use mxd::process::ChildSpec;

#[derive(Debug)]
pub struct Mounted {
    script: String,
}

/// Why a test cannot run, or `None`.
pub fn skips() -> bool {
    static CAN: LazyLock<bool> = LazyLock::new(|| {
        let probe =
            Command::new("unshare").args(["-rm", "mount", "--bind", "/tmp", "/mnt"]).stderr(Stdio::null()).status();
        probe.is_ok_and(|status| status.success())
    });
    if !*CAN {
        eprintln!("SKIPPED: mount namespaces cannot be made here");
    }
    !*CAN
}

fn quote(path: &Path) -> String {
    format!("'{}'", path.to_str().unwrap().replace('\'', "'\\''"))
}

impl Mounted {
    pub fn new(shadow: &Shadow) -> Self {
        let mut script = String::from("set -e\n");
        for mount in shadow.mounts() {
            match mount {
                Mount::Bind { from, to, access } => {
                    let (from, to) = (quote(&from), quote(&to));
                    writeln!(script, "mount --rbind {from} {to}").unwrap();
                    if access == Access::ReadOnly {
                        writeln!(script, "mount -o remount,bind,ro {to}").unwrap();
                    }
                }
                Mount::Overlay { to, upper, work } => {
                    let [to, upper, work] = [to, upper, work].map(|path| quote(&path));
                    let options = format!("userxattr,lowerdir={to},upperdir={upper},workdir={work}");
                    writeln!(script, "mount -t overlay overlay -o {options} {to}").unwrap();
                }
            }
        }
        // The working directory may be below a mount.
        script.push_str("cd \"$PWD\"\nexec \"$@\"\n");
        Self { script }
    }

    /// Runs a shell script in a folder inside.
    pub fn sh_output(&self, folder: &Path, script: &str) -> Output {
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", &self.script, "sh", "sh", "-ec", script]);
        command.current_dir(folder).stdin(Stdio::null()).output().unwrap()
    }

    /// As [`Mounted::sh_output`]; it must succeed.
    pub fn sh(&self, folder: &Path, script: &str) -> String {
        let output = self.sh_output(folder, script);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{script}: {error}{}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }
}

impl Inside for Mounted {
    fn enter(&self, mut child: ChildSpec) -> ChildSpec {
        let mut arguments: Vec<OsString> = ["-rm", "sh", "-c", &self.script, "sh"].map(OsString::from).to_vec();
        arguments.push(std::mem::replace(&mut child.program, "unshare".into()));
        arguments.append(&mut child.arguments);
        child.arguments = arguments;
        child
    }
}
