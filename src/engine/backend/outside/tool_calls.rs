//! Calls of our own tools by the program: recorded, run without waiting, answered.

use futures::future::FutureExt as _;
use tokio::sync::oneshot;

use super::run::{Finished, Run};
use crate::base::RunId;
use crate::model::conversation::ToolUse;
use crate::model::event::Body;
use crate::store::StoreError;
use crate::tools::mcp_server::{ServedCall, ServedReply};
use crate::tools::{self, ControlRequest, Reply};

const YIELDED: &str = "Recorded. End your turn now: what you wait for arrives as your next prompt.";
const DONE: &str = "Recorded: your task is reported when your turn ends. End it now, and change nothing more.";
/// Where programs state their own id of the call.
const CALL_IDS: [&str; 3] = ["claudecode/toolUseId", "callId", "toolCallId"];

impl Run {
    /// Records a call and starts it.
    pub(super) async fn begin_tool(
        &mut self,
        served: ServedCall,
        key: String,
        answer: oneshot::Sender<ServedReply>,
    ) -> Result<(), StoreError> {
        // The program shows the same call as one of its own.
        let own_id = CALL_IDS.iter().find_map(|name| served.meta.get(*name)?.as_str());
        if let Some(id) = own_id {
            self.transcript.hide(self.request.clock.now(), id);
        }
        let call = ToolUse {
            call: format!("mxd-{}", RunId::fresh(&self.request.ids)),
            name: served.name,
            input: served.input,
            malformed: None,
        };
        let mut out = super::transcript::Output::default();
        self.transcript.flush(&mut out);
        out.bodies.push(Body::from(call.clone()));
        self.emit(out).await?;
        let context = self.starter.tools.clone();
        let work = async move {
            let reply = Box::new(tools::execute(&call, &context).await);
            let ToolUse { call, name, .. } = call;
            Finished::Tool { call, name, key, reply, answer }
        };
        self.pending.push(work.boxed());
        Ok(())
    }

    pub(super) async fn on_tool_finished(
        &mut self,
        call: &str,
        name: &str,
        mut reply: Reply,
    ) -> Result<ServedReply, StoreError> {
        match reply.control.take() {
            Some(ControlRequest::Yield) => {
                self.flags.yielded = true;
                YIELDED.clone_into(&mut reply.text);
            }
            Some(ControlRequest::Done { verdict, result }) => {
                self.done = Some((verdict, result));
                self.expect_end();
                DONE.clone_into(&mut reply.text);
            }
            // The program would give up on a call that waits for the user.
            Some(ControlRequest::Hold(held)) => {
                reply = Reply::error(format!(
                    "Not done: it needs the user's permission ({}). Go on without it, or ask them with clarify.",
                    held.headline()
                ));
            }
            // The program cannot be stopped by a hook; it reads the reason in the reply.
            Some(ControlRequest::CheckFailed { .. } | ControlRequest::DoneRefused | ControlRequest::EndTurn { .. })
            | None => {}
        }
        let served = ServedReply { text: reply.text.clone(), is_error: reply.is_error };
        self.append(vec![reply.into_result(call, name).into()]).await?;
        Ok(served)
    }
}
