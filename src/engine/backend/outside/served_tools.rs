//! The tools of Matrix as the program of one run gets them. Calls are passed to the run, which records them.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::{Mutex, mpsc, oneshot, watch};

use crate::model::ToolSpec;
use crate::tools::mcp_server::{ServedCall, ServedReply, ToolServer};

/// A call that waits for the run.
#[derive(Debug)]
pub(super) struct ToolRequest {
    pub(super) call: ServedCall,
    pub(super) reply: oneshot::Sender<ServedReply>,
}

pub(super) struct ServedTools {
    specs: Vec<ToolSpec>,
    requests: mpsc::UnboundedSender<ToolRequest>,
    waiting: Mutex<mpsc::UnboundedReceiver<ToolRequest>>,
    listed: watch::Sender<bool>,
}

impl ServedTools {
    pub(super) fn new(specs: Vec<ToolSpec>) -> Self {
        let (requests, waiting) = mpsc::unbounded_channel();
        Self { specs, requests, waiting: Mutex::new(waiting), listed: watch::Sender::new(false) }
    }

    /// A program is about to be started: nothing has asked for the list yet.
    pub(super) fn on_open(&self) {
        self.listed.send_replace(false);
    }

    /// Returns true if the program has asked for the list of tools.
    pub(super) fn is_listed(&self) -> bool {
        *self.listed.borrow()
    }

    /// Returns the next call. Cancel safe.
    pub(super) async fn next(&self) -> ToolRequest {
        match self.waiting.lock().await.recv().await {
            Some(request) => request,
            // The sender is in this object.
            None => std::future::pending().await,
        }
    }
}

impl ToolServer for ServedTools {
    fn specs(&self) -> Vec<ToolSpec> {
        self.specs.clone()
    }

    fn instructions(&self) -> String {
        "The tools of Matrix, which runs you. None of them waits: after `yield`, `clarify` or `done`, end your turn; what \
         you wait for arrives as your next prompt. Call `done` once when your task is finished and committed."
            .to_owned()
    }

    fn call(&self, call: ServedCall) -> BoxFuture<'_, ServedReply> {
        let (reply, answer) = oneshot::channel();
        let sent = self.requests.send(ToolRequest { call, reply });
        async move {
            let gone = || ServedReply::error("Not done: the run of this task has ended.");
            match sent {
                Ok(()) => answer.await.unwrap_or_else(|_| gone()),
                Err(_) => gone(),
            }
        }
        .boxed()
    }

    fn on_listed(&self) {
        self.listed.send_replace(true);
    }
}
