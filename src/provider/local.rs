//! Model servers on this machine: which of the usual ports answer, and with which models.

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
/// Programs that serve models, and the port each has if nobody says otherwise.
const USUAL: [(&str, u16); 4] = [(OLLAMA, 11_434), ("LM Studio", 1_234), ("llama.cpp", 8_080), ("vLLM", 8_000)];

/// How long a machine that is this one may take to say that somebody listens.
const CONNECT: Duration = Duration::from_millis(300);
/// How long somebody who listens may take to answer: on a machine that is busy with a model, a while.
const ANSWER: Duration = Duration::from_secs(2);

/// A server that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    pub name: &'static str,
    pub base_url: String,
    /// May be empty: Ollama begins without any.
    pub models: Vec<String>,
}

/// Returns the names of the programs that are looked for.
pub fn names() -> impl Iterator<Item = &'static str> {
    USUAL.iter().map(|(name, _)| *name)
}

/// What the person says about where to look.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// Where Ollama is (`OLLAMA_HOST`).
    pub ollama: Option<String>,
    /// The only programs to look for, by name, with commas between them (`MXD_LOCAL_SERVERS`). Nothing: all of them.
    pub only: Option<String>,
}

impl Wishes {
    fn include(&self, name: &str) -> bool {
        let only = self.only.as_deref().map(str::trim).filter(|only| !only.is_empty());
        only.is_none_or(|only| only.split(',').any(|wanted| wanted.trim().eq_ignore_ascii_case(name)))
    }
}

/// Asks every usual port at once, for a second or two at most; where nobody listens, that is known at once.
pub async fn find(wishes: &Wishes, clock: &Arc<dyn Clock>) -> Vec<LocalServer> {
    let asked = USUAL.iter().filter(|(name, _)| wishes.include(name)).map(|(name, port)| {
        let usual = format!("http://127.0.0.1:{port}/v1");
        let ollama = wishes.ollama.as_deref().filter(|_| *name == OLLAMA);
        ask(name, ollama.and_then(ollama_url).unwrap_or(usual), Arc::clone(clock))
    });
    join_all(asked).await.into_iter().flatten().collect()
}

async fn ask(name: &'static str, base_url: String, clock: Arc<dyn Clock>) -> Option<LocalServer> {
    // Most ports are closed, and that is known before a client is built.
    let url = reqwest::Url::parse(&base_url).ok()?;
    let address = (url.host_str()?.to_owned(), url.port_or_known_default()?);
    timeout(CONNECT, TcpStream::connect(address)).await.ok()?.ok()?;
    let credential =
        Credential { group: name.to_owned(), wire: Wire::OpenaiChat, base_url: base_url.clone(), api_key: None };
    let timeouts = Timeouts { connect: CONNECT, first_byte: ANSWER, idle: ANSWER, ..Timeouts::default() };
    let listed = HttpProvider::new(credential, timeouts, clock).models(CancellationToken::new()).await.ok()?;
    // Something else may listen there. Whoever serves models names at least one; only Ollama's port is nobody else's.
    let models: Vec<String> = listed.into_iter().map(|listed| listed.id).collect();
    (!models.is_empty() || name == OLLAMA).then_some(LocalServer { name, base_url, models })
}

/// Returns the address that `OLLAMA_HOST` means: a host, a port, or both, with or without a scheme.
fn ollama_url(host: &str) -> Option<String> {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    if rest.is_empty() {
        return None;
    }
    let rest = if rest.starts_with(':') { format!("127.0.0.1{rest}") } else { rest.to_owned() };
    // A server that listens on every address is reached on this one.
    let rest = rest.replace("0.0.0.0", "127.0.0.1");
    let port = if rest.contains(':') { String::new() } else { ":11434".to_owned() };
    Some(format!("{scheme}://{rest}{port}/v1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_is_looked_for() {
        let looked_for = |only: Option<&str>| {
            let wishes = Wishes { ollama: None, only: only.map(str::to_owned) };
            names().filter(|name| wishes.include(name)).collect::<Vec<_>>()
        };
        assert_eq!(looked_for(None).len(), 4);
        assert_eq!(looked_for(Some(" ")).len(), 4, "empty counts as unset");
        assert_eq!(looked_for(Some("vllm, LM studio")), ["LM Studio", "vLLM"]);
        assert!(looked_for(Some("none")).is_empty());
    }

    #[test]
    fn where_ollama_is_may_be_said_in_many_ways() {
        for (said, meant) in [
            ("box", Some("http://box:11434/v1")),
            (":9", Some("http://127.0.0.1:9/v1")),
            ("0.0.0.0", Some("http://127.0.0.1:11434/v1")),
            ("https://box:1/", Some("https://box:1/v1")),
            (" ", None),
        ] {
            assert_eq!(ollama_url(said).as_deref(), meant, "{said:?}");
        }
    }
}
