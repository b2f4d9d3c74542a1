//! Commands that concern files and no agent: carried out beside the loop, answered directly.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::{Driver, Parts};
use crate::base::{Fault, TaskId};
use crate::engine::command::{FileCommand, Outcome};
use crate::engine::query::Bytes;
use crate::engine::reading::{Reader, Spot};
use crate::model::Image;
use crate::tools::{Limits, picture};

impl Driver {
    pub(super) fn file_command(&self, command: FileCommand, answer: oneshot::Sender<Result<Outcome, Fault>>) {
        let parts = Arc::clone(&self.parts);
        let spot = command.worktree_of().map(|task| self.machine.spot_of(task)).transpose();
        tokio::spawn(async move {
            let outcome = match spot {
                Ok(spot) => carry_out(&parts, command, spot).await,
                Err(fault) => Err(fault),
            };
            let _ = answer.send(outcome);
        });
    }
}

impl FileCommand {
    /// Returns the task whose worktree has to be known.
    fn worktree_of(&self) -> Option<TaskId> {
        match self {
            Self::DraftConflicts { task, .. } => Some(*task),
            Self::MarkSeen { .. } | Self::AttachPicture { .. } | Self::SetSetting { .. } => None,
        }
    }
}

async fn carry_out(parts: &Arc<Parts>, command: FileCommand, spot: Option<Spot>) -> Result<Outcome, Fault> {
    let reader = Reader::new(parts.worktrees.clone(), parts.store.sessions().clone());
    match command {
        FileCommand::MarkSeen { task, seen } => reader.mark_seen(task, seen).await.map(|()| Outcome::Done),
        FileCommand::DraftConflicts { into, .. } => {
            let spot = spot.ok_or_else(|| Fault::internal("conflicts were to be drafted without a worktree"))?;
            reader.prepare_solving(&spot, into).await.map(Outcome::ConflictDrafts)
        }
        FileCommand::AttachPicture { name, data } => {
            let parts = Arc::clone(parts);
            let stored = tokio::task::spawn_blocking(move || store_picture(&parts, name, data));
            stored.await.map_err(|error| Fault::internal(error.to_string()))?.map(Outcome::Attached)
        }
        FileCommand::SetSetting { layer, key, value } => {
            parts.settings_files.set_in_background(layer, key, value).await
        }
    }
}

fn store_picture(parts: &Parts, name: String, Bytes(data): Bytes) -> Result<Image, Fault> {
    let kind = picture::kind(&data)
        .ok_or_else(|| Fault::user(format!("{name} is not a picture")).hint("attach a PNG, JPEG, GIF or WebP file"))?;
    let (picture, _) = picture::fit(data, kind, Limits::default())
        .map_err(|problem| Fault::user(format!("{name} cannot be attached: {problem}")))?;
    let data = parts.store.blobs().put(&picture.bytes)?;
    Ok(Image { data, media_type: picture.media_type.to_owned(), name: Some(name) })
}
