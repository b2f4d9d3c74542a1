use std::process::{Command, Stdio};

use super::connections::{inode_of, processes_of};

#[test]
fn all_processes_that_hold_a_connection_are_found() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (_server, peer) = listener.accept().unwrap();
    let ours = i32::try_from(std::process::id()).unwrap();
    let local = listener.local_addr().unwrap();
    assert_eq!(processes_of(peer, local), [ours]);
    let stdin = std::os::fd::OwnedFd::from(client.try_clone().unwrap());
    let mut heir = Command::new("sleep").arg("600").stdin(stdin).stdout(Stdio::null()).spawn().unwrap();
    let mut expected = [ours, i32::try_from(heir.id()).unwrap()];
    expected.sort_unstable();
    let mut found = processes_of(peer, local);
    found.sort_unstable();
    heir.kill().unwrap();
    heir.wait().unwrap();
    assert_eq!(found, expected);
}

#[test]
fn a_table_of_connections_is_read() {
    let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                 0: 0100007F:1EC6 0100007F:8F0C 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0\n";
    let (peer, local) = ("127.0.0.1:7878".parse().unwrap(), "127.0.0.1:36620".parse().unwrap());
    if cfg!(target_endian = "little") {
        assert_eq!(inode_of(table, peer, local), Some("4711"));
    }
    assert_eq!(inode_of(table, local, peer), None);
    assert_eq!(inode_of("garbage\n x y z\n", peer, local), None);
}
