use super::*;
use crate::base::{Json, Timestamp};
use crate::model::Content;
use crate::model::ask::{Choice, Subject};
use crate::model::conversation::ToolUse;
use crate::model::event::ToolResult;
use crate::model::live_turn::Tail;
use crate::ui::testing::{Ids, snapshot};
use crate::ui::transcript::entry::{self, EntryId, ToolEntry};

static ZONE: jiff::tz::TimeZone = jiff::tz::TimeZone::UTC;

fn shown(kind: EntryKind, width: usize, unfolded: bool) -> Vec<String> {
    let page = Page { width, unfolded, glyphs: &Glyphs::UNICODE, zone: &ZONE };
    let entry = Entry::new(EntryId::Live(entry::LivePart::Text), Timestamp::EPOCH, 0, kind);
    rows(&entry, &page).iter().map(|row| row.shown().trim_end().to_owned()).collect()
}

fn asked(change: impl FnOnce(&mut Ask)) -> EntryKind {
    let ids = Ids::default();
    let mut ask = snapshot().tasks.iter().find(|task| task.node.id == ids.callback).unwrap().asks[0].clone();
    change(&mut ask);
    EntryKind::Ask { ask: Box::new(ask), answer: None, withdrawn: None }
}

fn wrote(content: &str, result: &str) -> EntryKind {
    called("write_file", &serde_json::json!({ "path": "src/new.py", "content": content }), result)
}

fn called(name: &str, input: &serde_json::Value, result: &str) -> EntryKind {
    let (call, name) = ("c1".to_owned(), format!("mcp__mxd__{name}"));
    let input = Json::of(input).unwrap();
    EntryKind::Tool(Box::new(ToolEntry {
        asked: Some(ToolUse { call: call.clone(), name: name.clone(), input, malformed: None }),
        result: Some(ToolResult {
            call: call.clone(),
            name: name.clone(),
            content: Content::text(result),
            is_error: false,
            images: Vec::new(),
            full: None,
            background: None,
            ended: None,
            cwd: None,
            permission: None,
            duration_ms: 1,
        }),
        call,
        name,
        output: Tail::default(),
        full: None,
    }))
}

#[test]
fn long_choice_is_wrapped() {
    let kind = asked(|ask| ask.choices = Choice::options(["Precedence climbing: short, but hard to extend", "No"]));
    let rows = shown(kind, 40, false);
    let at = rows.iter().position(|row| row.contains("1 Precedence climbing:")).unwrap();
    assert_eq!(rows[at + 1].trim(), "hard to extend", "{rows:#?}");
    assert!(rows[at + 1].starts_with("     "), "below its words: {rows:#?}");
    assert_eq!(rows[at + 2].trim(), "2 No");
}

#[test]
fn question_details_render_as_markdown() {
    let kind = asked(|ask| ask.detail = "Found **two** ways:\n\n- `one`\n- other".to_owned());
    let text = shown(kind, 60, false).join("\n");
    assert!(text.contains("Found two ways:") && text.contains(" one") && !text.contains('`'), "{text}");
    let kind = asked(|ask| {
        ask.subject = Subject::Permission(Box::default());
        ask.detail = "rm **/*.o".to_owned();
    });
    assert!(shown(kind, 60, false).join("\n").contains("rm **/*.o"), "what is no prose is shown as it stands");
}

#[test]
fn a_new_file_is_a_diff_of_all_its_lines() {
    let content = "def hello():\n    return 1\n";
    let rows = shown(wrote(content, "Created src/new.py (2 lines, 26 B)."), 60, false);
    assert!(rows.len() == 1 && rows[0].contains("+2 -0"), "{rows:#?}");
    let rows = shown(wrote(content, "Created src/new.py (2 lines, 26 B)."), 60, true);
    assert!(rows[1].contains("1 + def hello():") && rows[2].contains("2 +     return 1"), "{rows:#?}");
}

#[test]
fn replaced_file_unfolds_to_its_new_content() {
    let rows = shown(wrote("def hello():\n", "Replaced src/new.py (1 line, 13 B)."), 60, false);
    assert!(rows.len() == 1 && !rows[0].contains('+'), "what it found before is not known: {rows:#?}");
    let rows = shown(wrote("def hello():\n", "Replaced src/new.py (1 line, 13 B)."), 60, true);
    assert!(rows[1].contains("Replaced") && rows[2].contains("def hello():"), "{rows:#?}");
}

#[test]
fn huge_new_file_lays_out_only_visible_rows() {
    let rows = shown(wrote(&"x = 1\n".repeat(200_000), "Created src/new.py (200000 lines, 1.2 MB)."), 60, true);
    assert!(rows[0].contains("+200000 -0") && rows.len() < 500, "{}", rows.len());
}

#[test]
fn text_to_an_agent_wraps_at_words() {
    let more = "Whoever does the work where nobody else was chosen".to_owned();
    let kind = EntryKind::Notice { tone: Tone::Quiet, text: "where the agent is".to_owned(), more };
    let rows = shown(kind, 30, true);
    assert_eq!(rows[1].trim(), "Whoever does the work", "{rows:#?}");
    assert_eq!(rows[2].trim(), "where nobody else was", "{rows:#?}");
}

#[test]
fn create_task_call_links_to_its_task() {
    let made = "01M7K38023KS11C79PNHN5SJKT";
    let kind = wrote("", &format!("Created task {made} \"Parse\" and started it."));
    assert_eq!(kind.related_task(), Some(made.parse().unwrap()));
    assert_eq!(wrote("", "Created src/new.py (2 lines, 26 B).").related_task(), None);
}

#[test]
fn only_line_groups_have_no_blank_rows() {
    let page = Page { width: 60, unfolded: false, glyphs: &Glyphs::UNICODE, zone: &ZONE };
    let entry = |kind: EntryKind| Entry::new(EntryId::Live(entry::LivePart::Text), Timestamp::EPOCH, 0, kind);
    let notice =
        |more: &str| EntryKind::Notice { tone: Tone::Quiet, text: "it sleeps".to_owned(), more: more.to_owned() };
    let air = |before: EntryKind, after: EntryKind| lead(Some(&entry(before)), &entry(after), &page).len();
    let call = || wrote("", "Created src/new.py (0 lines, 0 B).");
    assert_eq!(air(call(), call()), 0);
    assert_eq!(air(call(), notice("all of it")), 0);
    assert_eq!(air(notice(""), notice("")), 0);
    assert_eq!(air(call(), notice("")), 1, "what may be a paragraph is none of the lines above it");
}

#[test]
fn tool_arguments_are_listed_line_by_line() {
    let input = serde_json::json!({ "status": "passed", "result": "Both faults are gone.\nTwelve tests pass." });
    let rows = shown(called("done", &input, "Not done: one of your questions waits."), 30, true);
    let text = rows.join("\n");
    assert!(text.contains("status: passed") && text.contains("Twelve tests pass."), "{text}");
    assert!(!text.contains('{') && !text.contains("\\n"), "{text}");
    assert!(text.contains("Not done: one of your") && text.contains("questions waits."), "between words: {text}");
    let rows = shown(called("yield", &serde_json::json!({}), "Something came."), 60, true);
    assert!(rows.len() == 2 && rows[1].contains("Something came."), "{rows:#?}");
    assert!(rows[0].trim().starts_with("▾ wait "), "users do not know what yielding is: {rows:#?}");
    let writing = EntryKind::Writing { name: "mcp__mxd__create_task".to_owned(), bytes: 205 };
    assert_eq!(shown(writing, 60, false)[0].trim(), "· writing new task 205 B");
}
