use super::*;

#[test]
fn an_address_has_a_host_and_perhaps_a_port_and_a_folder() {
    let read = |address: &str| SshAddress::parse(address).unwrap();
    let of = |host: &str, port, folder: Option<&str>| SshAddress {
        host: host.to_owned(),
        port,
        folder: folder.map(str::to_owned),
    };
    assert_eq!(read("box"), of("box", None, None));
    assert_eq!(read("me@box:2222/srv/calc"), of("me@box", Some(2222), Some("'/srv/calc'")));
    assert_eq!(read("box/~/code/it's"), of("box", None, Some("~/'code/it'\\''s'")));
    for wrong in ["", "/srv", "-oProxyCommand=evil/x", "box:port/x"] {
        SshAddress::parse(wrong).unwrap_err();
    }
}
