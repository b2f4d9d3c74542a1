//! The library that stands between the program and the system, see `meddler.c` beside this: made once with the C compiler
//! that the build needs anyway, and put before a command. The program is the one that is given away, unchanged.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What is done to a program.
#[allow(dead_code, reason = "each test takes what it needs")]
#[derive(Clone, Debug)]
pub enum Meddle {
    /// Nothing: its calls are written down.
    Watch,
    /// It dies instead of its call number `call`; a write is made by half before.
    Die { call: usize, torn: bool },
    /// Its file calls below `under` fail with `errno` for as long as the file `flag` exists.
    Fail { errno: &'static str, under: PathBuf, flag: PathBuf },
    /// The same, and its call number `call` is the first that finds the file.
    FailFrom { call: usize, errno: &'static str, under: PathBuf, flag: PathBuf },
    /// Its wall clock is off by as many seconds as `file` says, for as long as that exists.
    Clock { file: PathBuf },
}

/// One call that changes the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub number: usize,
    pub name: String,
    pub path: String,
}

impl Meddle {
    /// Puts the library before `command`. The calls go to `trace`: all of them, or the one it dies at.
    pub fn with<'c>(&self, command: &'c mut Command, trace: &Path) -> &'c mut Command {
        command.env("LD_PRELOAD", library()).env("MEDDLE_TRACE", trace);
        match self {
            Self::Watch => command,
            Self::Die { call, torn } => {
                command.env("MEDDLE_DIE", call.to_string());
                if *torn {
                    command.env("MEDDLE_TORN", "1");
                }
                command
            }
            Self::Fail { errno, under, flag } => {
                command.env("MEDDLE_FAIL", errno).env("MEDDLE_UNDER", under).env("MEDDLE_WHILE", flag)
            }
            Self::FailFrom { call, errno, under, flag } => {
                command.env("MEDDLE_FAIL", errno).env("MEDDLE_UNDER", under).env("MEDDLE_WHILE", flag);
                command.env("MEDDLE_FROM", call.to_string())
            }
            Self::Clock { file } => command.env("MEDDLE_CLOCK", file),
        }
    }
}

/// Returns the calls in a trace.
pub fn calls(trace: &Path) -> Vec<Call> {
    let text = std::fs::read_to_string(trace).unwrap_or_default();
    let call = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let number = words.next()?.parse().ok()?;
        Some(Call { number, name: words.next()?.to_owned(), path: words.next().unwrap_or_default().to_owned() })
    };
    text.lines().filter_map(call).collect()
}

fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/support/meddler.c");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        std::fs::create_dir_all(folder).unwrap();
        let fresh = folder.join(format!("meddler-{}.so", std::process::id()));
        let made = Command::new("cc")
            .args(["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o"])
            .args([&fresh, &source])
            .arg("-ldl")
            .output()
            .unwrap();
        assert!(made.status.success(), "cc: {}", String::from_utf8_lossy(&made.stderr));
        // Two test processes may be at it at once.
        let library = folder.join("meddler.so");
        std::fs::rename(&fresh, &library).unwrap();
        library
    })
}
