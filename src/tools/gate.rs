//! The permission check between a valid call and its execution. The default allows everything.

use futures::future::{BoxFuture, FutureExt as _};

use crate::model::ask::PermissionRequest;
use crate::model::conversation::ToolUse;
use crate::model::event::PermissionNote;
use crate::tools::hooks::HookOpinion;
use crate::tools::tool::ToolEffect;

/// A valid call that is about to run.
#[derive(Clone, Copy, Debug)]
pub struct GateRequest<'a> {
    pub call: &'a ToolUse,
    /// The tool's current wire name, whatever the call says.
    pub name: &'a str,
    pub effect: ToolEffect,
    /// What the lifecycle hooks before the call said.
    pub hook: &'a HookOpinion,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    Granted {
        /// For the log.
        note: Option<PermissionNote>,
    },
    /// The reason is for the model.
    Denied { reason: String, note: Option<PermissionNote> },
    /// The user has to decide. Until then the call is held: it has no result, and nothing waits for it.
    Held(Box<PermissionRequest>),
}

/// Decides about calls. Does not wait for the user: a call that needs permission is held.
pub trait Gate: Send + Sync {
    fn check<'a>(&'a self, request: GateRequest<'a>) -> BoxFuture<'a, Permission>;
}

#[derive(Clone, Copy, Debug, Default)]
pub struct AllowAll;

impl Gate for AllowAll {
    fn check<'a>(&'a self, _request: GateRequest<'a>) -> BoxFuture<'a, Permission> {
        std::future::ready(Permission::Granted { note: None }).boxed()
    }
}
