use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::DuplexStream;
use tokio::sync::Notify;

use super::*;
use crate::engine::command::StopScope;
use crate::engine::handle::Handle;
use crate::engine::update::Update;
use crate::serve::connector::{ConnectError, Connection};
use crate::serve::server::Server;
use crate::serve::testing::FakePort;

/// A network to one server after another, whose connections can be cut.
#[derive(Clone, Default)]
struct Network(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    server: Option<Server>,
    /// The middle of every connection, which forwards until it is dropped.
    wires: Vec<tokio::task::JoinHandle<()>>,
}

impl Network {
    fn serve(&self, port: &FakePort) {
        let server = Server::without_socket(Handle::new(port.clone()), port.snapshot.project.id);
        self.0.lock().unwrap().server = Some(server);
    }

    /// Kills the server without a word.
    fn kill(&self) {
        self.0.lock().unwrap().server = None;
        self.cut();
    }

    fn cut(&self) {
        self.0.lock().unwrap().wires.drain(..).for_each(|wire| wire.abort());
    }
}

impl Connector for Network {
    fn connect(&mut self) -> BoxFuture<'_, Result<Connection, ConnectError>> {
        let mut inner = self.0.lock().unwrap();
        let Some(server) = &inner.server else {
            let fault = Fault::environment("nobody is there");
            return futures::future::ready(Err(ConnectError::Away(fault))).boxed();
        };
        let (client, mut near) = tokio::io::duplex(1 << 16);
        let (mut far, service) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(service);
        server.serve(reader, writer);
        let wire = tokio::spawn(async move { drop(tokio::io::copy_bidirectional(&mut near, &mut far).await) });
        inner.wires.push(wire);
        let (reader, writer) = tokio::io::split::<DuplexStream>(client);
        futures::future::ready(Ok(Connection::new(reader, writer))).boxed()
    }

    fn patience(&self) -> Option<Duration> {
        Some(Duration::from_secs(30))
    }
}

async fn connect(network: &Network) -> Handle {
    Handle::new(Remote::connect(network.clone(), ClientKind::Screen, "test".to_owned()).await.unwrap())
}

async fn setting() -> (Network, FakePort, Handle) {
    let (network, port) = (Network::default(), FakePort::default());
    network.serve(&port);
    let handle = connect(&network).await;
    (network, port, handle)
}

fn stop() -> Command {
    Command::Stop { scope: StopScope::All }
}

#[tokio::test]
async fn commands_queries_sessions_and_updates_cross_the_connection() {
    let (_network, port, handle) = setting().await;
    assert_eq!(handle.command(stop()).await, Ok(Outcome::Done));
    assert_eq!(handle.find("root".to_owned()).await, Ok(port.snapshot.root));
    assert_eq!(handle.asks().await.unwrap_err().message, "the fake knows no more");
    let mut pages = handle.session(port.snapshot.root);
    let mut damaged = Vec::new();
    while let Some(page) = pages.recv().await {
        damaged.push(page.unwrap().damaged);
    }
    assert_eq!(damaged, [false, false, true]);
    let (snapshot, mut watcher) = handle.subscribe().await.unwrap();
    assert_eq!(snapshot, port.snapshot);
    port.feed.publish(&Update::Quiet);
    assert_eq!(watcher.next().await, Update::Quiet);
}

#[tokio::test]
async fn a_front_end_that_quits_leaves_the_engine_to_itself() {
    let (_network, port, handle) = setting().await;
    let (_, mut watcher) = handle.subscribe().await.unwrap();
    handle.quit().await;
    assert_eq!(watcher.next().await, Update::Ended);
    assert_eq!(port.commands.lock().unwrap().len(), 0);
    assert_eq!(handle.command(stop()).await.unwrap_err().message, "the engine has ended");
}

#[tokio::test(start_paused = true)]
async fn a_cut_connection_is_resumed_without_loss() {
    let (network, port, handle) = setting().await;
    let (_, mut watcher) = handle.subscribe().await.unwrap();
    for round in 0..20 {
        port.feed.publish(&Update::Quiet);
        network.cut();
        port.feed.publish(&Update::Removed { task: port.snapshot.root });
        assert_eq!(watcher.next().await, Update::Quiet, "round {round}");
        assert_eq!(watcher.next().await, Update::Removed { task: port.snapshot.root }, "round {round}");
        assert_eq!(handle.command(stop()).await, Ok(Outcome::Done));
    }
    assert_eq!(port.commands.lock().unwrap().len(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_command_under_way_survives_a_cut_and_is_carried_out_once() {
    let (network, gate) = (Network::default(), Arc::new(Notify::new()));
    let port = FakePort { gate: Some(Arc::clone(&gate)), ..FakePort::default() };
    network.serve(&port);
    let handle = connect(&network).await;
    let running = tokio::spawn({
        let handle = handle.clone();
        async move { handle.command(stop()).await }
    });
    while port.commands.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    network.cut();
    assert_eq!(handle.find("root".to_owned()).await, Ok(port.snapshot.root), "it is back");
    gate.notify_one();
    assert_eq!(running.await.unwrap(), Ok(Outcome::Done));
    assert_eq!(port.commands.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_died_is_replaced_and_its_clients_start_over() {
    let (network, port, handle) = setting().await;
    let (_, mut watcher) = handle.subscribe().await.unwrap();
    network.kill();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let next = FakePort { feed: Arc::default(), ..port.clone() };
    network.serve(&next);
    let mut seen = Vec::new();
    while seen.last() != Some(&Update::Resync) {
        seen.push(watcher.next().await);
    }
    let words: Vec<_> = seen
        .iter()
        .filter_map(|update| match update {
            Update::Notice { notice } => Some(notice.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(words, ["Connection lost. Reconnecting …", "Reconnected."]);
    let (_, mut watcher) = handle.subscribe().await.unwrap();
    next.feed.publish(&Update::Quiet);
    assert_eq!(watcher.next().await, Update::Quiet);
}

#[tokio::test(start_paused = true)]
async fn a_command_whose_engine_died_is_not_repeated_if_that_could_do_more() {
    let network = Network::default();
    let port = FakePort { gate: Some(Arc::default()), ..FakePort::default() };
    network.serve(&port);
    let handle = connect(&network).await;
    let task = port.snapshot.root;
    let send = |command: Command| {
        let handle = handle.clone();
        tokio::spawn(async move { handle.command(command).await })
    };
    let (close, stop) = (send(Command::Close { task }), send(stop()));
    while port.commands.lock().unwrap().len() < 2 {
        tokio::task::yield_now().await;
    }
    network.kill();
    let next = FakePort { snapshot: port.snapshot.clone(), ..FakePort::default() };
    network.serve(&next);
    assert!(close.await.unwrap().unwrap_err().message.contains("it may be done or not"));
    assert_eq!(stop.await.unwrap(), Ok(Outcome::Done));
    assert_eq!(next.commands.lock().unwrap().len(), 1, "only the harmless one");
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_ever_for_a_server_that_does_not_come_back() {
    let (network, _port, handle) = setting().await;
    let (_, mut watcher) = handle.subscribe().await.unwrap();
    network.kill();
    assert_eq!(handle.find("root".to_owned()).await.unwrap_err().message, "nobody is there");
    while watcher.next().await != Update::Ended {}
    handle.ended().await;
}
