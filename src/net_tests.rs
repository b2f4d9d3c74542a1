use super::*;

#[test]
fn loopback_addresses_are_recognised() {
    let is_local = |address: &str| is_loopback(&Url::parse(address).unwrap());
    for address in ["http://localhost:11434/v1", "http://127.0.0.1", "http://127.8.0.1", "http://[::1]:80/"] {
        assert!(is_local(address), "{address}");
    }
    for address in ["https://api.example.org", "http://localhost.example.org", "http://10.0.0.1", "http://[::2]/"] {
        assert!(!is_local(address), "{address}");
    }
}

#[test]
fn the_chain_has_every_cause_once() {
    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Layer(&'static str, #[source] Option<Box<Self>>);
    let error = Layer("sending failed", Some(Box::new(Layer("failed", Some(Box::new(Layer("no route", None)))))));
    assert_eq!(error_chain(&error), "sending failed: no route");
}
