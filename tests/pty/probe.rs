//! A small program on the terminal room alone: it shows what it hears, and leaves in every way there is.
//!
//! The tests beside it drive it in a real terminal. Keys: `q` quits, `x` ends with an error, `p` `t` `T` panic here, in
//! a task and in a thread, `e` opens `$EDITOR`, `z` and Ctrl-Z suspend, `m` `w` switch modes on, `h` hides the cursor,
//! `b` blocks the loop.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use mxd::base::Fault;
use mxd::base::keys::Input;
use mxd::term::{Event, HandOff, Options, Reason, Stop, TermError, Terminal, TerminalEnv, editor};
use ratatui::Frame;
use ratatui::style::{Color, Style};

#[derive(Default)]
struct Seen {
    last: String,
    heard: usize,
    frames: usize,
    note: String,
    hides_cursor: bool,
}

enum End {
    Quit,
    Error,
    Closed,
    Stop(Stop),
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(End::Quit) => say("bye", 0),
        Ok(End::Error) => say("an error", 3),
        Ok(End::Closed) => ExitCode::SUCCESS,
        Ok(End::Stop(stop)) => say(&format!("stopped {stop:?}"), stop.exit_code()),
        Err(error) => say(&Fault::from(error).to_string(), 4),
    }
}

fn say(text: &str, code: u8) -> ExitCode {
    let _ = writeln!(std::io::stdout(), "probe: {text}");
    ExitCode::from(code)
}

/// Leaves a trace for the time when there is no terminal to show it.
fn note(line: &str) {
    let Ok(path) = std::env::var("PROBE_LOG") else { return };
    if let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(path) {
        let _ = writeln!(file, "{line}");
    }
}

async fn run() -> Result<End, TermError> {
    let surroundings = TerminalEnv::read(|name| std::env::var(name).ok());
    let mut terminal = Terminal::open(surroundings, Options::default())?;
    let mut seen = Seen::default();
    terminal.set_title("probe");
    terminal.wait_for_replies().await;
    loop {
        let key = match terminal.next().await {
            Event::Frame => {
                seen.frames += 1;
                let known = format!("{:?}", terminal.capabilities().background);
                terminal.draw(|frame| view(frame, &seen, &known));
                continue;
            }
            Event::Input(Input::Closed) => {
                note("closed");
                return Ok(End::Closed);
            }
            Event::Input(Input::Key(key)) => key.to_string(),
            Event::Input(other) => {
                seen.last = format!("{other:?}");
                String::new()
            }
            Event::Capabilities => {
                terminal.request_frame(Reason::Engine);
                continue;
            }
            Event::Suspend => "z".to_owned(),
            Event::Stop(stop) => {
                note(&format!("{stop:?}"));
                return Ok(End::Stop(stop));
            }
        };
        seen.heard += 1;
        if !key.is_empty() {
            seen.last.clone_from(&key);
        }
        match key.as_str() {
            "q" => {
                note("quitting");
                terminal.close().await;
                return Ok(End::Quit);
            }
            "x" => return Ok(End::Error),
            "p" => panic!("the probe panics"),
            "t" => drop(tokio::spawn(async { panic!("the task panics") })),
            "T" => drop(std::thread::spawn(|| panic!("the thread panics"))),
            "b" => {
                note("blocked");
                std::thread::sleep(Duration::from_secs(60));
            }
            "m" => terminal.set_mouse(true),
            "w" => terminal.set_wheel_as_arrows(true),
            "h" => seen.hides_cursor = true,
            "z" | "ctrl-z" => {
                terminal.suspend().await?;
                "back from the shell".clone_into(&mut seen.note);
            }
            "e" => match terminal.hand_off(edit()).await? {
                HandOff::Returned(outcome) => seen.note = outcome,
                HandOff::Stopped(stop) => return Ok(End::Stop(stop)),
            },
            _ => {}
        }
        terminal.request_frame(Reason::Input);
    }
}

async fn edit() -> String {
    let tool = match editor::editor(|name| std::env::var(name).ok()) {
        Ok(tool) => tool,
        Err(error) => return error.to_string(),
    };
    let mut command = tokio::process::Command::new(tool.program);
    match command.args(tool.arguments).kill_on_drop(true).status().await {
        Ok(status) => format!("editor ended with {status}"),
        Err(error) => format!("editor did not start: {error}"),
    }
}

fn view(frame: &mut Frame<'_>, seen: &Seen, background: &str) {
    let area = frame.area();
    let lines = [
        format!("probe {}x{}", area.width, area.height),
        format!("last: {}", seen.last),
        format!("heard: {} frames: {}", seen.heard, seen.frames),
        format!("note: {}", seen.note),
        format!("background: {background}"),
    ];
    for (row, line) in (area.top()..area.bottom()).zip(&lines) {
        let style = if row == 0 { Style::new().fg(Color::Green) } else { Style::new() };
        frame.buffer_mut().set_stringn(0, row, line, area.width.into(), style);
    }
    if !seen.hides_cursor {
        frame.set_cursor_position((0, area.height.saturating_sub(1)));
    }
}
