use super::*;

fn request(message: &str) -> MergeRequest {
    MergeRequest {
        expected: None,
        task: "01JB2Q8G5VW3K7M9N4P6R8T0XY".parse().unwrap(),
        branch: "mxd/x/y".to_owned(),
        target: "main".to_owned(),
        strategy: MergeStrategy::Merge,
        message: message.to_owned(),
    }
}

#[test]
fn the_task_trailer_is_added_once_at_the_end() {
    let trailer = "Task-Id: 01JB2Q8G5VW3K7M9N4P6R8T0XY\n";
    for (message, expected) in [
        ("", format!("Merge mxd/x/y\n\n{trailer}")),
        ("Subject", format!("Subject\n\n{trailer}")),
        ("Fix: subject", format!("Fix: subject\n\n{trailer}")),
        ("Subject\n\nBody: text with words\nmore\n", format!("Subject\n\nBody: text with words\nmore\n\n{trailer}")),
        ("Subject\n\nSigned-off-by: Ann", format!("Subject\n\nSigned-off-by: Ann\n{trailer}")),
        ("Subject\n\nTask-Id: other", "Subject\n\nTask-Id: other\n".to_owned()),
    ] {
        assert_eq!(with_trailer(&request(message)), expected, "{message:?}");
    }
}
