use super::*;
use crate::ui::testing::task;

fn text(text: &str) -> Live {
    Live::TextDelta { text: text.to_owned() }
}

#[test]
fn the_last_line_of_streamed_text_is_shown() {
    let mut lines = LiveLines::default();
    for piece in ["I read ", "the file.\n", "Now I ", "write\nthe ", "tests"] {
        lines.on_live(task(1), &text(piece));
    }
    assert_eq!(lines.of(task(1)).as_deref(), Some("the tests"));
    lines.on_live(task(1), &text("\n"));
    assert_eq!(lines.of(task(1)).as_deref(), Some("the tests"), "a finished line stays until the next one begins");
    lines.on_live(task(1), &text("Done"));
    assert_eq!(lines.of(task(1)).as_deref(), Some("Done"));
    assert_eq!(lines.of(task(2)), None);
}

#[test]
fn a_line_without_end_stays_bounded() {
    let mut lines = LiveLines::default();
    for _ in 0..1_000 {
        lines.on_live(task(1), &text("words without a line break "));
    }
    assert!(lines.of(task(1)).is_some_and(|line| line.len() <= 2 * LINE_BYTES));
    lines.forget(task(1));
    assert_eq!(lines.of(task(1)), None);
}

#[test]
fn what_the_agents_did_last_is_kept_the_newest_first() {
    use crate::model::ask::{Ask, AskMode, Subject};
    let ask = Ask {
        id: crate::ui::testing::Ids::default().ask,
        subject: Subject::Clarify,
        question: "which?".to_owned(),
        detail: String::new(),
        choices: Vec::new(),
        default: None,
        mode: AskMode::Blocks,
        deadline: None,
        tool_call: None,
    };
    let mut lines = LiveLines::default();
    for number in 0..100 {
        lines.on_event(task(number % 3), &crate::ui::testing::event(number, 0, Body::AskRaised(ask.clone())));
    }
    assert_eq!(lines.news().next(), Some(&News { task: task(0), what: What::Asked }));
    assert_eq!(lines.news().count(), MOST_NEWS);
    lines.forget(task(0));
    assert!(lines.news().all(|news| news.task != task(0)));
}
