//! What is done with the work of a task: merging, going back, remarks on a diff, and the small questions on the way.

use ulid::Ulid;

use super::{Scene, change, login, reviewed};
use crate::base::{EventId, MessageId, Timestamp, TurnId};
use crate::engine::command::Outcome;
use crate::engine::review::{
    CheckResult, CommitLine, Conflict, ConflictKind, CreatedTask, DirtySide, Drift, FileChange, MergePreview,
    MergeRecord, MergeStrategy, MergeTarget, RewindPreview, RewindScope, TurnView,
};
use crate::engine::snapshot::Wait;
use crate::model::diff::FileStatus;
use crate::model::live::Activity;
use crate::ui::testing::Screen;
use crate::ui::{Effect, Msg, review};

pub const SCENES: &[Scene] = &[
    ("merge-reading", asked),
    ("merge", |screen| {
        asked(screen);
        let ready = preview(screen);
        previewed(screen, ready);
    }),
    ("merge-running", |screen| {
        asked(screen);
        let ready = preview(screen);
        previewed(screen, ready);
        screen.keys("enter");
    }),
    ("merge-conflicts", |screen| {
        asked(screen);
        let conflict = |path: &str, kind| Conflict { path: path.into(), kind, ours: None, theirs: None, marked: None };
        let bad = MergePreview {
            conflicts: vec![
                conflict("src/session/store.rs", ConflictKind::Content),
                conflict("assets/logo.png", ConflictKind::Binary),
            ],
            ..preview(screen)
        };
        previewed(screen, bad);
    }),
    ("merge-refused", |screen| {
        asked(screen);
        let reason = "2 files in /home/me/matrix are not committed: commit them or put them away".to_owned();
        let bad = MergePreview {
            dirty: vec![DirtySide { path: "/home/me/matrix".into(), own: false, files: 2, reason }],
            receipt: Some(receipt(screen, 101)),
            ..preview(screen)
        };
        previewed(screen, bad);
        screen.keys("enter");
    }),
    ("merge-done", merged),
    ("merge-undo", |screen| {
        merged(screen);
        screen.keys("g u");
    }),
    ("rewind-reading", |screen| {
        login(screen);
        screen.keys("esc g r");
    }),
    ("rewind", going_back),
    ("rewind-confirm", |screen| {
        going_back(screen);
        screen.keys("enter");
    }),
    ("diff-reading", |screen| {
        login(screen);
        screen.keys("esc d");
    }),
    ("diff-nothing", |screen| {
        login(screen);
        screen.keys("esc d");
        answer_diff(screen, review::testing::answer(Vec::new()));
    }),
    ("diff-comment", |screen| {
        reviewed(screen);
        screen.keys("j j j j c").typed("why not ten minutes?").keys("enter j j j c").typed("and this");
    }),
    ("fork", |screen| {
        login(screen);
        screen.keys("esc g f");
    }),
    ("rename", |screen| {
        login(screen);
        screen.keys("esc r");
    }),
    ("stop", |screen| {
        login(screen);
        screen.keys("esc :").typed("stop_all").keys("enter");
    }),
    ("no-answer", |screen| {
        login(screen);
        let (task, since) = (screen.ids().login, screen.now);
        change(screen, task, |view| {
            view.activity = Activity::Thinking;
            view.waits = Some(Wait::Silence { since });
        });
    }),
];

/// The merge dialog, before it is known what it would do.
fn asked(screen: &mut Screen) {
    login(screen);
    let task = screen.ids().login;
    change(screen, task, |view| {
        view.node.branch = Some("mxd/add-oauth-login".to_owned());
        view.drift = Some(Drift { ahead: 3, behind: 2 });
    });
    screen.keys("esc m");
}

fn preview(screen: &Screen) -> MergePreview {
    MergePreview {
        commit: "0123456789".to_owned(),
        task: screen.ids().login,
        branch: "mxd/add-oauth-login".to_owned(),
        target: "main".to_owned(),
        ahead: 3,
        behind: 2,
        files: 4,
        added: 84,
        removed: 3,
        conflicts: Vec::new(),
        dirty: Vec::new(),
        checkout: Some("/home/me/matrix".into()),
        verify: Some("cargo test".to_owned()),
        receipt: Some(receipt(screen, 0)),
        fresh: true,
    }
}

fn receipt(screen: &Screen, exit: i32) -> CheckResult {
    CheckResult {
        command: "cargo test".to_owned(),
        commit: "abc".to_owned(),
        dirty: false,
        exit: Some(exit),
        at: Timestamp::from_millis(screen.now.as_millis() - 120_000),
        duration_ms: 14_200,
        output: "running 14 tests\ntest store::expires ... FAILED\n\n1 failed".to_owned(),
        full: None,
    }
}

fn previewed(screen: &mut Screen, preview: MergePreview) {
    screen.msg(Msg::MergePreview { task: preview.task, goal: MergeTarget::Parent, preview: Box::new(Ok(preview)) });
}

/// The work has arrived: the dialog is gone, and it is said how to take it back.
fn merged(screen: &mut Screen) {
    asked(screen);
    let ready = preview(screen);
    previewed(screen, ready);
    screen.keys("enter");
    let tag = screen.effects.iter().rev().find_map(|effect| match effect {
        Effect::Engine { tag, .. } => Some(*tag),
        _ => None,
    });
    screen.msg(Msg::Reply { tag: tag.unwrap(), outcome: Ok(Outcome::Done) });
    let (task, at) = (screen.ids().login, screen.now);
    change(screen, task, |view| {
        view.drift = Some(Drift { ahead: 0, behind: 0 });
        view.last_merge = Some(MergeRecord {
            target: "main".to_owned(),
            how: MergeStrategy::Merge,
            from: "0123456789abcdef".to_owned(),
            to: "fedcba9876543210".to_owned(),
            undo: "0123456789abcdef".to_owned(),
            at,
        });
    });
}

fn turns() -> Vec<TurnView> {
    let turn = |number: usize, prompt: &str, text: &str, calls: &[&str], changed: bool| TurnView {
        edits: Vec::new(),
        turn: turn_id(number as u128),
        number,
        at: Timestamp::from_millis(1_794_808_000_000 + 60_000 * i64::try_from(number).unwrap()),
        prompt: prompt.to_owned(),
        message: (!prompt.is_empty()).then(|| MessageId::from_ulid(Ulid::from_parts(7, number as u128))),
        text: text.to_owned(),
        calls: calls.iter().map(|call| (*call).to_owned()).collect(),
        changed,
        state: None,
        event: EventId::from_ulid(Ulid::from_parts(1_794_808_000_000, 100 * number as u128)),
    };
    vec![
        turn(1, "use the existing session store, please", "I'll add a column and a migration.", &["edit_file"], true),
        turn(2, "", "", &["bash", "read_file"], false),
        turn(3, "and the docs", "The docs say where tokens live now.", &["edit_file"], true),
        turn(4, "", "Everything passes.", &[], false),
    ]
}

fn turn_id(number: u128) -> TurnId {
    TurnId::from_ulid(Ulid::from_parts(5, number))
}

/// The turns of a task, with what going back to the last but one would undo.
fn going_back(screen: &mut Screen) {
    login(screen);
    let task = screen.ids().login;
    screen.keys("esc g r");
    screen.msg(Msg::Turns { task, turns: Ok(turns()) });
    let preview = RewindPreview {
        extent: RewindScope::Both,
        to: Some(turn_id(3)),
        turns: 1,
        read: 2,
        files: vec![FileChange { path: "docs/a.md".to_owned(), status: FileStatus::Modified }],
        hidden_files: 0,
        commits: vec![CommitLine { id: "0123456789abcdef".to_owned(), subject: "Say where tokens live".to_owned() }],
        sent: vec!["The store is ready.".to_owned()],
        created: vec![CreatedTask { task: "01H".to_owned(), title: "token store".to_owned() }],
        stays: vec!["What commands did outside of the worktree stays done.".to_owned()],
    };
    screen.msg(Msg::RewindPreview {
        task,
        to: Some(turn_id(3)),
        extent: RewindScope::Both,
        preview: Box::new(Ok(preview)),
    });
}

/// Answers the last question for a diff.
pub fn answer_diff(screen: &mut Screen, answer: review::Answer) {
    let asked = screen.effects.iter().rev().find_map(|effect| match effect {
        Effect::LoadDiff { task, request } => Some((*task, *request)),
        _ => None,
    });
    let (task, request) = asked.unwrap();
    screen.msg(Msg::Diff { task, request, answer: Ok(answer) });
}
