use proptest::prelude::*;

use super::*;

fn bash(output: &str) -> Option<String> {
    summary("bash", "{}", output)
}

#[test]
fn test_runners_are_summed_up() {
    let cases = [
        // cargo test: one line for each binary, here in colour.
        (
            "running 14 tests\n\u{1b}[32mtest result: ok\u{1b}[0m. 14 passed; 0 failed; 1 ignored; 0 measured\n\ntest result: ok. 3 passed; 0 failed; 0 ignored\n",
            "17 passed",
        ),
        ("test result: FAILED. 12 passed; 2 failed; 0 ignored; finished in 0.10s", "2 failed, 12 passed"),
        ("     Summary [   0.512s] 14 tests run: 13 passed (1 slow), 1 failed, 2 skipped", "1 failed, 13 passed"),
        ("============ 3 failed, 14 passed, 1 skipped in 0.12s ============", "3 failed, 14 passed"),
        ("....\n4 passed in 0.01s", "4 passed"),
        ("ok    one\nFAIL  two\n1 passed, 1 failed", "1 failed, 1 passed"),
        ("8 passed, 0 failed, 2 skipped\n", "8 passed"),
        ("=== 2 passed, 1 warning in 1.20s (0:00:01) ===", "2 passed"),
        ("= 1 error in 0.05s =", "1 failed"),
        (
            "Test Suites: 2 passed, 2 total\nTests:       1 failed, 13 passed, 14 total\nTime: 1 s",
            "1 failed, 13 passed",
        ),
        (" Test Files  2 passed (2)\n      Tests  13 passed | 1 skipped (14)\n", "13 passed"),
        ("  14 passing (20ms)\n  1 failing\n", "1 failed, 14 passed"),
        (
            "ok  \texample.com/a\t0.012s\nok  \texample.com/b\t(cached)\n?   \texample.com/c\t[no test files]",
            "2 packages ok",
        ),
        ("--- FAIL: TestOne (0.00s)\nFAIL\nFAIL\texample.com/a\t0.01s\nok  \texample.com/b\t0.1s", "1 failed"),
        (
            "=== RUN   TestOne\n--- PASS: TestOne (0.00s)\n    --- PASS: TestOne/sub (0.00s)\nPASS\nok  \ta\t0.1s",
            "2 passed",
        ),
        ("# example.com/a\n./a.go:3: undefined\nFAIL\texample.com/a\t[build failed]", "1 package failed"),
    ];
    for (output, expected) in cases {
        assert_eq!(bash(&format!("exit code: 0\n{output}")).as_deref(), Some(expected), "{output}");
    }
}

#[test]
fn other_commands_show_diagnostics_exit_code_or_output() {
    let cases = [
        ("exit code: 0\n", "exit 0"),
        ("exit code: 0", "exit 0"),
        ("exit code: 1 (after 7.2 s)\nno such file", "exit 1"),
        ("exit code: 0\nmain\n", "main"),
        ("exit code: 0\none\ntwo\nthree\n", "3 lines"),
        ("exit code: 0\nwarning: `mxd` (lib) generated 2 warnings\n    Finished", "2 warnings"),
        (
            "exit code: 101\nerror[E0425]: x\nerror: could not compile `a` (lib) due to 3 previous errors; 1 warning emitted",
            "3 errors",
        ),
        ("exit code: 101\nerror: could not compile `a` (lib) due to 1 previous error", "1 error"),
        ("ended by signal 9\n", "signal 9"),
    ];
    for (output, expected) in cases {
        assert_eq!(bash(output).as_deref(), Some(expected), "{output}");
    }
    assert_eq!(bash("Started in the background as bg-1. A message will tell you."), None);
    // Prose is not a test run.
    assert_eq!(bash("exit code: 0\n5 minutes in total\nthe tests passed in May\nall good").as_deref(), Some("3 lines"));
}

#[test]
fn file_tools_are_counted() {
    let search = |mode: &str, output: &str| summary("search", &format!(r#"{{"pattern":"x","mode":"{mode}"}}"#), output);
    assert_eq!(search("content", "a.rs:3:x = 1\na.rs-4-y\n--\nb.rs:7:x").as_deref(), Some("2 matches"));
    let cut = "a.rs:3:x\n[1 of 340 matching lines shown; narrow it with path, globs or types, or use mode files]";
    assert_eq!(search("content", cut).as_deref(), Some("340 matches"));
    assert_eq!(search("files", "a.rs\nb.rs").as_deref(), Some("2 files"));
    assert_eq!(search("count", "a.rs:3\nb.rs:4\n[7 in all]").as_deref(), Some("7 matches"));
    assert_eq!(search("content", "No match for \"x\" in 12 files searched.").as_deref(), Some("no matches"));
    let read = "src/a.rs: lines 1-40 of 120\n     1\tfn a() {} // : lines 9-99 of 100\n[80 more lines: go on with offset 41]\nb: lines 5-6 of 6\n     5\tx";
    assert_eq!(summary("read_file", "{}", read).as_deref(), Some("42 lines"));
    assert_eq!(summary("list_files", "{}", "a/\nb.rs\n").as_deref(), Some("2 entries"));
    let cut = "a/\n[1 of more than 5000 shown; narrow it with path, globs or depth, or raise limit]";
    assert_eq!(summary("list_files", "{}", cut).as_deref(), Some("5000 entries"));
    assert_eq!(summary("list_files", "{}", "No files that match in src.").as_deref(), Some("none"));
    assert_eq!(summary("db/query", "{}", "id\n1\n2").as_deref(), Some("3 lines"));
    assert_eq!(summary("create_task", "{}", "Created task X"), None);
}

proptest! {
    #[test]
    fn any_output_has_a_short_summary(name in "bash|search|read_file|list_files|a/b", output in "(?s).{0,200}") {
        if let Some(words) = summary(&name, "{}", &output) {
            prop_assert!(words.chars().count() <= 48 && !words.contains('\n'), "{words}");
        }
    }
}
