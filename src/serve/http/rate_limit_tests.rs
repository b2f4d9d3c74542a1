use super::*;

fn peer(last: u8) -> IpAddr {
    IpAddr::from([127, 0, 0, last])
}

#[test]
fn a_peer_is_refused_after_twenty_wrong_tokens_and_free_a_minute_later() {
    let (mut wrong, start) = (WrongTokens::default(), Instant::now());
    for number in 0..20 {
        assert_eq!(wrong.wait(peer(1), start), None, "before wrong token {number}");
        wrong.record(peer(1), start);
    }
    assert_eq!(wrong.wait(peer(1), start + Duration::from_secs(20)), Some(Duration::from_secs(40)));
    assert_eq!(wrong.wait(peer(2), start), None, "another peer");
    assert_eq!(wrong.wait(peer(1), start + WINDOW), None);
}

#[test]
fn the_number_of_remembered_peers_is_bounded() {
    let (mut wrong, start) = (WrongTokens::default(), Instant::now());
    for number in 0..5000_u32 {
        wrong.record(IpAddr::from(number.to_be_bytes()), start);
    }
    assert!(wrong.peers.len() <= MAX_PEERS);
}

#[test]
fn addresses_of_one_network_count_as_one_peer() {
    let (mut wrong, start) = (WrongTokens::default(), Instant::now());
    for number in 0..20_u16 {
        wrong.record(IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, number]), start);
    }
    assert!(wrong.wait(IpAddr::from([0x2001, 0xdb8, 0, 0, 9, 9, 9, 9]), start).is_some());
    assert_eq!(wrong.wait(IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, 0]), start), None);
}
