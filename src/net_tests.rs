use super::*;

#[test]
fn this_machine_is_known_by_all_its_names() {
    let is_ours = |address: &str| is_this_machine(&Url::parse(address).unwrap());
    for address in ["http://localhost:11434/v1", "http://127.0.0.1", "http://127.8.0.1", "http://[::1]:80/"] {
        assert!(is_ours(address), "{address}");
    }
    for address in ["https://api.example.org", "http://localhost.example.org", "http://10.0.0.1", "http://[::2]/"] {
        assert!(!is_ours(address), "{address}");
    }
}

#[test]
fn a_failure_is_told_with_its_causes_and_none_twice() {
    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Layer(&'static str, #[source] Option<Box<Self>>);
    let error = Layer("sending failed", Some(Box::new(Layer("failed", Some(Box::new(Layer("no route", None)))))));
    assert_eq!(chain(&error), "sending failed: no route");
}
