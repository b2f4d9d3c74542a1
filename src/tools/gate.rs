//! The permission check between a valid call and its execution. The default allows everything.

use futures::future::{BoxFuture, FutureExt as _};

use crate::model::conversation::ToolUse;
use crate::model::event::PermissionNote;
use crate::tools::tool::ToolEffect;

/// A valid call that is about to run.
#[derive(Clone, Copy, Debug)]
pub struct PermissionRequest<'a> {
    pub call: &'a ToolUse,
    /// The tool's current wire name, whatever the call says.
    pub name: &'a str,
    pub effect: ToolEffect,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    Granted {
        /// For the log.
        note: Option<PermissionNote>,
    },
    /// The reason is for the model.
    Denied { reason: String, note: Option<PermissionNote> },
}

/// Decides about calls. May take long, because it may ask the user.
pub trait Gate: Send + Sync {
    fn check<'a>(&'a self, request: PermissionRequest<'a>) -> BoxFuture<'a, Permission>;
}

#[derive(Clone, Copy, Debug, Default)]
pub struct AllowAll;

impl Gate for AllowAll {
    fn check<'a>(&'a self, _request: PermissionRequest<'a>) -> BoxFuture<'a, Permission> {
        std::future::ready(Permission::Granted { note: None }).boxed()
    }
}
