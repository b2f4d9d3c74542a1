//! The initial files of a repository's `.mxd` folder: `memory.md`, and an example of the setup hook.
//!
//! The example depends on the names of the lockfiles. No name is copied into the script.

use std::collections::BTreeSet;

/// Commands that install the dependencies of a project.
struct SetupStep {
    /// Applies if any of these files is in the top folder.
    files: &'static [&'static str],
    /// Of several steps of a family, only the first that applies is enabled.
    family: Option<Family>,
    what: &'static str,
    commands: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    JavaScript,
    Python,
}

const SETUP_STEPS: [SetupStep; 9] = [
    SetupStep {
        files: &["Cargo.lock", "Cargo.toml"],
        family: None,
        what: "Rust: download the crates. Worktrees share cargo's download cache, so this is quick the second time.",
        commands: &["cargo fetch"],
    },
    SetupStep {
        files: &["pnpm-lock.yaml"],
        family: Some(Family::JavaScript),
        what: "JavaScript with pnpm: installs from the lockfile, linked from the shared store.",
        commands: &["pnpm install --frozen-lockfile --prefer-offline"],
    },
    SetupStep {
        files: &["bun.lock", "bun.lockb"],
        family: Some(Family::JavaScript),
        what: "JavaScript with Bun: installs from the lockfile.",
        commands: &["bun install --frozen-lockfile"],
    },
    SetupStep {
        files: &["yarn.lock"],
        family: Some(Family::JavaScript),
        what: "JavaScript with Yarn: installs from the lockfile. Yarn 1 and later versions name the option differently.",
        commands: &[
            "case \"$(yarn --version)\" in",
            "  1.*) yarn install --frozen-lockfile ;;",
            "  *) yarn install --immutable ;;",
            "esac",
        ],
    },
    SetupStep {
        files: &["package-lock.json", "npm-shrinkwrap.json"],
        family: Some(Family::JavaScript),
        what: "JavaScript with npm: installs from the lockfile.",
        commands: &["npm ci --prefer-offline --no-audit --no-fund"],
    },
    SetupStep {
        files: &["uv.lock"],
        family: Some(Family::Python),
        what: "Python with uv: creates .venv and fills it from the lockfile.",
        commands: &["uv sync --frozen"],
    },
    SetupStep {
        files: &["requirements.txt"],
        family: Some(Family::Python),
        what: "Python with pip: a separate environment for this worktree.",
        commands: &["python3 -m venv .venv", ".venv/bin/python -m pip install --quiet -r requirements.txt"],
    },
    SetupStep {
        files: &["go.sum", "go.mod"],
        family: None,
        what: "Go: download the modules into the shared cache.",
        commands: &["go mod download"],
    },
    SetupStep {
        files: &["Gemfile.lock"],
        family: None,
        what: "Ruby with Bundler: the gems of the lockfile, in this worktree.",
        commands: &["bundle config set --local path vendor/bundle", "bundle install"],
    },
];

const HEAD: &str = r"#!/usr/bin/env bash
#
# Prepares a new worktree.
#
# Every task works in its own git worktree: a fresh checkout with the tracked
# files only, without installed packages or build results. If this file is called
# setup_worktree.sh and is committed, mxd runs it in each new worktree before the
# agent starts. To enable it:
#
#     cp .mxd/hooks/setup_worktree.sh.example .mxd/hooks/setup_worktree.sh
#     git add .mxd/hooks/setup_worktree.sh && git commit
#
# It runs with the worktree as the current folder. Keep it fast: it runs once per
# task. If it fails, the agent does not start, and you see its output and are
# asked what to do.

# Stop at the first command that fails, at a variable that is not set, and at a
# failure inside a pipe.
set -euo pipefail
";

const NOTHING_FOUND: &str = "
# mxd found no known lockfile in the top folder. Put the commands here that you
# run after a fresh clone, for example:
#
#     make deps
";

const TAIL: &str = r#"
# List ignored files that the work needs (.env, local settings) in a file
# .worktreeinclude in the top folder, one pattern per line, as in .gitignore. To
# copy them by hand:
#
#     main="$(dirname "$(git rev-parse --path-format=absolute --git-common-dir)")"
#     cp "$main/.env" .env
"#;

/// Returns the text of `setup_worktree.sh.example` for a repository with these files in its top folder.
pub fn setup_worktree_example<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: BTreeSet<&str> = names.into_iter().collect();
    let mut script = HEAD.to_owned();
    let mut taken: Vec<Family> = Vec::new();
    let applying: Vec<&SetupStep> =
        SETUP_STEPS.iter().filter(|step| step.files.iter().any(|file| names.contains(file))).collect();
    for step in &applying {
        let second = step.family.is_some_and(|family| taken.contains(&family));
        taken.extend(step.family);
        script.push_str("\n# ");
        script.push_str(step.what);
        script.push('\n');
        if second {
            script.push_str(
                "# Disabled, because another lockfile of the same language was found first; keep the one you use.\n",
            );
        }
        for command in step.commands {
            script.push_str(if second { "# " } else { "" });
            script.push_str(command);
            script.push('\n');
        }
    }
    if applying.is_empty() {
        script.push_str(NOTHING_FOUND);
    }
    script.push_str(TAIL);
    script
}

/// Returns the text of a new `memory.md`.
pub fn memory() -> &'static str {
    "# Memory\n\
     \n\
     What this project has learned. Agents read it when they start and add to it when they finish; git merges it\n\
     like code. Keep it short: facts that save the next agent time, not a log.\n\
     \n\
     ## How to build and test\n\
     \n\
     ## Decisions\n\
     \n\
     ## Traps\n"
}

#[cfg(test)]
#[path = "setup_hook_tests.rs"]
mod tests;
