use super::*;

#[test]
fn an_id_is_an_epoch_and_a_number() {
    let epoch = Epoch::fresh();
    assert_eq!(parse_id(&format!("{}.17", epoch.0)), Ok(Position { epoch, seq: 17 }));
    for id in ["", ".", "1.2", "x.1", &format!("{}", epoch.0), &format!("{}.", epoch.0), &format!("{}.-1", epoch.0)] {
        assert_eq!(parse_id(id), Err(InvalidId), "{id}");
    }
    assert_eq!(parse_id(&format!("{}.99999999999999999999999", epoch.0)), Err(InvalidId));
    assert_eq!(parse_id(&format!("{}.+1", epoch.0)), Err(InvalidId));
}

#[test]
fn an_event_is_one_line_of_data_without_known_secrets() {
    known_secrets::remember(["sk-test-4711-abcdefgh".to_owned()]);
    let (mut out, at) = (BytesMut::new(), Position { epoch: Epoch::fresh(), seq: 3 });
    let update =
        serde_json::json!({"update": "notice", "notice": {"level": "info", "text": "a\nb sk-test-4711-abcdefgh"}});
    let update: Update = serde_json::from_value(update).unwrap();
    write_update(&mut out, at, &update, &serde_json::to_vec(&update).unwrap());
    let text = String::from_utf8(out.to_vec()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert_eq!((lines[0], lines[1]), (format!("id: {}.3", at.epoch.0).as_str(), "event: notice"));
    assert!(lines[2].ends_with(r#"a\nb ****"}}"#), "{text}");
}
