//! A shell with job control, and knowing when it reads: what is typed before its prompt may be thrown away when the line
//! changes hands.

use super::{Session, World};

const PROMPT: &str = "shell>";

/// Starts a shell and waits for its prompt.
#[track_caller]
pub fn shell(world: &World, columns: u16, rows: u16) -> Session {
    // The prompt comes with the environment: nothing is typed at a shell that does not read yet.
    let arguments = ["-c", "PS1='shell> ' exec /bin/bash --norc --noprofile -i"];
    let session = Session::start(world, "/bin/sh".as_ref(), &arguments, columns, rows);
    session.wait_for_prompt();
    session
}

impl Session {
    /// Waits until the shell reads.
    #[track_caller]
    pub fn wait_for_prompt(&self) {
        self.wait_for("the prompt", |screen| {
            let text = screen.contents();
            let last = text.trim_end().lines().last().unwrap_or_default();
            !screen.alternate_screen() && last.trim_end() == PROMPT
        });
    }
}
