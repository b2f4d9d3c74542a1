use super::*;

fn tls() -> TlsFiles {
    TlsFiles { certificates: "c.pem".into(), key: "k.pem".into() }
}

#[test]
fn the_loopback_interface_needs_no_certificate() {
    for (text, address) in [
        ("7878", "127.0.0.1:7878"),
        ("0", "127.0.0.1:0"),
        ("localhost:7878", "127.0.0.1:7878"),
        ("127.0.0.2:1", "127.0.0.2:1"),
        ("[::1]:7878", "[::1]:7878"),
    ] {
        assert_eq!(Listen::new(text, None).unwrap().address.to_string(), address);
    }
}

#[test]
fn other_addresses_need_tls_and_the_refusal_shows_the_tunnel() {
    for text in ["0.0.0.0:7878", "192.168.1.2:7878", "[::]:7878"] {
        let fault = Listen::new(text, None).unwrap_err();
        assert!(fault.hints[0].contains("ssh -N -L 7878:127.0.0.1:7878"), "{fault}");
        assert!(Listen::new(text, Some(tls())).is_ok());
    }
}

#[test]
fn what_is_no_address_is_refused() {
    for text in ["", "example.com:80", "127.0.0.1", "70000", "localhost", ":7878", "127.0.0.1:x"] {
        assert!(Listen::new(text, Some(tls())).is_err(), "{text:?}");
    }
}
