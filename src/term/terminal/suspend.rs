//! Leaving the screen temporarily: another program gets the terminal, or the shell does.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures::FutureExt;
use rustix::process::{Signal, getpid, kill_current_process_group, kill_process};

use super::{TermError, Terminal};
use crate::base::keys::Input;
use crate::term::guard::Origin;
use crate::term::input::{Reader, ReaderEvent};
use crate::term::modes::Mode;
use crate::term::notify;
use crate::term::signals::Stop;

/// How long to wait for outstanding replies before another program reads from the terminal; it would take them for
/// keys.
const LAST_REPLIES_TIMEOUT: Duration = Duration::from_millis(100);
/// How long SIGCONT may take to arrive after a self-inflicted stop.
const CONTINUE_TIMEOUT: Duration = Duration::from_secs(1);

/// Result of handing off the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandOff<T> {
    /// The other program ended, and the screen is back.
    Returned(T),
    /// This program has to exit. The other one was cut short, and the terminal is restored.
    Stopped(Stop),
}

impl Terminal {
    /// Hands the terminal to another program while `work` runs, and takes it back. The program shares our process group
    /// and standard streams, so that interrupt and stop keys reach it.
    pub async fn hand_off<T>(&mut self, work: impl Future<Output = T>) -> Result<HandOff<T>, TermError> {
        let modes = self.leave_screen().await;
        self.stop_listener.set_handed_off(true);
        let outcome = {
            let mut work = pin!(work);
            loop {
                tokio::select! {
                    biased;
                    Some(stop) = self.stops.recv() => break HandOff::Stopped(stop),
                    outcome = &mut work => break HandOff::Returned(outcome),
                    Some(()) = self.job.stop.recv() => {
                        // The other program was stopped by the same key; the shell waits for both.
                        let _ = kill_process(getpid(), Signal::STOP);
                    }
                    Some(()) = self.job.continued.recv() => {}
                }
            }
        };
        self.stop_listener.set_handed_off(false);
        if matches!(outcome, HandOff::Returned(_)) {
            self.tty.discard_input();
            self.enter_screen(&modes, Origin::Previous)?;
        }
        Ok(outcome)
    }

    /// Gives the terminal to the shell and stops, as Ctrl-Z does. Returns when the shell continues the process.
    pub async fn suspend(&mut self) -> Result<(), TermError> {
        let modes = self.leave_screen().await;
        // Discard earlier SIGCONTs.
        while self.job.continued.recv().now_or_never().flatten().is_some() {}
        // The whole group: a parent that waits for this process has to stop as well.
        let stopped = kill_current_process_group(Signal::STOP);
        if stopped.is_ok() {
            // Another thread may take the signal while this one runs on for a moment, so wait for SIGCONT.
            let _ = tokio::time::timeout(CONTINUE_TIMEOUT, self.job.continued.recv()).await;
        }
        self.enter_screen(&modes, Origin::Current)?;
        stopped.map_err(|error| TermError::Suspend(error.into()))
    }

    /// Restores the terminal. Outstanding replies do not reach the shell.
    pub async fn close(mut self) {
        self.leave_screen().await;
    }

    /// Stops reading and leaves every mode. Returns the modes to enter again.
    async fn leave_screen(&mut self) -> Vec<Mode> {
        self.read_replies(LAST_REPLIES_TIMEOUT).await;
        // Replies that have not arrived by now never will.
        self.is_awaiting_replies = false;
        let modes = self.guard.modes();
        if let Some(reader) = self.reader.take() {
            self.pending.extend(reader.stop());
        }
        // Type-ahead was meant for the next program.
        self.pending
            .retain(|event| !matches!(event, ReaderEvent::Input(Input::Key(_) | Input::Paste(_) | Input::Mouse(_))));
        self.guard.leave();
        self.writer.clear();
        modes
    }

    fn enter_screen(&mut self, modes: &[Mode], origin: Origin) -> Result<(), TermError> {
        self.guard.enter(modes, origin).map_err(TermError::Gone)?;
        self.reader = Some(Reader::start(self.tty.clone()).map_err(TermError::Gone)?);
        if let Some(title) = &self.title {
            self.send(&notify::title(title));
        }
        // A frame that was being written was cut off.
        if self.writer.is_busy() {
            self.frames.on_writer_busy();
        } else {
            self.frames.on_written();
        }
        self.redraw();
        Ok(())
    }
}
