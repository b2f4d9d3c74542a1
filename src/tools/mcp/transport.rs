//! How a server is reached: a program that is started, or an address that is called.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Certificate, ClientBuilder, Url};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use crate::base::RunId;
use crate::config::mask;
use crate::config::settings::{Endpoint, McpServer, Transport};
use crate::process::{self, Dialogue, Process, Spec};
use crate::tools::mcp::failure::chain;
use crate::tools::mcp::log::Log;
use crate::tools::mcp::pool::Options;

const CONNECT: Duration = Duration::from_secs(10);
const REDIRECTS: usize = 5;
/// How many calls may wait for the headers of their answer at once.
const CONCURRENT: usize = 256;

/// The way to a server that has not been spoken with yet.
pub(super) enum Line {
    Stdio(Process, Dialogue),
    Http(StreamableHttpClientTransport<reqwest::Client>),
}

/// Opens the way to a server. Must be called in a runtime.
pub(super) fn open(name: &str, server: &McpServer, options: &Options) -> Result<Line, String> {
    match &server.transport {
        Transport::Stdio { command, args, env, cwd } => {
            let id = format!("mcp-{name}-{}", RunId::fresh(&options.ids));
            let cwd = cwd.as_ref().map_or_else(|| options.root.clone(), |cwd| options.root.join(cwd));
            let shown = [std::slice::from_ref(command), &mask::scrub_args(args.expose())].concat().join(" ");
            let mut environment = options.environment.clone();
            for (variable, value) in env {
                environment = environment.with(variable, value.expose());
            }
            let spec = Spec {
                environment,
                shown: format!("server {name}: {shown}"),
                records: options.records.clone(),
                ..Spec::new(id, program(command, &options.root), cwd).arguments(args.expose())
            };
            let (process, dialogue) = process::converse(spec).map_err(|error| format!("{error}."))?;
            if let Some(folder) = &options.logs {
                let log = Log::new(folder.join(format!("mcp-{name}.log")));
                let headline = format!("{shown} (pid {})", process.pid());
                tokio::spawn(log.follow(headline, std::sync::Arc::clone(process.output())));
            }
            Ok(Line::Stdio(process, dialogue))
        }
        Transport::Http { url, headers } => {
            let mut sent = HeaderMap::new();
            for (header, value) in headers {
                let unusable = || format!("The header \"{header}\" of its entry cannot be sent.");
                let name = HeaderName::from_bytes(header.as_bytes()).map_err(|_| unusable())?;
                let mut value = HeaderValue::from_str(value.expose()).map_err(|_| unusable())?;
                value.set_sensitive(true);
                sent.insert(name, value);
            }
            let client = http_client(url, &sent)?;
            let config =
                StreamableHttpClientTransportConfig::with_uri(url.expose()).max_concurrent_requests(CONCURRENT);
            Ok(Line::Http(StreamableHttpClientTransport::with_client(client, config)))
        }
    }
}

/// A program that is named by a relative path belongs to the project, whatever folder it is started in.
fn program(command: &str, root: &Path) -> OsString {
    let path = Path::new(command);
    if path.is_relative() && command.contains('/') { root.join(path).into() } else { command.into() }
}

fn http_client(url: &Endpoint, headers: &HeaderMap) -> Result<reqwest::Client, String> {
    let address = Url::parse(url.expose()).map_err(|error| format!("Its address cannot be used: {error}."))?;
    let builder = || {
        let builder = reqwest::Client::builder()
            .user_agent(concat!("mxd/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .default_headers(headers.clone())
            .redirect(same_origin())
            // A connection that is used again right after a half-read answer stalls on delayed acknowledgements.
            .pool_max_idle_per_host(0);
        if is_this_machine(&address) { builder.no_proxy() } else { builder }
    };
    let built = builder().build();
    // Without CA certificates nothing can be built, though an address without TLS needs none of them.
    let built = if address.scheme() == "http" { built.or_else(|_| without_certificates(builder())) } else { built };
    built.map_err(|error| {
        let problem = chain(&error);
        format!("The HTTP client cannot be built: {problem}; install CA certificates or set SSL_CERT_FILE.")
    })
}

fn without_certificates(builder: ClientBuilder) -> reqwest::Result<reqwest::Client> {
    builder.tls_certs_only(std::iter::empty::<Certificate>()).build()
}

/// Headers are for the host that the person named, and for no other.
fn same_origin() -> Policy {
    Policy::custom(|attempt| {
        let first = attempt.previous().first().map(Url::origin);
        if attempt.previous().len() > REDIRECTS {
            attempt.error("too many redirects")
        } else if first == Some(attempt.url().origin()) {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
