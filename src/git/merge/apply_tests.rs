use super::*;

fn landing(message: &str) -> Landing {
    Landing {
        seen: None,
        task: "01JB2Q8G5VW3K7M9N4P6R8T0XY".parse().unwrap(),
        branch: "mxd/x/y".to_owned(),
        target: "main".to_owned(),
        how: How::Merge,
        message: message.to_owned(),
    }
}

#[test]
fn a_message_names_its_task_once_and_below_its_text() {
    let trailer = "Task-Id: 01JB2Q8G5VW3K7M9N4P6R8T0XY\n";
    for (message, expected) in [
        ("", format!("Merge mxd/x/y\n\n{trailer}")),
        ("Subject", format!("Subject\n\n{trailer}")),
        ("Fix: subject", format!("Fix: subject\n\n{trailer}")),
        ("Subject\n\nBody: text with words\nmore\n", format!("Subject\n\nBody: text with words\nmore\n\n{trailer}")),
        ("Subject\n\nSigned-off-by: Ann", format!("Subject\n\nSigned-off-by: Ann\n{trailer}")),
        ("Subject\n\nTask-Id: other", "Subject\n\nTask-Id: other\n".to_owned()),
    ] {
        assert_eq!(with_trailer(&landing(message)), expected, "{message:?}");
    }
}
