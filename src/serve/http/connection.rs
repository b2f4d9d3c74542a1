//! Accepts connections and serves HTTP/1.1 on them. Slow, stopped and idle peers are disconnected.

use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::time::Sleep;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

use super::listen::Bound;
use super::peer::Peer;

/// How many connections a listener has at once.
const MAX_CONNECTIONS: usize = 4096;
/// How long peers may take.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For the head of a request, between two requests, and for the handshake of TLS.
    pub head: Duration,
    /// For the body of a request.
    pub body: Duration,
    /// Without reading anything of an answer.
    pub write: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { head: Duration::from_secs(10), body: Duration::from_secs(30), write: Duration::from_secs(30) }
    }
}

/// The longest head of a request, and how much of an answer waits in memory.
const BUFFER: usize = 32 << 10;
/// How long to wait after a connection could not be accepted, for example because too many files are open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Accepts connections until the server closes.
pub(super) async fn accept(
    bound: Bound,
    router: Router,
    timeouts: Timeouts,
    mut closing: watch::Receiver<bool>,
    connections: TaskTracker,
) {
    let free = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let service = TowerToHyperService::new(router);
    loop {
        let accepted = tokio::select! {
            accepted = bound.listener.accept() => accepted,
            _ = closing.wait_for(|closing| *closing) => return,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Over the limit, the connection is closed at once.
        let Ok(permit) = Arc::clone(&free).try_acquire_owned() else { continue };
        let (tls, service, closing) = (bound.tls.clone(), service.clone(), closing.clone());
        connections.spawn(async move {
            let _permit = permit;
            let _ = stream.set_nodelay(true);
            let connection = Connection { address, tls, service, timeouts, closing };
            connection.serve(stream).await;
        });
    }
}

/// What a connection needs.
struct Connection {
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    service: TowerToHyperService<Router>,
    timeouts: Timeouts,
    closing: watch::Receiver<bool>,
}

impl Connection {
    async fn serve(mut self, stream: TcpStream) {
        let Ok(local) = stream.local_addr() else { return };
        let peer = Peer::new(self.address, local, self.tls.is_some());
        let stream = WriteTimeout { stream, limit: self.timeouts.write, waiting: None };
        match self.tls.take() {
            None => self.serve_http(stream, peer).await,
            Some(tls) => {
                if let Ok(Ok(stream)) = tokio::time::timeout(self.timeouts.head, tls.accept(stream)).await {
                    self.serve_http(stream, peer).await;
                }
            }
        }
    }

    async fn serve_http(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send, peer: Peer) {
        let Self { service, timeouts, mut closing, .. } = self;
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(peer.clone());
            request.extensions_mut().insert(timeouts);
            service.call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(timeouts.head)
            .max_buf_size(BUFFER)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            ended = &mut connection => ended,
            () = async { drop(closing.wait_for(|closing| *closing).await) } => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended");
        }
    }
}

/// A connection whose writes fail when the peer reads nothing for a while.
struct WriteTimeout {
    stream: TcpStream,
    limit: Duration,
    /// Since when a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl WriteTimeout {
    fn check<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let limit = self.limit;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        ready!(waiting.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for WriteTimeout {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for WriteTimeout {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.check(cx, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, pieces);
        this.check(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
