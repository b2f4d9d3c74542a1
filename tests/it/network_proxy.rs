//! The proxy of sandboxed tasks, over real connections: what it forwards, what it refuses, whom it asks, and what hostile
//! clients get.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use mxd::permit::{List, Rule, Rules, Source};
use mxd::proxy::{
    Answer, Client, Gate, HostJudge, HostPattern, HostPolicy, Limits, Listing, Proxy, Reach, Refusal, Resolver, Target,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

/// Settings of a test, and a user who is asked.
struct Judge {
    policy: Mutex<HostPolicy>,
    asked: mpsc::UnboundedSender<(String, oneshot::Sender<Answer>)>,
}

impl HostJudge for Judge {
    fn listing(&self, target: &Target) -> Listing {
        self.policy.lock().unwrap().listing(target)
    }

    fn ask(&self, _: &str, target: &Target) -> BoxFuture<'static, Answer> {
        let (reply, answer) = oneshot::channel();
        self.asked.send((target.rule_text(), reply)).unwrap();
        async move { answer.await.unwrap_or(Answer::Withdrawn) }.boxed()
    }
}

/// Names with their addresses, and how often any was looked up.
#[derive(Default)]
struct Names {
    known: HashMap<&'static str, Vec<IpAddr>>,
    lookups: AtomicUsize,
}

impl Resolver for Names {
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        self.lookups.fetch_add(1, Ordering::SeqCst);
        let found = self.known.get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into());
        async move { found }.boxed()
    }
}

struct Scene {
    judge: Arc<Judge>,
    names: Arc<Names>,
    proxy: Proxy,
    questions: mpsc::UnboundedReceiver<(String, oneshot::Sender<Answer>)>,
}

impl Scene {
    fn new(hosts: &[&str], rules: &[(List, &str)], limits: Limits) -> Self {
        let rules = rules.iter().map(|(list, text)| Rule::parse(text, *list, Source::Local).unwrap()).collect();
        let hosts = hosts.iter().map(|text| HostPattern::parse(text).unwrap()).collect();
        let (asked, questions) = mpsc::unbounded_channel();
        let policy = Mutex::new(HostPolicy { hosts, initial: Vec::new(), rules: Rules(rules) });
        let judge = Arc::new(Judge { policy, asked });
        let known = HashMap::from([
            ("localhost", vec![Ipv4Addr::LOCALHOST.into()]),
            ("rebound.example", vec![Ipv4Addr::LOCALHOST.into()]),
            ("metadata.example", vec![Ipv4Addr::new(169, 254, 169, 254).into()]),
            ("inner.example", vec![Ipv4Addr::new(10, 0, 0, 1).into()]),
        ]);
        let names = Arc::new(Names { known, ..Names::default() });
        let proxy = Proxy::new(Gate::new(judge.clone()), names.clone(), limits);
        Self { judge, names, proxy, questions }
    }

    /// Starts a sandbox of its own. Returns the address of the proxy in it.
    async fn sandbox(&self) -> (SocketAddr, Arc<Client>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let (address, client) = (listener.local_addr().unwrap(), Client::new("a task"));
        tokio::spawn(self.proxy.clone().serve(listener, client.clone()));
        (address, client)
    }

    fn list(&self, host: &str) {
        self.judge.policy.lock().unwrap().hosts.push(HostPattern::parse(host).unwrap());
    }

    fn lookups(&self) -> usize {
        self.names.lookups.load(Ordering::SeqCst)
    }
}

/// A server that sends all it receives from each connection, after it is closed or `end` came, and answers.
async fn server(answer: &'static str, end: &'static str) -> (u16, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, received) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let sender = sender.clone();
            tokio::spawn(async move {
                let mut all = Vec::new();
                while !String::from_utf8_lossy(&all).contains(end) && stream.read_buf(&mut all).await.unwrap_or(0) > 0 {
                }
                stream.write_all(answer.as_bytes()).await.unwrap();
                let _ = stream.shutdown().await;
                let _ = stream.read_to_end(&mut all).await;
                let _ = sender.send(String::from_utf8_lossy(&all).into_owned());
            });
        }
    });
    (port, received)
}

/// Sends bytes and returns all that comes back.
async fn send(address: SocketAddr, bytes: impl AsRef<[u8]>) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let _ = stream.write_all(bytes.as_ref()).await;
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all).await;
    String::from_utf8_lossy(&all).into_owned()
}

fn status(response: &str) -> &str {
    response.split(' ').nth(1).unwrap_or_default()
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: x\r\n\r\nhi";

#[tokio::test]
async fn a_tunnel_carries_bytes_both_ways() {
    let scene = Scene::new(&[], &[], Limits::default());
    let (port, mut received) = server("pong", "ping").await;
    scene.list(&format!("127.0.0.1:{port}"));
    let (address, client) = scene.sandbox().await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        assert!(stream.read_buf(&mut head).await.unwrap() > 0);
    }
    assert_eq!(status(&String::from_utf8_lossy(&head)), "200");
    stream.write_all(b"ping").await.unwrap();
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).await.unwrap();
    drop(stream);
    assert_eq!((&answer, received.recv().await.as_deref()), (b"pong", Some("ping")));
    assert_eq!(client.take_refusals(), []);
}

#[tokio::test]
async fn a_plain_request_is_written_anew_for_the_host_that_was_admitted() {
    let scene = Scene::new(&[], &[], Limits::default());
    let (port, mut received) = server(OK, "hello").await;
    scene.list(&format!("localhost:{port}"));
    let (address, _) = scene.sandbox().await;
    let request = format!(
        "POST http://LOCALHOST:{port}/a?b=c HTTP/1.1\r\nHost: other.example\r\nConnection: x-drop, content-length\r\nX-Drop: 1\r\n\
         Proxy-Authorization: secret\r\nX-Keep: 2\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhelloGET http://127.0.0.1/ HTTP/1.1\r\n\r\n"
    );
    let response = send(address, request).await;
    assert!(response.starts_with("HTTP/1.1 200") && response.ends_with("\r\n\r\nhi"), "{response}");
    assert!(!response.to_lowercase().contains("keep-alive"), "{response}");
    let request = received.recv().await.unwrap();
    let lower = request.to_lowercase();
    assert!(request.starts_with("POST /a?b=c HTTP/1.1\r\n") && request.ends_with("\r\n\r\nhello"), "{request}");
    assert!(lower.contains(&format!("host: localhost:{port}\r\n")) && lower.contains("x-keep: 2"), "{request}");
    assert_eq!(lower.matches("content-length").count(), 1, "{request}");
    for gone in ["other.example", "x-drop", "secret", "get http"] {
        assert!(!lower.contains(gone), "{request}");
    }
}

#[tokio::test]
async fn a_chunked_body_ends_where_its_chunks_end() {
    let scene = Scene::new(&[], &[], Limits::default());
    let (port, mut received) = server(OK, "0\r\n\r\n").await;
    scene.list(&format!("localhost:{port}"));
    let (address, _) = scene.sandbox().await;
    let request = format!(
        "POST http://localhost:{port}/ HTTP/1.1\r\nContent-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n\
         GET /smuggled HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    );
    assert_eq!(status(&send(address, request).await), "200");
    let request = received.recv().await.unwrap();
    assert!(request.contains("5\r\nhello\r\n0\r\n\r\n") && !request.contains("smuggled"), "{request}");
    assert!(!request.to_lowercase().contains("content-length"), "{request}");
}

#[tokio::test]
async fn a_request_with_two_meanings_reaches_nobody() {
    let scene = Scene::new(&[], &[], Limits::default());
    let (port, mut received) = server(OK, "\r\n\r\n").await;
    scene.list(&format!("localhost:{port}"));
    let (address, _) = scene.sandbox().await;
    let start = format!("POST http://localhost:{port}/ HTTP/1.1\r\n");
    let heads = [
        "Host: a\r\nHost: b\r\n\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        "Content-Length: +5\r\n\r\nhello",
        "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "Content-Length : 5\r\n\r\nhello",
        "X: a\r\n b: c\r\n\r\n",
        "X: a\0b\r\n\r\n",
        "X\r\n\r\n",
    ];
    for head in heads {
        let response = send(address, format!("{start}{head}")).await;
        assert!(response.is_empty() || status(&response) == "400", "{head:?}: {response}");
    }
    for line in [
        "GET / HTTP/1.1",
        "GET https://localhost/ HTTP/1.1",
        "GET ftp://localhost/ HTTP/1.1",
        "OPTIONS * HTTP/1.1",
        "\u{4}\u{1}\0P",
    ] {
        let response = send(address, format!("{line}\r\nHost: localhost:{port}\r\n\r\n")).await;
        assert!(response.is_empty() || status(&response) == "400", "{line:?}: {response}");
    }
    assert!(received.try_recv().is_err());
}

#[tokio::test]
async fn hosts_that_are_not_listed_are_refused_and_their_names_are_never_looked_up() {
    let mut scene = Scene::new(&["listed.example"], &[], Limits::default());
    let (names, (address, client)) = (scene.names.clone(), scene.sandbox().await);
    tokio::spawn(async move {
        while let Some((_, reply)) = scene.questions.recv().await {
            let _ = reply.send(Answer::Never);
        }
    });
    let hosts = [
        "other.example",
        "8.8.8.8",
        "a\0.listed.example",
        "LISTED.example.",
        "[::ffff:127.0.0.1]",
        "user@listed.example",
        "listed.example@evil.example",
        "2130706433",
        "0x7f.1",
        "0177.1",
        "[fe80::1%25eth0]",
        "listed.example%00",
        "xn--0",
        "localhost",
    ];
    for host in hosts {
        for request in [
            format!("CONNECT {host}:443 HTTP/1.1\r\n\r\n"),
            format!("GET http://{host}/ HTTP/1.1\r\nHost: listed.example\r\n\r\n"),
        ] {
            let response = send(address, &request).await;
            assert!(matches!(status(&response), "403" | "400"), "{request:?}: {response}");
        }
        let mut socks = vec![5, 1, 0, 5, 1, 0, 3, u8::try_from(host.len()).unwrap()];
        socks.extend(host.as_bytes());
        socks.extend([1, 187]);
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(&socks).await.unwrap();
        let mut answer = [0; 4];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, [5, 0, 5, 2], "{host:?}");
    }
    assert_eq!(names.lookups.load(Ordering::SeqCst), 0);
    assert!(client.take_refusals().len() >= hosts.len());
    assert_eq!(client.take_refusals(), []);
}

#[tokio::test]
async fn a_listed_name_that_leads_inside_is_refused_at_the_address() {
    let scene = Scene::new(
        &["rebound.example", "metadata.example", "169.254.169.254"],
        &[(List::Allow, "network(inner.example)")],
        Limits::default(),
    );
    let (address, client) = scene.sandbox().await;
    for (name, reach) in
        [("rebound.example", Reach::Machine), ("metadata.example", Reach::Machine), ("inner.example", Reach::Private)]
    {
        let before = scene.lookups();
        assert_eq!(status(&send(address, format!("CONNECT {name}:443 HTTP/1.1\r\n\r\n")).await), "403", "{name}");
        assert_eq!(scene.lookups(), before + 1, "a name is resolved once");
        let refusals = client.take_refusals();
        assert!(matches!(&refusals[..], [Refusal::Reach { reach: found, .. }] if *found == reach), "{refusals:?}");
    }
}

#[tokio::test]
async fn socks_carries_remote_names_and_addresses() {
    let scene = Scene::new(&[], &[], Limits::default());
    let (port, mut received) = server("pong", "ping").await;
    scene.list(&format!("localhost:{port}"));
    scene.list(&format!("127.0.0.1:{port}"));
    let (address, _) = scene.sandbox().await;
    let mut name = vec![3, 9];
    name.extend(b"localhost");
    let mapped = std::net::Ipv6Addr::from([0, 0, 0, 0, 0, 0xffff, 0x7f00, 1]).octets();
    for kind in [name, [&[1][..], &[127, 0, 0, 1]].concat(), [&[4][..], &mapped].concat()] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = [&[5, 2, 2, 0, 5, 1, 0][..], &kind, &port.to_be_bytes(), b"ping"].concat();
        stream.write_all(&request).await.unwrap();
        let mut answer = [0; 16];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer[..4], [5, 0, 5, 0]);
        assert_eq!(&answer[12..], b"pong");
        drop(stream);
        assert_eq!(received.recv().await.as_deref(), Some("ping"));
    }
    for bad in [
        &[5, 1, 2][..],
        &[4, 1, 0, 80, 127, 0, 0, 1, 0],
        &[5, 1, 0, 5, 2, 0, 1, 127, 0, 0, 1, 0, 80],
        &[5, 1, 0, 5, 3, 0, 1, 0, 0, 0, 0, 0, 0],
        &[5, 0],
    ] {
        let answer = send(address, bad).await;
        assert!(!answer.contains("\u{5}\0\0\u{1}"), "{bad:?}: {answer:?}");
    }
}

#[tokio::test]
async fn an_unknown_host_is_asked_about_once_for_all_connections_of_a_project() {
    let mut scene = Scene::new(&[], &[], Limits::default());
    let (port, _received) = server(OK, "\r\n\r\n").await;
    let (first, second) = (scene.sandbox().await.0, scene.sandbox().await.0);
    let request = format!("GET http://localhost:{port}/ HTTP/1.1\r\n\r\n");
    let waiting: Vec<_> = (0..20)
        .map(|number| tokio::spawn(send(if number % 2 == 0 { first } else { second }, request.clone())))
        .collect();
    let (question, reply) = scene.questions.recv().await.unwrap();
    assert_eq!(question, format!("localhost:{port}"));
    assert_eq!(scene.lookups(), 0, "nothing is looked up before the answer");
    scene.list(&question);
    reply.send(Answer::Project).unwrap();
    for response in waiting {
        assert_eq!(status(&response.await.unwrap()), "200");
    }
    assert!(scene.questions.try_recv().is_err());
}

#[tokio::test]
async fn an_answer_for_once_counts_for_the_sandboxes_that_waited() {
    let mut scene = Scene::new(&[], &[], Limits::default());
    let ((first, client), (second, _)) = (scene.sandbox().await, scene.sandbox().await);
    let request = "CONNECT rebound.example:443 HTTP/1.1\r\n\r\n";
    for (answer, after) in [(Answer::No, "no"), (Answer::Withdrawn, "withdrawn")] {
        let waiting = tokio::spawn(send(second, request));
        let (_, reply) = scene.questions.recv().await.unwrap();
        reply.send(answer).unwrap();
        assert_eq!(status(&waiting.await.unwrap()), "403", "{after}");
        if answer == Answer::No {
            // It is not asked again for the same sandbox.
            assert_eq!(status(&send(second, request).await), "403");
            assert!(scene.questions.try_recv().is_err());
            break;
        }
    }
    let waiting = tokio::spawn(send(first, request));
    let (_, reply) = scene.questions.recv().await.unwrap();
    reply.send(Answer::Once).unwrap();
    waiting.await.unwrap();
    send(first, request).await;
    assert!(scene.questions.try_recv().is_err());
    // The name was admitted, and led to this machine.
    let refusals = client.take_refusals();
    assert!(matches!(&refusals[..], [Refusal::Reach { reach: Reach::Machine, .. }]), "{refusals:?}");
}

#[tokio::test]
async fn a_question_stays_when_its_connection_is_gone_and_questions_are_limited() {
    let mut scene = Scene::new(&[], &[], Limits::default());
    let (address, _) = scene.sandbox().await;
    let mut replies = Vec::new();
    for number in 0..16 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("CONNECT host-{number}.example:443 HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
        replies.push(scene.questions.recv().await.unwrap().1);
    }
    let one_more = "CONNECT one-more.example:443 HTTP/1.1\r\n\r\n";
    assert_eq!(status(&send(address, one_more).await), "403");
    assert!(scene.questions.try_recv().is_err());
    // An answer makes room for the next question.
    replies.remove(0).send(Answer::No).unwrap();
    let waiting = loop {
        let waiting = tokio::spawn(send(address, one_more));
        tokio::select! {
            question = scene.questions.recv() => {
                let (question, reply) = question.unwrap();
                assert_eq!(question, "one-more.example");
                reply.send(Answer::No).unwrap();
                break waiting;
            }
            () = async { while !waiting.is_finished() { tokio::task::yield_now().await } } => {}
        }
    };
    assert_eq!(status(&waiting.await.unwrap()), "403");
}

#[tokio::test]
async fn slow_and_huge_heads_end_the_connection() {
    let limits = Limits { head_time: Duration::from_millis(200), ..Limits::default() };
    let scene = Scene::new(&[], &[], limits);
    let (address, _) = scene.sandbox().await;
    for start in ["", "GET http://a/", "\u{5}", "\u{5}\u{1}\0\u{5}\u{1}", "GET http://a.example/ HTTP/1.1\r\nX: 1\r\n"]
    {
        let response = send(address, start).await;
        assert!(matches!(status(&response), "" | "400" | "408"), "{start:?}: {response}");
    }
    let huge = format!("GET http://a.example/ HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    assert!(matches!(status(&send(address, huge).await), "" | "400" | "431"));
    let many = format!("GET http://a.example/ HTTP/1.1\r\n{}\r\n", "X: 1\r\n".repeat(2_000));
    assert!(matches!(status(&send(address, many).await), "" | "400" | "431"));
}

#[tokio::test]
async fn more_connections_than_allowed_wait_for_a_place() {
    let scene = Scene::new(&[], &[(List::Deny, "network(*)")], Limits { connections: 2, ..Limits::default() });
    let (address, _) = scene.sandbox().await;
    let idle = [TcpStream::connect(address).await.unwrap(), TcpStream::connect(address).await.unwrap()];
    // Both are accepted once a third is answered, which needs one of their places.
    let third = tokio::spawn(send(address, "CONNECT a.example:443 HTTP/1.1\r\n\r\n"));
    tokio::task::yield_now().await;
    assert!(!third.is_finished());
    drop(idle);
    assert_eq!(status(&third.await.unwrap()), "403");
}
