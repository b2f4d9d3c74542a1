use ulid::Ulid;

use crate::base::{EventId, Fault, MessageId, Timestamp, TurnId};
use crate::engine::command::{Command, OnConflict, Outcome};
use crate::engine::review::{
    BranchConflict, CheckResult, CommitLine, Conflict, ConflictKind, CreatedTask, DiffRange, DirtySide, Drift,
    FileChange, MergePreview, MergeRecord, MergeStrategy, MergeTarget, QueuedMerge, RewindPreview, RewindScope,
    TurnView, Whitespace,
};
use crate::engine::update::Update;
use crate::model::diff::FileStatus;
use crate::model::live::Activity;
use crate::model::task::Status;
use crate::theme::{Appearance, ColourDepth, Glyphs, Theme};
use crate::ui::action::Action;
use crate::ui::review::testing::{answer, files};
use crate::ui::testing::Screen;
use crate::ui::{EditPurpose, Effect, Msg};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

/// Returns a screen with the focus in the diff of a task.
fn reviewing(columns: u16, rows: u16) -> Screen {
    let mut screen = Screen::new(columns, rows);
    let task = screen.ids().login;
    screen.select(task);
    screen.keys("esc d");
    answered(&mut screen);
    screen
}

/// Answers the last diff request.
fn answered(screen: &mut Screen) {
    let asked = screen.effects.iter().rev().find_map(|effect| match effect {
        Effect::LoadDiff { task, request } => Some((*task, *request)),
        _ => None,
    });
    let (task, request) = asked.expect("a diff is asked for");
    screen.msg(Msg::Diff { task, request, answer: Ok(answer(files())) });
}

#[test]
fn a_review_at_three_sizes() {
    for (columns, rows) in SIZES {
        reviewing(columns, rows).assert_looks(&format!("review-{columns}x{rows}"));
    }
}

#[test]
fn sides_files_and_folds() {
    let mut screen = reviewing(200, 60);
    screen.keys("Z");
    screen.assert_looks("review-zoom-200x60");
    let mut screen = reviewing(120, 40);
    screen.keys("|");
    screen.assert_looks("review-split-120x40");
    screen.keys("| f");
    screen.assert_looks("review-files-120x40");
    screen.keys("esc z M");
    screen.assert_looks("review-folded-120x40");
}

#[test]
fn commenting_at_three_sizes() {
    for (columns, rows) in SIZES {
        let mut screen = reviewing(columns, rows);
        screen.keys("} j j j c").typed("Why not a constant? It is used in three places.").keys("enter j j v j c");
        screen.typed("And this");
        screen.assert_looks(&format!("review-comment-{columns}x{rows}"));
        assert!(screen.cursor().is_some(), "what is typed has a cursor");
    }
}

#[test]
fn comments_are_sent_as_one_message_and_the_diff_moves_on() {
    let mut screen = reviewing(120, 40);
    let task = screen.ids().login;
    screen
        .keys("} j j j c")
        .typed("first")
        .keys("enter ] h ] h c")
        .typed("second")
        .keys("alt-enter")
        .typed("line")
        .keys("enter");
    assert!(screen.shows("2 comments to send: Ctrl-S"));
    let kept = screen.effects.iter().rev().find_map(|effect| match effect {
        Effect::SaveReviews { notes } => notes.of(task).map(|notes| notes.comments.len()),
        _ => None,
    });
    assert_eq!(kept, Some(2), "drafts are kept as they are written");
    screen.commands();
    screen.keys("ctrl-s");
    let (tag, command) = screen
        .effects
        .iter()
        .find_map(|effect| match effect {
            Effect::Engine { tag, command } => Some((*tag, command.clone())),
            _ => None,
        })
        .unwrap();
    let Command::Review { comments, state, .. } = command else { panic!("{command:?}") };
    assert_eq!(comments.iter().map(|comment| comment.text.as_str()).collect::<Vec<_>>(), ["first", "second\nline"]);
    assert_eq!(comments[0].lines, Some((11, 11)));
    assert_eq!(state.as_deref(), Some("f00d"));
    screen.effects.clear();
    screen.msg(Msg::Reply { tag, outcome: Ok(Outcome::Done) });
    let seen = screen.effects.iter().position(|effect| matches!(effect, Effect::SaveSeen { .. })).unwrap();
    let asked = screen.effects.iter().position(
        |effect| matches!(effect, Effect::LoadDiff { request, .. } if request.range == DiffRange::SinceReview),
    );
    assert!(asked.is_some_and(|asked| seen < asked), "what was looked at is kept before it is compared with");
    answered(&mut screen);
    assert!(!screen.shows("to send"));
}

#[test]
fn a_refused_review_leaves_the_comments_as_drafts() {
    let mut screen = reviewing(120, 40);
    screen.keys("c").typed("the file").keys("enter ctrl-s");
    let tag = screen.effects.iter().find_map(|effect| match effect {
        Effect::Engine { tag, .. } => Some(*tag),
        _ => None,
    });
    screen.msg(Msg::Reply { tag: tag.unwrap(), outcome: Err(crate::base::Fault::user("not now")) });
    assert!(screen.shows("not now") && screen.shows("1 comment to send"));
}

#[test]
fn whitespace_context_and_range_are_requested() {
    let mut screen = reviewing(120, 40);
    let last = |screen: &Screen| {
        screen.effects.iter().rev().find_map(|effect| match effect {
            Effect::LoadDiff { request, .. } => Some(*request),
            _ => None,
        })
    };
    screen.keys("w");
    assert_eq!(last(&screen).unwrap().whitespace, Whitespace::Ignored);
    screen.keys("+");
    assert_eq!(last(&screen).unwrap().context, 10);
    answered(&mut screen);
    assert!(screen.shows("whitespace ignored, context 10"));
    screen.keys("b");
    let task = screen.ids().login;
    screen.msg(Msg::Turns { task, turns: Ok(turns()) });
    screen.assert_looks("review-compare-120x40");
    screen.typed("what one").keys("esc b");
    screen.msg(Msg::Turns { task, turns: Ok(turns()) });
    screen.typed("after turn 1").keys("enter");
    assert!(screen.shows("compare up to"));
    screen.typed("3").keys("enter");
    let (from, to) = (turn_id(1), turn_id(3));
    assert_eq!(last(&screen).unwrap().range, DiffRange::Between { from, to });
}

#[test]
fn editor_text_becomes_the_comment() {
    let mut screen = reviewing(120, 40);
    let task = screen.ids().login;
    screen.keys("} c").typed("short").keys("ctrl-g");
    let opened = Effect::OpenEditor { purpose: EditPurpose::Comment(task), text: "short".to_owned() };
    assert!(screen.effects.contains(&opened));
    screen.msg(Msg::EditorClosed { purpose: EditPurpose::Comment(task), text: Some("much longer\n".to_owned()) });
    screen.keys("enter");
    assert!(screen.shows("much longer"));
}

#[test]
fn review_is_readable_without_colour_and_in_ascii() {
    let mut screen = reviewing(120, 40);
    screen.theme = Theme::standard(Appearance::Dark, ColourDepth::None, &Glyphs::ASCII);
    screen.msg(Msg::ThemeChanged);
    screen.assert_looks("review-ascii-120x40");
    assert!(screen.text().lines().any(|line| line.contains("- ") && line.contains("let ttl = 60;")));
}

fn turn_id(number: u128) -> TurnId {
    TurnId::from_ulid(Ulid::from_parts(5, number))
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
        receipt: Some(receipt(0)),
        fresh: true,
    }
}

fn receipt(exit: i32) -> CheckResult {
    CheckResult {
        command: "cargo test".to_owned(),
        commit: "abc".to_owned(),
        dirty: false,
        exit: Some(exit),
        at: Timestamp::from_millis(1_794_808_920_000 - 120_000),
        duration_ms: 14_200,
        output: "running 14 tests\ntest store::expires ... FAILED\n\n1 failed".to_owned(),
        full: None,
    }
}

/// Returns a screen whose selected task has a branch.
fn with_branch(columns: u16, rows: u16) -> Screen {
    let mut screen = Screen::new(columns, rows);
    let task = screen.ids().login;
    let mut view = screen.model.project.task(task).unwrap().clone();
    view.node.branch = Some("mxd/add-oauth-login".to_owned());
    view.drift = Some(Drift { ahead: 3, behind: 2 });
    view.clashes = vec![BranchConflict { with: screen.ids().docs, files: vec!["src/session/store.rs".to_owned()] }];
    view.receipt = Some(receipt(0));
    screen.engine(Update::Task { task: Box::new(view) });
    screen.select(task);
    screen.keys("esc");
    screen
}

fn previewed(screen: &mut Screen, preview: MergePreview) {
    screen.msg(Msg::MergePreview { task: preview.task, goal: MergeTarget::Parent, preview: Box::new(Ok(preview)) });
}

#[test]
fn merge_shows_a_preview_first() {
    for (columns, rows) in SIZES {
        let mut screen = with_branch(columns, rows);
        screen.keys("m");
        let task = screen.ids().login;
        assert!(screen.effects.contains(&Effect::LoadMerge { task, goal: MergeTarget::Parent }));
        screen.keys("enter");
        assert_eq!(screen.commands(), [], "nothing is merged unseen");
        let ready = preview(&screen);
        previewed(&mut screen, ready);
        screen.keys("j");
        screen.assert_looks(&format!("merge-{columns}x{rows}"));
        screen.keys("enter enter");
        let commands = screen.commands();
        assert!(
            matches!(commands[..], [Command::Merge { how: MergeStrategy::Squash, into: MergeTarget::Parent, .. }]),
            "{commands:?}"
        );
    }
}

#[test]
fn merge_toast_names_target_and_undo_key() {
    let mut screen = with_branch(200, 60);
    screen.keys("m");
    let ready = preview(&screen);
    previewed(&mut screen, ready);
    screen.keys("enter");
    let tag = screen.effects.iter().rev().find_map(|effect| match effect {
        Effect::Engine { tag, .. } => Some(*tag),
        _ => None,
    });
    let (task, target) = (screen.ids().login, "main".to_owned());
    let merged = Outcome::Merged { task, how: MergeStrategy::Merge, target, checkout: None };
    screen.msg(Msg::Reply { tag: tag.unwrap(), outcome: Ok(merged) });
    assert!(screen.shows("merged into main (only the branch moved"), "{}", screen.text());
    assert!(screen.shows("undo with") && !screen.shows("mxd merge"), "{}", screen.text());
}

#[test]
fn merge_lists_and_refuses_blockers() {
    let mut screen = with_branch(120, 40);
    screen.keys("m");
    let conflict = |path: &str, kind| Conflict { path: path.into(), kind, ours: None, theirs: None, marked: None };
    let bad = MergePreview {
        conflicts: vec![
            conflict("src/session/store.rs", ConflictKind::Content),
            conflict("assets/logo.png", ConflictKind::Binary),
        ],
        dirty: vec![DirtySide {
            path: "/home/me/matrix".into(),
            own: false,
            files: 2,
            reason: "2 files in /home/me/matrix are not committed: commit them or put them away".to_owned(),
        }],
        receipt: Some(receipt(101)),
        ..preview(&screen)
    };
    let again = bad.clone();
    previewed(&mut screen, bad);
    screen.assert_looks("merge-conflicts-120x40");
    screen.keys("enter");
    assert_eq!(screen.commands(), []);
    assert!(screen.shows("commit them or put them away"));
    screen.keys("e e");
    let solved = |effect: &&Effect| {
        matches!(effect, Effect::ResolveConflicts { goal: MergeTarget::Parent, how: MergeStrategy::Merge, .. })
    };
    assert_eq!(screen.effects.iter().filter(solved).count(), 1, "once: {:?}", screen.effects);
    let Some(Effect::ResolveConflicts { tag, .. }) = screen.effects.iter().find(solved).cloned() else { panic!() };
    screen.msg(Msg::Reply { tag, outcome: Err(Fault::user("nothing was merged: 1 file still has conflict marks")) });
    assert!(screen.shows("still has conflict marks"), "the dialog says why");
    previewed(&mut screen, again);

    screen.keys("t");
    let commands = screen.commands();
    assert!(
        matches!(commands[..], [Command::Merge { conflicts: crate::engine::command::OnConflict::AskAgent, .. }]),
        "{commands:?}"
    );
}

#[test]
fn failed_merge_shows_why_and_reloads() {
    let mut screen = with_branch(120, 40);
    screen.keys("m");
    let ready = preview(&screen);
    previewed(&mut screen, ready);
    screen.keys("enter");
    let tag = screen.effects.iter().rev().find_map(|effect| match effect {
        Effect::Engine { tag, .. } => Some(*tag),
        _ => None,
    });
    screen.effects.clear();
    screen.msg(Msg::Reply { tag: tag.unwrap(), outcome: Err(crate::base::Fault::user("main has moved on")) });
    assert!(screen.shows("main has moved on"));
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::LoadMerge { .. })));
}

#[test]
fn undo_merge_asks_first() {
    let mut screen = with_branch(120, 40);
    let task = screen.ids().login;
    screen.keys("g u");
    assert!(screen.shows("This task has no merge to undo"));
    let mut view = screen.model.project.task(task).unwrap().clone();
    view.last_merge = Some(MergeRecord {
        target: "main".to_owned(),
        how: MergeStrategy::Merge,
        from: "1111111111111111".to_owned(),
        to: "2222222222222222".to_owned(),
        undo: "refs/mxd/undo/1".to_owned(),
        at: Timestamp::from_millis(1_794_808_920_000 - 60_000),
    });
    screen.engine(Update::Task { task: Box::new(view) });
    screen.keys("g u");
    assert!(screen.shows("main is reset from 2222222222 to 1111111111."));
    screen.keys("y");
    assert_eq!(screen.commands(), [Command::UndoMerge { task }]);
}

#[test]
fn queued_merge_is_shown_and_can_be_cancelled() {
    let mut screen = with_branch(120, 40);
    let (task, host) = (screen.ids().login, screen.ids().root);
    screen.keys("g c");
    assert!(screen.shows("This task has no queued merge"));
    screen.keys("m");
    let ready = preview(&screen);
    previewed(&mut screen, ready);
    screen.keys("enter");
    let tag = screen.effects.iter().rev().find_map(|effect| match effect {
        Effect::Engine { tag, .. } => Some(*tag),
        _ => None,
    });
    let (target, host_title) = ("main".to_owned(), "shop".to_owned());
    let outcome = Ok(Outcome::MergeQueued { task, target: target.clone(), host, host_title });
    screen.msg(Msg::Reply { tag: tag.unwrap(), outcome });
    let key = screen.model.key_of(Action::CancelMerge);
    assert!(screen.shows(&format!("cancel with {key}")), "{}", screen.text());
    let (how, conflicts) = (MergeStrategy::Merge, OnConflict::Refuse);
    let mut view = screen.model.project.task(task).unwrap().clone();
    (view.node.status, view.activity) = (Status::Passed, Activity::Idle);
    view.queued_merge = Some(QueuedMerge { target, host, how, conflicts, at: Timestamp::EPOCH });
    screen.engine(Update::Task { task: Box::new(view) });
    assert!(screen.shows("merge queued"), "{}", screen.text());
    screen.keys("4");
    assert!(screen.shows("queued into main, waiting for"), "{}", screen.text());
    screen.effects.clear();
    screen.keys("m");
    assert!(screen.shows("Queued: merges into main when"), "{}", screen.text());
    screen.keys("g c");
    assert_eq!(screen.commands(), [Command::CancelMerge { task }]);
}

#[test]
fn branch_shows_conflicts_and_drift() {
    let mut screen = with_branch(120, 40);
    assert!(screen.shows("≠1"), "{}", screen.text());
    screen.keys("4");
    assert!(screen.shows("with \"docs\" in src/session/store.rs"), "{}", screen.text());
    assert!(screen.shows("3 commits ahead, 2 commits behind"));
    screen.keys("u");
    assert_eq!(screen.commands(), [], "a turn costs money: it asks first");
    screen.keys("enter");
    let task = screen.ids().login;
    assert_eq!(screen.commands(), [Command::CatchUp { task }]);
}

fn going_back(columns: u16, rows: u16) -> Screen {
    let mut screen = Screen::new(columns, rows);
    let task = screen.ids().login;
    screen.select(task);
    screen.keys("esc g r");
    assert!(screen.effects.contains(&Effect::LoadTurns { task }));
    screen.msg(Msg::Turns { task, turns: Ok(turns()) });
    let asked = screen.effects.iter().any(
        |effect| matches!(effect, Effect::LoadRewind { to, extent: RewindScope::Both, .. } if *to == Some(turn_id(3))),
    );
    assert!(asked, "what going back would do is asked for at once");
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
    screen
}

#[test]
fn rewind_preview_lists_what_is_undone_and_what_stays() {
    for (columns, rows) in SIZES {
        going_back(columns, rows).assert_looks(&format!("rewind-{columns}x{rows}"));
    }
}

#[test]
fn rewind_preview_of_many_files_still_shows_what_stays() {
    for (columns, rows, named) in [(120, 40, 12), (80, 24, 2)] {
        let mut screen = going_back(columns, rows);
        let task = screen.ids().login;
        screen.keys("j");
        let change = |number: usize| FileChange { path: format!("src/{number:02}.rs"), status: FileStatus::Modified };
        let commit = |number: usize| CommitLine { id: format!("{number:010}"), subject: "more".to_owned() };
        let preview = RewindPreview {
            extent: RewindScope::Both,
            to: Some(turn_id(2)),
            turns: 2,
            files: (0..50).map(change).collect(),
            hidden_files: 7,
            commits: (0..20).map(commit).collect(),
            sent: vec!["The store is ready.".to_owned()],
            stays: vec!["what 2 commands did outside of the worktree stays".to_owned()],
            ..RewindPreview::default()
        };
        let preview = Box::new(Ok(preview));
        screen.msg(Msg::RewindPreview { task, to: Some(turn_id(2)), extent: RewindScope::Both, preview });
        let text = screen.text();
        for words in [
            "57 files are restored".to_owned(),
            format!("and {} more", 57 - named),
            format!("and {} more", 20 - named),
            "Cannot be undone: 1 message was sent".to_owned(),
            "outside of the worktree stays".to_owned(),
        ] {
            assert!(text.contains(&words), "{words} at {columns}x{rows}: {text}");
        }
    }
}

#[test]
fn rewind_confirms_and_runs_what_was_shown() {
    let mut screen = going_back(120, 40);
    let task = screen.ids().login;
    screen.keys("enter");
    assert!(screen.shows("This undoes 1 turn, 1 file and 1 commit.") && screen.shows("cannot be undone"));
    assert_eq!(screen.commands(), []);
    screen.keys("y");
    assert_eq!(screen.commands(), [Command::Rewind { task, to: Some(turn_id(3)), extent: RewindScope::Both }]);
    assert!(screen.model.layers.is_empty());
}

#[test]
fn rewind_waits_for_the_preview_of_its_scope() {
    let mut screen = going_back(120, 40);
    screen.keys("tab enter");
    assert!(screen.shows("conversation only") && !screen.shows("Rewind?"));
    screen.keys("G");
    let asked = screen
        .effects
        .iter()
        .any(|effect| matches!(effect, Effect::LoadRewind { to: None, extent: RewindScope::Conversation, .. }));
    assert!(asked);
}

#[test]
fn fork_starts_at_the_selected_turn() {
    let mut screen = going_back(120, 40);
    let task = screen.ids().login;
    screen.keys("g f").typed("another way").keys("enter");
    let commands = screen.commands();
    let [Command::Fork { task: of, at, draft, .. }] = &commands[..] else { panic!("{commands:?}") };
    assert_eq!((*of, *at, draft.title.as_str()), (task, Some(turn_id(3)), "another way"));
}

#[test]
fn sent_message_can_be_edited_and_resent() {
    let mut screen = going_back(120, 40);
    let task = screen.ids().login;
    screen.keys("E");
    let message = MessageId::from_ulid(Ulid::from_parts(7, 3));
    assert!(screen.effects.contains(&Effect::EditMessage { task, message }));
    let purpose = EditPurpose::Resend(task, message);
    screen.msg(Msg::EditorClosed { purpose, text: Some("and not the docs\n".to_owned()) });
    assert!(screen.shows("Then send: and not the docs"));
    screen.keys("y");
    let text = "and not the docs".to_owned();
    assert_eq!(screen.commands(), [Command::Resend { task, message, text, extent: RewindScope::Both }]);
}
