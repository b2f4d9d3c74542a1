//! Ways out of the screen that come back: another program gets the terminal, or the shell does.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures::FutureExt;
use rustix::process::{Signal, getpid, kill_current_process_group, kill_process};

use super::{TermError, Terminal};
use crate::base::keys::Input;
use crate::term::guard::Origin;
use crate::term::input::{Heard, Reader};
use crate::term::modes::Mode;
use crate::term::notify;
use crate::term::signals::Stop;

/// How long answers of the terminal are awaited before somebody else reads from it, who would take them for keys.
const LAST_ANSWERS: Duration = Duration::from_millis(100);
/// How long after stopping ourselves the news that we go on may take.
const CONTINUATION: Duration = Duration::from_secs(1);

/// What became of lending the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lent<T> {
    /// The other is done, and the screen is back.
    Back(T),
    /// The program has to end. The other was cut short, and the terminal is restored.
    Stopped(Stop),
}

impl Terminal {
    /// Leaves the screen to another program while `work` runs, and comes back. The program shares our process group and
    /// standard streams, so that keys which interrupt or stop reach it and not us.
    pub async fn lend<T>(&mut self, work: impl Future<Output = T>) -> Result<Lent<T>, TermError> {
        let modes = self.step_out().await;
        self.ending.lend(true);
        let outcome = {
            let mut work = pin!(work);
            loop {
                tokio::select! {
                    biased;
                    Some(stop) = self.stops.recv() => break Lent::Stopped(stop),
                    outcome = &mut work => break Lent::Back(outcome),
                    Some(()) = self.job.stop.recv() => {
                        // The other was stopped by the same key; the shell waits for both.
                        let _ = kill_process(getpid(), Signal::STOP);
                    }
                    Some(()) = self.job.continued.recv() => {}
                }
            }
        };
        self.ending.lend(false);
        if matches!(outcome, Lent::Back(_)) {
            self.tty.discard_input();
            self.step_in(&modes, Origin::Before)?;
        }
        Ok(outcome)
    }

    /// Gives the terminal back to the shell and stops, as Ctrl-Z does elsewhere. Returns when the shell lets us go on.
    pub async fn suspend(&mut self) -> Result<(), TermError> {
        let modes = self.step_out().await;
        // What happened before now is not what we wait for.
        while self.job.continued.recv().now_or_never().flatten().is_some() {}
        // The whole group: a program that started us and waits for us has to stop as well.
        let stopped = kill_current_process_group(Signal::STOP);
        if stopped.is_ok() {
            // Another thread may take the signal, and this one run on for a moment: the end of the stop is what counts.
            let _ = tokio::time::timeout(CONTINUATION, self.job.continued.recv()).await;
        }
        self.step_in(&modes, Origin::Now)?;
        stopped.map_err(|error| TermError::Suspend(error.into()))
    }

    /// Restores the terminal and ends. What the terminal still has to say does not reach the shell.
    pub async fn close(mut self) {
        self.step_out().await;
    }

    /// Stops reading and leaves every mode. Returns the modes to enter again.
    async fn step_out(&mut self) -> Vec<Mode> {
        self.hear_answers(LAST_ANSWERS).await;
        // What has not been answered by now never will be; nobody waits for it again.
        self.is_answering = false;
        let modes = self.guard.modes();
        if let Some(reader) = self.reader.take() {
            self.heard.extend(reader.stop());
        }
        // What was typed ahead was meant for what comes now.
        self.heard.retain(|heard| !matches!(heard, Heard::Input(Input::Key(_) | Input::Paste(_) | Input::Mouse(_))));
        self.guard.leave();
        self.outlet.clear();
        modes
    }

    fn step_in(&mut self, modes: &[Mode], origin: Origin) -> Result<(), TermError> {
        self.guard.enter(modes, origin).map_err(TermError::Gone)?;
        self.reader = Some(Reader::start(self.tty.clone()).map_err(TermError::Gone)?);
        if let Some(title) = &self.title {
            self.send(&notify::title(title));
        }
        // The frame that was on its way when we left was cut off.
        if self.outlet.is_busy() {
            self.frames.held_up();
        } else {
            self.frames.landed();
        }
        self.redraw();
        Ok(())
    }
}
