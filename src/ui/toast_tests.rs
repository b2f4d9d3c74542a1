use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

#[test]
fn notices_never_take_more_than_three_rows_and_the_newest_is_always_among_them() {
    let mut toasts = Toasts::default();
    for count in 0..6 {
        toasts.say(Level::Error, format!("notice {count}: {}", "long words ".repeat(30)), at(1));
    }
    let rows = toasts.rows(80);
    assert_eq!(rows.len(), MAX_ROWS);
    assert!(rows[0].shown().contains("notice 5"), "{:?}", rows[0].shown());
}

#[test]
fn a_notice_that_is_gone_stays_in_the_history() {
    let mut toasts = Toasts::default();
    toasts.say(Level::Info, "one", at(1));
    toasts.say(Level::Warning, "two", at(2));
    assert!(toasts.expire(at(6)));
    assert_eq!(toasts.iter().map(|toast| toast.text.as_str()).collect::<Vec<_>>(), ["two"]);
    assert!(toasts.dismiss());
    assert_eq!(toasts.height(80), 0);
    assert_eq!(toasts.history().iter().map(|toast| toast.text.as_str()).collect::<Vec<_>>(), ["one", "two"]);
}

#[test]
fn the_same_notice_again_is_one_notice() {
    let mut toasts = Toasts::default();
    toasts.say(Level::Info, "saved", at(1));
    toasts.say(Level::Info, "saved", at(3));
    assert_eq!((toasts.iter().count(), toasts.history().len()), (1, 1));
    assert_eq!(toasts.next_end(), Some(at(7)));
}
