//! What an effect of the screen comes to. Whatever waits for a disk, a program or the engine goes on beside the loop and
//! comes back as news; nothing is decided here.

use std::path::PathBuf;

use futures::FutureExt as _;

use super::errands::Solve;
use super::{End, News, Screen};
use crate::app::{drafts, loaders};
use crate::base::{Fault, TaskId};
use crate::engine::query::ModelSource;
use crate::engine::review::Seen;
use crate::engine::update::Level;
use crate::ui::{Effect, Msg, Purpose, Setting};

impl Screen {
    pub(super) async fn perform(&mut self, effect: Effect) -> Result<(), Fault> {
        let handle = self.handle.clone();
        match effect {
            Effect::Engine { tag, command } => {
                self.beside(async move { Msg::Reply { tag, outcome: handle.command(command).await } });
            }
            Effect::LoadPage { task, before, count } => self.beside(loaders::page(handle, task, before, count)),
            Effect::LoadDiff { task, request } => {
                let marked = self.marked.clone();
                self.beside(async move {
                    marked.await;
                    loaders::diff(handle, task, request).await
                });
            }
            Effect::LoadTurns { task } => {
                self.beside(async move { Msg::Turns { task, turns: handle.turns(task).await } });
            }
            Effect::LoadMerge { task, goal } => self.beside(async move {
                let preview = Box::new(handle.merge_preview(task, goal).await);
                Msg::MergePreview { task, goal, preview }
            }),
            Effect::LoadRewind { task, to, extent } => self.beside(async move {
                let preview = Box::new(handle.rewind_preview(task, to, extent).await);
                Msg::RewindPreview { task, to, extent, preview }
            }),
            Effect::SolveConflicts { tag, task, goal, how } => self.beside(async move {
                let prepared = loaders::draft_conflicts(&handle, task, goal).await;
                News::Solve(Box::new(Solve { tag, task, goal, how, prepared }))
            }),
            Effect::EditMessage { task, message } => self.beside(async move {
                match handle.message(task, message).await {
                    Ok(text) => News::Edit(Purpose::Resend(task, message), text),
                    Err(fault) => Msg::Said { level: Level::Error, text: fault.to_string() }.into(),
                }
            }),
            Effect::SaveSeen { task, seen } => {
                if self.kept.is_some() {
                    self.mark(task, seen);
                }
            }
            Effect::SaveReviews { notes } => {
                if let Some(kept) = &self.kept {
                    kept.reviews.keep(&notes);
                }
            }
            Effect::LoadBlob { task, event, blob } => self.beside(loaders::blob(handle, task, event, blob)),
            Effect::ListFiles { task, query } => {
                self.beside(loaders::files(&self.files, handle, task, query));
            }
            Effect::Attach { task, path } => self.beside(loaders::attach(handle, task, path, self.folders(task))),
            Effect::Search { question } => self.beside(loaders::search(&self.searches, handle, question)),
            Effect::OpenEditor { purpose, text } => self.open_editor(purpose, &text).await?,
            Effect::OpenPager { text, .. } => self.open_pager(&text).await?,
            Effect::Copy { text } => self.copy(text),
            Effect::Notify { title, body } => self.notify(&title, &body),
            Effect::SetTitle { title } => self.terminal.set_title(&title),
            Effect::WheelAsArrows { on } => self.terminal.set_wheel_as_arrows(on),
            Effect::SaveSetting { setting } => self.save_setting(setting).await?,
            Effect::SaveDrafts { drafts } => {
                if let Some(kept) = &self.kept {
                    kept.drafts.keep(&drafts::Drafts { drafts });
                }
            }
            Effect::TakeSnapshot => {
                let (snapshot, watcher) = handle.look().await?;
                self.watcher = watcher;
                self.tell(Msg::Snapshot(Box::new(snapshot)));
            }
            Effect::ListProjects => self.beside(loaders::projects(handle)),
            Effect::ListModels => {
                self.beside(async move { Msg::Models(loaders::models(handle, ModelSource::Endpoint).await) });
            }
            Effect::OpenProject { project } => self.end = Some(End::Switch(project)),
            Effect::SetUp => self.end = Some(End::SetUp),
            Effect::Redraw => self.terminal.invalidate(),
            Effect::Suspend => self.terminal.suspend().await?,
            Effect::Quit => self.end = Some(End::Quit),
        }
        Ok(())
    }

    /// Lets `work` go on beside the screen, which never waits for a disk or a program.
    pub(super) fn beside<N: Into<News>>(&self, work: impl Future<Output = N> + Send + 'static) {
        let news = self.news.clone();
        tokio::spawn(async move {
            let _ = news.send(work.await.into());
        });
    }

    /// Returns the folders that a path of a task may be meant in: where it works, if that is there, or the project's.
    fn folders(&self, task: TaskId) -> Vec<PathBuf> {
        self.model.place(task).into_iter().chain([self.options.project.path.clone()]).collect()
    }

    /// Keeps what was seen, one after the other.
    fn mark(&mut self, task: TaskId, seen: Seen) {
        let (before, handle, news) = (self.marked.clone(), self.handle.clone(), self.news.clone());
        let marking = tokio::spawn(async move {
            before.await;
            if let Err(fault) = loaders::mark_seen(handle, task, seen).await {
                let _ = news.send(Msg::Said { level: Level::Warning, text: fault.to_string() }.into());
            }
        });
        self.marked = marking.map(drop).boxed().shared();
    }

    async fn save_setting(&mut self, setting: Setting) -> Result<(), Fault> {
        let (before, command) = (self.saved.clone(), setting.command());
        let (handle, news) = (self.handle.clone(), self.news.clone());
        // One after the other: of two changes of a setting the later one counts.
        let saving = tokio::spawn(async move {
            before.await;
            if let Err(fault) = handle.command(command).await {
                let _ = news.send(Msg::Said { level: Level::Error, text: fault.to_string() }.into());
            }
        });
        self.saved = saving.map(drop).boxed().shared();
        match setting {
            Setting::Theme(_) => Box::pin(self.load_theme()).await?,
            Setting::Mouse(on) => self.terminal.set_mouse(on),
            Setting::ProjectBudget(_) | Setting::NotifyDesktop(_) | Setting::NotifyBell(_) | Setting::TaskModel(_) => {}
        }
        Ok(())
    }
}
