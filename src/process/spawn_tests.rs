use std::fs;
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::{WaitOptions, waitpid};

use super::*;

/// Runs a program to its end in a folder, with these variables. Returns its output and exit code.
fn run(folder: &Path, variables: &[(&str, &str)], program: &str, arguments: &[&str]) -> io::Result<(String, i32)> {
    let environment = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let arguments: Vec<OsString> = arguments.iter().map(Into::into).collect();
    let (mut reader, writer) = io::pipe()?;
    let streams = [OwnedFd::from(fs::File::open("/dev/null")?), writer.try_clone()?.into(), writer.into()];
    let pid = spawn(&SpawnRequest {
        program: OsStr::new(program),
        arguments: &arguments,
        cwd: folder,
        cwd_dir: None,
        environment: &environment,
        streams: streams.each_ref().map(|stream| stream.as_fd()),
    })?;
    drop(streams);
    let mut output = String::new();
    reader.read_to_string(&mut output)?;
    let (_, status) = waitpid(Some(pid), WaitOptions::empty())?.unwrap();
    Ok((output, status.exit_status().unwrap_or(-1)))
}

fn script(path: &Path, text: &str, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

const PATH: (&str, &str) = ("PATH", "/usr/bin:/bin");

#[test]
fn a_program_gets_its_folder_and_variables_and_no_other_descriptor() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let _ours = fs::File::create(folder.join("reader")).unwrap();
    let look = "pwd; echo \"$A-${B-unset}\"; ls -l /dev/fd/ | grep -c reader";
    let (output, _) = run(&folder, &[PATH, ("A", "a b")], "sh", &["-c", look]).unwrap();
    assert_eq!(output.lines().collect::<Vec<_>>(), [folder.to_str().unwrap(), "a b-unset", "0"]);
}

/// As in std: we ignore SIGPIPE, and a program in a shell pipeline must not.
#[cfg(target_os = "linux")]
#[test]
fn a_program_starts_with_the_default_sigpipe() {
    let folder = tempfile::tempdir().unwrap();
    let (output, _) = run(folder.path(), &[PATH], "grep", &["-E", "Sig(Ign|Blk)", "/proc/self/status"]).unwrap();
    let mask = |name: &str| {
        let line = output.lines().find(|line| line.starts_with(name)).unwrap();
        u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap()
    };
    assert_eq!(mask("SigBlk"), 0, "{output}");
    assert_eq!(mask("SigIgn") & (1 << (libc::SIGPIPE - 1)), 0, "{output}");
}

#[test]
fn a_program_is_found_with_the_childs_path() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    script(&here.join("a/tool"), "#!/bin/sh\necho not me\n", 0o644);
    script(&here.join("b/tool"), "#!/bin/sh\necho \"$0 $1\"\n", 0o755);
    fs::create_dir(here.join("c")).unwrap();
    fs::create_dir(here.join("c/tool")).unwrap();
    // A directory of that name and a file that is not executable are skipped; a relative entry is resolved in the
    // child's folder.
    let (output, _) = run(here, &[("PATH", "c:a:b")], "tool", &["x"]).unwrap();
    assert_eq!(output, format!("{} x\n", here.join("b/tool").display()));
    let (output, _) = run(here, &[PATH], "b/tool", &["y"]).unwrap();
    assert_eq!(output, "b/tool y\n");
    let kind = |path| run(here, &[("PATH", path)], "tool", &[]).unwrap_err().kind();
    assert_eq!(kind("a"), io::ErrorKind::PermissionDenied);
    assert_eq!(kind("c"), io::ErrorKind::NotFound);
}

#[test]
fn a_script_without_a_shebang_is_run_by_the_shell() {
    let folder = tempfile::tempdir().unwrap();
    script(&folder.path().join("plain"), "echo \"$0 $1 $2\"; exit 3\n", 0o755);
    assert_eq!(run(folder.path(), &[PATH], "./plain", &["a", "b"]).unwrap(), ("./plain a b\n".to_owned(), 3));
}

#[test]
fn start_errors_have_a_kind() {
    let folder = tempfile::tempdir().unwrap();
    let kind = |cwd: &Path, argument: &str| run(cwd, &[PATH], "true", &[argument]).unwrap_err().kind();
    assert_eq!(kind(&folder.path().join("gone"), ""), io::ErrorKind::NotFound);
    assert_eq!(kind(folder.path(), "a\0b"), io::ErrorKind::InvalidInput);
}
