//! The screen's errands to other programs: the person's editor and pager, which are lent the terminal, the clipboard, and
//! who is told that somebody is waited for.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{End, News, Screen};
use crate::app::programs;
use crate::base::{Fault, TaskId};
use crate::engine::command::{Command, OnConflict};
use crate::engine::review::{Goal, How, Solving};
use crate::engine::update::Level;
use crate::term::{Lent, clipboard};
use crate::ui::{Msg, Purpose, Tag};

/// A merge whose conflicts the person solves.
pub(super) struct Solve {
    pub(super) tag: Tag,
    pub(super) task: TaskId,
    pub(super) goal: Goal,
    pub(super) how: How,
    pub(super) prepared: Result<Solving, Fault>,
}

impl Screen {
    pub(super) async fn open_editor(&mut self, purpose: Purpose, text: &str) -> Result<(), Fault> {
        match self.terminal.lend(programs::edit(text)).await? {
            Lent::Back(Ok(text)) => {
                self.tell(Msg::Edited { purpose, text: Some(text) });
            }
            Lent::Back(Err(fault)) => {
                self.tell(Msg::Edited { purpose, text: None });
                self.say(Level::Error, fault.to_string());
            }
            Lent::Stopped(stop) => self.end = Some(End::Stopped(stop.exit_code())),
        }
        Ok(())
    }

    pub(super) async fn open_pager(&mut self, text: &str) -> Result<(), Fault> {
        match self.terminal.lend(programs::read(text)).await? {
            Lent::Back(Ok(())) => {}
            Lent::Back(Err(fault)) => self.say(Level::Error, fault.to_string()),
            Lent::Stopped(stop) => self.end = Some(End::Stopped(stop.exit_code())),
        }
        Ok(())
    }

    /// Lets the person solve the conflicts of a task's work, then merges it.
    pub(super) async fn solve(&mut self, solve: Solve) -> Result<(), Fault> {
        let Solve { tag, task, goal: into, how, prepared } = solve;
        let edited = match prepared {
            Ok(solving) => match self.terminal.lend(programs::edit_files(&solving.files)).await? {
                Lent::Back(edited) => edited,
                Lent::Stopped(stop) => {
                    self.end = Some(End::Stopped(stop.exit_code()));
                    return Ok(());
                }
            },
            Err(fault) => Err(fault),
        };
        let handle = self.handle.clone();
        self.beside(async move {
            let outcome = match edited {
                Ok(()) => handle.command(Command::Merge { task, into, how, conflicts: OnConflict::Solved }).await,
                Err(fault) => Err(fault),
            };
            Msg::Reply { tag, outcome }
        });
        Ok(())
    }

    pub(super) fn copy(&mut self, text: String) {
        let surroundings = self.terminal.capabilities().surroundings.clone();
        let steps = match clipboard::plan(&text, &surroundings, is_installed) {
            Ok(steps) => steps,
            Err(error) => return self.say(Level::Warning, error.to_string()),
        };
        if let [clipboard::Step::Terminal(_), ..] = steps[..] {
            return self.copy_through_terminal(&steps);
        }
        let news = self.news.clone();
        tokio::spawn(async move {
            if let Some(left) = programs::copy(steps, &text).await {
                let _ = news.send(News::Copy(left));
            }
        });
    }

    pub(super) fn copy_through_terminal(&mut self, steps: &[clipboard::Step]) {
        if !steps.iter().any(|step| self.terminal.copy(step)) {
            self.say(Level::Warning, "the text could not be put on the clipboard".to_owned());
        }
    }

    pub(super) fn notify(&mut self, title: &str, body: &str) {
        let settings = self.model.settings();
        let (desktop, bell) = (settings.notify_desktop, settings.notify_bell);
        if desktop {
            self.terminal.notify(title, body);
        }
        // A terminal that knows no notifications has rung already.
        if bell && !(desktop && self.terminal.notifies_with_bell()) {
            self.terminal.bell();
        }
        if let Some(command) = self.options.notify.command.clone() {
            let (ids, news) = (self.options.ids.clone(), self.news.clone());
            let (notice, complained) = (format!("{title}: {body}"), Arc::clone(&self.complained));
            tokio::spawn(async move {
                if let Err(text) = programs::tell(&ids, &command, &notice).await
                    && !complained.swap(true, Ordering::Relaxed)
                {
                    let _ = news.send(Msg::Said { level: Level::Warning, text }.into());
                }
            });
        }
    }
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
