use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::*;

/// Runs the script in an empty folder with fake tools that record their arguments.
fn calls(script: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let note = |path: &Path, name: &str| {
        let text = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo 1.22.0; exit; }}\necho {name} \"$@\" >> \"$CALLS\"\n"
        );
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    for name in ["cargo", "pnpm", "bun", "yarn", "npm", "uv", "python3", "go", "bundle"] {
        note(&bin.join(name), name);
    }
    let venv = folder.path().join(".venv/bin");
    std::fs::create_dir_all(&venv).unwrap();
    note(&venv.join("python"), ".venv/bin/python");
    std::fs::write(folder.path().join("hook.sh"), script).unwrap();
    let log = folder.path().join("calls");
    std::fs::write(&log, "").unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .arg("hook.sh")
        .current_dir(folder.path())
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("CALLS", &log)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(&log).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn each_lockfile_adds_its_command() {
    let cases: [(&str, &[&str]); 12] = [
        ("Cargo.lock", &["cargo fetch"]),
        ("Cargo.toml", &["cargo fetch"]),
        ("package-lock.json", &["npm ci --prefer-offline --no-audit --no-fund"]),
        ("pnpm-lock.yaml", &["pnpm install --frozen-lockfile --prefer-offline"]),
        ("yarn.lock", &["yarn install --frozen-lockfile"]),
        ("bun.lock", &["bun install --frozen-lockfile"]),
        ("bun.lockb", &["bun install --frozen-lockfile"]),
        ("uv.lock", &["uv sync --frozen"]),
        ("requirements.txt", &["python3 -m venv .venv", ".venv/bin/python -m pip install --quiet -r requirements.txt"]),
        ("go.mod", &["go mod download"]),
        ("go.sum", &["go mod download"]),
        ("Gemfile.lock", &["bundle config set --local path vendor/bundle", "bundle install"]),
    ];
    for (name, expected) in cases {
        assert_eq!(calls(&setup_worktree_example([name, "README.md"])), expected, "{name}");
    }
}

#[test]
fn several_languages_are_all_set_up() {
    let script = setup_worktree_example(["go.mod", "go.sum", "Cargo.lock", "uv.lock", "package-lock.json"]);
    let expected =
        ["cargo fetch", "npm ci --prefer-offline --no-audit --no-fund", "uv sync --frozen", "go mod download"];
    assert_eq!(calls(&script), expected);
}

#[test]
fn two_lockfiles_of_one_language_enable_the_first_only() {
    let script = setup_worktree_example(["yarn.lock", "pnpm-lock.yaml", "requirements.txt", "uv.lock"]);
    assert_eq!(calls(&script), ["pnpm install --frozen-lockfile --prefer-offline", "uv sync --frozen"]);
    assert!(script.contains("#   *) yarn install --immutable ;;"), "{script}");
}

#[test]
fn without_a_lockfile_the_script_only_has_instructions() {
    for names in [vec![], vec!["$(touch pwned)", "Makefile"]] {
        let script = setup_worktree_example(names);
        assert!(calls(&script).is_empty());
        assert!(script.contains("make deps") && !script.contains("pwned"));
    }
}

#[test]
fn the_script_stops_at_the_first_failure() {
    let script = setup_worktree_example(["Cargo.lock"]);
    assert!(script.starts_with("#!/usr/bin/env bash\n"));
    let (comments, code) = script.split_once("\nset -euo pipefail\n").unwrap();
    assert!(comments.lines().all(|line| line.is_empty() || line.starts_with('#')));
    assert!(code.contains("cargo fetch"));
    assert!(script.lines().all(|line| line.len() <= 120));
}

#[test]
fn a_new_memory_is_short_markdown() {
    assert!(memory().starts_with("# Memory\n") && memory().ends_with('\n'));
}
