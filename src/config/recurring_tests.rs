use serde_json::json;

use super::*;

fn task() -> TaskId {
    "01M3250WAT5819AEQBE1KKWAEB".parse().unwrap()
}

fn path() -> &'static Path {
    Path::new(".mxd/tasks/x.json")
}

fn read(text: &str) -> Result<RecurringPlan, String> {
    RecurringPlan::read(task(), path(), text)
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Returns a plan with this cron line in the time zone of Zurich. The zone is written as a POSIX rule, so that no test
/// needs the system's time zone database.
fn cron_in_zurich(line: &str) -> RecurringPlan {
    let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
    let plan = read(&json!({ "version": 1, "title": "t", "mode": "reset" }).to_string()).unwrap();
    RecurringPlan { when: Some(Recurrence::Cron { line: Box::new(cron(line).unwrap()), zone }), ..plan }
}

/// Returns the first runs after a time, in UTC.
fn runs(plan: &RecurringPlan, after: &str, count: usize) -> Vec<String> {
    let next = |last: &Timestamp| plan.next(*last);
    std::iter::successors(plan.next(at(after)), next).take(count).map(Timestamp::to_seconds_string).collect()
}

#[test]
fn a_complete_plan_is_read() {
    let plan = read(
        r#"{"version": 1, "title": " Update dependencies ", "description": "Goal: none is old.\n", "mode": "continue",
            "every": "1d12h", "profile": "engineer", "budgetUsd": 2.5}"#,
    )
    .unwrap();
    let facts = PlanFacts {
        title: "Update dependencies".to_owned(),
        description: "Goal: none is old.".to_owned(),
        mode: Recurring::Continue,
        profile: Some("engineer".to_owned()),
        budget: Some(MicroUsd(2_500_000)),
        when: "every 1d12h".to_owned(),
        hash: plan.facts.hash.clone(),
    };
    assert_eq!(plan.facts, facts);
    assert_eq!(plan.next(at("2026-01-01T00:00:00Z")), Some(at("2026-01-02T12:00:00Z")));
}

#[test]
fn a_plan_without_a_schedule_never_runs_by_itself() {
    let plan = read(r#"{"version": 1, "title": "t", "mode": "reset"}"#).unwrap();
    assert_eq!(plan.next(Timestamp::EPOCH), None);
}

#[test]
fn missed_runs_are_due_only_once() {
    let now = at("2026-03-10T10:07:00Z");
    let hourly = read(r#"{"version": 1, "title": "t", "mode": "reset", "every": "1h"}"#).unwrap();
    for plan in [hourly, cron_in_zurich("0 * * * *")] {
        let last = at("2026-03-01T00:00:00Z");
        assert!(plan.next(last).unwrap() <= now);
        assert!(plan.next(now).unwrap() > now, "having begun now, it is due later");
    }
}

#[test]
fn a_cron_line_follows_the_clocks_of_its_time_zone() {
    // On 29 March 2026 clocks go forward, on 25 October back.
    let plan = cron_in_zurich("30 7 * * *");
    let spring = ["2026-03-28T06:30:00Z", "2026-03-29T05:30:00Z", "2026-03-30T05:30:00Z"];
    assert_eq!(runs(&plan, "2026-03-28T00:00:00Z", 3), spring);
    let autumn = ["2026-10-24T05:30:00Z", "2026-10-25T06:30:00Z", "2026-10-26T06:30:00Z"];
    assert_eq!(runs(&plan, "2026-10-24T00:00:00Z", 3), autumn);
}

#[test]
fn a_skipped_time_runs_after_the_gap_and_a_repeated_one_runs_once() {
    let plan = cron_in_zurich("30 2 * * *");
    let spring = ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"];
    assert_eq!(runs(&plan, "2026-03-28T00:00:00Z", 3), spring);
    let autumn = ["2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"];
    assert_eq!(runs(&plan, "2026-10-24T00:00:00Z", 3), autumn);
}

#[test]
fn a_cron_line_supports_names_of_weekdays() {
    let plan = cron_in_zurich("0 6 * * MON-FRI");
    // A Friday.
    let week = ["2026-01-09T05:00:00Z", "2026-01-12T05:00:00Z", "2026-01-13T05:00:00Z"];
    assert_eq!(runs(&plan, "2026-01-09T00:00:00Z", 3), week);
}

#[test]
fn a_time_zone_is_read_by_its_name() {
    // Without a time zone database, an error is expected.
    let text = r#"{"version": 1, "title": "t", "mode": "reset", "cron": "0 6 * * *", "timeZone": "Asia/Tokyo"}"#;
    match read(text) {
        Ok(plan) => assert_eq!(runs(&plan, "2026-01-01T00:00:00Z", 1), ["2026-01-01T21:00:00Z"]),
        Err(problem) => assert!(problem.contains("a known time zone") && TimeZone::get("Asia/Tokyo").is_err()),
    }
}

#[test]
fn errors_have_a_line() {
    let wrong = |spot: &str, change: &str, words: &str| {
        let text = format!("{{\n\"version\": 1,\n\"title\": \"t\",\n\"mode\": \"reset\"{change}\n}}");
        let problem = read(&text).unwrap_err();
        assert!(problem.starts_with(&format!(".mxd/tasks/x.json:{spot}: ")), "{problem}");
        assert!(problem.contains(words), "{problem}");
        assert!(!problem.contains('\n') && !problem.contains(" at line "), "{problem}");
    };
    wrong("5:10", ",\n\"every\": \"soon\"", "\"soon\" is not an interval");
    wrong("5:10", ",\n\"every\": \"\"", "is not an interval");
    wrong("5:10", ",\n\"every\": \"90s\"", "is not an interval");
    wrong("5:10", ",\n\"every\": \"0m\"", "is not an interval");
    wrong("5:10", ",\n\"every\": \"99999999999999999999d\"", "is not an interval");
    wrong("5:10", ",\n\"every\": \"400d\"", "more than a year");
    wrong("6:1", ",\n\"every\":\n6", "\"every\" must be a string, not a number");
    wrong("5:9", ",\n\"cron\": \"0 6 * *\"", "not a cron line of five fields");
    wrong("5:9", ",\n\"cron\": \"0 0 6 * * *\"", "not a cron line of five fields");
    wrong("5:9", ",\n\"cron\": \"0 0 30 2 *\"", "never occurs");
    wrong("6:1", ",\n\"every\": \"6h\",\n\"cron\": \"0 6 * * *\"", "not both");
    wrong("6:13", ",\n\"cron\": \"0 6 * * *\",\n\"timeZone\": \"Nowhere/Land\"", "is not a known time zone");
    wrong("5:14", ",\n\"budgetUsd\": -1", "not an amount in USD");
    wrong("5:1", ",\n\"corn\": \"0 6 * * *\"", "\"corn\" is not a field");
    wrong("5:1", ",\n\"mode\": \"again\"", "\"mode\" is set twice");
    wrong("5:1", ",", "invalid JSON");
}

#[test]
fn a_file_that_is_not_a_plan_is_refused() {
    for text in
        ["", "[]", "null", "{", "{\"version\": 2, \"title\": \"t\", \"mode\": \"reset\"}", "{\"version\": 1}", "{}"]
    {
        let problem = read(text).unwrap_err();
        assert!(problem.starts_with(".mxd/tasks/x.json:1:"), "{problem}");
    }
    assert!(read("{\"version\": 1, \"title\": \" \", \"mode\": \"reset\"}").unwrap_err().contains("title"));
    assert!(read("{\"version\": 1, \"title\": \"t\", \"mode\": \"never\"}").unwrap_err().contains("never"));
}

fn edit() -> Edit {
    Edit {
        task: task(),
        title: "Sweep".to_owned(),
        description: "Why: dust.".to_owned(),
        mode: Recurring::Reset,
        profile: "engineer".to_owned(),
        budget: Some(Some(MicroUsd(1_500_000))),
        schedule: Schedule { every: Some("6h".to_owned()), ..Schedule::default() },
    }
}

#[test]
fn a_new_file_is_complete_and_can_be_read() {
    let text = edit().apply(path(), None).unwrap();
    let whole = json!({
        "version": 1, "title": "Sweep", "description": "Why: dust.", "mode": "reset", "profile": "engineer",
        "every": "6h", "budgetUsd": 1.5,
    });
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), whole);
    assert!(text.ends_with("}\n"));
    let plan = read(&text).unwrap();
    assert_eq!((plan.facts.title.as_str(), plan.facts.budget), ("Sweep", Some(MicroUsd(1_500_000))));
}

#[test]
fn a_change_keeps_the_schedule_and_the_order() {
    let text = r#"{"mode": "continue", "cron": "0 6 * * *", "version": 1, "title": "Old", "budgetUsd": 3}"#;
    let change = Edit { schedule: Schedule::default(), budget: None, ..edit() };
    let changed = change.apply(path(), Some(text)).unwrap();
    let fields: Map<String, Value> = serde_json::from_str(&changed).unwrap();
    let names: Vec<_> = fields.keys().collect();
    assert_eq!(names, ["mode", "cron", "version", "title", "budgetUsd", "description", "profile"]);
    assert_eq!(
        (&fields["mode"], &fields["cron"], &fields["budgetUsd"]),
        (&json!("reset"), &json!("0 6 * * *"), &json!(3))
    );
    let timed = Edit { budget: Some(None), ..edit() }.apply(path(), Some(text)).unwrap();
    let fields: Map<String, Value> = serde_json::from_str(&timed).unwrap();
    assert!(!fields.contains_key("cron") && !fields.contains_key("budgetUsd"), "{timed}");
}

#[test]
fn an_invalid_file_is_not_overwritten() {
    let problem = edit().apply(path(), Some("{\"version\": 1, \"titel\": \"t\"}")).unwrap_err();
    assert!(problem.contains("titel"), "{problem}");
}

#[test]
fn a_schedule_is_checked_before_it_is_written() {
    let ok = |every: Option<&str>, cron: Option<&str>, zone: Option<&str>| {
        let own = |text: Option<&str>| text.map(str::to_owned);
        Schedule { every: own(every), cron: own(cron), time_zone: own(zone) }.check().is_ok()
    };
    assert!(ok(None, None, None));
    assert!(ok(Some("30m"), None, None));
    assert!(ok(None, Some("*/5 * * * *"), None));
    assert!(!ok(Some("30m"), Some("*/5 * * * *"), None));
    assert!(!ok(Some("half an hour"), None, None));
    assert!(!ok(None, Some("often"), None));
    assert!(!ok(None, Some("0 6 * * *"), Some("Nowhere/Land")));
    assert!(!ok(Some("6h"), None, Some("UTC")), "an interval has no time zone");
}
