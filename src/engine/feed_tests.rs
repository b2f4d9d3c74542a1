use super::*;
use crate::base::{IdSource, SystemClock, TaskId, Timestamp};
use crate::engine::snapshot::TaskView;
use crate::engine::update::{Level, Notice};
use crate::model::Live;
use crate::model::task::TaskNode;

fn ids() -> IdSource {
    IdSource::new(Arc::new(SystemClock))
}

fn text_delta(task: TaskId, text: &str) -> Update {
    Update::Live { task, live: Live::TextDelta { text: text.to_owned() } }
}

fn notice(text: &str) -> Update {
    Update::Notice { notice: Notice { level: Level::Info, text: text.to_owned(), task: None } }
}

fn drain(watcher: &mut Watcher) -> Vec<Update> {
    std::iter::from_fn(|| watcher.try_next()).collect()
}

#[test]
fn streamed_text_is_merged_without_loss() {
    let (feed, ids) = (Feed::default(), ids());
    let (one, two) = (TaskId::fresh(&ids), TaskId::fresh(&ids));
    let mut watcher = feed.watch();
    for update in [text_delta(one, "a"), text_delta(one, "b"), text_delta(two, "x"), text_delta(one, "c")] {
        feed.publish(&update);
    }
    assert_eq!(drain(&mut watcher), [text_delta(one, "ab"), text_delta(two, "x"), text_delta(one, "c")]);
}

#[test]
fn a_snapshot_stands_between_the_updates_before_and_after_it() {
    let (feed, ids) = (Feed::default(), ids());
    let task = TaskId::fresh(&ids);
    let snapshot = crate::serve::testing::FakePort::default().snapshot;
    let view = |title: &str| Update::Task {
        task: Box::new(TaskView::of(TaskNode::new(task, title, "engineer", Timestamp::EPOCH))),
    };
    let mut watcher = feed.watch();
    feed.publish(&view("old"));
    feed.publish(&text_delta(task, "a"));
    watcher.snapshots().add(snapshot.clone());
    feed.publish(&text_delta(task, "b"));
    feed.publish(&text_delta(task, "c"));
    let items: Vec<FeedItem> = std::iter::from_fn(|| watcher.try_next_item()).collect();
    let wanted = [
        FeedItem::Update(view("old")),
        FeedItem::Update(text_delta(task, "a")),
        FeedItem::Snapshot(Box::new(snapshot.clone())),
        FeedItem::Update(text_delta(task, "bc")),
    ];
    assert_eq!(items, wanted);
    // A view before it is not replaced by one after it.
    feed.publish(&view("before"));
    watcher.snapshots().add(snapshot.clone());
    feed.publish(&view("after"));
    let items: Vec<FeedItem> = std::iter::from_fn(|| watcher.try_next_item()).collect();
    let snapshot = FeedItem::Snapshot(Box::new(snapshot));
    assert_eq!(items, [FeedItem::Update(view("before")), snapshot, FeedItem::Update(view("after"))]);
}

#[test]
fn a_newer_view_replaces_an_unread_one_unless_another_update_is_between_them() {
    let (feed, ids) = (Feed::default(), ids());
    let view = |title: &str, id| Update::Task {
        task: Box::new(TaskView::of(TaskNode::new(id, title, "engineer", Timestamp::EPOCH))),
    };
    let (one, two) = (TaskId::fresh(&ids), TaskId::fresh(&ids));
    let mut watcher = feed.watch();
    for update in [view("old", one), view("other", two), view("new", one)] {
        feed.publish(&update);
    }
    assert_eq!(drain(&mut watcher), [view("new", one), view("other", two)]);
    for update in [view("old", one), text_delta(one, "a"), view("new", one)] {
        feed.publish(&update);
    }
    assert_eq!(drain(&mut watcher), [view("old", one), text_delta(one, "a"), view("new", one)]);
    // Some updates are read before the newer one arrives.
    for update in [view("first", two), view("old", one)] {
        feed.publish(&update);
    }
    assert_eq!(watcher.try_next(), Some(view("first", two)));
    for update in [view("new", one), view("second", two)] {
        feed.publish(&update);
    }
    assert_eq!(drain(&mut watcher), [view("new", one), view("second", two)]);
    feed.publish(&view("last", one));
    assert_eq!(drain(&mut watcher), [view("last", one)], "an update that was read is not changed");
}

#[test]
fn a_view_that_a_resync_dropped_is_not_replaced_in_place() {
    let (feed, ids) = (Feed::default(), ids());
    let one = TaskId::fresh(&ids);
    let view = |title: &str| Update::Task {
        task: Box::new(TaskView::of(TaskNode::new(one, title, "engineer", Timestamp::EPOCH))),
    };
    let mut watcher = feed.watch();
    feed.publish(&view("lost"));
    for number in 0..MAX_QUEUE {
        feed.publish(&notice(&number.to_string()));
    }
    feed.publish(&view("new"));
    let updates = drain(&mut watcher);
    assert_eq!((updates.first(), updates.last()), (Some(&Update::Resync), Some(&view("new"))));
}

#[test]
fn a_watcher_that_falls_behind_gets_a_resync_and_later_updates() {
    let feed = Feed::default();
    let mut watcher = feed.watch();
    for number in 0..=MAX_QUEUE {
        feed.publish(&notice(&number.to_string()));
    }
    assert_eq!(drain(&mut watcher), [Update::Resync, notice(&MAX_QUEUE.to_string())]);
}

#[tokio::test]
async fn a_watcher_is_woken_by_an_update() {
    let feed = Arc::new(Feed::default());
    let mut watcher = feed.watch();
    let publisher = Arc::clone(&feed);
    let published = tokio::spawn(async move { publisher.publish(&notice("hello")) });
    assert_eq!(watcher.next().await, notice("hello"));
    published.await.unwrap();
}

#[test]
fn a_notice_without_a_watcher_goes_to_the_first_one() {
    let feed = Feed::default();
    let notice = |text: &str| {
        let notice = crate::engine::update::Notice {
            level: crate::engine::update::Level::Info,
            text: text.to_owned(),
            task: None,
        };
        Update::Notice { notice }
    };
    feed.publish(&notice("early"));
    feed.publish(&Update::Quiet);
    let (mut first, mut second) = (feed.watch(), feed.watch());
    assert_eq!((first.try_next(), first.try_next()), (Some(notice("early")), None));
    assert_eq!(second.try_next(), None, "it was delivered once");
    feed.publish(&notice("now"));
    assert_eq!((first.try_next(), second.try_next()), (Some(notice("now")), Some(notice("now"))));
}
