use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use super::*;
use crate::base::TaskId;
use crate::engine::command::{Command, StopScope};
use crate::engine::update::Update;
use crate::serve::frame;
use crate::serve::protocol::{
    ClientFrame, ClientId, ClientKind, CommandRequest, Hello, Position, ServerFrame, VERSION, Version,
};
use crate::serve::testing::FakePort;

/// A client that speaks in frames.
struct Raw(DuplexStream);

impl Raw {
    fn connect(server: &Server, peer: Peer) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(theirs);
        server.service.serve(peer, reader, writer);
        Self(ours)
    }

    async fn greeted(server: &Server, peer: Peer, client: ClientId) -> Self {
        let mut raw = Self::connect(server, peer);
        raw.send(&ClientFrame::Hello(hello(client))).await;
        assert!(matches!(raw.next().await, Some(ServerFrame::Welcome(_))));
        raw
    }

    async fn send(&mut self, frame: &ClientFrame) {
        frame::write(&mut self.0, frame).await.unwrap();
    }

    async fn next(&mut self) -> Option<ServerFrame> {
        let bytes = frame::read(&mut self.0, frame::MAX_REPLY).await.unwrap()?;
        Some(serde_json::from_slice(&bytes).unwrap())
    }

    async fn refused(&mut self) -> Fault {
        match self.next().await {
            Some(ServerFrame::Refused { fault, .. }) => fault,
            other => panic!("{other:?}"),
        }
    }

    /// Asserts that the server has closed the connection.
    async fn is_closed(&mut self) {
        assert_eq!(self.next().await, None);
    }
}

fn hello(client: ClientId) -> Hello {
    Hello { version: VERSION, program: "1.2.3".to_owned(), client, kind: ClientKind::Command, name: "test".to_owned() }
}

fn command(id: u64, command: Command) -> ClientFrame {
    ClientFrame::Command(Box::new(CommandRequest { id, command, first: None, answered_below: 0 }))
}

fn stop() -> Command {
    Command::Stop { scope: StopScope::All }
}

fn server() -> (Server, FakePort) {
    let port = FakePort::default();
    let server = Server::without_socket(Handle::new(port.clone()), port.snapshot.project.id);
    (server, port)
}

fn root(port: &FakePort) -> TaskId {
    port.snapshot.root
}

#[tokio::test]
async fn what_is_not_a_hello_is_refused_and_changes_nothing() {
    let (server, port) = server();
    let garbage =
        [&b"\0\0\0\x02{}"[..], b"\0\0\0\x04null", b"\xff\xff\xff\xff", b"\0\x10\0\0", b"GET / HTTP/1.1\r\n\r\n"];
    for bytes in garbage {
        let mut raw = Raw::connect(&server, Peer::User);
        raw.0.write_all(bytes).await.unwrap();
        raw.refused().await;
        raw.is_closed().await;
    }
    let mut early = Raw::connect(&server, Peer::User);
    early.send(&command(1, stop())).await;
    assert_eq!(early.refused().await.message, "the first frame must be a hello");
    early.is_closed().await;
    assert_eq!(port.commands.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn another_major_version_is_refused_with_what_to_do() {
    let (server, _) = server();
    let mut raw = Raw::connect(&server, Peer::User);
    let version = Version { major: VERSION.major + 1, minor: 0 };
    raw.send(&ClientFrame::Hello(Hello { version, ..hello(ClientId::fresh()) })).await;
    let fault = raw.refused().await;
    assert!(fault.message.contains("mxd 1.2.3 speaks protocol 2"), "{fault}");
    assert!(!fault.hints.is_empty());
    raw.is_closed().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_says_nothing_is_disconnected() {
    let (server, _) = server();
    let mut slow = Raw::connect(&server, Peer::User);
    slow.0.write_all(b"\0\0").await.unwrap();
    assert!(slow.refused().await.message.contains("did not say hello"));
    slow.is_closed().await;
}

#[tokio::test]
async fn a_bad_request_is_answered_and_the_connection_goes_on() {
    let (server, port) = server();
    let mut raw = Raw::greeted(&server, Peer::User, ClientId::fresh()).await;
    for text in [r#"{"command":{"id":7,"command":{"command":"stop"}}}"#, r#"{"explode":{"id":7}}"#, "[1,2]"] {
        raw.0.write_all(&frame::join(&[text.as_bytes()]).unwrap()).await.unwrap();
        let fault = raw.refused().await;
        assert!(fault.hints.contains(&"nothing was changed".to_owned()), "{fault}");
    }
    raw.send(&ClientFrame::NextPage { id: 3 }).await;
    assert_eq!(raw.refused().await.message, "this session is not open");
    assert_eq!(port.commands.lock().unwrap().len(), 0);
    raw.send(&command(8, stop())).await;
    assert!(matches!(raw.next().await, Some(ServerFrame::Outcome { id: 8, result: Ok(_) })));
}

#[tokio::test]
async fn a_command_that_is_sent_again_after_a_cut_is_carried_out_once() {
    let (server, port) = server();
    let client = ClientId::fresh();
    let mut raw = Raw::greeted(&server, Peer::User, client).await;
    raw.send(&command(1, stop())).await;
    // The connection is cut before the outcome is read.
    drop(raw);
    let mut raw = Raw::greeted(&server, Peer::User, client).await;
    raw.send(&command(1, stop())).await;
    assert!(matches!(raw.next().await, Some(ServerFrame::Outcome { id: 1, result: Ok(_) })));
    raw.send(&command(2, stop())).await;
    assert!(matches!(raw.next().await, Some(ServerFrame::Outcome { id: 2, result: Ok(_) })));
    assert_eq!(port.commands.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn commands_of_one_client_keep_their_order() {
    let (server, port) = server();
    let mut raw = Raw::greeted(&server, Peer::User, ClientId::fresh()).await;
    for id in 1..=100 {
        raw.send(&command(id, Command::Kill { task: root(&port), process: id.to_string() })).await;
    }
    for _ in 1..=100 {
        assert!(matches!(raw.next().await, Some(ServerFrame::Outcome { .. })));
    }
    let carried_out = port.commands.lock().unwrap().clone();
    let numbers = carried_out.iter().map(|command| match command {
        Command::Kill { process, .. } => process.parse::<u64>().unwrap(),
        other => panic!("{other:?}"),
    });
    assert!(numbers.eq(1..=100));
}

#[tokio::test]
async fn an_agents_process_may_read_and_change_nothing() {
    let (server, port) = server();
    let mut agent = Raw::greeted(&server, Peer::Agent, ClientId::fresh()).await;
    agent
        .send(&ClientFrame::Query { id: 1, query: crate::engine::query::Query::Find { name: "root".to_owned() } })
        .await;
    assert!(matches!(agent.next().await, Some(ServerFrame::Answer { id: 1, result }) if result.is_ok()));
    for (id, refused) in [(2, stop()), (3, Command::Quit), (4, Command::Resume { task: root(&port) })] {
        agent.send(&command(id, refused)).await;
        assert!(agent.refused().await.message.contains("an agent's process may not do that"));
    }
    assert_eq!(port.commands.lock().unwrap().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stops_reading_harms_nobody_and_resumes_or_starts_over() {
    let (server, port) = server();
    let mut stopped = Raw::greeted(&server, Peer::User, ClientId::fresh()).await;
    stopped.send(&ClientFrame::Subscribe { id: 1, after: None }).await;
    let Some(ServerFrame::Subscribed { at, .. }) = stopped.next().await else { panic!() };
    let mut other = Raw::greeted(&server, Peer::User, ClientId::fresh()).await;
    other.send(&ClientFrame::Subscribe { id: 1, after: None }).await;
    assert!(matches!(other.next().await, Some(ServerFrame::Subscribed { .. })));
    // Far more than all buffers hold. The other client gets each of them.
    let large = "x".repeat(100_000);
    for number in 1..=200 {
        let live = crate::model::Live::TextDelta { text: large.clone() };
        port.feed.publish(&Update::Live { task: root(&port), live });
        match other.next().await {
            Some(ServerFrame::Update { seq, .. }) => assert_eq!(seq, number),
            other => panic!("{other:?}"),
        }
    }
    // Its connection is closed. What it did not read is gone, so it has to start over.
    tokio::time::sleep(Duration::from_secs(60)).await;
    while let Ok(Some(_)) = frame::read(&mut stopped.0, frame::MAX_REPLY).await {}
    let mut again = Raw::greeted(&server, Peer::User, ClientId::fresh()).await;
    again.send(&ClientFrame::Subscribe { id: 1, after: Some(at) }).await;
    assert!(matches!(again.next().await, Some(ServerFrame::Subscribed { snapshot: None, .. })));
    assert!(matches!(again.next().await, Some(ServerFrame::Update { update: Update::Resync, .. })));
    // One that had read more resumes.
    again.send(&ClientFrame::Subscribe { id: 2, after: Some(Position { seq: 199, ..at }) }).await;
    assert!(matches!(again.next().await, Some(ServerFrame::Subscribed { id: 2, snapshot: None, .. })));
    assert!(matches!(again.next().await, Some(ServerFrame::Update { id: 2, seq: 200, .. })));
}

#[tokio::test]
async fn clients_are_counted_and_told_when_the_server_closes() {
    let (server, _) = server();
    let mut connected = server.connected();
    let mut raw = Raw::greeted(&server, Peer::User, ClientId::fresh()).await;
    connected.wait_for(|count| *count == 1).await.unwrap();
    drop(Raw::greeted(&server, Peer::User, ClientId::fresh()).await);
    connected.wait_for(|count| *count == 1).await.unwrap();
    server.close(Goodbye::Moved).await;
    assert_eq!(raw.next().await, Some(ServerFrame::Goodbye(Goodbye::Moved)));
    raw.is_closed().await;
    assert_eq!(*connected.borrow(), 0);
}

#[tokio::test]
async fn another_process_reaches_the_engine_through_the_socket() {
    let folder = tempfile::tempdir().unwrap();
    let (home, port) = (Home::at(folder.path()), FakePort::default());
    let project = port.snapshot.project.id;
    std::fs::create_dir_all(home.project(project).root()).unwrap();
    let server = Server::start(Handle::new(port), &home, project, Timestamp::EPOCH).unwrap();
    let place = ServerPlace::new(&home.project(project), project);
    let mut stream = place.connect().await.unwrap().unwrap();
    frame::write(&mut stream, &ClientFrame::Hello(hello(ClientId::fresh()))).await.unwrap();
    let mut header = [0; 4];
    stream.read_exact(&mut header).await.unwrap();
    server.close(Goodbye::Ended).await;
    assert!(place.connect().await.unwrap().is_none());
}
