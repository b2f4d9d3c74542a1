use proptest::prelude::*;

use super::*;
use crate::model::event::AssistantText;
use crate::model::{Body, Live as LiveUpdate};
use crate::theme::Glyphs;
use crate::ui::testing::{Ids, event, events, task};
use crate::ui::transcript::search::{Direction, SearchProgress};

static ZONE: jiff::tz::TimeZone = jiff::tz::TimeZone::UTC;

fn page(width: usize) -> Page<'static> {
    Page { width, unfolded: false, glyphs: &Glyphs::UNICODE, zone: &ZONE }
}

fn text(number: u128, words: &str) -> Event {
    event(number, 10, Body::AssistantText(AssistantText { text: words.to_owned() }))
}

fn numbered(range: std::ops::Range<u128>) -> Vec<Event> {
    range
        .map(|number| {
            text(number, &format!("entry {number} {}", "word ".repeat(usize::try_from(number % 40).unwrap())))
        })
        .collect()
}

fn loaded(range: std::ops::Range<u128>) -> Transcript {
    let mut transcript = Transcript::new(task(2));
    assert!(transcript.wants_newest());
    transcript.on_page(None, &numbered(range), true);
    transcript
}

/// Returns the text of the first visible row.
fn top_row(transcript: &Transcript, page: &Page<'_>, height: usize) -> (EntryId, String) {
    let top = transcript.top(page, height);
    let entry = transcript.entry(top.entry).unwrap();
    let lead = transcript.lead(top.entry, page);
    let rows = transcript.rows(entry, page);
    let row = lead.iter().chain(rows.iter()).nth(top.row).unwrap().source_text();
    (entry.id, row)
}

#[test]
fn events_during_a_load_are_neither_lost_nor_doubled() {
    let all = events(Ids::default().login);
    let mut transcript = Transcript::new(Ids::default().login);
    assert!(transcript.wants_newest());
    assert!(!transcript.wants_newest(), "it is asked for once");
    all[8..].iter().for_each(|event| transcript.on_event(event));
    transcript.on_page(None, &all[..10], false);
    let mut whole = Transcript::new(Ids::default().login);
    whole.on_page(None, &all, false);
    assert_eq!(transcript.fold, whole.fold);
}

#[test]
fn older_pages_keep_the_position_and_join_results() {
    let all = events(Ids::default().login);
    let mut transcript = Transcript::new(Ids::default().login);
    // The call of the first result is in the older part.
    transcript.on_page(None, &all[6..], true);
    let (page, height) = (page(60), 4);
    transcript.scroll(-2, &page, height);
    transcript.scroll(-1, &page, height);
    let call_on_top = |transcript: &Transcript| {
        let top = transcript.top(&page, height);
        match &transcript.entry(top.entry).unwrap().kind {
            EntryKind::Tool(tool) => Some(tool.call.clone()),
            _ => None,
        }
    };
    assert_eq!(call_on_top(&transcript).as_deref(), Some("1"));
    assert_eq!(transcript.wants_older(true), Some(all[6].id));
    transcript.on_page(Some(all[6].id), &all[..6], false);
    assert_eq!(call_on_top(&transcript).as_deref(), Some("1"), "the place went over to the call");
    let mut whole = Transcript::new(Ids::default().login);
    whole.on_page(None, &all, false);
    let kinds = |transcript: &Transcript| transcript.entries().map(|entry| entry.kind.clone()).collect::<Vec<_>>();
    assert_eq!(kinds(&transcript), kinds(&whole));
    assert_eq!(transcript.wants_older(true), None, "there is nothing before");
}

#[test]
fn live_entry_becomes_its_log_entry_in_place() {
    let mut transcript = loaded(1..3);
    let now = Timestamp::from_millis(0);
    transcript.on_live(&LiveUpdate::TextDelta { text: "# Hello\n\nsome **bo".to_owned() }, now);
    transcript.on_live(&LiveUpdate::TextDelta { text: "ld** words".to_owned() }, now);
    let page = page(60);
    let live = transcript.entry(2).unwrap().clone();
    let streamed = transcript.rows(&live, &page);
    transcript.cursor = Some(live.id);
    transcript.on_event(&text(9, "# Hello\n\nsome **bold** words"));
    assert_eq!(transcript.entry_count(), 3);
    let kept = transcript.entry(2).unwrap().clone();
    assert_eq!(transcript.cursor, Some(kept.id));
    assert_eq!(transcript.rows(&kept, &page), streamed, "nothing moves when it is finished");
}

#[test]
fn discarded_response_disappears() {
    let mut transcript = loaded(1..2);
    transcript.on_live(&LiveUpdate::TextDelta { text: "half".to_owned() }, Timestamp::EPOCH);
    transcript.on_live(&LiveUpdate::Discarded, Timestamp::EPOCH);
    assert_eq!(transcript.entry_count(), 1);
}

#[test]
fn scrolling_up_leaves_follow_and_the_end_resumes_it() {
    let mut transcript = loaded(1..50);
    let (page, height) = (page(60), 10);
    assert!(transcript.is_following());
    transcript.scroll(-1, &page, height);
    assert!(!transcript.is_following());
    let before = top_row(&transcript, &page, height);
    transcript.on_event(&text(60, "new below"));
    assert_eq!(top_row(&transcript, &page, height), before);
    assert_eq!(transcript.unseen, 1);
    transcript.scroll(500, &page, height);
    assert!(transcript.is_following());
    assert_eq!(transcript.unseen, 0);
}

#[test]
fn layout_is_lazy_and_cached() {
    let mut transcript = loaded(1..3_000);
    let (page, height) = (page(80), 30);
    transcript.top(&page, height);
    let first = transcript.layouts_made();
    assert!(first < 40, "{first} entries were laid out for one screen");
    for _ in 0..50 {
        transcript.top(&page, height);
        transcript.on_live(&LiveUpdate::TextDelta { text: "x".to_owned() }, Timestamp::EPOCH);
    }
    assert!(transcript.layouts_made() <= first + 52, "only what is being written is laid out again");
}

#[test]
fn memory_is_bounded_while_following() {
    let mut transcript = loaded(1..2);
    for number in 2..6_000 {
        transcript.on_event(&text(number, "x"));
    }
    assert!(transcript.entry_count() <= MAX_ENTRIES + MAX_ENTRIES / 4);
    assert!(transcript.has_more());
    let first = transcript.entry(0).unwrap().id;
    assert_eq!(transcript.wants_older(true).map(EntryId::Event), Some(first));
}

#[test]
fn memory_is_bounded_while_reading_older_entries() {
    let mut transcript = loaded(1..500);
    let (page, height) = (page(60), 10);
    transcript.scroll(-200, &page, height);
    let seen = top_row(&transcript, &page, height);
    numbered(500..20_000).iter().for_each(|event| transcript.on_event(event));
    assert_eq!(top_row(&transcript, &page, height), seen, "what is read stays");
    transcript.scroll(3_000_000, &page, height);
    transcript.scroll(-200, &page, height);
    transcript.on_event(&text(20_000, "one more"));
    assert!(transcript.entry_count() <= MAX_ENTRIES + MAX_ENTRIES / 4, "{}", transcript.entry_count());
}

#[test]
fn failed_page_is_retried_only_when_reopened() {
    let mut transcript = Transcript::new(task(2));
    assert!(transcript.wants_newest());
    transcript.on_event(&text(900, "live"));
    transcript.on_page_failed(None);
    assert!(!transcript.is_loading() && !transcript.wants_newest());
    assert_eq!(transcript.entry_count(), 1, "what came meanwhile is shown");
    transcript.on_event(&text(901, "live again"));
    transcript.retry();
    assert!(transcript.wants_newest());
    transcript.on_page(None, &numbered(880..902), true);
    assert_eq!(transcript.entry_count(), 22);
    let first = transcript.wants_older(true);
    transcript.on_page_failed(first);
    assert_eq!(transcript.wants_older(true), None);
    transcript.retry();
    assert_eq!(transcript.wants_older(true), first);
}

#[test]
fn distant_event_is_reached_during_activity() {
    let mut transcript = loaded(30_000..30_300);
    transcript.seek(text(1, "").id);
    let (before, count) = transcript.wants_sought().unwrap();
    numbered(30_300..40_000).iter().for_each(|event| transcript.on_event(event));
    let first = 30_000 - u128::try_from(count).unwrap();
    transcript.on_page(Some(before), &numbered(first..30_000), true);
    assert_eq!(transcript.entry(0).unwrap().id, EntryId::Event(text(first, "").id), "the page was taken");
    assert!(transcript.wants_sought().is_some(), "the next one is asked for");
}

#[test]
fn redo_reloads_the_transcript() {
    use crate::model::event::{HeadMoved, MoveReason};
    let moved = |number: u128, to: u128, reason| {
        let to = Some(text(to, "").id);
        event(number, 10, Body::HeadMoved(HeadMoved { to, from: None, reason, carry: Box::default() }))
    };
    let mut transcript = loaded(1..10);
    transcript.on_event(&moved(10, 4, MoveReason::Rewind));
    assert!(!transcript.wants_newest());
    assert!(transcript.entries().any(|entry| entry.undone), "what is left is struck out");
    transcript.on_event(&moved(11, 8, MoveReason::Redo));
    assert!(transcript.wants_newest(), "only the disk knows what counts now");
    transcript.on_page(None, &numbered(1..9), true);
    assert!(transcript.entries().all(|entry| !entry.undone));
}

#[test]
fn search_finds_and_unfolds_folded_text() {
    let mut transcript = Transcript::new(Ids::default().login);
    transcript.on_page(None, &events(Ids::default().login), false);
    let (page, height) = (page(80), 12);
    transcript.search_mut().field.insert("running 14 tests");
    assert_eq!(transcript.find(Direction::Backward, &page, height), SearchProgress::Found);
    let anchor = transcript.search().current.unwrap();
    assert!(transcript.unfolded.contains(&anchor.id));
    transcript.search_mut().field.set("no such words");
    transcript.search_mut().current = None;
    assert_eq!(transcript.find(Direction::Forward, &page, height), SearchProgress::NotFound);
}

#[test]
fn long_transcript_is_searched_in_chunks() {
    let filler = "nothing to be seen in here; ".repeat(10_000);
    let mut said: Vec<Event> = (1..20).map(|number| text(number, &filler)).collect();
    said.insert(0, text(0, "the Größe of it"));
    let mut transcript = Transcript::new(task(2));
    transcript.on_page(None, &said, false);
    let (page, height) = (page(80), 12);
    transcript.search_mut().field.insert("grÖße".to_lowercase().as_str());
    let mut steps = 1;
    let mut progress = transcript.find(Direction::Backward, &page, height);
    while progress == SearchProgress::Pending {
        assert!(transcript.search().is_running());
        // New events do not disturb it.
        transcript.on_event(&text(100 + steps, &filler));
        steps += 1;
        progress = transcript.continue_search(&page, height);
    }
    assert_eq!(progress, SearchProgress::Found);
    assert_eq!(transcript.search().current.map(|anchor| anchor.id), Some(EntryId::Event(said[0].id)));
    assert!(steps > 3, "it took {steps} steps");
    transcript.search_mut().field.set("Grösse");
    transcript.find(Direction::Backward, &page, height);
    transcript.search_mut().cancel();
    assert!(!transcript.search().is_running());
    assert_eq!(transcript.continue_search(&page, height), SearchProgress::NotFound);
}

#[test]
fn selected_rows_are_copied_as_source() {
    let mut transcript = Transcript::new(task(2));
    transcript.on_page(None, &[text(1, "a paragraph that is long enough to be wrapped at thirty columns")], false);
    let (page, height) = (page(30), 10);
    transcript.start_select(&page, height);
    transcript.extend_select(9, &page, height);
    assert_eq!(
        transcript.selected_text(&page).unwrap(),
        "a paragraph that is long enough to be wrapped at thirty columns"
    );
}

#[test]
fn long_notice_wraps_and_huge_notice_is_bounded() {
    let rows = |text: &str, unfolded: bool| {
        let kind = EntryKind::Notice {
            tone: crate::ui::transcript::entry::Tone::Quiet,
            text: text.to_owned(),
            more: String::new(),
        };
        let entry = Entry::new(EntryId::Live(LivePart::Text), Timestamp::EPOCH, 0, kind);
        let rows = crate::ui::transcript::layout::rows(&entry, &Page { unfolded, ..page(40) });
        rows.iter().map(crate::text::Row::shown).collect::<Vec<_>>()
    };
    let said = rows("The sub task \"Add a greeting\" ended its turn without saying that it is done.", false);
    assert!(said.len() == 3 && said[2].contains("done."), "{said:#?}");
    let huge = "word ".repeat(200_000);
    assert!(rows(&huge, false).len() < 10);
    assert!(rows(&huge, true).len() < 500);
}

#[test]
fn huge_output_lays_out_only_visible_rows() {
    let mut output = crate::model::live_turn::Tail::default();
    for _ in 0..200 {
        output.push_output(&"x".repeat(30_000));
    }
    assert!(output.text.len() <= 192 * 1024);
    assert!(output.dropped > 5_000_000);
    let long = "y".repeat(1_000_000);
    let rows = crate::ui::transcript::layout::rows(
        &Entry::new(
            EntryId::Live(LivePart::Text),
            Timestamp::EPOCH,
            0,
            EntryKind::Notice { tone: crate::ui::transcript::entry::Tone::Quiet, text: long.clone(), more: long },
        ),
        &Page { unfolded: true, ..page(80) },
    );
    assert!(rows.len() < 500);
}

#[test]
fn megabytes_of_output_cost_bounded_work() {
    let line = "a line of what a compiler prints, with a needle in it\n";
    let lines = line.repeat(5_000_000 / line.len());
    let endless = "x".repeat(999_990) + " needle";
    for output in [lines, endless] {
        let mut transcript = Transcript::new(Ids::default().login);
        transcript.on_page(None, &events(Ids::default().login), false);
        let (first, height) = (page(80), 30);
        let call =
            transcript.entries().position(|entry| matches!(&entry.kind, EntryKind::Tool(tool) if tool.call == "2"));
        let EntryId::Event(id) = transcript.entry(call.unwrap()).unwrap().id else { panic!("it is in the log") };
        transcript.on_full_output(id, output.clone());
        transcript.unfold_all();
        transcript.search_mut().field.insert("needle");
        let (before, made) = (crate::text::document::pushed(), transcript.layouts_made());
        transcript.go_to_event(id, &first, height);
        for _ in 0..50 {
            transcript.scroll(15, &first, height);
            transcript.top(&first, height);
            transcript.find(Direction::Forward, &first, height);
        }
        let (pushed, layouts) = (crate::text::document::pushed() - before, transcript.layouts_made() - made);
        // Once for the screen and once for the search, however often the keys are pressed.
        assert!(pushed < 700_000, "{pushed} bytes were laid out to scroll and to search");
        assert!(layouts <= transcript.entry_count() as u64, "{layouts} layouts");
        let before = crate::text::document::pushed();
        for width in 60..80 {
            let page = page(width);
            let top = transcript.top(&page, height);
            let rows = transcript.rows(transcript.entry(top.entry).unwrap(), &page);
            assert!(rows.len() < 500, "{} rows", rows.len());
        }
        let resized = (crate::text::document::pushed() - before) / 20;
        assert!(resized < 300_000, "{resized} bytes for each width");
    }
}

#[test]
fn huge_text_is_truncated_with_a_note() {
    let mut transcript = Transcript::new(Ids::default().login);
    let said = "a word and another one, ".repeat(200_000);
    transcript.on_page(None, &[text(1, &said), text(2, &"y".repeat(1_000_000))], false);
    let page = page(80);
    for entry in transcript.entries() {
        let rows = transcript.rows(entry, &page);
        let last = rows.last().map(crate::text::Row::shown).unwrap_or_default();
        assert!(rows.len() < 5_000 && last.contains("more: open the pager to see all"), "{} {last}", rows.len());
    }
}

proptest! {
    #[test]
    fn what_is_read_stays_where_it_is_whatever_arrives(
        up in 1isize..400, height in 3usize..30, width in 20usize..100,
        arrivals in prop::collection::vec(0u8..3, 0..12),
    ) {
        let mut transcript = loaded(1_000..1_060);
        let page = page(width);
        transcript.scroll(-up, &page, height);
        prop_assume!(!transcript.is_following());
        let before = top_row(&transcript, &page, height);
        let (mut newest, mut oldest) = (5_000, 1_000);
        for arrival in arrivals {
            match arrival {
                0 => {
                    newest += 1;
                    transcript.on_event(&text(newest, "news from below"));
                }
                1 => transcript.on_live(&LiveUpdate::TextDelta { text: "more words ".to_owned() }, Timestamp::EPOCH),
                _ => {
                    let before = transcript.wants_older(true);
                    oldest -= 20;
                    transcript.on_page(before, &numbered(oldest..oldest + 20), true);
                }
            }
            prop_assert_eq!(&top_row(&transcript, &page, height), &before);
        }
    }

    #[test]
    fn a_resize_keeps_the_entry_that_is_being_read(
        up in 1isize..400, height in 3usize..30, widths in prop::collection::vec(20usize..120, 1..6),
    ) {
        let mut transcript = loaded(1..60);
        transcript.scroll(-up, &page(80), height);
        prop_assume!(!transcript.is_following());
        let before = transcript.anchor.unwrap();
        for width in widths {
            let page = page(width);
            let end = crate::ui::transcript::viewport::end(&Measured { transcript: &transcript, page: &page }, height);
            let top = transcript.top(&page, height);
            // At the end there may be fewer rows below than fit: then more is shown above.
            if top < end {
                prop_assert_eq!(transcript.entry(top.entry).unwrap().id, before.id);
            }
        }
        let back = transcript.top(&page(80), height);
        prop_assert_eq!(transcript.anchor_at(back, &page(80)).unwrap(), before);
    }
}

fn streamed(words: &str) -> LiveUpdate {
    LiveUpdate::TextDelta { text: words.to_owned() }
}

/// Returns the texts of all entries in display order.
fn said(transcript: &Transcript) -> Vec<String> {
    let text = |entry: &Entry| match &entry.kind {
        EntryKind::Text { text } | EntryKind::UserMessage { text, .. } => text.clone(),
        other => format!("{other:?}"),
    };
    transcript.entries().map(text).collect()
}

fn user_message(number: u128, words: &str) -> Event {
    let id = crate::base::MessageId::from_ulid(ulid::Ulid::from_parts(1, number));
    let from = crate::model::MessageSource::User;
    event(number, 0, Body::Message(crate::model::Message::new(id, Timestamp::EPOCH, from, words)))
}

fn consumed(number: u128, message: &Event) -> Event {
    let Body::Message(message) = &message.body else { panic!("a message") };
    event(number, 0, Body::MessagesConsumed(crate::model::event::MessagesConsumed { ids: vec![message.id] }))
}

fn turn_ended(number: u128) -> Event {
    let turn = crate::base::TurnId::from_ulid(ulid::Ulid::from_parts(1, number));
    event(
        number,
        0,
        Body::TurnEnded(crate::model::event::TurnEnded { turn, stop: crate::model::event::StopReason::EndTurn }),
    )
}

#[test]
fn a_message_sent_during_a_turn_stays_where_it_arrived() {
    let mut transcript = Transcript::new(task(2));
    assert!(transcript.wants_newest());
    let first = user_message(1, "go");
    let log = [first.clone(), consumed(2, &first)];
    transcript.on_page(None, &log, false);
    transcript.on_live(&streamed("streaming al"), Timestamp::EPOCH);
    let second = user_message(3, "also this");
    transcript.on_event(&second);
    transcript.on_live(&streamed("ready"), Timestamp::EPOCH);
    let page = page(60);
    assert_eq!(said(&transcript), ["go", "streaming already", "also this"]);
    for index in 0..transcript.entry_count() {
        let id = transcript.entry(index).unwrap().id;
        assert_eq!(transcript.index_of(id), Some(index), "{id:?}");
    }
    let place = transcript.entry(2).unwrap().id;
    transcript.cursor = Some(place);
    let saved = [text(4, "streaming already"), turn_ended(5), consumed(6, &second), text(7, "understood")];
    for event in &saved {
        transcript.on_event(event);
        assert_eq!(said(&transcript)[..3], ["go", "streaming already", "also this"]);
    }
    let at_cursor = transcript.cursor.and_then(|id| transcript.index_of(id));
    assert_eq!(at_cursor, Some(2), "the cursor stays on the message");
    assert!(transcript.go_to_event(second.id, &page, 10) && transcript.cursor == transcript.entry(2).map(|it| it.id));
    let mut restarted = Transcript::new(task(2));
    let all: Vec<Event> = log.into_iter().chain([second]).chain(saved).collect();
    restarted.on_page(None, &all, false);
    assert_eq!(said(&restarted), said(&transcript));
}

#[test]
fn streamed_text_that_a_loaded_page_already_has_is_not_doubled() {
    use crate::model::live_turn::LiveTurns;
    let mut turns = LiveTurns::default();
    let mut transcript = Transcript::new(task(2));
    assert!(transcript.wants_newest());
    let (begun, saved) = (text(1, "before"), text(2, "whole"));
    turns.on_event(task(2), &begun);
    turns.on_live(task(2), &streamed("who"));
    // The page was read from the disk after the response was saved; the updates have not come that far.
    transcript.on_page(None, &[begun, saved.clone()], false);
    transcript.sync_live(turns.get(task(2)), Timestamp::EPOCH);
    turns.on_live(task(2), &streamed("le"));
    transcript.on_live(&streamed("le"), Timestamp::EPOCH);
    assert_eq!(said(&transcript), ["before", "whole"]);
    turns.on_event(task(2), &saved);
    transcript.on_event(&saved);
    assert!(transcript.is_ahead());
    transcript.sync_live(turns.get(task(2)), Timestamp::EPOCH);
    assert!(!transcript.is_ahead());
    transcript.on_live(&streamed("the next one"), Timestamp::EPOCH);
    assert_eq!(said(&transcript), ["before", "whole", "the next one"]);
}
