//! A comparison with every kind of file, for tests.

use std::sync::Arc;

use crate::base::TaskId;
use crate::engine::review::ReviewMarks;
use crate::model::diff::{FileDiff, FileStatus, FileVersion};
use crate::text::diff::parse;
use crate::theme::Glyphs;
use crate::ui::review::{Answer, Comparison, ReviewLayout, ReviewNotes, State};

pub const STORE: &str = "diff --git a/src/session/store.rs b/src/session/store.rs\n--- a/src/session/store.rs\n+++ b/src/session/store.rs\n@@ -10,6 +10,8 @@ impl Store {\n     fn open() -> Self {\n-        let ttl = 60;\n+        let ttl = Duration::from_secs(60);\n+        let tokens = Tokens::new(ttl);\n         store()\n     }\n }\n@@ -40,6 +42,5 @@ impl Drop for Store {\n     fn drop(&mut self) {\n-        self.flush();\n-        self.close();\n+        self.close_after(self.flush());\n     }\n }\n \n";

pub fn files() -> Vec<FileDiff> {
    let mut files = parse(STORE);
    files.extend(parse("diff --git a/docs/a.md b/docs/a.md\nnew file mode 100644\n--- /dev/null\n+++ b/docs/a.md\n@@ -0,0 +1,3 @@\n+# Title\n+\n+new words\n"));
    files.push(FileDiff {
        old: Some(FileVersion::named("src/token.rs")),
        new: Some(FileVersion::named("src/tokens/store.rs")),
        status: FileStatus::Renamed,
        ..FileDiff::default()
    });
    let note = |path: &str, note: &str| FileDiff {
        old: Some(FileVersion::named(path)),
        new: Some(FileVersion::named(path)),
        notes: vec![note.to_owned()],
        ..FileDiff::default()
    };
    files.push(note("assets/logo.png", "binary, 12.0 KiB to 14.1 KiB"));
    files.push(note("bin/run", "was a regular file, is now an executable"));
    files.push(note("vendor/lib", "submodule: from 1f2e3d4c5b to 9a8b7c6d5e"));
    files
}

pub fn answer(files: Vec<FileDiff>) -> Answer {
    Answer {
        comparison: Arc::new(Comparison::new(files, 0)),
        old: "main".to_owned(),
        new: "now".to_owned(),
        state: Some("f00d".to_owned()),
        seen: ReviewMarks::default(),
    }
}

/// Returns a review of these files.
pub fn review(files: Vec<FileDiff>) -> State {
    let mut state = State::new(ReviewNotes::default());
    let task = task();
    let request = state.wants(task).unwrap();
    state.on_diff(task, request, Ok(answer(files)));
    state
}

pub fn task() -> TaskId {
    crate::ui::testing::task(2)
}

pub fn layout(state: &State, columns: usize) -> ReviewLayout {
    state.layout(columns, &Glyphs::UNICODE)
}

/// Returns every row as text.
pub fn shown(state: &State, columns: usize) -> Vec<String> {
    let layout = layout(state, columns);
    let rows = state.with_row_builder(&layout, &Glyphs::UNICODE, |make| layout.window(0..layout.len, make));
    rows.into_iter().map(|(_, row)| row.shown().trim_end().to_owned()).collect()
}
