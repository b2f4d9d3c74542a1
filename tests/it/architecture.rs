//! The house rules, checked against the sources: who may import whom, how long a file may be, and that what the
//! documentation points at exists. Every rule is a pure function of the files, and is shown to fire below.

mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use imports::{Import, imports};

/// The rooms and what each may import. A room that is not here may not exist.
const ROOMS: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("permit", &[]),
    ("model", &["permit", "base"]),
    ("config", &["permit", "model", "base"]),
    ("process", &["base"]),
    ("net", &["base"]),
    ("proxy", &["permit"]),
    ("outside", &["process", "model", "base"]),
    ("hooks", &["process", "net", "config", "permit", "model", "base"]),
    ("git", &["process", "model", "base"]),
    ("store", &["config", "model", "base"]),
    ("search", &["store", "model", "base"]),
    ("import", &["store", "model", "base"]),
    ("provider", &["net", "config", "model", "base"]),
    ("tools", &["hooks", "process", "net", "config", "permit", "model", "base"]),
    ("agent", &["provider", "tools", "hooks", "store", "git", "process", "config", "model", "base"]),
    (
        "engine",
        &[
            "agent", "outside", "search", "provider", "tools", "hooks", "store", "git", "process", "config", "permit",
            "model", "base",
        ],
    ),
    ("serve", &["engine", "store", "tools", "process", "config", "model", "base"]),
    ("theme", &["base"]),
    ("text", &["theme", "model", "base"]),
    ("term", &["base"]),
    ("ui", &["engine", "text", "theme", "permit", "model", "base"]),
    ("app", EVERYTHING_BELOW_APP),
    (
        "cli",
        &[
            "app", "import", "serve", "engine", "agent", "outside", "provider", "tools", "hooks", "store", "git",
            "process", "config", "permit", "model", "base",
        ],
    ),
];

const EVERYTHING_BELOW_APP: &[&str] = &[
    "ui", "term", "text", "theme", "serve", "engine", "agent", "provider", "tools", "store", "git", "process",
    "config", "model", "base",
];

/// The only parts of a room that another may see, where that is less than all of it.
const DOORS: &[(&str, &str, &[&str])] = &[("ui", "engine", &["command", "review", "snapshot", "update"])];

/// The only places of a room from which another may be seen, where that is less than all of it.
const WINDOWS: &[(&str, &str, &str)] = &[("engine", "agent", "src/engine/backend/native")];

/// What of a room another may only see from a few places. A front end reads sessions by queries; what remains takes the
/// project's lock and works on its files without an engine.
const CLOSED: &[(&str, &str, &[&str], &[&str])] = &[(
    "cli",
    "store",
    &["Blobs", "Digests", "Sessions", "chain", "scan", "session", "tree_file"],
    &["src/cli/check.rs", "src/cli/import.rs"],
)];

const MAX_LINES: usize = 600;

/// What may stand at the top of the project. Dot-files are free.
const TOP: &[&str] = &["Cargo.toml", "Cargo.lock", "src", "themes", "tests", "assets", "docs", "README.md"];

/// Files by their path from the project's root.
type Files = BTreeMap<PathBuf, String>;

fn project_files() -> Files {
    fn gather(root: &Path, folder: &Path, files: &mut Files) {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                gather(root, &path, files);
            } else {
                // Pictures have no text; that they exist is all that matters.
                let text = std::fs::read_to_string(root.join(&path)).unwrap_or_default();
                files.insert(path, text);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Files::new();
    for folder in ["src", "docs", "tests", "assets", "themes"] {
        if root.join(folder).is_dir() {
            gather(root, Path::new(folder), &mut files);
        }
    }
    for name in ["README.md", "Cargo.toml"] {
        files.insert(name.into(), std::fs::read_to_string(root.join(name)).unwrap());
    }
    files
}

fn is_test(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with("_tests.rs") || name == "tests.rs" || path.starts_with("tests")
}

/// Returns the room that a source file belongs to. `main.rs` and `lib.rs` belong to none.
fn room_of(path: &Path) -> Option<String> {
    let first = path.strip_prefix("src").ok()?.components().next()?.as_os_str().to_string_lossy().into_owned();
    let room = first.strip_suffix(".rs").unwrap_or(&first).to_owned();
    (!matches!(room.as_str(), "main" | "lib")).then_some(room)
}

fn sources(files: &Files) -> impl Iterator<Item = (&PathBuf, &String)> {
    files.iter().filter(|(path, _)| {
        path.starts_with("src") && path.extension().is_some_and(|kind| kind == "rs") && !is_test(path)
    })
}

fn forbidden_imports(files: &Files) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, text) in sources(files) {
        let Some(room) = room_of(path) else { continue };
        let Some((_, allowed)) = ROOMS.iter().find(|(name, _)| *name == room) else {
            wrong.push(format!("{}: there is no room `{room}` in the table of rooms", path.display()));
            continue;
        };
        for Import { room: target, door, line } in imports(path, text) {
            if target == room || !ROOMS.iter().any(|(name, _)| *name == target) {
                continue;
            }
            if !allowed.contains(&target.as_str()) {
                wrong.push(format!("{}:{line}: `{room}` may not import `{target}`", path.display()));
            }
            let doors = DOORS.iter().find(|(from, to, _)| *from == room && *to == target);
            if let Some((.., doors)) = doors
                && !door.as_deref().is_some_and(|door| doors.contains(&door))
            {
                wrong.push(format!("{}:{line}: `{room}` may see of `{target}` only {doors:?}", path.display()));
            }
            let closed = CLOSED.iter().find(|(from, to, ..)| *from == room && *to == target);
            if let Some((.., doors, places)) = closed
                && let Some(door) = door.as_deref().filter(|door| doors.contains(door))
                && !places.iter().any(|place| path == Path::new(place))
            {
                wrong.push(format!("{}:{line}: `{room}` may not see `{target}::{door}` here", path.display()));
            }
            let window = WINDOWS.iter().find(|(from, to, _)| *from == room && *to == target);
            if let Some((.., place)) = window
                && !path.to_string_lossy().starts_with(place)
            {
                wrong.push(format!("{}:{line}: `{room}` imports `{target}` only in {place}", path.display()));
            }
        }
    }
    // Several names of one import are one mistake.
    wrong.dedup();
    wrong
}

fn cycles(files: &Files) -> Vec<String> {
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in sources(files) {
        let Some(room) = room_of(path) else { continue };
        let targets = imports(path, text).into_iter().map(|import| import.room).filter(|target| *target != room);
        graph.entry(room.clone()).or_default().extend(targets);
    }
    graph
        .keys()
        .filter(|room| reaches(&graph, room, room))
        .map(|room| format!("`{room}` imports itself by way of others"))
        .collect()
}

fn reaches(graph: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut left: Vec<&str> = graph.get(from).into_iter().flatten().map(String::as_str).collect();
    while let Some(room) = left.pop() {
        if room == to {
            return true;
        }
        if seen.insert(room) {
            left.extend(graph.get(room).into_iter().flatten().map(String::as_str));
        }
    }
    false
}

fn long_files(files: &Files) -> Vec<String> {
    sources(files)
        .filter(|(_, text)| text.lines().count() > MAX_LINES)
        .map(|(path, text)| format!("{}: {} lines, more than {MAX_LINES}", path.display(), text.lines().count()))
        .collect()
}

/// Returns what pages and doc comments point at and does not exist.
fn dead_links(files: &Files) -> Vec<String> {
    let mut dead = Vec::new();
    for (path, text) in files {
        let is_page = path.extension().is_some_and(|kind| kind == "md");
        let is_source = path.extension().is_some_and(|kind| kind == "rs");
        for (line, number) in text.lines().zip(1..) {
            let prose = match line.trim_start() {
                comment if is_source && (comment.starts_with("///") || comment.starts_with("//!")) => comment,
                _ if is_page => line,
                _ => continue,
            };
            for target in imports::links(prose).into_iter().chain(imports::named_files(prose)) {
                if !exists(files, path, &target) {
                    dead.push(format!("{}:{number}: `{target}` does not exist", path.display()));
                }
            }
        }
    }
    dead
}

/// Tells whether `target`, seen from the file that names it or from the project's root, is a file or a folder.
fn exists(files: &Files, from: &Path, target: &str) -> bool {
    let target = target.split('#').next().unwrap_or_default();
    if target.is_empty() {
        return true;
    }
    let folder = from.parent().unwrap_or(Path::new(""));
    [normal(&folder.join(target)), normal(Path::new(target))]
        .iter()
        .any(|path| files.keys().any(|file| file.starts_with(path)))
}

fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(out.pop()),
            std::path::Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

fn expect_none(what: &str, wrong: &[String]) {
    assert!(wrong.is_empty(), "{what}:\n{}", wrong.join("\n"));
}

#[test]
fn rooms_import_only_what_the_table_allows() {
    expect_none("forbidden imports", &forbidden_imports(&project_files()));
}

#[test]
fn rooms_form_no_cycle() {
    expect_none("cycles", &cycles(&project_files()));
}

#[test]
fn no_file_is_too_long() {
    expect_none("too long", &long_files(&project_files()));
}

#[test]
fn documentation_points_at_what_exists() {
    expect_none("dead links", &dead_links(&project_files()));
}

#[test]
fn the_top_of_the_project_stays_as_it_was_laid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ignored = std::fs::read_to_string(root.join(".gitignore")).unwrap();
    let entries = std::fs::read_dir(root).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let surplus: Vec<_> = names
        .filter(|name| !name.starts_with('.') && !TOP.contains(&name.as_str()))
        .filter(|name| !ignored.lines().any(|line| line.trim_matches('/') == name))
        .collect();
    expect_none("not allowed at the top", &surplus);
}

fn files(entries: &[(&str, &str)]) -> Files {
    entries.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect()
}

#[test]
fn a_forbidden_import_is_seen_however_it_is_written() {
    for text in [
        "use crate::store::Store;",
        "use crate::{base::Fault, store::{Store, Disk}};",
        "pub(crate) use crate::store;",
        "fn f() { crate::store::open(); }",
        "fn f() -> crate :: store :: Store { todo() }",
        "use super::super::store::Store;",
    ] {
        let wrong = forbidden_imports(&files(&[("src/model/a.rs", text)]));
        assert_eq!(wrong.len(), 1, "{text}: {wrong:?}");
        assert!(wrong[0].starts_with("src/model/a.rs:1: `model` may not import `store`"), "{wrong:?}");
    }
}

#[test]
fn comments_strings_tests_and_allowed_imports_are_no_violation() {
    let clean = files(&[
        (
            "src/model/a.rs",
            "// crate::store::x\n/* crate::ui */ const A: &str = \"crate::ui::x\";\nuse crate::base::Fault;",
        ),
        ("src/model/a_tests.rs", "use crate::store::Store;"),
        ("src/model/b.rs", "#[cfg(test)]\nmod tests {}\n/// See [`crate::store`].\nuse super::a::X;"),
        ("src/main.rs", "use crate::store::Store;"),
    ]);
    assert_eq!(forbidden_imports(&clean), Vec::<String>::new());
}

#[test]
fn an_unknown_room_is_refused() {
    let wrong = forbidden_imports(&files(&[("src/utils/a.rs", "")]));
    assert!(wrong[0].contains("no room `utils`"), "{wrong:?}");
}

#[test]
fn the_screen_sees_only_the_doors_of_the_engine() {
    let wrong = forbidden_imports(&files(&[
        ("src/ui/a.rs", "use crate::engine::machine::State;"),
        ("src/ui/b.rs", "use crate::engine::command::Command;"),
    ]));
    assert_eq!(wrong.len(), 1);
    assert!(wrong[0].contains("only"), "{wrong:?}");
}

#[test]
fn the_engine_sees_the_agent_only_from_its_backend() {
    let wrong = forbidden_imports(&files(&[
        ("src/engine/driver/a.rs", "use crate::agent::driver::Setup;"),
        ("src/engine/backend/native.rs", "use crate::agent::driver::Setup;"),
        ("src/engine/backend/native/b.rs", "use crate::agent::segment::Tools;"),
    ]));
    assert_eq!(wrong, ["src/engine/driver/a.rs:1: `engine` imports `agent` only in src/engine/backend/native"]);
}

#[test]
fn commands_read_sessions_by_queries() {
    let text = "use crate::store::{EngineLock, Sessions};".to_owned();
    let [reader, importer] = ["src/cli/tree.rs", "src/cli/import.rs"].map(|path| (PathBuf::from(path), text.clone()));
    let wrong = forbidden_imports(&Files::from([reader, importer]));
    assert_eq!(wrong, ["src/cli/tree.rs:1: `cli` may not see `store::Sessions` here"]);
}

#[test]
fn a_cycle_is_found() {
    let wrong = cycles(&files(&[
        ("src/base/a.rs", "use crate::model::X;"),
        ("src/model/a.rs", "use crate::base::Y;"),
        ("src/store/a.rs", "use crate::base::Y;"),
    ]));
    assert_eq!(wrong.len(), 2, "base and model, not store: {wrong:?}");
}

#[test]
fn a_long_file_is_found_and_a_long_test_is_not() {
    let long = "x\n".repeat(MAX_LINES + 1);
    let wrong = long_files(&files(&[("src/base/a.rs", &long), ("src/base/a_tests.rs", &long)]));
    assert_eq!(wrong.len(), 1);
}

#[test]
fn a_dead_link_is_found_in_pages_and_in_doc_comments() {
    let tree = files(&[
        ("docs/a.md", "[gone](gone.md) and [there](b.md#part) and [web](https://example.org/x.md)"),
        ("docs/b.md", "see `docs/nowhere.md` and `src/lib.rs` and `../README.md`"),
        (
            "src/lib.rs",
            "//! See `docs/a.md` and `docs/gone.md`.\n// `docs/never.md` in a plain comment is nobody's promise",
        ),
        ("README.md", "[a](docs/a.md)"),
    ]);
    let dead = dead_links(&tree);
    assert_eq!(
        dead,
        [
            "docs/a.md:1: `gone.md` does not exist",
            "docs/b.md:1: `docs/nowhere.md` does not exist",
            "src/lib.rs:1: `docs/gone.md` does not exist"
        ]
    );
}
