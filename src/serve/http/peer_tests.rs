use super::connections::{inode_of, process_of};

#[test]
fn the_process_of_a_connection_is_found() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (_server, peer) = listener.accept().unwrap();
    let ours = i32::try_from(std::process::id()).unwrap();
    assert_eq!(process_of(peer, listener.local_addr().unwrap()), Some(ours));
    drop(client);
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
