use proptest::prelude::*;

use super::*;
use crate::text::Page;
use crate::text::row::Row;
use crate::theme::{Glyphs, Role};

const OLD: &str = "fn main() {\n    let a = 1;\n    let b = 2;\n    run(a);\n}\n";
const NEW: &str = "fn main() {\n    let a = 10;\n    let b = 2;\n    run(a, b);\n    done();\n}\n";

fn options(width: usize) -> DiffOptions {
    DiffOptions::new(Page::new(width, &Glyphs::UNICODE))
}

fn all(file: &FileDiff, options: DiffOptions) -> Vec<Row> {
    let rows = DiffRows::new(file, options);
    rows.rows(file, 0, rows.len())
}

fn shown(file: &FileDiff, options: DiffOptions) -> Vec<String> {
    all(file, options).iter().map(|row| row.shown().trim_end().to_owned()).collect()
}

fn strong(row: &Row) -> String {
    let strong =
        |span: &&crate::text::Span| matches!(span.ink.over, Some(Role::DiffAddStrong | Role::DiffRemoveStrong));
    row.spans.iter().filter(strong).map(|span| span.text.as_ref()).collect()
}

#[test]
fn two_texts_become_numbered_signed_lines() {
    let file = between("src/main.rs", OLD, NEW, 1);
    assert_eq!((file.added, file.removed), (3, 2));
    assert_eq!(
        shown(&file, options(60)),
        [
            "  1   1   fn main() {",
            "  2     -     let a = 1;",
            "      2 +     let a = 10;",
            "  3   3       let b = 2;",
            "  4     -     run(a);",
            "      4 +     run(a, b);",
            "      5 +     done();",
            "  5   6   }",
        ]
    );
}

#[test]
fn gaps_between_hunks_are_counted_and_hunk_starts_are_known() {
    let old: String = (1..=30).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
    let new = old.replace("line 5\n", "five\n").replace("line 25\n", "");
    let file = between("a.txt", &old, &new, 1);
    let rows = shown(&file, options(60));
    assert_eq!((rows[0].as_str(), rows[5].as_str()), ("… 3 unchanged lines", "… 17 unchanged lines"));
    assert_eq!(DiffRows::new(&file, options(60)).hunk_starts(), [0, 5]);
}

#[test]
fn differing_words_stand_out_and_code_has_its_colours() {
    let file = between("src/main.rs", OLD, NEW, 1);
    let rows = all(&file, options(60));
    assert_eq!((strong(&rows[1]).as_str(), strong(&rows[2]).as_str()), ("1", "10"));
    assert_eq!(strong(&rows[5]), ", b");
    assert_eq!(rows[1].ground, Some(Role::DiffRemove));
    assert!(rows[1].spans.iter().any(|span| span.text.contains("let") && span.ink.role == Role::SyntaxKeyword));
}

#[test]
fn sides_are_split_where_there_is_room() {
    let file = between("src/main.rs", OLD, NEW, 0);
    let rows = shown(&file, options(121));
    assert_eq!(rows[1], format!("{:<60}│{}", "  2 -     let a = 1;", "  2 +     let a = 10;"));
    assert!(rows.iter().any(|row| row.starts_with(' ') && row.contains("│  5 +     done();")));
    assert!(all(&file, options(121)).iter().all(|row| row.width() <= 121));
}

#[test]
fn a_unified_diff_is_read_as_git_writes_it() {
    let text = "diff --git a/src/x.rs b/src/x.rs\nindex 1..2 100644\n--- a/src/x.rs\n+++ b/src/x.rs\n\
                @@ -3,3 +3,4 @@ fn f()\n a\n-b\n+B\n+C\n c\n\\ No newline at end of file\n\
                diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+--- odd\n\
                diff --git a/old name b/new name\nrename from old name\nrename to new name\n\
                diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\n";
    let files = parse(text);
    assert_eq!(files.iter().map(FileDiff::name).collect::<Vec<_>>(), ["src/x.rs", "n", "new name", "p.png"]);
    assert_eq!(files[0].hunks[0].heading, "fn f()");
    assert_eq!(
        files[0].hunks[0].lines.last().unwrap(),
        &Line { kind: LineKind::Context, text: "c".to_owned(), old: Some(5), new: Some(6), hidden: 0, unended: true }
    );
    assert_eq!((&files[1].old, files[1].hunks[0].lines[0].text.as_str()), (&None, "--- odd"));
    assert_eq!(files[2].old, Some(FileVersion::named("old name")));
    assert_eq!(files[3].notes, ["binary file"]);
}

#[test]
fn a_diff_without_git_is_read_too() {
    let text = "--- a.txt\t2026-01-01\n+++ a.txt\t2026-01-02\n@@ -1,2 +1,2 @@\n-x\n+y\n\n--- b.txt\n+++ b.txt\n@@ -1 +1 @@\n-1\n+2\n";
    let files = parse(text);
    assert_eq!(files.iter().map(FileDiff::name).collect::<Vec<_>>(), ["a.txt", "b.txt"]);
    assert_eq!(files[0].hunks[0].lines.len(), 3, "an empty line stands for an empty context line");
    assert_eq!((files[1].added, files[1].removed), (1, 1));
}

#[test]
fn long_unchanged_stretches_are_folded() {
    let old: String = (0..40).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
    let new = old.replace("line 0\n", "first\n").replace("line 39\n", "last\n");
    let file = between("a.txt", &old, &new, 100);
    let rows = shown(&file, options(60));
    assert!(rows.contains(&"▸ 32 unchanged lines".to_owned()), "{rows:?}");
    assert_eq!(rows.len(), 2 + 3 + 1 + 3 + 2);
    let open = DiffOptions { context: None, ..options(60) };
    assert_eq!(shown(&file, open).len(), 2 + 38 + 2);
}

#[test]
fn whitespace_changes_can_be_made_visible() {
    let file = between("a.txt", "a b\nc\n", "a  b\nd\n", 3);
    let visible = DiffOptions { spaces: Spaces::Visible, ..options(60) };
    let rows = all(&file, visible);
    let row = rows.iter().find(|row| row.shown().contains("a··b")).unwrap();
    assert_eq!(row.source_text(), "+a  b");
}

#[test]
fn large_files_are_planned_whole_and_built_in_windows() {
    let old: String = (0..50_000).map(|n| format!("let x{n} = {n};\n")).collect::<Vec<_>>().concat();
    let new: String = (0..50_000).map(|n| format!("let y{n} = {};\n", n % 7)).collect::<Vec<_>>().concat();
    let file = between("big.rs", &old, &new, 3);
    let rows = DiffRows::new(&file, options(80));
    assert!(rows.len() >= 50_000);
    assert_eq!(rows.rows(&file, rows.len() - 20, 50).len(), 20);
    assert_eq!(rows.rows(&file, 0, 50).len(), 50);
    assert_eq!(rows.rows(&file, usize::MAX, 50).len(), 0);
}

#[test]
fn a_line_of_a_million_characters_is_cut_with_a_note() {
    let file = between("a.txt", "", &"x".repeat(1_000_000), 3);
    let rows = shown(&file, options(80));
    assert!(rows.len() < 100 && rows.last().unwrap().contains("more"), "{:?}", rows.last());
}

fn lines() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop_oneof![Just("a\n"), Just("b\n"), Just("\tc d\n"), Just("日本\n"), Just("\n"), Just("\x1b[1m\r\n")],
        0..20,
    )
    .prop_map(|lines| lines.concat())
}

proptest! {
    #[test]
    fn rows_fit_and_windows_are_parts_of_the_whole(old in lines(), new in lines(), width in 30usize..160, from in 0usize..20) {
        let file = between("x.rs", &old, &new, 2);
        let plan = DiffRows::new(&file, options(width));
        let whole = plan.rows(&file, 0, plan.len());
        prop_assert_eq!(whole.len(), plan.len());
        for row in &whole {
            prop_assert!(row.width() <= width, "{:?}", row.shown());
            prop_assert!(!row.shown().contains(char::is_control));
        }
        let from = from.min(whole.len());
        let window = plan.rows(&file, from, 3);
        let texts = |rows: &[Row]| rows.iter().map(Row::shown).collect::<Vec<_>>();
        prop_assert_eq!(texts(&window), texts(&whole[from..whole.len().min(from + 3)]));
    }

    #[test]
    fn a_hunk_with_wrong_counts_can_be_shown(
        numbers in prop::array::uniform4("[0-9]{1,22}|-1|"), lines in "([-+ \\\\][a-z]?\n){0,6}", width in 30usize..90
    ) {
        let [a, b, c, d] = numbers;
        for file in parse(&format!("--- a/x\n+++ b/x\n@@ -{a},{b} +{c},{d} @@\n{lines}")) {
            let rows = DiffRows::new(&file, options(width));
            prop_assert_eq!(rows.rows(&file, 0, rows.len()).len(), rows.len());
        }
    }

    #[test]
    fn any_text_can_be_read_as_a_diff(text in "(?s)([-+ @\\\\]|diff --git |--- |@@ -1,2 [+]1 @@|[a-z/ ]{0,4}|\n){0,40}") {
        for file in parse(&text) {
            let rows = DiffRows::new(&file, options(60));
            prop_assert_eq!(rows.rows(&file, 0, rows.len()).len(), rows.len());
        }
    }
}
