//! The first files of a repository's `.mxd` folder, fitted to what the repository is made of.
//!
//! Only names of files are looked at, and none of them is copied into a script.

use std::collections::BTreeSet;

/// A way to fetch what a project depends on.
struct Recipe {
    /// Any of these in the top folder means that it applies.
    signs: &'static [&'static str],
    /// One of several ways to do the same; only the first that applies is used.
    family: Option<Family>,
    what: &'static str,
    commands: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    JavaScript,
    Python,
}

const RECIPES: [Recipe; 9] = [
    Recipe {
        signs: &["Cargo.lock", "Cargo.toml"],
        family: None,
        what: "Rust: download the crates. Worktrees share cargo's download cache, so this is quick the second time.",
        commands: &["cargo fetch"],
    },
    Recipe {
        signs: &["pnpm-lock.yaml"],
        family: Some(Family::JavaScript),
        what: "JavaScript with pnpm: exactly what the lockfile says, linked from the shared store.",
        commands: &["pnpm install --frozen-lockfile --prefer-offline"],
    },
    Recipe {
        signs: &["bun.lock", "bun.lockb"],
        family: Some(Family::JavaScript),
        what: "JavaScript with Bun: exactly what the lockfile says.",
        commands: &["bun install --frozen-lockfile"],
    },
    Recipe {
        signs: &["yarn.lock"],
        family: Some(Family::JavaScript),
        what: "JavaScript with Yarn: exactly what the lockfile says. Yarn 1 and later ones name the option differently.",
        commands: &[
            "case \"$(yarn --version)\" in",
            "  1.*) yarn install --frozen-lockfile ;;",
            "  *) yarn install --immutable ;;",
            "esac",
        ],
    },
    Recipe {
        signs: &["package-lock.json", "npm-shrinkwrap.json"],
        family: Some(Family::JavaScript),
        what: "JavaScript with npm: exactly what the lockfile says.",
        commands: &["npm ci --prefer-offline --no-audit --no-fund"],
    },
    Recipe {
        signs: &["uv.lock"],
        family: Some(Family::Python),
        what: "Python with uv: makes .venv and fills it from the lockfile.",
        commands: &["uv sync --frozen"],
    },
    Recipe {
        signs: &["requirements.txt"],
        family: Some(Family::Python),
        what: "Python with pip: an environment of its own for this worktree.",
        commands: &["python3 -m venv .venv", ".venv/bin/python -m pip install --quiet -r requirements.txt"],
    },
    Recipe {
        signs: &["go.sum", "go.mod"],
        family: None,
        what: "Go: download the modules into the shared cache.",
        commands: &["go mod download"],
    },
    Recipe {
        signs: &["Gemfile.lock"],
        family: None,
        what: "Ruby with Bundler: the gems of the lockfile, in this worktree.",
        commands: &["bundle config set --local path vendor/bundle", "bundle install"],
    },
];

const HEAD: &str = r"#!/usr/bin/env bash
#
# Makes a new worktree ready to work in.
#
# Every task works in its own git worktree: a fresh checkout that has what git
# tracks and nothing else, no installed packages and no build results. If this
# file is called setup_worktree.sh and is committed, mxd runs it in each new
# worktree before the agent starts. To switch it on:
#
#     cp .mxd/hooks/setup_worktree.sh.example .mxd/hooks/setup_worktree.sh
#     git add .mxd/hooks/setup_worktree.sh && git commit
#
# It runs with the worktree as the current folder. Keep it quick: it runs once
# for every task. If it fails, the agent does not start and you are asked what
# to do, with what was printed here.

# Stop at the first command that fails, at a variable that is not set, and at a
# failure inside a pipe.
set -euo pipefail
";

const NOTHING_FOUND: &str = "
# No lockfile that mxd knows was found in the top folder. Put here what you would
# type after a fresh clone, for example:
#
#     make deps
";

const TAIL: &str = r#"
# Files that git ignores but the work needs (.env, local settings) are best named
# in a file .worktreeinclude in the top folder, one pattern in a line, as in
# .gitignore. To do it by hand: the main checkout is
#
#     main="$(dirname "$(git rev-parse --path-format=absolute --git-common-dir)")"
#     cp "$main/.env" .env
"#;

/// Returns the text of `setup_worktree.sh.example` for a repository whose top folder holds files of these names.
pub fn setup_worktree_example<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: BTreeSet<&str> = names.into_iter().collect();
    let mut script = HEAD.to_owned();
    let mut taken: Vec<Family> = Vec::new();
    let applying: Vec<&Recipe> =
        RECIPES.iter().filter(|recipe| recipe.signs.iter().any(|sign| names.contains(sign))).collect();
    for recipe in &applying {
        let second = recipe.family.is_some_and(|family| taken.contains(&family));
        taken.extend(recipe.family);
        script.push_str("\n# ");
        script.push_str(recipe.what);
        script.push('\n');
        if second {
            script.push_str(
                "# Off, because another lockfile of the same language was found first; keep the one you use.\n",
            );
        }
        for command in recipe.commands {
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
     What this project has learnt. Agents read it before they start and add to it when they are done; git merges it\n\
     like code. Keep it short: facts that save the next one an hour, not a diary.\n\
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
