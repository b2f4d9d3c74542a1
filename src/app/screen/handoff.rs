//! External programs of the UI: the editor and the pager, which take over the terminal, the clipboard, and
//! notifications.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{End, LoopEvent, Screen};
use crate::app::user_programs;
use crate::base::{Fault, TaskId};
use crate::engine::command::{Command, OnConflict};
use crate::engine::review::{DraftedConflicts, MergeStrategy, MergeTarget};
use crate::engine::update::Level;
use crate::term::{HandOff, clipboard};
use crate::ui::{EditPurpose, Msg, Tag};

/// A merge whose conflicts the user resolves.
pub(super) struct ConflictEdit {
    pub(super) tag: Tag,
    pub(super) task: TaskId,
    pub(super) goal: MergeTarget,
    pub(super) how: MergeStrategy,
    pub(super) prepared: Result<DraftedConflicts, Fault>,
}

impl Screen {
    pub(super) async fn open_editor(&mut self, purpose: EditPurpose, text: &str) -> Result<(), Fault> {
        match self.terminal.hand_off(user_programs::edit(text)).await? {
            HandOff::Returned(Ok(text)) => {
                self.queue(Msg::EditorClosed { purpose, text: Some(text) });
            }
            HandOff::Returned(Err(fault)) => {
                self.queue(Msg::EditorClosed { purpose, text: None });
                self.show_notice(Level::Error, fault.to_string());
            }
            HandOff::Stopped(stop) => self.end = Some(End::of(stop)),
        }
        Ok(())
    }

    pub(super) async fn open_pager(&mut self, text: &str) -> Result<(), Fault> {
        match self.terminal.hand_off(user_programs::page(text)).await? {
            HandOff::Returned(Ok(())) => {}
            HandOff::Returned(Err(fault)) => self.show_notice(Level::Error, fault.to_string()),
            HandOff::Stopped(stop) => self.end = Some(End::of(stop)),
        }
        Ok(())
    }

    /// Opens the conflicts of a merge in the user's editor, then merges.
    pub(super) async fn edit_conflicts(&mut self, solve: ConflictEdit) -> Result<(), Fault> {
        let ConflictEdit { tag, task, goal: into, how, prepared } = solve;
        let edited = match prepared {
            Ok(solving) => match self.terminal.hand_off(user_programs::edit_files(&solving.files)).await? {
                HandOff::Returned(edited) => edited,
                HandOff::Stopped(stop) => {
                    self.end = Some(End::of(stop));
                    return Ok(());
                }
            },
            Err(fault) => Err(fault),
        };
        let handle = self.handle.clone();
        self.spawn(async move {
            let outcome = match edited {
                Ok(()) => handle.command(Command::Merge { task, into, how, conflicts: OnConflict::Solved }).await,
                Err(fault) => Err(fault),
            };
            Msg::Reply { tag, outcome }
        });
        Ok(())
    }

    pub(super) fn copy(&mut self, text: String) {
        let surroundings = self.terminal.capabilities().env.clone();
        let steps = match clipboard::plan(&text, &surroundings, is_installed) {
            Ok(steps) => steps,
            Err(error) => return self.show_notice(Level::Warning, error.to_string()),
        };
        if let [clipboard::Step::Terminal(_), ..] = steps[..] {
            return self.copy_through_terminal(&steps);
        }
        let events = self.loop_events.clone();
        tokio::spawn(async move {
            if let Some(left) = user_programs::copy(steps, &text).await {
                let _ = events.send(LoopEvent::Copy(left));
            }
        });
    }

    pub(super) fn copy_through_terminal(&mut self, steps: &[clipboard::Step]) {
        if !steps.iter().any(|step| self.terminal.copy(step)) {
            self.show_notice(Level::Warning, "cannot copy to the clipboard".to_owned());
        }
    }

    pub(super) fn notify(&mut self, title: &str, body: &str) {
        let settings = self.model.settings();
        let (desktop, bell) = (settings.notify_desktop, settings.notify_bell);
        if desktop {
            self.terminal.notify(title, body);
        }
        // A terminal without notifications has rung the bell instead.
        if bell && !(desktop && self.terminal.notifies_with_bell()) {
            self.terminal.bell();
        }
        if let Some(command) = self.options.notify.command.clone() {
            let (ids, events) = (self.options.ids.clone(), self.loop_events.clone());
            let (notice, warned) = (format!("{title}: {body}"), Arc::clone(&self.warned_about_notify));
            tokio::spawn(async move {
                if let Err(text) = user_programs::run_notify_command(&ids, &command, &notice).await
                    && !warned.swap(true, Ordering::Relaxed)
                {
                    let _ = events.send(Msg::Notice { level: Level::Warning, text }.into());
                }
            });
        }
    }
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
