use proptest::prelude::*;

use super::*;

fn host(text: &str) -> Result<String, HostError> {
    Host::parse(text).map(|host| host.to_string())
}

#[test]
fn a_name_has_one_form() {
    for text in ["example.org", "EXAMPLE.org", "ex\u{ad}ample.org"] {
        assert_eq!(host(text).as_deref(), Ok("example.org"), "{text:?}");
    }
    assert_eq!(host("b\u{fc}cher.example").as_deref(), Ok("xn--bcher-kva.example"));
    assert_eq!(host("\u{ff45}xample\u{3002}org").as_deref(), Ok("example.org"));
}

#[test]
fn every_spelling_of_an_address_is_that_address() {
    for text in [
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.01",
        "0x7f000001",
        "[::ffff:127.0.0.1]",
        "::ffff:7f00:1",
        "\u{ff11}27.0.0.1",
    ] {
        assert_eq!(host(text).as_deref(), Ok("127.0.0.1"), "{text:?}");
    }
    assert_eq!(host("[::1]").as_deref(), Ok("[::1]"));
}

#[test]
fn what_programs_read_differently_is_refused() {
    let odd = [
        "",
        "a\0.listed.org",
        "a\n.org",
        "listed.org.",
        "127.0.0.1.",
        "user@listed.org",
        "listed.org%00.evil.example",
        "%6cisted.org",
        "a..b",
        ".a",
        "-.",
        "[::1",
        "::1]",
        "[fe80::1%eth0]",
        "fe80::1%1",
        "a b",
        "a/b",
        "a\\b",
        "256.1.1.1",
        "1.2.3.4.5",
        "*.a.org",
        "a,b",
        "[v1.a]",
        "xn--a",
        "a\u{2024}b@c",
        "[127.0.0.1]",
    ];
    for text in odd {
        assert!(host(text).is_err(), "{text:?}: {:?}", host(text));
    }
    assert!(host(&"a".repeat(254)).is_err());
    assert!(host(&format!("{}.org", "a".repeat(64))).is_err());
}

#[test]
fn a_target_has_a_port_in_range() {
    assert_eq!(Target::parse("a.org:8443", None).unwrap().to_string(), "a.org:8443");
    assert_eq!(Target::parse("[::1]:22", None).unwrap().to_string(), "[::1]:22");
    assert_eq!(Target::parse("a.org", Some(80)).unwrap().port, 80);
    for text in
        ["a.org", "a.org:", "a.org:0", "a.org:65536", "a.org:+80", "a.org:80a", "[::1]", "[::1]x:80", "::1:80", ":80"]
    {
        assert!(Target::parse(text, None).is_err(), "{text:?}");
    }
}

#[test]
fn a_pattern_without_a_port_means_the_usual_ones() {
    let matches = |pattern: &str, target: &str| {
        HostPattern::parse(pattern).unwrap().matches(&Target::parse(target, None).unwrap())
    };
    assert_eq!(matches("docs.rs", "docs.rs:443"), Some(Exactness::Exact));
    assert_eq!(matches("docs.rs", "DOCS.rs:22"), Some(Exactness::Exact));
    assert_eq!(matches("docs.rs", "docs.rs:25"), None);
    assert_eq!(matches("docs.rs:25", "docs.rs:25"), Some(Exactness::Exact));
    assert_eq!(matches("docs.rs:25", "docs.rs:443"), None);
    assert_eq!(matches("docs.rs", "a.docs.rs:443"), None);
    assert_eq!(matches("*.docs.rs", "a.docs.rs:443"), Some(Exactness::Wildcard));
    assert_eq!(matches("*.docs.rs", "a.b.docs.rs:443"), Some(Exactness::Wildcard));
    assert_eq!(matches("*.docs.rs", "docs.rs:443"), None);
    assert_eq!(matches("*.docs.rs", "evildocs.rs:443"), None);
    assert_eq!(matches("127.0.0.1:80", "2130706433:80"), Some(Exactness::Exact));
    for text in ["*", "*.", "*.com", "a.*.org", "*.1.2.3.4", "https://a.org", ""] {
        assert!(HostPattern::parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_rule_names_the_port_only_if_it_is_unusual() {
    assert_eq!(Target::parse("a.org:443", None).unwrap().rule_text(), "a.org");
    assert_eq!(Target::parse("a.org:8443", None).unwrap().rule_text(), "a.org:8443");
}

proptest! {
    /// What was parsed once is read the same again, and is plain ASCII.
    #[test]
    fn the_one_form_is_stable(text in "\\PC{0,40}|[a-zA-Z0-9.:%@\\[\\]-]{0,30}|[0-9.x]{1,16}") {
        if let Ok(parsed) = Host::parse(&text) {
            let form = parsed.to_string();
            prop_assert!(form.is_ascii());
            prop_assert_eq!(Host::parse(&form), Ok(parsed));
        }
    }
}
