use std::fs;
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::{WaitOptions, waitpid};

use super::*;

/// Runs a program to its end in a folder, with these variables. Returns what it said and its exit code.
fn run(folder: &Path, variables: &[(&str, &str)], program: &str, arguments: &[&str]) -> io::Result<(String, i32)> {
    let environment = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let arguments: Vec<OsString> = arguments.iter().map(Into::into).collect();
    let (mut ours, theirs) = io::pipe()?;
    let streams = [OwnedFd::from(fs::File::open("/dev/null")?), theirs.try_clone()?.into(), theirs.into()];
    let pid = spawn(&Order {
        program: OsStr::new(program),
        arguments: &arguments,
        cwd: folder,
        cwd_dir: None,
        environment: &environment,
        streams: streams.each_ref().map(|stream| stream.as_fd()),
    })?;
    drop(streams);
    let mut said = String::new();
    ours.read_to_string(&mut said)?;
    let (_, status) = waitpid(Some(pid), WaitOptions::empty())?.unwrap();
    Ok((said, status.exit_status().unwrap_or(-1)))
}

fn script(path: &Path, text: &str, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

const PATH: (&str, &str) = ("PATH", "/usr/bin:/bin");

#[test]
fn a_program_sees_its_folder_its_variables_and_no_descriptor_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let _ours = fs::File::create(folder.join("ours")).unwrap();
    let look = "pwd; echo \"$A-${B-unset}\"; ls -l /dev/fd/ | grep -c ours";
    let (said, _) = run(&folder, &[PATH, ("A", "a b")], "sh", &["-c", look]).unwrap();
    assert_eq!(said.lines().collect::<Vec<_>>(), [folder.to_str().unwrap(), "a b-unset", "0"]);
}

/// As std does it: we ignore a broken pipe, and whoever stands in a pipeline of shell commands must not.
#[cfg(target_os = "linux")]
#[test]
fn a_broken_pipe_ends_a_program_as_it_ends_any() {
    let folder = tempfile::tempdir().unwrap();
    let (said, _) = run(folder.path(), &[PATH], "grep", &["-E", "Sig(Ign|Blk)", "/proc/self/status"]).unwrap();
    let mask = |name: &str| {
        let line = said.lines().find(|line| line.starts_with(name)).unwrap();
        u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap()
    };
    assert_eq!(mask("SigBlk"), 0, "{said}");
    assert_eq!(mask("SigIgn") & (1 << (libc::SIGPIPE - 1)), 0, "{said}");
}

#[test]
fn a_program_is_looked_for_where_the_child_would_look() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    script(&here.join("a/tool"), "#!/bin/sh\necho not me\n", 0o644);
    script(&here.join("b/tool"), "#!/bin/sh\necho \"$0 $1\"\n", 0o755);
    fs::create_dir(here.join("c")).unwrap();
    fs::create_dir(here.join("c/tool")).unwrap();
    // A folder of that name and a file that may not be run are passed over; a relative entry is seen from the child's folder.
    let (said, _) = run(here, &[("PATH", "c:a:b")], "tool", &["x"]).unwrap();
    assert_eq!(said, format!("{} x\n", here.join("b/tool").display()));
    let (said, _) = run(here, &[PATH], "b/tool", &["y"]).unwrap();
    assert_eq!(said, "b/tool y\n");
    let kind = |path| run(here, &[("PATH", path)], "tool", &[]).unwrap_err().kind();
    assert_eq!(kind("a"), io::ErrorKind::PermissionDenied);
    assert_eq!(kind("c"), io::ErrorKind::NotFound);
}

#[test]
fn a_script_that_does_not_say_what_runs_it_is_run_by_the_shell() {
    let folder = tempfile::tempdir().unwrap();
    script(&folder.path().join("plain"), "echo \"$0 $1 $2\"; exit 3\n", 0o755);
    assert_eq!(run(folder.path(), &[PATH], "./plain", &["a", "b"]).unwrap(), ("./plain a b\n".to_owned(), 3));
}

#[test]
fn what_cannot_be_started_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let kind = |cwd: &Path, argument: &str| run(cwd, &[PATH], "true", &[argument]).unwrap_err().kind();
    assert_eq!(kind(&folder.path().join("gone"), ""), io::ErrorKind::NotFound);
    assert_eq!(kind(folder.path(), "a\0b"), io::ErrorKind::InvalidInput);
}
