//! The part of `mxd serve` about HTTP: where it listens, named tokens, and the description of the interface.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::base::{Clock as _, Fault, ProjectId, SystemClock, Timestamp};
use crate::cli::agent_guard::Reach;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::locate::{home, registry};
use crate::config::Settings;
use crate::config::paths::Home;
use crate::engine::Handle;
use crate::model::Project;
use crate::serve::Server;
use crate::serve::http::tokens::{NamedToken, TokenFile, TokenRequest};
use crate::serve::http::{self, HttpOptions, HttpProject, HttpServer, Listen, Scope, Timeouts, TlsFiles};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(clap::Args)]
pub struct HttpArgs {
    /// Also serve HTTP on this port or address.
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
    /// Serve HTTPS with this certificate and key (PEM).
    #[arg(long, num_args = 2, value_names = ["CERT", "KEY"])]
    tls: Option<Vec<PathBuf>>,
    /// Answer under this host name, too.
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
}

impl HttpArgs {
    /// Returns where to listen, or `None` if neither the command line nor the settings ask for it.
    pub fn listen(&self, settings: &Settings) -> Result<Option<Listen>, Fault> {
        let Some(address) = self.http.as_ref().or(settings.serve.http.as_ref()) else { return Ok(None) };
        let tls = match self.tls.as_deref() {
            Some([certificates, key]) => Some(TlsFiles { certificates: certificates.clone(), key: key.clone() }),
            Some(_) | None => None,
        };
        Listen::new(address, tls).map(Some)
    }

    /// Returns the arguments that serve HTTP again.
    pub fn again(&self) -> Vec<String> {
        let http = self.http.iter().flat_map(|address| ["--http".to_owned(), address.clone()]);
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let tls = self.tls.iter().flat_map(|files| {
            let files = files.iter().map(move |path| absolute(path).display().to_string());
            std::iter::once("--tls".to_owned()).chain(files)
        });
        let hosts = self.host.iter().flat_map(|name| ["--host".to_owned(), name.clone()]);
        http.chain(tls).chain(hosts).collect()
    }

    /// Serves a project over HTTP if that was asked for, and writes where into `serve.json`.
    pub async fn start(
        &self,
        listen: Option<Listen>,
        home: &Home,
        project: &Project,
        handle: &Handle,
        server: &Server,
    ) -> Result<Option<HttpServer>, Fault> {
        let Some(listen) = listen else { return Ok(None) };
        let stream = server.stream();
        let served = HttpProject { id: project.id, name: project.name.clone(), handle: handle.clone(), stream };
        let options = HttpOptions {
            home: home.clone(),
            clock: Arc::new(SystemClock),
            hosts: self.host.clone(),
            timeouts: Timeouts::default(),
        };
        let http = http::start(vec![listen], vec![served], options).await?;
        server.set_http(http.info().clone())?;
        Ok(Some(http))
    }
}

#[derive(clap::Subcommand)]
pub enum TokenAction {
    /// Make a token and print it, once.
    New {
        /// Name of the token, such as the device.
        name: String,
        /// What it may do: read, answer, send, edit, run, admin.
        #[arg(long, value_delimiter = ',', required = true, value_name = "SCOPES")]
        scope: Vec<String>,
        /// Limit it to these projects (names or ids).
        #[arg(long, value_delimiter = ',', value_name = "PROJECTS")]
        projects: Vec<String>,
        /// Let it expire after this many days.
        #[arg(long, value_name = "DAYS")]
        days: Option<u32>,
    },
    /// List the tokens, without their values.
    List {
        /// Print one JSON token per line.
        #[arg(long)]
        json: bool,
    },
    /// Remove a token. Its streams are closed.
    Revoke {
        /// Name of the token.
        name: String,
    },
}

impl TokenAction {
    pub fn reach(&self) -> Reach {
        Reach::changes(!matches!(self, Self::List { .. }))
    }
}

pub fn token(console: &mut Console, action: &TokenAction) -> Outcome {
    let home = home()?;
    let file = TokenFile::new(&home);
    let now = SystemClock.now();
    match action {
        TokenAction::New { name, scope, projects, days } => {
            let scopes = scope.iter().map(|scope| scope.parse::<Scope>());
            let scopes = scopes.collect::<Result<BTreeSet<_>, _>>().map_err(|error| Fault::user(error.to_string()))?;
            let projects = find_projects(&home, projects)?;
            let expires = days.map(|days| now.later(DAY * days));
            let request = TokenRequest { name: name.clone(), scopes, projects, expires };
            console.line(file.add(request, now)?.expose())?;
            console.note("this is the only time that it is shown");
        }
        TokenAction::List { json } => list(console, &home, &file, now, *json)?,
        TokenAction::Revoke { name } => {
            file.revoke(name)?;
            console.line("revoked; its streams are closed")?;
        }
    }
    console.finish()?;
    Ok(0)
}

/// Returns the ids of these projects. `None` for all.
fn find_projects(home: &Home, names: &[String]) -> Result<Option<Vec<ProjectId>>, Fault> {
    if names.is_empty() {
        return Ok(None);
    }
    let known = registry(home).list()?;
    let find = |name: &String| {
        let found = known.iter().find(|project| project.name == *name || project.id.to_string() == *name);
        found.map(|project| project.id).ok_or_else(|| {
            Fault::user(format!("there is no project \"{}\"", name.escape_debug())).hint("`mxd projects` lists them")
        })
    };
    names.iter().map(find).collect::<Result<_, _>>().map(Some)
}

/// A token without its hash.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    scopes: &'a BTreeSet<Scope>,
    projects: &'a Option<Vec<ProjectId>>,
    created: Timestamp,
    expires: Option<Timestamp>,
    expired: bool,
}

fn list(console: &mut Console, home: &Home, file: &TokenFile, now: Timestamp, json: bool) -> Result<(), Failure> {
    let tokens = file.list()?;
    if tokens.is_empty() && !json {
        console.note("there is no token; make one with `mxd serve token new phone --scope read,answer,send`");
    }
    let known = registry(home).list()?;
    let name = |id: &ProjectId| {
        let found = known.iter().find(|project| project.id == *id);
        found.map_or_else(|| id.to_string(), |project| project.name.clone())
    };
    for token in &tokens {
        let NamedToken { name: token_name, scopes, projects, created, expires, .. } = token;
        let expired = token.is_expired(now);
        if json {
            let (created, expires) = (*created, *expires);
            console.json(&Row { name: token_name, scopes, projects, created, expires, expired })?;
            continue;
        }
        let scopes = scopes.iter().map(|scope| scope.name()).collect::<Vec<_>>().join(",");
        let reach = projects.as_ref().map_or_else(
            || "all projects".to_owned(),
            |projects| projects.iter().map(name).collect::<Vec<_>>().join(", "),
        );
        let until = match expires {
            Some(expires) if expired => format!("expired {}", expires.to_seconds_string()),
            Some(expires) => format!("until {}", expires.to_seconds_string()),
            None => "does not expire".to_owned(),
        };
        console.line(&format!("{token_name}  {scopes}  {reach}  {until}"))?;
    }
    Ok(())
}

/// Prints the description of the HTTP interface.
pub fn openapi(console: &mut Console) -> Outcome {
    let text = format!("{:#}", http::openapi::document());
    text.lines().try_for_each(|line| console.line(line))?;
    console.finish()?;
    Ok(0)
}
