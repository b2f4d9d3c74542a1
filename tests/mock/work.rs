//! The same work for any program that speaks to an Anthropic-style endpoint: a tool is called so many times, then it ends.
//!
//! Stateless and without judgement, so that its own cost is small and the same for everybody: how far a conversation is
//! follows from the request, by the results that it carries. Any key and any model is welcome.

use std::error::Error;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// A call as it is asked for: the tool's name as the program knows it, and its input as JSON.
#[derive(Clone, Debug)]
pub struct Call {
    pub name: String,
    pub input: String,
}

/// What every conversation is led through.
#[derive(Clone, Debug)]
pub struct Work {
    pub turns: usize,
    pub call: Call,
    /// The call that ends it. None: it ends with words.
    pub end: Option<Call>,
}

/// What was asked so far.
#[derive(Debug, Default)]
pub struct Tally {
    requests: AtomicU64,
    bytes: AtomicU64,
    span: Mutex<Option<(Instant, Instant)>>,
}

impl Tally {
    fn count(&self, bytes: usize) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        let now = Instant::now();
        let mut span = self.span.lock().unwrap_or_else(PoisonError::into_inner);
        *span = Some(span.map_or((now, now), |(first, _)| (first, now)));
    }

    /// Says how many requests there were, how large, and how fast they came from the first to the last.
    pub fn sentence(&self) -> String {
        let (requests, bytes) = (self.requests.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        let span = self.span.lock().unwrap_or_else(PoisonError::into_inner);
        let time = span.map_or(Duration::ZERO, |(first, last)| last - first).as_secs_f64();
        let rate = if time > 0.0 { requests.saturating_sub(1) as f64 / time } else { 0.0 };
        format!("{requests} requests, {bytes} bytes, {time:.3} s from the first to the last, {rate:.1} a second")
    }
}

/// Answers on a port of this machine for as long as the process lives. Returns the address.
pub fn serve(port: u16, work: Work, tally: Arc<Tally>) -> Outcome<String> {
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    let url = format!("http://{}", listener.local_addr()?);
    let work = Arc::new(work);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (work, tally) = (Arc::clone(&work), Arc::clone(&tally));
            // A client that goes away ends its own connection and nobody else's.
            std::thread::spawn(move || answer_all(stream, &work, &tally));
        }
    });
    Ok(url)
}

fn answer_all(stream: TcpStream, work: &Work, tally: &Tally) -> Outcome {
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::with_capacity(1 << 20, stream);
    let mut body = Vec::new();
    while let Some(head) = Head::read(&mut reader)? {
        body.resize(head.length, 0);
        reader.read_exact(&mut body)?;
        let answer = match head.path.as_str() {
            path if path.ends_with("/count_tokens") => json(&format!(r#"{{"input_tokens":{}}}"#, body.len() / 4)),
            path if path.ends_with("/models") => json(MODELS),
            path if path.ends_with("/messages") => {
                tally.count(body.len());
                work.answer(&body)
            }
            _ => "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned(),
        };
        writer.write_all(answer.as_bytes())?;
    }
    Ok(())
}

const MODELS: &str = r#"{"data":[{"type":"model","id":"work","display_name":"Work","created_at":"2026-01-01T00:00:00Z"}],"has_more":false}"#;

/// What is needed of a request before its body.
struct Head {
    path: String,
    length: usize,
}

impl Head {
    fn read(reader: &mut impl BufRead) -> Outcome<Option<Self>> {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let target = line.split(' ').nth(1).unwrap_or_default();
        let path = target.split('?').next().unwrap_or_default().to_owned();
        let mut length = 0;
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            let header = line.trim();
            if header.is_empty() {
                return Ok(Some(Self { path, length }));
            }
            if let Some((name, value)) = header.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
        }
    }
}

impl Work {
    /// Returns what a request is answered: as a stream where it asks for one.
    fn answer(&self, body: &[u8]) -> String {
        let done = memchr::memmem::find_iter(body, br#""tool_use_id""#).count();
        let call = if done < self.turns { Some(&self.call) } else { self.end.as_ref() };
        let streamed = [&br#""stream":true"#[..], br#""stream": true"#];
        if streamed.iter().any(|sign| memchr::memmem::find(body, sign).is_some()) {
            stream(call, done)
        } else {
            whole(call, done)
        }
    }
}

/// The words that end a conversation which no call ends.
const END: &str = "That was all.";

fn stream(call: Option<&Call>, number: usize) -> String {
    let (block, delta, stop) = match call {
        Some(Call { name, input }) => (
            format!(r#"{{"type":"tool_use","id":"toolu_{number:06}","name":"{name}","input":{{}}}}"#),
            format!(r#"{{"type":"input_json_delta","partial_json":{}}}"#, serde_json::Value::from(input.as_str())),
            "tool_use",
        ),
        None => (
            r#"{"type":"text","text":""}"#.to_owned(),
            format!(r#"{{"type":"text_delta","text":"{END}"}}"#),
            "end_turn",
        ),
    };
    let message = format!(
        r#"{{"id":"msg_{number:06}","type":"message","role":"assistant","model":"work","content":[],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":1000,"output_tokens":1}}}}"#
    );
    let events = [
        ("message_start", format!(r#""message":{message}"#)),
        ("content_block_start", format!(r#""index":0,"content_block":{block}"#)),
        ("content_block_delta", format!(r#""index":0,"delta":{delta}"#)),
        ("content_block_stop", r#""index":0"#.to_owned()),
        (
            "message_delta",
            format!(r#""delta":{{"stop_reason":"{stop}","stop_sequence":null}},"usage":{{"output_tokens":50}}"#),
        ),
        ("message_stop", String::new()),
    ];
    let spelled = |(event, data): &(&str, String)| {
        let comma = if data.is_empty() { "" } else { "," };
        format!("event: {event}\ndata: {{\"type\":\"{event}\"{comma}{data}}}\n\n")
    };
    let text = events.iter().map(spelled).collect::<String>();
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{text}", text.len())
}

fn whole(call: Option<&Call>, number: usize) -> String {
    let (block, stop) = match call {
        Some(Call { name, input }) => {
            (format!(r#"{{"type":"tool_use","id":"toolu_{number:06}","name":"{name}","input":{input}}}"#), "tool_use")
        }
        None => (format!(r#"{{"type":"text","text":"{END}"}}"#), "end_turn"),
    };
    json(&format!(
        r#"{{"id":"msg_{number:06}","type":"message","role":"assistant","model":"work","content":[{block}],"stop_reason":"{stop}","stop_sequence":null,"usage":{{"input_tokens":1000,"output_tokens":50}}}}"#
    ))
}

fn json(text: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{text}", text.len())
}
