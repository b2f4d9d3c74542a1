use super::*;

#[test]
fn the_name_of_a_host_is_found_with_and_without_a_port() {
    for (host, name) in [
        ("localhost:7878", "localhost"),
        ("localhost", "localhost"),
        ("127.0.0.1:1", "127.0.0.1"),
        ("[::1]:7878", "::1"),
        ("[::1]", "::1"),
        ("evil.example", "evil.example"),
    ] {
        assert_eq!(host_name(host), name);
    }
    assert!(is_loopback("LOCALHOST") && is_loopback("127.8.9.1") && is_loopback("::1"));
    for other in ["localhost.evil.example", "127.0.0.1.nip.io", "0.0.0.0", "10.0.0.1", ""] {
        assert!(!is_loopback(other), "{other}");
    }
}

#[test]
fn the_cookie_is_found_among_others() {
    let mut headers = HeaderMap::new();
    headers.append(header::COOKIE, HeaderValue::from_static("a=1; mxd_page=x.y.z; b=2"));
    assert_eq!(cookie(&headers), Some("x.y.z"));
    headers.insert(header::COOKIE, HeaderValue::from_static("not_mxd_page=1"));
    assert_eq!(cookie(&headers), None);
}
