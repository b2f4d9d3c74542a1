//! HTTP/1.1 by hand, as far as a mock needs it: the faults it plays happen below where a library would let it reach.

use std::fmt::Write as _;
use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const LARGEST_HEAD: usize = 64 * 1024;

/// A request that has arrived in full.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    pub method: String,
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl HttpRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// One connection of a client.
pub struct Connection {
    pub stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    /// Returns the next request, or nothing when the client has closed the connection between two.
    pub async fn next_request(&mut self) -> io::Result<Option<HttpRequest>> {
        let head_end = loop {
            if let Some(at) = find(&self.buffer, b"\r\n\r\n") {
                break at + 4;
            }
            if self.buffer.len() > LARGEST_HEAD {
                return Err(invalid("the head of the request is too large"));
            }
            if !self.fill().await? {
                return Ok(None);
            }
        };
        let head: Vec<u8> = self.buffer.drain(..head_end).collect();
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut lines = head.split("\r\n");
        let mut start = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(target)) = (start.next(), start.next()) else {
            return Err(invalid("the request line is not one"));
        };
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let path = target.split('?').next().unwrap_or_default().to_owned();
        let mut request = HttpRequest { method: method.to_owned(), path, headers, body: Vec::new() };
        if request.header("expect").is_some_and(|expect| expect.eq_ignore_ascii_case("100-continue")) {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        request.body = self.body_of(&request).await?;
        Ok(Some(request))
    }

    async fn body_of(&mut self, request: &HttpRequest) -> io::Result<Vec<u8>> {
        if request.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
            return self.chunked_body().await;
        }
        let length = request.header("content-length").map_or(Ok(0), str::parse::<usize>);
        self.exactly(length.map_err(|_| invalid("the content-length is not a number"))?).await
    }

    async fn chunked_body(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = loop {
                if let Some(at) = find(&self.buffer, b"\r\n") {
                    break self.exactly(at + 2).await?;
                }
                self.more().await?;
            };
            let size = String::from_utf8_lossy(&line);
            let size = size.trim().split(';').next().unwrap_or_default();
            let size = usize::from_str_radix(size, 16).map_err(|_| invalid("the size of a chunk is not a number"))?;
            let chunk = self.exactly(size + 2).await?;
            if size == 0 {
                return Ok(body);
            }
            body.extend_from_slice(&chunk[..size]);
        }
    }

    async fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < length {
            self.more().await?;
        }
        Ok(self.buffer.drain(..length).collect())
    }

    async fn more(&mut self) -> io::Result<()> {
        if self.fill().await? { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    async fn fill(&mut self) -> io::Result<bool> {
        Ok(self.stream.read_buf(&mut self.buffer).await? > 0)
    }

    /// Resolves when the client closes the connection. A pipelined request would wait; clients of APIs send none.
    pub async fn client_gone(&self) {
        let mut byte = [0];
        match self.stream.peek(&mut byte).await {
            Ok(0) | Err(_) => {}
            Ok(_) => std::future::pending().await,
        }
    }

    /// Sends the status line and the headers.
    pub async fn head(&mut self, status: u16, headers: &[(String, String)], length: Option<usize>) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        match length {
            Some(length) => {
                let _ = write!(head, "content-length: {length}\r\n\r\n");
            }
            None => head.push_str("transfer-encoding: chunked\r\n\r\n"),
        }
        self.stream.write_all(head.as_bytes()).await
    }

    /// Sends a piece of the body, as a chunk of its own where the body is chunked.
    pub async fn piece(&mut self, bytes: &[u8], chunked: bool) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if !chunked {
            return self.stream.write_all(bytes).await;
        }
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.stream.write_all(&chunk).await
    }

    pub async fn end_of_chunks(&mut self) -> io::Result<()> {
        self.stream.write_all(b"0\r\n\r\n").await
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        413 => "Payload Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        529 => "Site Overloaded",
        _ => "Status",
    }
}
