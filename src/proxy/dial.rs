//! Resolves an admitted host once, checks its addresses, and dials one of those that were checked.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::address::{Reach, reach};
use super::gate::Refusal;
use super::host::{Host, Target};
use super::policy::{Grant, means_this_machine};

const RESOLVE: Duration = Duration::from_secs(10);
const CONNECT: Duration = Duration::from_secs(10);
/// The most addresses of a name that are tried.
const MAX_ADDRESSES: usize = 6;

/// Finds the addresses of names.
pub trait Resolver: Send + Sync + 'static {
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let name = name.to_owned();
        async move { Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect()) }.boxed()
    }
}

/// Connects to a host, as far as its grant goes.
pub(super) async fn dial(resolver: &dyn Resolver, target: &Target, grant: Grant) -> Result<TcpStream, Refusal> {
    let unreachable = |reason: String| Refusal::Unreachable { target: target.clone(), reason };
    let found = match &target.host {
        Host::Address(address) => vec![*address],
        Host::Name(name) => match timeout(RESOLVE, resolver.resolve(name)).await {
            Ok(Ok(addresses)) => addresses,
            Ok(Err(error)) => return Err(unreachable(error.to_string())),
            Err(_) => return Err(unreachable("its name could not be resolved in time".to_owned())),
        },
    };
    let refused = |address| Refusal::Reach { target: target.clone(), address, reach: reach(address) };
    let (allowed, others): (Vec<IpAddr>, Vec<IpAddr>) =
        found.into_iter().partition(|address| is_allowed(&target.host, *address, grant));
    if allowed.is_empty() {
        return Err(others
            .first()
            .map_or_else(|| unreachable("it has no address".to_owned()), |first| refused(*first)));
    }
    let mut reason = String::new();
    for address in allowed.into_iter().take(MAX_ADDRESSES) {
        match timeout(CONNECT, TcpStream::connect(SocketAddr::new(address, target.port))).await {
            // An address of our own that is not known as such: the system then uses it for both ends.
            Ok(Ok(stream)) if is_own(&stream) && !is_machine_allowed(&target.host, grant) => {
                return Err(Refusal::Reach { target: target.clone(), address, reach: Reach::Machine });
            }
            Ok(Ok(stream)) => {
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => reason = error.to_string(),
            Err(_) => "it does not answer".clone_into(&mut reason),
        }
    }
    Err(unreachable(reason))
}

fn is_allowed(host: &Host, address: IpAddr, grant: Grant) -> bool {
    match reach(address) {
        Reach::Internet => true,
        Reach::Private => grant == Grant::Trusted,
        Reach::Machine => is_machine_allowed(host, grant),
        Reach::Nowhere => false,
    }
}

fn is_machine_allowed(host: &Host, grant: Grant) -> bool {
    grant == Grant::Trusted && means_this_machine(host)
}

fn is_own(stream: &TcpStream) -> bool {
    match (stream.local_addr(), stream.peer_addr()) {
        (Ok(local), Ok(peer)) => local.ip().to_canonical() == peer.ip().to_canonical(),
        _ => true,
    }
}
