//! `cargo dist`: builds a release archive: the program with its completions, manual pages and licences, and a checksum.
//!
//!     cargo dist [--target TRIPLE]
//!
//! Needs `tar`. Writes `target/archives/mxd-VERSION-TRIPLE.tar.gz` and the same name with `.sha256`, as `sha256sum` writes it.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "prints to the terminal")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// A sentence about the step that failed.
pub type Failed = String;

/// Shells, and the file name of the completions of each.
pub const COMPLETIONS: [(&str, &str); 5] =
    [("bash", "mxd.bash"), ("zsh", "_mxd"), ("fish", "mxd.fish"), ("powershell", "mxd.ps1"), ("nushell", "mxd.nu")];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let target = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => None,
        ["--target", target] => Some((*target).to_owned()),
        _ => {
            eprintln!("usage: cargo dist [--target TRIPLE]");
            return ExitCode::from(2);
        }
    };
    match dist(target.as_deref()) {
        Ok(archive) => {
            println!("{}", archive.display());
            ExitCode::SUCCESS
        }
        Err(failed) => {
            eprintln!("cargo dist: {failed}");
            ExitCode::FAILURE
        }
    }
}

fn dist(target: Option<&str>) -> Result<PathBuf, Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let host = host()?;
    let triple = target.unwrap_or(&host);
    if triple.contains("windows") {
        return Err("mxd runs on Linux and macOS; on Windows, build and run it inside WSL".to_owned());
    }
    let mut build = Command::new(cargo);
    build.current_dir(root).args(["build", "--locked", "--profile", "dist", "--bin", "mxd"]);
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder));
    let mut built = folder.clone();
    if let Some(target) = target {
        build.args(["--target", target]);
        built.push(target);
    }
    run(&mut build)?;
    let program = built.join("dist").join("mxd");
    if let Err(failed) = output_of(&program, ["--version"]) {
        return Err(format!(
            "{failed}; it was built for {triple}, and an archive can be packed only where it runs: the program writes its \
             own completions and manual pages"
        ));
    }
    let name = format!("mxd-{}-{triple}", env!("CARGO_PKG_VERSION"));
    let archives = folder.join("archives");
    let unpacked = archives.join(&name);
    let _ = fs::remove_dir_all(&unpacked);
    stage(root, &program, &unpacked)?;
    let archive = archives.join(format!("{name}.tar.gz"));
    run(Command::new("tar").arg("-C").arg(&archives).arg("-czf").arg(&archive).arg(&name))?;
    write_checksum(&archive)?;
    Ok(archive)
}

/// Writes the SHA-256 of `archive` beside it, in the format of `sha256sum`.
fn write_checksum(archive: &Path) -> Result<(), Failed> {
    let failed = |error: std::io::Error| format!("cannot write the checksum of {}: {error}", archive.display());
    let digest = ring::digest::digest(&ring::digest::SHA256, &fs::read(archive).map_err(failed)?);
    let hex = digest.as_ref().iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    fs::write(archive.with_extension("gz.sha256"), format!("{hex}  {name}\n")).map_err(failed)
}

/// Copies and generates the content of an archive into `folder`.
pub fn stage(root: &Path, program: &Path, folder: &Path) -> Result<(), Failed> {
    let failed = |what: &Path| {
        let what = what.display().to_string();
        move |error: std::io::Error| format!("cannot write {what}: {error}")
    };
    for part in ["completions", "man/man1", "licences"] {
        let part = folder.join(part);
        fs::create_dir_all(&part).map_err(failed(&part))?;
    }
    let mut copies = vec![(program.to_owned(), folder.join("mxd")), (root.join("README.md"), folder.join("README.md"))];
    for licence in ["MIT.txt", "Apache-2.0.txt"] {
        copies.push((root.join("docs/licences").join(licence), folder.join("licences").join(licence)));
    }
    for (from, to) in copies {
        fs::copy(&from, &to).map_err(failed(&to))?;
    }
    for (shell, name) in COMPLETIONS {
        let script = output_of(program, ["completions", shell])?;
        let file = folder.join("completions").join(name);
        fs::write(&file, script).map_err(failed(&file))?;
    }
    output_of(program, [OsStr::new("man"), OsStr::new("--into"), folder.join("man/man1").as_os_str()])?;
    Ok(())
}

/// Runs a program and returns what it prints.
fn output_of<A: AsRef<OsStr>>(program: &Path, arguments: impl IntoIterator<Item = A>) -> Result<Vec<u8>, Failed> {
    let cannot = |why: String| format!("cannot run {}: {why}", program.display());
    let output = Command::new(program).args(arguments).output().map_err(|error| cannot(error.to_string()))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(cannot(String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}

/// Returns the target triple of this machine.
fn host() -> Result<String, Failed> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let text = String::from_utf8_lossy(&output_of(Path::new(&rustc), ["-vV"])?).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "`rustc -vV` does not name the host".to_owned())
}

fn run(command: &mut Command) -> Result<(), Failed> {
    let shown = format!("{command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown} ended with {status}")),
        Err(error) => Err(format!("{shown} cannot be started: {error}")),
    }
}
