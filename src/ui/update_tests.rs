//! Keys in, commands and screens out.

use std::sync::Arc;

use crate::base::keys::{Input, Modifiers, Mouse, MouseButton, MouseKind};
use crate::base::{Fault, MessageId, TaskId};
use crate::engine::command::{Command, Outcome, Outgoing, StartOutcome, StopScope, TaskChanges, TaskDraft, TaskStart};
use crate::engine::snapshot::ProfileView;
use crate::engine::update::Update;
use crate::model::Live;
use crate::model::ask::{AskReply, ChoiceId};
use crate::model::live::Activity;
use crate::model::message::Delivery;
use crate::model::message::{Message, MessageSource};
use crate::ui::action::Context;
use crate::ui::detail::Tab;
use crate::ui::layout::Pane;
use crate::ui::testing::{Screen, events};
use crate::ui::{Drafts, EditPurpose, Effect, Msg, Redraw, Tag};

fn created(task: TaskId) -> Outcome {
    Outcome::Created { task, title: "Docs".to_owned(), start: StartOutcome::Yes }
}

fn last_tag(screen: &Screen) -> Tag {
    let mut tags = screen.effects.iter().rev().filter_map(|effect| match effect {
        Effect::Engine { tag, .. } => Some(*tag),
        _ => None,
    });
    tags.next().unwrap()
}

#[test]
fn typing_starts_in_the_composer_and_enter_sends() {
    let mut screen = Screen::new(120, 40);
    let root = screen.ids().root;
    screen.typed("fix the login").keys("enter");
    let message = Outgoing { text: "fix the login".to_owned(), ..Outgoing::default() };
    assert_eq!(screen.commands(), [Command::Send { task: root, message, mode: Delivery::Steer }]);
    assert!(screen.shows("message orchestrator"), "the composer is empty again");
}

#[test]
fn unsent_message_returns_to_the_composer() {
    let mut screen = Screen::new(120, 40);
    screen.typed("precious words").keys("enter");
    let tag = last_tag(&screen);
    screen.msg(Msg::Reply { tag, outcome: Err(Fault::environment("the disk is full").hint("make room")) });
    assert!(screen.shows("› precious words"));
    assert!(screen.shows("the disk is full") && screen.shows("make room"));
}

#[test]
fn cursor_is_in_the_focused_input() {
    let mut screen = Screen::new(120, 40);
    let empty = screen.cursor().unwrap();
    screen.typed("日本");
    assert_eq!(screen.cursor().unwrap(), (empty.0 + 4, empty.1));
    screen.keys("esc");
    assert_eq!(screen.cursor(), None, "nothing is written in the tasks");
    screen.keys("n");
    assert!(screen.cursor().is_some());
}

#[test]
fn delivery_mode_is_sent_with_the_message() {
    let mut screen = Screen::new(120, 40);
    let login = screen.ids().login;
    screen.select(login);
    assert!(screen.shows("steer ⏎"));
    screen.keys("ctrl-t");
    assert!(screen.shows("next ⏎"));
    screen.keys("ctrl-t").typed("stop that").keys("enter");
    assert!(matches!(screen.commands()[..], [Command::Send { mode: Delivery::Interrupt, .. }]));
}

#[test]
fn new_task_is_sibling_subtask_or_draft() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    screen.select(ids.login).keys("esc n").typed("rate limits").keys("enter");
    let draft = TaskDraft { title: "rate limits".to_owned(), ..TaskDraft::default() };
    let expected = Command::Create { parent: ids.root, before: Some(ids.docs), draft, start: TaskStart::Now };
    assert_eq!(screen.commands(), [expected]);
    screen.keys("N").typed("later").keys("ctrl-s");
    let draft = TaskDraft { title: "later".to_owned(), ..TaskDraft::default() };
    assert_eq!(
        screen.commands(),
        [Command::Create { parent: ids.login, before: None, draft, start: TaskStart::Draft }]
    );
}

#[test]
fn profile_is_selected_from_a_filtered_list() {
    let mut snapshot = crate::ui::testing::snapshot();
    snapshot.project.profiles = [("engineer", "Builds"), ("reviewer", "Judges"), ("project:scout", "Looks")]
        .map(|(name, description)| ProfileView {
            full_name: name.to_owned(),
            name: name.to_owned(),
            description: description.to_owned(),
            is_default: name == "engineer",
            ..ProfileView::default()
        })
        .to_vec();
    let mut screen = Screen::of(120, 40, snapshot);
    screen.keys("esc n").typed("judge it");
    assert!(screen.shows("profile  engineer (default)"), "{}", screen.text());
    screen.keys("tab");
    assert!(screen.shows("which profile?") && screen.shows("Judges"));
    screen.typed("judg").keys("enter");
    assert!(screen.shows("profile  reviewer") && screen.shows("judge it"));
    screen.keys("enter");
    let commands = screen.commands();
    let [Command::Create { draft, .. }] = commands.as_slice() else { panic!("{commands:?}") };
    assert_eq!((draft.title.as_str(), draft.profile.as_deref()), ("judge it", Some("reviewer")));
    // Without a new task there is no profile to choose.
    screen.keys("r tab");
    assert!(!screen.shows("which profile?"));
}

#[test]
fn new_task_is_selected_unless_the_user_is_writing() {
    let mut screen = Screen::new(120, 40);
    let docs = screen.ids().docs;
    screen.keys("esc n").typed("x").keys("enter");
    let tag = last_tag(&screen);
    screen.msg(Msg::Reply { tag, outcome: Ok(created(docs)) });
    assert_eq!(screen.model.selected(), docs);
    let root = screen.ids().root;
    screen.keys("n").typed("y").keys("enter").select(root).keys("i").typed("half a thought");
    let tag = last_tag(&screen);
    screen.msg(Msg::Reply { tag, outcome: Ok(created(docs)) });
    assert_eq!(screen.model.selected(), root);
}

#[test]
fn a_task_is_selected_when_the_reply_arrives_before_the_tree_has_it() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    let [docs, root] = [ids.docs, ids.root].map(|id| screen.model.project.task(id).unwrap().clone());
    let arrive = |screen: &mut Screen| {
        for task in [&docs, &root] {
            screen.msg(Msg::Engine(Update::Task { task: Box::new(task.clone()) }));
        }
    };
    screen.msg(Msg::Engine(Update::Removed { task: ids.docs }));
    screen.keys("esc n").typed("x").keys("enter");
    let tag = last_tag(&screen);
    screen.msg(Msg::Reply { tag, outcome: Ok(created(ids.docs)) });
    arrive(&mut screen);
    assert_eq!(screen.model.selected(), ids.docs);

    screen.msg(Msg::Engine(Update::Removed { task: ids.docs }));
    screen.keys("n").typed("y").keys("enter");
    let tag = last_tag(&screen);
    screen.msg(Msg::Reply { tag, outcome: Ok(created(ids.docs)) });
    screen.select(ids.store).keys("k");
    let moved_to = screen.model.selected();
    arrive(&mut screen);
    assert_eq!(screen.model.selected(), moved_to, "a selection that was moved since stays");
}

#[test]
fn digit_answers_and_returns_the_focus() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    screen.typed("half a sentence").keys("ctrl-n");
    assert!(screen.shows("1 /auth/callback"));
    screen.keys("2").typed(" goes on").keys("enter");
    let commands = screen.commands();
    assert_eq!(
        commands[0],
        Command::Answer { task: ids.callback, ask: ids.ask, reply: AskReply::Choice(ChoiceId::Option(1)), by: None }
    );
    assert!(matches!(&commands[1], Command::Send { message, .. } if message.text == "half a sentence goes on"));
}

#[test]
fn question_is_answered_with_text() {
    let mut screen = Screen::new(80, 24);
    let ids = screen.ids();
    screen.keys("esc a").typed("neither 1 nor 2").keys("enter");
    let reply = AskReply::Text("neither 1 nor 2".to_owned());
    assert_eq!(screen.commands(), [Command::Answer { task: ids.callback, ask: ids.ask, reply, by: None }]);
}

#[test]
fn question_in_transcript_opens_its_card() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    let ask = screen.model.project.task(ids.callback).unwrap().asks[0].clone();
    let raised = crate::ui::testing::event(900, 3, crate::model::Body::AskRaised(ask));
    screen.select(ids.callback).engine(Update::Event { task: ids.callback, event: Arc::new(raised) });
    screen.keys("tab tab tab enter 1");
    assert_eq!(
        screen.commands(),
        [Command::Answer { task: ids.callback, ask: ids.ask, reply: AskReply::Choice(ChoiceId::Option(0)), by: None }]
    );
    assert_eq!(screen.model.contexts()[0], Context::Transcript, "one is back where one was");
}

#[test]
fn log_follows_its_end_and_keeps_position() {
    let mut screen = Screen::new(120, 12);
    let login = screen.ids().login;
    screen.answers = false;
    screen.select(login);
    let all = events(login);
    screen.msg(Msg::Page { task: login, before: None, events: all[5..].to_vec(), more: true });
    screen.keys("esc 5");
    let last = screen.text();
    assert!(last.contains("cargo clippy\"}"), "{last}");
    screen.keys("tab tab k k");
    let lines = |screen: &Screen| -> Vec<String> {
        screen.text().lines().map(|line| line.trim_end_matches([' ', '▐']).to_owned()).collect()
    };
    let before = lines(&screen);
    screen.msg(Msg::Page { task: login, before: Some(all[5].id), events: all[..5].to_vec(), more: false });
    assert_eq!(lines(&screen), before);
}

#[test]
fn digit_answers_only_an_open_question() {
    let mut screen = Screen::new(120, 40);
    screen.keys("esc tab 1");
    assert_eq!(screen.commands(), [], "the first press opens the question");
    screen.keys("9");
    assert_eq!(screen.commands(), [], "there is no ninth choice, so it is text");
    screen.keys("backspace 1");
    assert_eq!(screen.commands().len(), 1);
}

#[test]
fn enter_confirms_a_dialog() {
    let mut screen = Screen::new(120, 40);
    screen.keys("ctrl-q");
    assert!(screen.shows("yes ⏎"), "{}", screen.text());
    screen.keys("enter");
    assert_eq!(screen.commands(), [Command::Quit]);
}

#[test]
fn updates_never_move_the_focus() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    screen.select(ids.login).typed("one ");
    let mut asking = screen.model.project.task(ids.docs).unwrap().clone();
    asking.asks = screen.model.project.task(ids.callback).unwrap().asks.clone();
    asking.asks[0].id = crate::base::AskId::from_ulid(ulid::Ulid::from_parts(5, 5));
    screen.engine(Update::Task { task: Box::new(asking) });
    for event in events(ids.login) {
        screen.engine(Update::Event { task: ids.login, event: Arc::new(event) });
    }
    screen.typed("1 two").keys("enter");
    let commands = screen.commands();
    assert_eq!(commands.len(), 1);
    assert!(matches!(&commands[0], Command::Send { message, .. } if message.text == "one 1 two"));
}

#[test]
fn notifications_are_sent_once_while_unfocused() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    let mut asking = screen.model.project.task(ids.docs).unwrap().clone();
    asking.asks = screen.model.project.task(ids.callback).unwrap().asks.clone();
    asking.asks[0].id = crate::base::AskId::from_ulid(ulid::Ulid::from_parts(5, 5));
    screen.msg(Msg::Input(Input::Focus(false)));
    screen.effects.clear();
    screen.engine(Update::Task { task: Box::new(asking.clone()) }).engine(Update::Task { task: Box::new(asking) });
    let told: Vec<_> = screen.effects.iter().filter(|effect| matches!(effect, Effect::Notify { .. })).collect();
    assert_eq!(told.len(), 1, "{told:?}");
}

#[test]
fn failure_and_completion_are_notified() {
    let mut screen = Screen::new(120, 40);
    screen.msg(Msg::Input(Input::Focus(false)));
    let ids = screen.ids();
    let mut failed = screen.model.project.task(ids.login).unwrap().clone();
    failed.node.status = crate::model::Status::Failed;
    failed.activity = Activity::Stopped;
    screen.effects.clear();
    screen.engine(Update::Task { task: Box::new(failed) });
    let told = |screen: &Screen| {
        let bodies = screen.effects.iter().filter_map(|effect| match effect {
            Effect::Notify { body, .. } => Some(body.clone()),
            _ => None,
        });
        bodies.collect::<Vec<_>>()
    };
    assert_eq!(told(&screen), ["2 tasks failed"]);
    screen.engine(Update::Live { task: ids.wide, live: Live::Activity { activity: Activity::Idle } });
    assert_eq!(told(&screen)[1..], ["All agents have stopped"]);
}

#[test]
fn unchanged_update_needs_no_redraw() {
    let mut screen = Screen::new(120, 40);
    let same = screen.model.project.task(screen.ids().login).unwrap().clone();
    screen.redraw = Redraw::No;
    screen.engine(Update::Task { task: Box::new(same) });
    assert_eq!(screen.redraw, Redraw::No);
}

#[test]
fn the_screen_can_be_sent_to_another_thread() {
    fn sendable<T: Send>() {}
    sendable::<crate::ui::Model>();
}

#[test]
fn terminal_title_matches_the_header() {
    let mut screen = Screen::new(120, 40);
    assert!(screen.effects.contains(&Effect::SetTitle { title: "? 1 ● 2 ✗ 1 matrix".to_owned() }));
    let ids = screen.ids();
    let mut calm = screen.model.project.task(ids.callback).unwrap().clone();
    calm.asks.clear();
    screen.engine(Update::Task { task: Box::new(calm) });
    assert!(screen.effects.contains(&Effect::SetTitle { title: "● 2 ✗ 1 matrix".to_owned() }));
}

#[test]
fn delete_needs_an_explicit_yes() {
    let mut screen = Screen::new(120, 40);
    let login = screen.ids().login;
    screen.select(login).keys("esc D enter");
    assert_eq!(screen.commands(), [], "Enter cancels");
    screen.keys("D y");
    assert_eq!(screen.commands(), [Command::Delete { task: login }]);
    let root = screen.ids().root;
    screen.select(root).keys("D y");
    assert_eq!(screen.commands(), [], "the root stays");
}

#[test]
fn tasks_are_renamed_reordered_moved_and_marked() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    screen.select(ids.docs).keys("esc r").typed(" for people").keys("enter");
    let changes = TaskChanges { title: Some("docs for people".to_owned()), ..TaskChanges::default() };
    assert_eq!(screen.commands(), [Command::Update { task: ids.docs, changes }]);
    screen.keys("K");
    let order = vec![ids.docs, ids.login, ids.wide, ids.draft, ids.closed];
    assert_eq!(screen.commands(), [Command::Reorder { parent: ids.root, order }]);
    screen.keys("M").typed("token").keys("enter");
    assert_eq!(screen.commands(), [Command::Move { task: ids.docs, parent: ids.store, before: None }]);
    screen.keys("c").typed("purple").keys("enter");
    let colour = Some(Some(crate::model::task::Colour::Purple));
    assert_eq!(
        screen.commands(),
        [Command::Update { task: ids.docs, changes: TaskChanges { colour, ..TaskChanges::default() } }]
    );
    screen.keys("b").typed("2.50").keys("enter");
    let budget = Some(Some(crate::base::MicroUsd(2_500_000)));
    assert_eq!(
        screen.commands(),
        [Command::Update { task: ids.docs, changes: TaskChanges { budget, ..TaskChanges::default() } }]
    );
    screen.keys("b").typed("much").keys("enter");
    assert!(screen.shows("is not an amount"));
}

#[test]
fn unchanged_description_sends_no_command() {
    let mut screen = Screen::new(120, 40);
    let docs = screen.ids().docs;
    screen.select(docs).keys("esc e");
    let purpose = EditPurpose::Description(docs);
    assert!(screen.effects.contains(&Effect::OpenEditor { purpose, text: String::new() }));
    screen.commands();
    screen.msg(Msg::EditorClosed { purpose, text: Some(String::new()) }).msg(Msg::EditorClosed { purpose, text: None });
    assert_eq!(screen.commands(), []);
    screen.msg(Msg::EditorClosed { purpose, text: Some("new words".to_owned()) });
    assert_eq!(screen.commands().len(), 1);
}

#[test]
fn unread_message_is_a_chip_and_can_be_withdrawn() {
    let mut screen = Screen::new(120, 40);
    let login = screen.ids().login;
    screen.select(login);
    let id = MessageId::from_ulid(ulid::Ulid::from_parts(3, 3));
    let mut view = screen.model.project.task(login).unwrap().clone();
    view.unread.push(Message::new(id, screen.now, MessageSource::User, "and the docs"));
    screen.engine(Update::Task { task: Box::new(view) });
    assert!(screen.shows("queued:  and the docs"));
    screen.keys("ctrl-r");
    assert_eq!(screen.commands(), [Command::Withdraw { task: login, messages: vec![id] }]);
    assert!(screen.shows("› and the docs"), "the words come back to be changed");
}

#[test]
fn slash_and_at_complete() {
    let mut screen = Screen::new(120, 40);
    let root = screen.ids().root;
    screen.typed("/stop_a");
    assert!(screen.shows("/stop_all"));
    screen.keys("tab");
    assert!(screen.shows("Stop agents?"));
    screen.keys("n").typed("look at @sto");
    assert!(screen.effects.contains(&Effect::ListFiles { task: root, query: "sto".to_owned() }));
    screen.msg(Msg::Files { task: root, query: "sto".to_owned(), paths: vec!["src/store.rs".to_owned()] });
    screen.keys("enter").typed("please").keys("enter");
    let commands = screen.commands();
    assert!(matches!(&commands[..], [Command::Send { message, .. }] if message.text == "look at src/store.rs please"));
}

#[test]
fn outdated_file_list_is_ignored() {
    let mut screen = Screen::new(120, 40);
    let root = screen.ids().root;
    screen.typed("@ab").msg(Msg::Files { task: root, query: "a".to_owned(), paths: vec!["zzz".to_owned()] });
    assert!(!screen.shows("zzz"));
}

#[test]
fn paste_never_triggers_actions() {
    let mut screen = Screen::new(120, 40);
    screen.paste(&"line\n".repeat(100));
    assert!(screen.shows("[paste 1: 100 lines]"));
    screen.keys("esc").paste("qD");
    assert_eq!(screen.commands(), []);
    assert!(screen.shows("No text input is focused"));
    screen.keys("i").paste("/tmp/shot.png");
    assert!(
        screen.effects.iter().any(|effect| matches!(effect, Effect::Attach { path, .. } if path == "/tmp/shot.png"))
    );
}

#[test]
fn drafts_are_saved_while_typing() {
    let mut screen = Screen::new(120, 40);
    let root = screen.ids().root;
    screen.typed("ab");
    let last = screen.effects.iter().rev().find(|effect| matches!(effect, Effect::SaveDrafts { .. }));
    assert_eq!(
        last,
        Some(&Effect::SaveDrafts { drafts: Drafts { messages: vec![(root, "ab".to_owned())], ..Drafts::default() } })
    );
}

#[test]
fn chords_show_next_keys_and_esc_cancels() {
    let mut screen = Screen::new(120, 40);
    screen.keys("esc g");
    assert!(screen.shows("g …") && screen.shows("Show the task's changes"), "{}", screen.text());
    screen.keys("esc");
    assert!(!screen.shows("g …"));
    screen.keys("g z");
    assert!(screen.shows("g z is not bound here"));
    screen.keys("g d");
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::LoadDiff { .. })));
}

#[test]
fn tab_reaches_every_pane() {
    for size in [(120, 40), (80, 24)] {
        let mut screen = Screen::new(size.0, size.1);
        let mut seen = Vec::new();
        for _ in 0..4 {
            screen.keys("tab");
            seen.push(screen.model.contexts()[0]);
        }
        assert_eq!(seen, [Context::Tree, Context::Asks, Context::Transcript, Context::Composer]);
    }
}

#[test]
fn quit_asks_while_agents_run_and_ctrl_c_needs_two() {
    let mut screen = Screen::new(120, 40);
    screen.keys("esc q");
    assert!(screen.shows("2 agents running"));
    screen.keys("y");
    assert_eq!(screen.commands(), [Command::Quit]);
    let mut screen = Screen::new(120, 40);
    screen.typed("text").keys("ctrl-c");
    assert!(screen.shows("Cleared. Up to restore."));
    screen.keys("up");
    assert!(screen.shows("› text"));
    screen.keys("ctrl-c ctrl-c ctrl-c");
    assert_eq!(screen.commands(), [Command::Quit]);
}

#[test]
fn stopping_all_asks_first() {
    let mut screen = Screen::new(120, 40);
    let login = screen.ids().login;
    screen.select(login).keys("esc X");
    assert_eq!(screen.commands(), [Command::Stop { scope: StopScope::Task(login) }]);
    screen.keys(":").typed("all agents").keys("enter");
    assert!(screen.shows("Stop agents?"));
    screen.keys("y");
    assert_eq!(screen.commands(), [Command::Stop { scope: StopScope::All }]);
}

#[test]
fn read_only_project_is_never_changed() {
    let mut screen = Screen::new(120, 40);
    screen.model.settings.read_only = Some("another mxd (pid 7) holds this project".to_owned());
    screen.typed("hello").keys("enter");
    assert_eq!(screen.commands(), []);
    assert!(screen.shows("› hello") && screen.shows("pid 7"), "what was written stays");
}

#[test]
fn idle_screen_has_no_tick() {
    let mut screen = Screen::new(120, 40);
    assert!(screen.model.next_tick(screen.now).is_some(), "elapsed times count");
    for view in screen.model.project.tasks().cloned().collect::<Vec<_>>() {
        let live = Live::Activity { activity: Activity::Idle };
        screen.engine(Update::Live { task: view.node.id, live });
    }
    assert_eq!(screen.model.next_tick(screen.now), None);
}

#[test]
fn hidden_task_costs_no_frame_and_no_layout() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    screen.select(ids.login).select(ids.root);
    screen.redraw = Redraw::No;
    let before = screen.model.detail.transcript(ids.login).unwrap().layouts_made();
    for _ in 0..1_000 {
        screen.engine(Update::Live { task: ids.login, live: Live::TextDelta { text: "word ".to_owned() } });
    }
    assert_eq!(screen.redraw, Redraw::No);
    assert_eq!(screen.model.detail.transcript(ids.login).unwrap().layouts_made(), before);
}

#[test]
fn streaming_lays_out_only_when_drawn() {
    let mut screen = Screen::new(120, 40);
    let login = screen.ids().login;
    screen.select(login).text();
    let made = |screen: &Screen| screen.model.detail.transcript(login).unwrap().layouts_made();
    let before = made(&screen);
    for _ in 0..1_000 {
        screen.engine(Update::Live { task: login, live: Live::TextDelta { text: "word ".to_owned() } });
    }
    assert_eq!(made(&screen), before);
    screen.text();
    assert_eq!(made(&screen), before + 1);
}

#[test]
fn resync_takes_a_snapshot_and_reloads() {
    let mut screen = Screen::new(120, 40);
    let login = screen.ids().login;
    screen.select(login);
    screen.answers = false;
    screen.effects.clear();
    screen.engine(Update::Resync);
    assert!(screen.effects.contains(&Effect::TakeSnapshot));
    screen.msg(Msg::Snapshot(Box::new(crate::ui::testing::snapshot())));
    assert_eq!(screen.model.selected(), login, "one stays where one is");
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::LoadPage { before: None, .. })));
}

#[test]
fn the_mouse_selects_scrolls_and_drags() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    let mouse = |kind, column, row| Msg::Input(Input::Mouse(Mouse { kind, column, row, mods: Modifiers::NONE }));
    screen.msg(mouse(MouseKind::Press(MouseButton::Left), 8, 3));
    assert_eq!(screen.model.selected(), ids.login);
    let (x, before) = (screen.model.layout.divider.x, screen.model.layout.left.width);
    screen.msg(mouse(MouseKind::Press(MouseButton::Left), x, 10));
    screen.msg(mouse(MouseKind::Drag(MouseButton::Left), x + 6, 10));
    screen.msg(mouse(MouseKind::Release(MouseButton::Left), x + 6, 10));
    assert_eq!(screen.model.layout.left.width, before + 6);
    screen.keys("esc c");
    let row = screen.text().lines().position(|line| line.contains("   green")).unwrap();
    screen.msg(mouse(MouseKind::Press(MouseButton::Left), 60, u16::try_from(row).unwrap()));
    let colour = Some(Some(crate::model::task::Colour::Green));
    let changes = TaskChanges { colour, ..TaskChanges::default() };
    assert_eq!(screen.commands(), [Command::Update { task: ids.login, changes }]);
    screen.resize(120, 16);
    screen.msg(mouse(MouseKind::ScrollUp, 80, 5));
    assert!(screen.shows("not following"));
}

#[test]
fn any_size_and_any_key_is_safe() {
    let keys = [
        "j", "k", "G", "g g", "enter", "tab", "esc", "d", "4", "5", "space", "/", "x", "enter", "n", "v", "y", "?",
        "esc", "Z",
    ];
    let mut screen = Screen::new(120, 40);
    let login = screen.ids().login;
    screen.select(login);
    for (at, size) in
        [(40, 10), (41, 11), (99, 12), (100, 10), (300, 100), (39, 9), (1, 1), (100, 24)].iter().enumerate()
    {
        screen.resize(size.0, size.1);
        for key in keys.iter().cycle().skip(at).take(keys.len()) {
            screen.keys(key);
            screen.text();
        }
    }
}

#[test]
fn esc_twice_in_an_empty_composer_opens_the_rewind_dialog() {
    let mut screen = Screen::new(120, 40);
    screen.keys("esc esc");
    assert!(matches!(screen.model.layers.last(), Some(crate::ui::layer::Layer::Rewind(_))), "{}", screen.text());
    // Slowly, or with a text, Esc only moves the focus.
    let mut screen = Screen::new(120, 40);
    screen.keys("esc");
    screen.now = screen.now.later(std::time::Duration::from_secs(1));
    screen.keys("esc");
    assert!(screen.model.layers.is_empty());
    let mut screen = Screen::new(120, 40);
    screen.typed("half").keys("esc esc");
    assert!(screen.model.layers.is_empty());
}

#[test]
fn help_begins_with_the_keys_of_every_day() {
    for (columns, rows) in [(120, 40), (80, 24)] {
        let mut screen = Screen::new(columns, rows);
        screen.keys("f1");
        let text = screen.text();
        let first: Vec<_> = text.lines().skip_while(|line| !line.contains("First keys")).take(11).collect();
        let keys = ["Enter", "Tab", "Ctrl-N", "n", "Ctrl-X", "d", "m", "g r", "Ctrl-P", "Ctrl-Q"];
        for (line, key) in first.iter().skip(1).zip(keys) {
            assert!(line.contains(key), "{key}: {text}");
        }
    }
}

#[test]
fn interrupt_is_offered_while_an_agent_works() {
    for (columns, rows) in [(120, 40), (80, 24)] {
        let mut screen = Screen::new(columns, rows);
        let ids = screen.ids();
        let bottom = |screen: &Screen| screen.text().lines().last().unwrap_or_default().to_owned();
        assert!(!bottom(&screen).contains("Ctrl-X"), "{}", bottom(&screen));
        screen.select(ids.login);
        assert!(bottom(&screen).contains("Ctrl-X interrupt"), "{}", bottom(&screen));
    }
}

#[test]
fn a_new_project_offers_a_first_goal_that_enter_sends() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    let mut root = screen.task(ids.root).clone();
    (root.alive, root.turns) = (false, 0);
    screen.engine(Update::Task { task: Box::new(root) });
    screen.model.suggestion = Some("What is this about?");
    assert!(screen.shows("› What is this about?"), "{}", screen.text());
    screen.typed("x");
    assert!(!screen.shows("What is this about?"), "typing replaces it: {}", screen.text());
    screen.keys("backspace enter");
    assert!(matches!(&screen.commands()[..], [Command::Send { message, .. }] if message.text == "What is this about?"));
    assert!(screen.shows("message orchestrator"), "once: {}", screen.text());
}

#[test]
fn theme_is_shown_while_it_is_selected_and_esc_restores_the_old_one() {
    let mut screen = Screen::new(120, 40);
    let settings = crate::ui::Settings {
        theme: "ember".to_owned(),
        themes: vec!["ember".to_owned(), "paper".to_owned()],
        ..screen.model.settings().clone()
    };
    screen.msg(Msg::Settings(Box::new(settings)));
    screen.effects.clear();
    screen.keys("esc g s enter");
    assert_eq!(screen.model.shown_theme(), "ember", "the list opens on the current theme");
    assert!(!screen.effects.contains(&Effect::ShowTheme), "{:?}", screen.effects);
    screen.keys("down");
    assert_eq!(screen.model.shown_theme(), "paper");
    assert!(screen.effects.contains(&Effect::ShowTheme));
    screen.effects.clear();
    screen.keys("esc");
    assert_eq!((screen.model.shown_theme(), screen.effects.contains(&Effect::ShowTheme)), ("ember", true));
    screen.keys("enter down enter");
    assert_eq!((screen.model.shown_theme(), screen.model.settings().theme.as_str()), ("paper", "paper"));
}

#[test]
fn digit_or_enter_takes_an_example_into_the_empty_composer() {
    let mut screen = Screen::new(120, 40);
    screen.typed("2");
    assert!(screen.shows("› Fix the failing tests"), "{}", screen.text());
    assert_eq!(screen.commands(), [], "nothing is sent before Enter");
    screen.typed("2");
    assert!(screen.shows("what was wrong2"), "a digit in a text is text: {}", screen.text());
    let mut screen = Screen::new(120, 40);
    screen.typed("9");
    assert!(screen.shows("› 9"), "there is no ninth example: {}", screen.text());
    let mut screen = Screen::new(120, 40);
    screen.keys("enter");
    assert!(screen.shows("› Explain how this"), "{}", screen.text());
    screen.keys("enter");
    assert_eq!(screen.commands().len(), 1, "and the next Enter sends it");
}

#[test]
fn third_column_has_the_focus_as_a_place_of_its_own() {
    let mut screen = Screen::new(200, 60);
    let login = screen.ids().login;
    screen.select(login).keys("esc");
    let places = screen.model.layout;
    assert!(!places.page.is_empty());
    assert!(screen.shows("Subtasks") && screen.shows("The session store already has"), "{}", screen.text());
    // Tasks, questions, transcript, page, composer.
    screen.keys("tab tab");
    assert_eq!((screen.model.focus, screen.model.detail.tab), (Pane::Detail, Tab::Transcript));
    screen.keys("tab");
    assert_eq!((screen.model.focus, screen.model.detail.tab), (Pane::Detail, Tab::Description));
    screen.keys("tab");
    assert_eq!(screen.model.focus, Pane::Composer);
    screen.keys("esc 4");
    assert!(screen.shows("The session store already has") && screen.shows("cache hits"), "{}", screen.text());
    screen.keys("\\");
    assert!(screen.model.layout.page.is_empty() && screen.shows("The session store already has"), "{}", screen.text());
    screen.keys("g 3");
    assert!(!screen.model.layout.page.is_empty());
    screen.resize(120, 40).keys("g 3");
    assert!(screen.shows("needs a screen of 170 columns"), "{}", screen.text());
}

#[test]
fn diff_in_the_third_column_is_loaded_and_follows_the_agent() {
    let mut screen = Screen::new(200, 60);
    let store = screen.ids().store;
    screen.select(store);
    let loads = |screen: &mut Screen| {
        let effects = std::mem::take(&mut screen.effects);
        effects.iter().filter(|effect| matches!(effect, Effect::LoadDiff { task, .. } if *task == store)).count()
    };
    assert_eq!(loads(&mut screen), 1, "the task has changes, so they are shown beside its transcript");
    let mut view = screen.task(store).clone();
    view.turns += 1;
    screen.engine(Update::Task { task: Box::new(view) });
    assert_eq!(loads(&mut screen), 1);
}

#[test]
fn legend_is_in_the_help_and_a_list_of_its_own() {
    let mut screen = Screen::new(120, 40);
    screen.keys("esc g ?");
    assert!(screen.shows("failed; beside a title"), "{}", screen.text());
    screen.keys("esc ?").typed("branches that conflict");
    assert!(screen.shows("≠  branches that conflict"), "{}", screen.text());
    screen.keys("enter");
    assert!(screen.commands().is_empty());
}
