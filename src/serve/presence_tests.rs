use super::*;
use crate::serve::testing::FakePort;

fn names(port: &FakePort) -> Vec<String> {
    port.clients.lock().unwrap().iter().map(|client| client.name.clone()).collect()
}

#[test]
fn a_client_is_listed_while_it_is_attached() {
    let port = FakePort::default();
    let presence = Presence::new(Handle::new(port.clone()));
    let maria = presence.attach(ClientKind::Screen, "maria");
    let second = presence.attach(ClientKind::Screen, "maria");
    assert_eq!(names(&port), ["maria", "maria"], "each screen counts");
    drop(maria);
    assert_eq!(names(&port), ["maria"]);
    drop(second);
    assert!(names(&port).is_empty());
}

#[test]
fn a_command_is_not_listed() {
    let port = FakePort::default();
    let presence = Presence::new(Handle::new(port.clone()));
    assert!(presence.attach(ClientKind::Command, "maria").is_none());
    assert!(names(&port).is_empty());
}

#[test]
fn the_streams_of_one_token_are_one_client() {
    let port = FakePort::default();
    let presence = Presence::new(Handle::new(port.clone()));
    let streams = [(); 3].map(|()| presence.attach(ClientKind::Http, "phone"));
    let _other = presence.attach(ClientKind::Http, "tablet");
    assert_eq!(names(&port), ["phone", "tablet"]);
    drop(streams);
    assert_eq!(names(&port), ["tablet"]);
}
