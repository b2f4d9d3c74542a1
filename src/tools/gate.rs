//! The hook between a call that is understood and a call that runs. Today it lets everything through.

use futures::future::{BoxFuture, FutureExt as _};

use crate::model::conversation::ToolUse;
use crate::tools::tool::Effect;

/// A call that wants to run: it names a tool that exists and its input is valid.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub call: &'a ToolUse,
    /// The tool's current name on the wire, whatever the call says.
    pub name: &'a str,
    pub effect: Effect,
}

/// Whether a call may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    Granted,
    /// The reason is what the model reads.
    Denied {
        reason: String,
    },
}

/// Decides about calls. May take its time: it is where a person gets asked.
pub trait Gate: Send + Sync {
    fn check<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Permission>;
}

/// The gate that grants everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Open;

impl Gate for Open {
    fn check<'a>(&'a self, _request: Request<'a>) -> BoxFuture<'a, Permission> {
        std::future::ready(Permission::Granted).boxed()
    }
}
