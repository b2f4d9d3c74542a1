//! Golden screens: keys go in, the bytes of a frame come out, a terminal emulator reads them, and the text of its cells is
//! compared with a file in `tests/golden/screens/`.
//!
//! Every scene is drawn at three sizes and three colour depths, and must have the same text in each depth. Files exist only for
//! the scenes in `GOLDEN` (120x40), `THREE_SIZES` and `STYLED`. The header and the hint bar are the same in most scenes, so they
//! have one file of their own, `bars.txt`, and a label that changes there changes few files.
//!
//! `MXD_UPDATE_SNAPSHOTS=1` writes the files.

#[path = "gallery_tests/setup.rs"]
mod setup;
#[path = "gallery_tests/work.rs"]
mod work;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::base::ProjectId;
use crate::engine::snapshot::{DiffStat, Retry, Wait};
use crate::engine::update::{Level, Update};
use crate::model::event::BackgroundRef;
use crate::model::live::{Activity, Channel};
use crate::model::message::{Message, MessageSource};
use crate::model::search::{Hit, HitKind, SearchResults};
use crate::model::task::Status;
use crate::model::{Live, SessionState};
use crate::term::Terminal;
use crate::theme::{Appearance, ColourDepth, Glyphs, Theme};
use crate::ui::setup::ModelOption;
use crate::ui::testing::{Ids, Screen, snapshot, story};
use crate::ui::{Cx, Effect, Msg, ProjectChoice, Settings, review};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];
const DEPTHS: [ColourDepth; 3] = [ColourDepth::True, ColourDepth::Ansi16, ColourDepth::None];

/// Scenes with a golden file at 120x40.
const GOLDEN: &[&str] = &[
    "ask-answer",
    "ask-detail",
    "chord",
    "composer",
    "composer-commands",
    "description",
    "diff-comment",
    "empty",
    "find",
    "finished",
    "info",
    "log",
    "merge-conflicts",
    "merge-refused",
    "new-task",
    "palette",
    "retry",
    "search",
    "settings",
    "setup-key-refused",
    "setup-models",
    "streaming",
    "story-unfolded",
    "toasts",
    "tree-cost",
    "tree-filter",
    "waits",
];
/// Scenes with a golden file at each size.
const THREE_SIZES: &[&str] = &["agents", "ask", "diff", "help", "main", "merge", "rewind", "setup-ways", "story"];
/// Scenes whose styles have a golden file too, at 120x40.
const STYLED: &[&str] = &["ask", "diff", "main", "merge", "setup-models"];

/// A name, and how to get there.
type Scene = (&'static str, fn(&mut Screen));

const SCENES: &[Scene] = &[
    ("main", login),
    ("ask", |screen| {
        login(screen);
        screen.keys("ctrl-n");
    }),
    ("ask-detail", |screen| {
        login(screen);
        let task = screen.ids().callback;
        change(screen, task, |view| {
            view.asks[0].detail =
                "There are **two** places:\n\n- `routes.rs` has all the others\n- the plugin has none yet".to_owned();
            view.asks[0].choices[0].label =
                "Beside the other routes, where everybody who looks for one looks first".to_owned();
        });
        screen.keys("ctrl-n");
    }),
    ("ask-list", |screen| {
        login(screen);
        screen.keys("esc tab");
    }),
    ("ask-answer", |screen| {
        login(screen);
        screen.keys("ctrl-n").typed("neither: use /oauth");
    }),
    ("ask-later", |screen| {
        login(screen);
        screen.keys("ctrl-n esc");
    }),
    ("tree", |screen| {
        login(screen);
        screen.keys("esc");
    }),
    ("tree-filter", |screen| {
        login(screen);
        screen.keys("esc /").typed("o");
    }),
    ("tree-nothing", |screen| {
        login(screen);
        screen.keys("esc /").typed("zzz");
    }),
    ("tree-open", |screen| {
        login(screen);
        screen.keys("esc f");
    }),
    ("tree-needs-me", |screen| {
        login(screen);
        screen.keys("esc f f");
    }),
    ("tree-active", |screen| {
        login(screen);
        screen.keys("esc f f f");
    }),
    ("tree-cost", |screen| {
        login(screen);
        screen.keys("esc $");
    }),
    ("tree-attention", |screen| {
        login(screen);
        screen.keys("esc s");
    }),
    ("tree-folded", |screen| {
        login(screen);
        screen.keys("esc z M");
    }),
    ("finished", |screen| {
        login(screen);
        let Ids { root, login, callback, docs, wide, .. } = screen.ids();
        for task in [login, callback, docs, wide] {
            change(screen, task, |view| {
                view.asks.clear();
                view.activity = Activity::Stopped;
                view.node.status = Status::Passed;
                view.diff = Some(DiffStat { files: 3, added: 84, removed: 3, dirty: false });
            });
        }
        screen.select(root);
        for event in crate::ui::testing::events(login).into_iter().take(9) {
            screen.engine(Update::Event { task: root, event: std::sync::Arc::new(event) });
        }
    }),
    ("story", |screen| {
        tell(screen);
        screen.keys("esc enter");
    }),
    ("story-top", |screen| {
        tell(screen);
        screen.keys("esc enter g g");
    }),
    ("story-unfolded", |screen| {
        tell(screen);
        screen.keys("esc enter z R");
    }),
    ("unfolded", |screen| {
        login(screen);
        screen.keys("esc enter K K K K enter");
    }),
    ("search", |screen| {
        login(screen);
        screen.keys("esc enter /").typed("cargo").keys("enter");
        while screen.model.next_tick(screen.now).is_some_and(|at| at <= screen.now) {
            screen.msg(Msg::Tick);
        }
    }),
    ("selecting", |screen| {
        login(screen);
        screen.keys("esc enter v k k");
    }),
    ("streaming", |screen| {
        login(screen);
        let task = screen.ids().wide;
        screen.select(task);
        let text = "Half of a **sentence** and a list:\n\n- one\n- tw".to_owned();
        screen.engine(Update::Live { task, live: Live::ThinkingDelta { text: "I wonder whether".to_owned() } });
        screen.engine(Update::Live { task, live: Live::TextDelta { text } });
    }),
    ("retry", |screen| {
        login(screen);
        let task = screen.ids().login;
        let until = screen.now.later(std::time::Duration::from_secs(7));
        change(screen, task, |view| {
            view.activity = Activity::Retrying;
            view.retry = Some(Retry { attempt: 2, of: 5, until, reason: "the provider is overloaded".to_owned() });
        });
    }),
    ("waits", |screen| {
        login(screen);
        let Ids { login, docs, callback, .. } = screen.ids();
        change(screen, docs, |view| view.waits = Some(Wait::Slot { ahead: 2 }));
        let chain = vec![login, callback];
        change(screen, login, |view| {
            view.activity = Activity::Idle;
            view.waits = Some(Wait::Stalled { chain, reason: "they wait for each other".to_owned() });
        });
        screen.keys("esc 4");
    }),
    ("description", |screen| {
        login(screen);
        let task = screen.ids().login;
        let words = "Log in with **OAuth**.\n\n1. a button\n2. a callback\n\n```sh\nmake test\n```\n";
        change(screen, task, |view| view.node.description = words.to_owned());
        screen.keys("esc 3");
    }),
    ("description-none", |screen| {
        login(screen);
        screen.keys("esc 3");
    }),
    ("info", |screen| {
        login(screen);
        let task = screen.ids().login;
        let page = story();
        change(screen, task, |view| {
            view.usage.breakdown = SessionState::replay(&page).usage.breakdown;
            view.node.branch = Some("mxd/add-oauth-login".to_owned());
            view.node.budget = Some(crate::base::MicroUsd(500_000));
            view.diff = Some(DiffStat { files: 2, added: 14, removed: 3, dirty: true });
            view.turns = 7;
            let command = "npm run dev -- --port 4000".to_owned();
            view.processes.push(BackgroundRef { id: "bg-01".to_owned(), command });
        });
        let text = "ready in \u{1b}[32m312 ms\u{1b}[0m\nGET /login 200\nGET /callback 500\n".to_owned();
        screen.engine(Update::Live { task, live: Live::ProcessOutput { process: "bg-01".to_owned(), text } });
        screen.keys("esc 4");
    }),
    ("log", |screen| {
        login(screen);
        screen.keys("esc 5");
    }),
    ("composer", |screen| {
        login(screen);
        let task = screen.ids().login;
        let at = screen.now;
        let id = crate::base::MessageId::from_ulid(ulid::Ulid::from_parts(3, 3));
        let unread = Message::new(id, at, MessageSource::User, "and the docs");
        change(screen, task, |view| view.unread.push(unread));
        screen.typed("first line").keys("alt-enter").typed("see ").paste(&"x\n".repeat(30));
        screen.typed(" and @sto");
        let paths = vec!["src/session/store.rs".to_owned(), "src/store.rs".to_owned()];
        screen.msg(Msg::Files { task, query: "sto".to_owned(), paths });
    }),
    ("composer-commands", |screen| {
        login(screen);
        screen.typed("/st");
    }),
    ("composer-interrupt", |screen| {
        login(screen);
        screen.keys("ctrl-t ctrl-t").typed("stop that, look at the other file first");
    }),
    ("diff", reviewed),
    ("diff-beside", |screen| {
        reviewed(screen);
        screen.keys("|");
    }),
    ("find", |screen| {
        login(screen);
        screen.keys("esc S").typed("store");
        let asked = screen.effects.iter().rev().find_map(|effect| match effect {
            Effect::Search { question } => Some(question.clone()),
            _ => None,
        });
        let (login, store) = (screen.ids().login, screen.ids().store);
        let hit = |task, title: &str, place, excerpt: &str| Hit {
            task,
            title: title.to_owned(),
            event: None,
            place,
            at: screen.now,
            excerpt: excerpt.to_owned(),
            marks: excerpt.match_indices("store").map(|(at, word)| at..at + word.len()).collect(),
            rewound: false,
        };
        let hits = vec![
            hit(store, "token store", HitKind::Title, "token store"),
            hit(login, "add oauth login", HitKind::Message, "use the existing session store, please"),
        ];
        screen.msg(Msg::SearchResults { asked: asked.unwrap(), found: Ok(SearchResults { hits, more: false }) });
    }),
    ("help", |screen| {
        login(screen);
        screen.keys("esc ?");
    }),
    ("help-search", |screen| {
        login(screen);
        screen.keys("esc ?").typed("copy");
    }),
    ("palette", |screen| {
        login(screen);
        screen.keys("esc :").typed("stop");
    }),
    ("chord", |screen| {
        login(screen);
        screen.keys("esc g");
    }),
    ("new-task", |screen| {
        login(screen);
        screen.keys("esc n").typed("rate limits");
    }),
    ("budget-wrong", |screen| {
        login(screen);
        screen.keys("esc b").typed("much").keys("enter");
    }),
    ("delete", |screen| {
        login(screen);
        screen.keys("esc D");
    }),
    ("quit", |screen| {
        login(screen);
        screen.keys("ctrl-q");
    }),
    ("colours", |screen| {
        login(screen);
        screen.keys("esc c");
    }),
    ("move", |screen| {
        login(screen);
        screen.keys("esc M");
    }),
    ("projects", |screen| {
        login(screen);
        let project = |number: u128, name: &str, note: &str| ProjectChoice {
            id: ProjectId::from_ulid(ulid::Ulid::from_parts(1, number)),
            name: name.to_owned(),
            path: format!("/home/me/{name}"),
            note: note.to_owned(),
            host: None,
        };
        screen.msg(Msg::Projects(vec![project(1, "matrix", "open"), project(2, "website", "")]));
    }),
    ("agents", |screen| {
        login(screen);
        screen.keys("esc g a");
    }),
    ("settings", |screen| {
        login(screen);
        screen.keys("esc g s");
    }),
    ("models", |screen| {
        login(screen);
        let offered = |id: &str, note: &str| ModelOption { id: id.to_owned(), note: note.to_owned(), has_window: true };
        let models = vec![
            offered("opus", "1000k  $5 in, $25 out per million"),
            offered("sonnet", "1000k  $3 in, $15 out per million"),
            offered("home-made", "window not known"),
        ];
        screen.msg(Msg::Models(models));
        screen.keys("esc g s j enter").typed("so");
    }),
    ("looking-on", |screen| {
        login(screen);
        let read_only = Some("process 7 has been working on this project since 14:02".to_owned());
        screen.msg(Msg::Settings(Box::new(Settings { read_only, ..Settings::default() })));
    }),
    ("toasts", |screen| {
        login(screen);
        for (level, text) in [
            (Level::Info, "Copied entry (312 B)"),
            (Level::Warning, "config.json:3:5: keys.opne: no such action; did you mean `open`?"),
            (Level::Error, "the disk is full"),
        ] {
            screen.msg(Msg::Notice { level, text: text.to_owned() });
        }
    }),
    ("zoom", |screen| {
        login(screen);
        screen.keys("esc enter Z");
    }),
    ("budget", |screen| {
        login(screen);
        let mut project = snapshot().project;
        project.budget = Some(crate::base::MicroUsd(1_500_000));
        screen.engine(Update::Project { project: Box::new(project) });
    }),
    ("empty", |screen| {
        let mut snapshot = snapshot();
        snapshot.tasks.truncate(1);
        snapshot.tasks[0].node.children.clear();
        *screen = Screen::of(screen.size.0, screen.size.1, snapshot);
    }),
    ("empty-no-model", |screen| {
        let mut snapshot = snapshot();
        snapshot.tasks.truncate(1);
        snapshot.tasks[0].node.children.clear();
        snapshot.tasks[0].model = None;
        snapshot.project.model = None;
        *screen = Screen::of(screen.size.0, screen.size.1, snapshot);
    }),
];

/// The task that everything happens in, with a command that runs.
fn login(screen: &mut Screen) {
    let task = screen.ids().login;
    screen.select(task);
    let text = "    Checking session v0.1.0\n".to_owned();
    let live = Live::OutputChunk { call: "4".to_owned(), channel: Channel::Output, text };
    screen.engine(Update::Live { task, live });
}

/// The changes of a task, with the keys in them.
fn reviewed(screen: &mut Screen) {
    login(screen);
    screen.keys("esc d");
    work::answer_diff(screen, review::testing::answer(review::testing::files()));
    if screen.size.0 >= 100 {
        screen.keys("tab tab");
    }
}

/// The task with a session in which everything happens.
fn tell(screen: &mut Screen) {
    screen.answers = false;
    let task = screen.ids().wide;
    screen.select(task);
    screen.msg(Msg::Page { task, before: None, events: story(), more: false });
}

fn change(screen: &mut Screen, task: crate::base::TaskId, with: impl FnOnce(&mut crate::engine::snapshot::TaskView)) {
    let mut view = screen.task(task).clone();
    with(&mut view);
    screen.engine(Update::Task { task: Box::new(view) });
}

/// Draws on a terminal and returns the terminal.
fn drawn((columns, rows): (u16, u16), draw: impl FnOnce(&mut ratatui::Frame<'_>)) -> vt100::Parser {
    let (mut terminal, person) = Terminal::fake(columns, rows);
    terminal.draw(draw);
    let cells = |count| std::num::NonZeroU16::new(count).unwrap();
    let mut emulator = vt100::Parser::new(cells(rows), cells(columns), 0);
    person.frames().iter().for_each(|(_, bytes)| emulator.process(bytes));
    emulator
}

fn text(emulator: &vt100::Parser) -> String {
    let rows = emulator.screen().rows(0, emulator.screen().size().1.get());
    rows.map(|row| format!("{}\n", row.trim_end())).collect::<Vec<_>>().concat()
}

fn style(cell: &vt100::Cell) -> String {
    let colour = |colour: vt100::Color| match colour {
        vt100::Color::Default => "-".to_owned(),
        vt100::Color::Idx(index) => index.to_string(),
        vt100::Color::Rgb(r, g, b) => format!("{r:02x}{g:02x}{b:02x}"),
    };
    let marks = [
        (cell.bold(), "bold"),
        (cell.dim(), "dim"),
        (cell.italic(), "italic"),
        (cell.underline(), "underline"),
        (cell.inverse(), "inverse"),
    ];
    let marks: Vec<_> = marks.iter().filter(|(on, _)| *on).map(|(_, name)| *name).collect();
    format!("{} on {} {}", colour(cell.fgcolor()), colour(cell.bgcolor()), marks.join(" ")).trim_end().to_owned()
}

/// Returns the name of style number `number`: `a` to `z`, then `A` to `Z`, then two letters.
fn letter(number: usize) -> String {
    let letters: Vec<char> = ('a'..='z').chain('A'..='Z').collect();
    let last = letters[number % letters.len()];
    if number < letters.len() { last.to_string() } else { format!("{}{last}", letter(number / letters.len() - 1)) }
}

/// What a terminal shows in each colour depth.
struct Picture {
    text: String,
    styles: String,
}

/// Draws a scene in each depth.
fn scene(arrange: fn(&mut Screen), size: (u16, u16)) -> Picture {
    let mut screen = Screen::new(size.0, size.1);
    arrange(&mut screen);
    picture(size, |theme| {
        screen.theme = theme;
        screen.msg(Msg::ThemeChanged);
        drawn(size, |frame| screen.draw(frame))
    })
}

/// Draws a page of the set-up in each depth.
fn page(arrange: fn() -> crate::ui::setup::State, size: (u16, u16)) -> Picture {
    let state = arrange();
    picture(size, |theme| {
        let (now, zone) = (crate::base::Timestamp::from_millis(0), jiff::tz::TimeZone::UTC);
        let cx = Cx { now, size, theme: &theme, zone: &zone };
        drawn(size, |frame| crate::ui::setup::view(&state, &cx, frame))
    })
}

fn pictures(size: (u16, u16)) -> impl Iterator<Item = (&'static str, Picture)> {
    let scenes = SCENES.iter().chain(work::SCENES).map(move |(name, arrange)| (*name, scene(*arrange, size)));
    scenes.chain(setup::PAGES.iter().map(move |(name, arrange)| (*name, page(*arrange, size))))
}

fn names() -> Vec<&'static str> {
    let scenes = SCENES.iter().chain(work::SCENES).map(|(name, _)| *name);
    scenes.chain(setup::PAGES.iter().map(|(name, _)| *name)).collect()
}

fn picture(size: (u16, u16), show: impl FnMut(Theme) -> vt100::Parser) -> Picture {
    let themes = DEPTHS.map(|depth| Theme::standard(Appearance::Dark, depth, &Glyphs::UNICODE));
    let emulators: Vec<_> = themes.into_iter().map(show).collect();
    let text = text(&emulators[0]);
    for emulator in &emulators[1..] {
        assert_eq!(self::text(emulator), text, "colours change no word");
    }
    Picture { text, styles: styles(size, &emulators) }
}

/// Lists the runs of styles of each row by letter, then what each letter is in true colour, in sixteen colours and in none.
fn styles(size: (u16, u16), emulators: &[vt100::Parser]) -> String {
    let mut out = String::new();
    let mut styles: Vec<Vec<String>> = Vec::new();
    let mut before = String::new();
    for y in 0..size.1 {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for x in 0..size.0 {
            let cell = |emulator: &vt100::Parser| style(emulator.screen().cell(y, x).unwrap());
            let triple: Vec<_> = emulators.iter().map(cell).collect();
            let known = styles.iter().position(|known| *known == triple).unwrap_or_else(|| {
                styles.push(triple);
                styles.len() - 1
            });
            match runs.last_mut() {
                Some((style, count)) if *style == known => *count += 1,
                _ => runs.push((known, 1)),
            }
        }
        let row = runs.iter().map(|(style, count)| format!("{}{count}", letter(*style))).collect::<Vec<_>>().join(" ");
        let _ = writeln!(out, "{}", if row == before { "\"" } else { &row });
        before = row;
    }
    out.push_str("---\n");
    for (number, style) in styles.iter().enumerate() {
        let _ = writeln!(out, "{}: {}", letter(number), style.join(" | "));
    }
    out
}

/// Returns a screen without its first and last row, the header and the hint bar.
fn between_bars(text: &str) -> String {
    let rows: Vec<&str> = text.lines().collect();
    rows[1..rows.len() - 1].join("\n") + "\n"
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/screens")
}

/// Returns the golden files at one size: name and content.
fn golden_files((columns, rows): (u16, u16)) -> Vec<(String, String)> {
    let middle = (columns, rows) == SIZES[1];
    let mut files = Vec::new();
    let mut bars = String::new();
    for (name, picture) in pictures((columns, rows)) {
        let is_setup = name.starts_with("setup");
        if THREE_SIZES.contains(&name) || (middle && GOLDEN.contains(&name)) {
            let text = if name == "main" || is_setup { picture.text.clone() } else { between_bars(&picture.text) };
            files.push((format!("{name}-{columns}x{rows}.txt"), text));
        }
        if middle && STYLED.contains(&name) {
            files.push((format!("{name}-styles.txt"), picture.styles));
        }
        if middle && !is_setup {
            let row = |at: usize| picture.text.lines().nth(at).unwrap_or("").to_owned();
            let _ = writeln!(bars, "{name}\n  {}\n  {}", row(0), row(usize::from(rows) - 1));
        }
    }
    if middle {
        files.push(("bars.txt".to_owned(), bars));
    }
    files
}

fn check(size: (u16, u16)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _inside = runtime.enter();
    let update = std::env::var_os("MXD_UPDATE_SNAPSHOTS").is_some();
    let mut different = Vec::new();
    for (name, now) in golden_files(size) {
        let path = folder().join(&name);
        if update {
            std::fs::create_dir_all(folder()).unwrap();
            std::fs::write(&path, &now).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        if golden != now {
            let line = golden.lines().zip(now.lines()).position(|(golden, now)| golden != now).unwrap_or(0);
            let (golden, now) = (golden.lines().nth(line).unwrap_or(""), now.lines().nth(line).unwrap_or(""));
            different.push(format!("{name}, line {}:\n  golden: {golden}\n  now:    {now}", line + 1));
        }
    }
    assert!(different.is_empty(), "these look different:\n{}", different.join("\n"));
}

#[test]
fn screens_match_their_golden_files_at_80x24() {
    check(SIZES[0]);
}

#[test]
fn screens_match_their_golden_files_at_120x40() {
    check(SIZES[1]);
}

#[test]
fn screens_match_their_golden_files_at_200x60() {
    check(SIZES[2]);
}

#[test]
fn every_golden_file_belongs_to_a_scene() {
    let all: BTreeSet<_> = names().into_iter().collect();
    assert_eq!(all.len(), names().len(), "names are unique");
    let mut expected = BTreeSet::from(["bars.txt".to_owned()]);
    for name in GOLDEN.iter().chain(THREE_SIZES).chain(STYLED) {
        assert!(all.contains(name), "there is no scene {name}");
    }
    expected.extend(GOLDEN.iter().map(|name| format!("{name}-{}x{}.txt", SIZES[1].0, SIZES[1].1)));
    for name in THREE_SIZES {
        expected.extend(SIZES.iter().map(|(columns, rows)| format!("{name}-{columns}x{rows}.txt")));
    }
    expected.extend(STYLED.iter().map(|name| format!("{name}-styles.txt")));
    let found: BTreeSet<_> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(expected, found);
}
