use super::*;
use crate::base::{IdSource, SystemClock, TaskId, Timestamp};
use crate::engine::snapshot::TaskView;
use crate::engine::update::{Level, Notice};
use crate::model::Live;
use crate::model::task::TaskNode;

fn ids() -> IdSource {
    IdSource::new(Arc::new(SystemClock))
}

fn said(task: TaskId, text: &str) -> Update {
    Update::Live { task, live: Live::TextDelta { text: text.to_owned() } }
}

fn noticed(text: &str) -> Update {
    Update::Notice { notice: Notice { level: Level::Info, text: text.to_owned(), task: None } }
}

fn drain(watcher: &mut Watcher) -> Vec<Update> {
    std::iter::from_fn(|| watcher.try_next()).collect()
}

#[test]
fn streamed_text_is_put_together_and_nothing_of_it_is_lost() {
    let (feed, ids) = (Feed::default(), ids());
    let (one, two) = (TaskId::fresh(&ids), TaskId::fresh(&ids));
    let mut watcher = feed.watch();
    for update in [said(one, "a"), said(one, "b"), said(two, "x"), said(one, "c")] {
        feed.tell(&update);
    }
    assert_eq!(drain(&mut watcher), [said(one, "ab"), said(two, "x"), said(one, "c")]);
}

#[test]
fn a_newer_view_replaces_one_that_was_not_read_unless_something_came_between() {
    let (feed, ids) = (Feed::default(), ids());
    let view = |title: &str, id| Update::Task {
        task: Box::new(TaskView::of(TaskNode::new(id, title, "engineer", Timestamp::EPOCH))),
    };
    let (one, two) = (TaskId::fresh(&ids), TaskId::fresh(&ids));
    let mut watcher = feed.watch();
    for update in [view("old", one), view("other", two), view("new", one)] {
        feed.tell(&update);
    }
    assert_eq!(drain(&mut watcher), [view("new", one), view("other", two)]);
    for update in [view("old", one), said(one, "a"), view("new", one)] {
        feed.tell(&update);
    }
    assert_eq!(drain(&mut watcher), [view("old", one), said(one, "a"), view("new", one)]);
    // Some of it is read before the newer one comes.
    for update in [view("first", two), view("old", one)] {
        feed.tell(&update);
    }
    assert_eq!(watcher.try_next(), Some(view("first", two)));
    for update in [view("new", one), view("second", two)] {
        feed.tell(&update);
    }
    assert_eq!(drain(&mut watcher), [view("new", one), view("second", two)]);
    feed.tell(&view("last", one));
    assert_eq!(drain(&mut watcher), [view("last", one)], "what was read is not changed any more");
}

#[test]
fn a_view_behind_which_the_queue_was_given_up_is_told_anew() {
    let (feed, ids) = (Feed::default(), ids());
    let one = TaskId::fresh(&ids);
    let view = |title: &str| Update::Task {
        task: Box::new(TaskView::of(TaskNode::new(one, title, "engineer", Timestamp::EPOCH))),
    };
    let mut watcher = feed.watch();
    feed.tell(&view("lost"));
    for number in 0..LONGEST {
        feed.tell(&noticed(&number.to_string()));
    }
    feed.tell(&view("new"));
    let told = drain(&mut watcher);
    assert_eq!((told.first(), told.last()), (Some(&Update::Resync), Some(&view("new"))));
}

#[test]
fn one_who_falls_behind_is_told_to_look_anew_and_then_goes_on() {
    let feed = Feed::default();
    let mut watcher = feed.watch();
    for number in 0..=LONGEST {
        feed.tell(&noticed(&number.to_string()));
    }
    assert_eq!(drain(&mut watcher), [Update::Resync, noticed(&LONGEST.to_string())]);
}

#[tokio::test]
async fn a_watcher_is_woken_by_news() {
    let feed = Arc::new(Feed::default());
    let mut watcher = feed.watch();
    let teller = Arc::clone(&feed);
    let told = tokio::spawn(async move { teller.tell(&noticed("hello")) });
    assert_eq!(watcher.next().await, noticed("hello"));
    told.await.unwrap();
}

#[test]
fn a_notice_that_nobody_heard_is_told_to_whoever_comes_first() {
    let feed = Feed::default();
    let notice = |text: &str| {
        let notice = crate::engine::update::Notice {
            level: crate::engine::update::Level::Info,
            text: text.to_owned(),
            task: None,
        };
        Update::Notice { notice }
    };
    feed.tell(&notice("early"));
    feed.tell(&Update::Quiet);
    let (mut first, mut second) = (feed.watch(), feed.watch());
    assert_eq!((first.try_next(), first.try_next()), (Some(notice("early")), None));
    assert_eq!(second.try_next(), None, "it was heard");
    feed.tell(&notice("now"));
    assert_eq!((first.try_next(), second.try_next()), (Some(notice("now")), Some(notice("now"))));
}
