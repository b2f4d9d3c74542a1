//! `list_files` and `search`, rule by rule.

use mxd::tools::Reply;
use serde_json::{Value, json};

use crate::tools_support::{Bench, until};

fn tree() -> Bench {
    let bench = Bench::new();
    bench.write(".gitignore", "target/\n*.log\n");
    bench.write("src/main.rs", "fn main() {\n    let answer = 42;\n}\n");
    bench.write("src/lib.rs", "pub fn answer() -> u32 {\n    42\n}\n");
    bench.write("docs/read me.md", "The Answer\nis 42.\n");
    bench.write("target/out.rs", "fn answer() {}\n");
    bench.write("noise.log", "answer\n");
    bench.write(".hidden/secret.rs", "fn answer() {}\n");
    bench.write("picture.bin", b"answer\0\0");
    bench
}

async fn search(bench: &Bench, input: Value) -> Reply {
    bench.call("search", input).await
}

async fn list(bench: &Bench, input: Value) -> Vec<String> {
    bench.call("list_files", input).await.text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn files_are_listed_sorted_without_ignored_and_hidden_ones() {
    let bench = tree();
    assert_eq!(list(&bench, json!({})).await, ["docs/read me.md", "picture.bin", "src/lib.rs", "src/main.rs"]);
    let all = list(&bench, json!({"hidden": true, "ignored": true})).await;
    for path in [".gitignore", ".hidden/secret.rs", "noise.log", "target/out.rs"] {
        assert!(all.contains(&path.to_owned()), "{path}: {all:?}");
    }
    assert!(all.iter().all(|path| !path.starts_with(".git/")));
}

#[tokio::test]
async fn globs_kinds_and_depth_narrow_a_listing() {
    let bench = tree();
    assert_eq!(list(&bench, json!({"globs": ["*.rs"]})).await, ["src/lib.rs", "src/main.rs"]);
    assert_eq!(list(&bench, json!({"globs": ["*.rs", "!lib*"]})).await, ["src/main.rs"]);
    assert_eq!(list(&bench, json!({"path": "src", "globs": ["m*"]})).await, ["src/main.rs"]);
    assert_eq!(list(&bench, json!({"kind": "folders"})).await, ["docs/", "src/"]);
    assert_eq!(list(&bench, json!({"kind": "all", "depth": 1})).await, ["docs/", "picture.bin", "src/"]);
}

#[tokio::test]
async fn a_listing_says_what_it_left_out() {
    let bench = Bench::new();
    for n in 0..30 {
        bench.write(&format!("f{n:02}"), "");
    }
    let lines = list(&bench, json!({"limit": 10})).await;
    assert_eq!(lines.len(), 11);
    assert_eq!(lines[10], "[10 of 30 shown; narrow it with path, globs or depth, or raise limit]");
}

#[tokio::test]
async fn no_files_and_no_folder_are_different_things() {
    let bench = tree();
    let none = bench.call("list_files", json!({"globs": ["*.zig"]})).await;
    assert_eq!((none.text.as_str(), none.is_error), ("No files that match in the current folder.", false));
    let lost = bench.call("list_files", json!({"path": "nowhere"})).await;
    assert_eq!((lost.text.as_str(), lost.is_error), ("Could not list: nowhere does not exist.", true));
    let file = bench.call("list_files", json!({"path": "src/lib.rs"})).await;
    assert!(file.is_error && file.text.contains("is a file"), "{}", file.text);
    let glob = bench.call("list_files", json!({"globs": ["a[", "b"]})).await;
    assert!(glob.is_error && glob.text.contains("glob is not valid"), "{}", glob.text);
}

#[tokio::test]
async fn matches_come_with_path_and_line() {
    let bench = tree();
    assert_eq!(
        search(&bench, json!({"pattern": "answer"})).await.text,
        "src/lib.rs:1:pub fn answer() -> u32 {\nsrc/main.rs:2:    let answer = 42;"
    );
    assert_eq!(
        search(&bench, json!({"pattern": "ANSWER", "ignore_case": true, "globs": ["*.md"]})).await.text,
        "docs/read me.md:1:The Answer"
    );
    assert_eq!(
        search(&bench, json!({"pattern": "fn main", "path": "src/main.rs"})).await.text,
        "src/main.rs:1:fn main() {"
    );
    assert_eq!(
        search(&bench, json!({"pattern": "main", "types": ["rust"], "word": true})).await.text,
        "src/main.rs:1:fn main() {"
    );
}

#[tokio::test]
async fn context_modes_and_multiline() {
    let bench = tree();
    assert_eq!(
        search(&bench, json!({"pattern": "42", "path": "src", "context": 1})).await.text,
        "src/lib.rs-1-pub fn answer() -> u32 {\nsrc/lib.rs:2:    42\nsrc/lib.rs-3-}\n--\n\
         src/main.rs-1-fn main() {\nsrc/main.rs:2:    let answer = 42;\nsrc/main.rs-3-}"
    );
    assert_eq!(
        search(&bench, json!({"pattern": "42", "mode": "files"})).await.text,
        "docs/read me.md\nsrc/lib.rs\nsrc/main.rs"
    );
    let counts = search(&bench, json!({"pattern": "n", "path": "src", "mode": "count"})).await.text;
    assert_eq!(counts, "src/lib.rs:1\nsrc/main.rs:2\n[3 in all]");
    let spanning = search(&bench, json!({"pattern": "Answer.is", "multiline": true})).await.text;
    assert_eq!(spanning, "docs/read me.md:1:The Answer\ndocs/read me.md:2:is 42.");
    assert_eq!(search(&bench, json!({"pattern": "main() {", "literal": true})).await.text, "src/main.rs:1:fn main() {");
}

#[tokio::test]
async fn hidden_and_ignored_files_on_request() {
    let bench = tree();
    let found =
        search(&bench, json!({"pattern": "answer", "mode": "files", "hidden": true, "ignored": true})).await.text;
    assert_eq!(found, ".hidden/secret.rs\nnoise.log\nsrc/lib.rs\nsrc/main.rs\ntarget/out.rs");
    let binary = search(&bench, json!({"pattern": "answer", "path": "picture.bin"})).await.text;
    assert_eq!(binary, "picture.bin: binary file with 1 match");
}

#[tokio::test]
async fn no_match_never_reads_like_a_failed_search() {
    let bench = tree();
    let none = search(&bench, json!({"pattern": "absent"})).await;
    assert_eq!((none.text.as_str(), none.is_error), ("No match for \"absent\" in 4 files searched.", false));
    let nothing = search(&bench, json!({"pattern": "x", "globs": ["*.zig"]})).await;
    assert!(!nothing.is_error && nothing.text.contains("No file fits"), "{}", nothing.text);
    for (input, said) in [
        (json!({"pattern": "main("}), "the pattern is not valid"),
        (json!({"pattern": ""}), "the pattern is empty"),
        (json!({"pattern": "x", "path": "nowhere"}), "does not exist"),
        (json!({"pattern": "x", "types": ["nonsense"]}), "rg --type"),
        (json!({"pattern": "a\\nb"}), "set multiline"),
    ] {
        let failed = search(&bench, input).await;
        assert!(failed.is_error && failed.text.starts_with("Could not search: "), "{}", failed.text);
        assert!(failed.text.contains(said), "{said}: {}", failed.text);
    }
}

#[tokio::test]
async fn long_results_and_long_lines_are_cut_and_said() {
    let bench = Bench::new();
    bench.write("many.txt", "needle\n".repeat(5000));
    bench.write("wide.txt", format!("needle {}\n", "w".repeat(5000)));
    let reply = search(&bench, json!({"pattern": "needle", "limit": 50})).await;
    assert!(
        reply
            .text
            .ends_with("[50 of 5001 matching lines shown; narrow it with path, globs or types, or use mode files]"),
        "{}",
        reply.text
    );
    let wide = search(&bench, json!({"pattern": "needle", "path": "wide.txt"})).await;
    assert!(wide.text.ends_with("… [line cut: 5.0 KB]") && wide.text.len() < 500, "{}", wide.text);
}

#[tokio::test]
async fn searching_outside_is_marked_and_other_processes_are_closed() {
    let bench = tree();
    std::fs::write(bench.data.join("note"), "answer\n").unwrap();
    let reply = search(&bench, json!({"pattern": "answer", "path": "../data/note"})).await;
    assert!(reply.text.contains("is outside the worktree]"), "{}", reply.text);
    assert!(search(&bench, json!({"pattern": "KEY", "path": "/proc/self/environ"})).await.is_error);
}

#[tokio::test]
async fn a_cancelled_search_ends() {
    let bench = tree();
    bench.context.tokens.teardown.cancel();
    assert!(search(&bench, json!({"pattern": "answer"})).await.is_error);
}

/// A file that takes no room and has more zeros than any memory.
fn endless(bench: &Bench, path: &str) {
    std::fs::File::create(bench.root.join(path)).unwrap().set_len(1 << 42).unwrap();
}

#[tokio::test]
async fn a_file_too_large_to_hold_is_said_and_harms_nobody() {
    let bench = tree();
    endless(&bench, "vast");
    let whole = json!({"pattern": "a.b", "multiline": true, "path": "vast"});
    let reply = search(&bench, whole).await;
    assert!(reply.is_error && reply.text.starts_with("Could not search: vast: "), "{}", reply.text);
    let none = search(&bench, json!({"pattern": "ab.sent", "multiline": true})).await;
    assert!(none.text.starts_with("No match for \"ab.sent\" in 4 files searched.\n[1 file could not"), "{}", none.text);
    let reply = search(&bench, json!({"pattern": "Answer.is", "multiline": true})).await;
    assert!(reply.text.starts_with("docs/read me.md:1:The Answer\n"), "{}", reply.text);
    assert!(reply.text.contains("[1 file could not be searched; the first: vast: "), "{}", reply.text);
}

#[tokio::test]
async fn context_lines_count_towards_what_is_gathered() {
    let bench = Bench::new();
    let filler = "filler\n".repeat(40);
    bench.write("many.txt", format!("needle\n{filler}").repeat(1000));
    let reply = search(&bench, json!({"pattern": "needle", "context": 20, "limit": 2000})).await;
    assert!(reply.text.contains("of more than 4"), "20,000 lines hold some 490 matches: {}", reply.text);
    assert!(reply.text.len() < 40_000, "{}", reply.text.len());
}

#[tokio::test]
async fn one_match_of_very_many_lines_is_cut() {
    let bench = Bench::new();
    bench.write("long.txt", "line\n".repeat(100_000));
    let reply = search(&bench, json!({"pattern": "line.*line", "multiline": true})).await;
    assert!(
        reply.text.ends_with(
            "[200 of more than 20000 matching lines shown; narrow it with path, globs or types, or use mode files]"
        ),
        "{}",
        reply.text
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_long_search_without_a_match_can_be_cut_short() {
    let bench = Bench::new();
    endless(&bench, "vast");
    let vast = bench.root.join("vast");
    let is_open = || {
        let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        open.filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(|path| path == vast)
    };
    let cut = async {
        until("the search has begun", is_open).await;
        bench.context.tokens.interrupt.cancel();
    };
    let (reply, ()) = tokio::join!(search(&bench, json!({"pattern": "needle", "path": "vast"})), cut);
    assert_eq!((reply.text.as_str(), reply.is_error), ("Could not search: interrupted.", true));
}

#[tokio::test]
async fn a_name_with_a_line_break_forges_no_line_and_a_circle_of_links_ends() {
    let bench = Bench::new();
    bench.write("a\nforged.rs", "answer\n");
    bench.write("b\u{1b}[2J.rs", "answer\n");
    std::os::unix::fs::symlink(&bench.root, bench.root.join("loop")).unwrap();
    std::os::unix::fs::symlink("knot", bench.root.join("knot")).unwrap();
    assert_eq!(list(&bench, json!({})).await, ["\"a\\nforged.rs\"", "\"b\\u{1b}[2J.rs\"", "knot", "loop"]);
    let found = search(&bench, json!({"pattern": "answer"})).await.text;
    assert_eq!(found, "\"a\\nforged.rs\":1:answer\n\"b\\u{1b}[2J.rs\":1:answer");
    let read = bench.call("read_file", json!({"files": [{"path": "a\nforged.rs"}]})).await.text;
    assert!(read.starts_with("\"a\\nforged.rs\""), "{read}");
    let knot = bench.call("read_file", json!({"files": [{"path": "knot"}]})).await;
    assert!(knot.is_error, "{}", knot.text);
}

#[tokio::test]
async fn what_is_neither_file_nor_folder_cannot_be_searched_or_listed() {
    let bench = tree();
    bench.bash("mkfifo pipe").await;
    for path in ["pipe", "/dev/null"] {
        for reply in [
            search(&bench, json!({"pattern": "x", "path": path})).await,
            bench.call("list_files", json!({"path": path})).await,
        ] {
            assert!(reply.is_error && reply.text.contains("is neither a file nor a folder"), "{path}: {}", reply.text);
        }
    }
    assert!(!search(&bench, json!({"pattern": "answer"})).await.text.contains("pipe"), "in a walk it is passed over");
}

#[tokio::test]
async fn counts_are_whole_however_many_there_are() {
    let bench = Bench::new();
    bench.write("many.txt", "needle\n".repeat(50_000));
    bench.write("more.txt", "needle\n".repeat(30_000));
    let counted = search(&bench, json!({"pattern": "needle", "mode": "count"})).await;
    assert_eq!(counted.text, "many.txt:50000\nmore.txt:30000\n[80000 in all]");
}
