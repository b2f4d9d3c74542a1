//! Finds model servers on this machine by their default ports.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::base::Clock;
use crate::model::conversation::Wire;
use crate::provider::http::{HttpProvider, Timeouts};
use crate::provider::{Credential, Provider as _};

const OLLAMA: &str = "Ollama";
/// Programs that serve models, and their default ports.
const DEFAULT_PORTS: [(&str, u16); 4] = [(OLLAMA, 11_434), ("LM Studio", 1_234), ("llama.cpp", 8_080), ("vLLM", 8_000)];

/// Timeout of connecting on this machine.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(300);
/// Timeout of an answer. A machine that is running a model may be slow.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// A server that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    pub name: &'static str,
    pub base_url: String,
    /// May be empty: a new Ollama has none.
    pub models: Vec<String>,
}

/// Returns the names of the supported programs.
pub fn names() -> impl Iterator<Item = &'static str> {
    DEFAULT_PORTS.iter().map(|(name, _)| *name)
}

/// The user's settings for the search.
#[derive(Clone, Debug, Default)]
pub struct LocalServerOptions {
    /// The address of Ollama (`OLLAMA_HOST`).
    pub ollama: Option<String>,
    /// Comma-separated names of the programs to look for (`MXD_LOCAL_SERVERS`). `None` for all.
    pub only: Option<String>,
}

impl LocalServerOptions {
    fn include(&self, name: &str) -> bool {
        let only = self.only.as_deref().map(str::trim).filter(|only| !only.is_empty());
        only.is_none_or(|only| only.split(',').any(|wanted| wanted.trim().eq_ignore_ascii_case(name)))
    }
}

/// Probes all ports in parallel, for two seconds or so at most. A closed port is known at once.
pub async fn find(options: &LocalServerOptions, clock: &Arc<dyn Clock>) -> Vec<LocalServer> {
    let probes = DEFAULT_PORTS.iter().filter(|(name, _)| options.include(name)).map(|(name, port)| {
        let default_url = format!("http://127.0.0.1:{port}/v1");
        let ollama = options.ollama.as_deref().filter(|_| *name == OLLAMA);
        probe(name, ollama.and_then(ollama_url).unwrap_or(default_url), Arc::clone(clock))
    });
    join_all(probes).await.into_iter().flatten().collect()
}

async fn probe(name: &'static str, base_url: String, clock: Arc<dyn Clock>) -> Option<LocalServer> {
    // Most ports are closed. Find out before building a client.
    let url = reqwest::Url::parse(&base_url).ok()?;
    let address = (url.host_str()?.to_owned(), url.port_or_known_default()?);
    timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await.ok()?.ok()?;
    let credential =
        Credential { group: name.to_owned(), wire: Wire::OpenaiChat, base_url: base_url.clone(), api_key: None };
    let timeouts =
        Timeouts { connect: CONNECT_TIMEOUT, first_byte: ANSWER_TIMEOUT, idle: ANSWER_TIMEOUT, ..Timeouts::default() };
    let listed = HttpProvider::new(credential, timeouts, clock).models(CancellationToken::new()).await.ok()?;
    // Another program may use the port. A model server lists at least one model; only Ollama's port is unambiguous.
    let models: Vec<String> = listed.into_iter().map(|listed| listed.id).collect();
    (!models.is_empty() || name == OLLAMA).then_some(LocalServer { name, base_url, models })
}

/// Returns the base URL for `OLLAMA_HOST`: a host, a port, or both, with or without a scheme.
fn ollama_url(host: &str) -> Option<String> {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    if rest.is_empty() {
        return None;
    }
    let rest = if rest.starts_with(':') { format!("127.0.0.1{rest}") } else { rest.to_owned() };
    // A server that listens on all addresses is reached on loopback.
    let rest = rest.replace("0.0.0.0", "127.0.0.1");
    let port = if rest.contains(':') { String::new() } else { ":11434".to_owned() };
    Some(format!("{scheme}://{rest}{port}/v1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_programs_are_probed() {
        let included = |only: Option<&str>| {
            let options = LocalServerOptions { ollama: None, only: only.map(str::to_owned) };
            names().filter(|name| options.include(name)).collect::<Vec<_>>()
        };
        assert_eq!(included(None).len(), 4);
        assert_eq!(included(Some(" ")).len(), 4, "empty counts as unset");
        assert_eq!(included(Some("vllm, LM studio")), ["LM Studio", "vLLM"]);
        assert!(included(Some("none")).is_empty());
    }

    #[test]
    fn ollama_host_is_parsed_in_all_formats() {
        for (host, expected) in [
            ("box", Some("http://box:11434/v1")),
            (":9", Some("http://127.0.0.1:9/v1")),
            ("0.0.0.0", Some("http://127.0.0.1:11434/v1")),
            ("https://box:1/", Some("https://box:1/v1")),
            (" ", None),
        ] {
            assert_eq!(ollama_url(host).as_deref(), expected, "{host:?}");
        }
    }
}
