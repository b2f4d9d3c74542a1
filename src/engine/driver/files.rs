//! Commands that concern files and no agent. They run beside the main loop and are answered directly.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::{Driver, EngineContext, Incoming};
use crate::base::{Fault, TaskId};
use crate::engine::command::{FileCommand, Layer, Outcome};
use crate::engine::machine::Input;
use crate::engine::profiles::Profiles;
use crate::engine::query::Bytes;
use crate::engine::work_queries::{TaskLocation, WorkReader};
use crate::model::Image;
use crate::tools::{Limits, picture};

impl Driver {
    pub(super) fn on_file_command(&self, command: FileCommand, answer: oneshot::Sender<Result<Outcome, Fault>>) {
        let ctx = Arc::clone(&self.ctx);
        let location = command.worktree_of().map(|task| self.machine.location_of(task)).transpose();
        tokio::spawn(async move {
            let outcome = match location {
                Ok(location) => run_file_command(&ctx, command, location).await,
                Err(fault) => Err(fault),
            };
            let _ = answer.send(outcome);
        });
    }
}

impl FileCommand {
    /// Returns the task whose location the command needs.
    fn worktree_of(&self) -> Option<TaskId> {
        match self {
            Self::DraftConflicts { task, .. } => Some(*task),
            Self::MarkSeen { .. } | Self::AttachPicture { .. } | Self::SetSetting { .. } => None,
        }
    }
}

async fn run_file_command(
    ctx: &Arc<EngineContext>,
    command: FileCommand,
    location: Option<TaskLocation>,
) -> Result<Outcome, Fault> {
    let reader = WorkReader::new(ctx.worktrees.clone(), ctx.store.sessions().clone());
    match command {
        FileCommand::MarkSeen { task, seen } => reader.mark_seen(task, seen).await.map(|()| Outcome::Done),
        FileCommand::DraftConflicts { into, .. } => {
            let location =
                location.ok_or_else(|| Fault::internal("conflicts were to be drafted without a worktree"))?;
            reader.draft_conflicts(&location, into).await.map(Outcome::ConflictDrafts)
        }
        FileCommand::AttachPicture { name, data } => {
            let ctx = Arc::clone(ctx);
            let stored = tokio::task::spawn_blocking(move || store_picture(&ctx, name, data));
            stored.await.map_err(|error| Fault::internal(error.to_string()))?.map(Outcome::Attached)
        }
        FileCommand::SetSetting { layer, key, value } if key == "profile" => select_profile(ctx, layer, value).await,
        FileCommand::SetSetting { layer, key, value } => {
            let outcome = ctx.settings_files.set_in_background(layer, key, value).await;
            let permissions = Arc::clone(&ctx.permissions);
            if let Ok(modes) = tokio::task::spawn_blocking(move || permissions.modes()).await {
                // Before the answer, so that the next command of the client counts on it.
                ctx.send(Input::RulesChanged(modes));
            }
            outcome
        }
    }
}

/// Saves who does new tasks, if that profile can be used. It counts from then on.
async fn select_profile(ctx: &Arc<EngineContext>, layer: Layer, value: Option<String>) -> Result<Outcome, Fault> {
    let (reader, wanted) = (Arc::clone(ctx), value.clone());
    let check = move || wanted.map_or(Ok(()), |name| Profiles::load(&reader.profiles, &name).check_selection());
    tokio::task::spawn_blocking(check).await.map_err(|error| Fault::internal(error.to_string()))??;
    let outcome = ctx.settings_files.set_in_background(layer, "profile".to_owned(), value).await?;
    let reader = Arc::clone(ctx);
    if let Ok(profiles) = tokio::task::spawn_blocking(move || reader.profiles()).await {
        let _ = ctx.incoming.send(Incoming::Selected(profiles));
    }
    Ok(outcome)
}

fn store_picture(ctx: &EngineContext, name: String, Bytes(data): Bytes) -> Result<Image, Fault> {
    let kind = picture::kind(&data)
        .ok_or_else(|| Fault::user(format!("{name} is not a picture")).hint("attach a PNG, JPEG, GIF or WebP file"))?;
    let (picture, _) = picture::fit(data, kind, Limits::default())
        .map_err(|problem| Fault::user(format!("{name} cannot be attached: {problem}")))?;
    let data = ctx.store.blobs().put(&picture.bytes)?;
    Ok(Image { data, media_type: picture.media_type.to_owned(), name: Some(name) })
}
