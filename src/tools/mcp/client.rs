//! What we are to a server: a client without a model to lend and without a person to ask.
//!
//! Requests for either are declined, as the protocol provides for it: elicitation with "decline", sampling with
//! "no such method". No such capability is declared, so a polite server does not even try.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::ClientHandler;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::{NotificationContext, RoleClient};

/// Our side of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Client {
    /// The server said that its tools are no longer what it listed.
    pub(super) stale: Arc<AtomicBool>,
}

impl ClientHandler for Client {
    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.stale.store(true, Ordering::Release);
    }

    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("mxd", env!("CARGO_PKG_VERSION")))
    }
}
