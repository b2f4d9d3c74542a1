//! Executes the effects of the UI. Work that waits for the disk, a program or the engine runs in the background and
//! sends a [`LoopEvent`] with its result.

use std::path::PathBuf;

use futures::FutureExt as _;

use super::handoff::ConflictEdit;
use super::{End, LoopEvent, Screen};
use crate::app::loaders;
use crate::base::{Fault, TaskId};
use crate::engine::query::ModelSource;
use crate::engine::review::ReviewMarks;
use crate::engine::update::Level;
use crate::ui::{EditPurpose, Effect, HostProjects, Msg, Setting};

impl Screen {
    pub(super) async fn perform(&mut self, effect: Effect) -> Result<(), Fault> {
        let handle = self.handle.clone();
        match effect {
            Effect::Engine { tag, command } => {
                let command = command.signed(&self.options.client_name);
                self.spawn(async move { Msg::Reply { tag, outcome: handle.command(command).await } });
            }
            Effect::LoadPage { task, before, count } => self.spawn(loaders::page(handle, task, before, count)),
            Effect::LoadDiff { task, request } => {
                let marked = self.marked.clone();
                self.spawn(async move {
                    marked.await;
                    loaders::diff(handle, task, request).await
                });
            }
            Effect::LoadTurns { task } => {
                self.spawn(async move { Msg::Turns { task, turns: handle.turns(task).await } });
            }
            Effect::LoadMerge { task, goal } => self.spawn(async move {
                let preview = Box::new(handle.merge_preview(task, goal).await);
                Msg::MergePreview { task, goal, preview }
            }),
            Effect::LoadRewind { task, to, extent } => self.spawn(async move {
                let preview = Box::new(handle.rewind_preview(task, to, extent).await);
                Msg::RewindPreview { task, to, extent, preview }
            }),
            Effect::ResolveConflicts { tag, task, goal, how } => self.spawn(async move {
                let prepared = loaders::draft_conflicts(&handle, task, goal).await;
                LoopEvent::Solve(Box::new(ConflictEdit { tag, task, goal, how, prepared }))
            }),
            Effect::EditMessage { task, message } => self.spawn(async move {
                match handle.message(task, message).await {
                    Ok(text) => LoopEvent::Edit(EditPurpose::Resend(task, message), text),
                    Err(fault) => Msg::Notice { level: Level::Error, text: fault.to_string() }.into(),
                }
            }),
            Effect::SaveSeen { task, seen } => {
                self.save_marks(task, seen);
            }
            Effect::SaveReviews { notes } => {
                if let Some(files) = &self.state_files {
                    files.reviews.save(&notes);
                }
            }
            Effect::SavePosition { position } => {
                if let Some(files) = &self.state_files {
                    files.position.save(&position);
                }
            }
            Effect::LoadBlob { task, event, blob } => self.spawn(loaders::blob(handle, task, event, blob)),
            Effect::ListFiles { task, query } => {
                self.spawn(loaders::files(&self.files, handle, task, query));
            }
            Effect::Attach { task, path } => self.spawn(loaders::attach(handle, task, path, self.folders(task))),
            Effect::Search { question } => self.spawn(loaders::search(&self.searches, handle, question)),
            Effect::OpenEditor { purpose, text } => self.open_editor(purpose, &text).await?,
            Effect::OpenPager { text, .. } => self.open_pager(&text).await?,
            Effect::Copy { text } => self.copy(text),
            Effect::Notify { title, body } => self.notify(&title, &body),
            Effect::ShowTheme => Box::pin(self.load_theme()).await?,
            Effect::SetTitle { title } => self.terminal.set_title(&title),
            Effect::WheelAsArrows { on } => self.terminal.set_wheel_as_arrows(on),
            Effect::SaveSetting { setting } => self.save_setting(&setting),
            Effect::SaveDrafts { drafts } => {
                if let Some(files) = &self.state_files {
                    files.drafts.save(&drafts);
                }
            }
            Effect::TakeSnapshot => {
                let (snapshot, watcher) = handle.subscribe().await?;
                self.watcher = watcher;
                self.queue(Msg::Snapshot(Box::new(snapshot)));
            }
            Effect::ListProjects => self.list_projects(),
            Effect::ListModels => {
                self.spawn(async move { Msg::Models(loaders::models(handle, ModelSource::Endpoint).await) });
            }
            Effect::OpenProject { project } => self.end = Some(End::Switch(project)),
            Effect::OpenHostProject { host, path } => self.end = Some(End::SwitchHost { host, path }),
            Effect::SetUp { retry } => self.end = Some(End::SetUp { retry }),
            Effect::Redraw => self.terminal.invalidate(),
            Effect::Suspend => self.terminal.suspend().await?,
            Effect::Rejoin => self.end = Some(End::Moved),
            Effect::Quit => self.end = Some(End::Quit),
        }
        Ok(())
    }

    /// Runs `work` in the background and queues its result.
    pub(super) fn spawn<N: Into<LoopEvent>>(&self, work: impl Future<Output = N> + Send + 'static) {
        let events = self.loop_events.clone();
        tokio::spawn(async move {
            let _ = events.send(work.await.into());
        });
    }

    /// Lists the projects of the engine's machine, and of the other ones as they answer.
    fn list_projects(&self) {
        let (home, own) = (self.options.home.clone(), self.options.host.clone());
        self.spawn(loaders::projects(self.handle.clone(), home, own.clone()));
        for host in self.options.hosts.iter().filter(|host| Some(*host) != own.as_ref()) {
            self.queue(Msg::HostProjects { host: host.clone(), projects: HostProjects::Asked });
            self.spawn(loaders::host_projects(host.clone()));
        }
    }

    /// Returns the base folders for a relative path in a task: its worktree if it has one, then the project.
    fn folders(&self, task: TaskId) -> Vec<PathBuf> {
        self.model.worktree(task).into_iter().chain([self.options.project.path.clone()]).collect()
    }

    /// Saves review marks, in order.
    fn save_marks(&mut self, task: TaskId, seen: ReviewMarks) {
        let (before, handle, events) = (self.marked.clone(), self.handle.clone(), self.loop_events.clone());
        let marking = tokio::spawn(async move {
            before.await;
            if let Err(fault) = loaders::mark_seen(handle, task, seen).await {
                let _ = events.send(Msg::Notice { level: Level::Warning, text: fault.to_string() }.into());
            }
        });
        self.marked = marking.map(drop).boxed().shared();
    }

    fn save_setting(&mut self, setting: &Setting) {
        let (before, command) = (self.saved.clone(), setting.command());
        let (handle, events) = (self.handle.clone(), self.loop_events.clone());
        // In order, so that the last change of a setting wins.
        let saving = tokio::spawn(async move {
            before.await;
            if let Err(fault) = handle.command(command).await {
                let _ = events.send(Msg::Notice { level: Level::Error, text: fault.to_string() }.into());
            }
        });
        self.saved = saving.map(drop).boxed().shared();
        match setting {
            Setting::Mouse(on) => self.terminal.set_mouse(*on),
            // The theme is shown while it is selected.
            Setting::Theme(_)
            | Setting::ProjectBudget(_)
            | Setting::NotifyDesktop(_)
            | Setting::NotifyBell(_)
            | Setting::TaskModel(_)
            | Setting::Profile(_) => {}
        }
    }
}
