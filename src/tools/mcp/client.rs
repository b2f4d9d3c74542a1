//! The client side of a connection. It offers servers neither a model nor a user.
//!
//! Requests for either are declined as the protocol specifies: elicitation with "decline", sampling with "no such
//! method". The capabilities are not declared, so well-behaved servers do not ask.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::ClientHandler;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::{NotificationContext, RoleClient};

#[derive(Clone, Debug, Default)]
pub(super) struct Client {
    /// The server announced that its list of tools changed.
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
