//! Several clients of one engine: what a command costs that joins it, what a second screen costs, what an idle stream holds.
//! With `MXD_BASELINE`, an earlier program, what a screen costs now beside what it cost then.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mxd::engine::Handle;
use mxd::engine::update::Update;
use mxd::serve::protocol::ClientKind;
use mxd::serve::{Remote, ServerInfo, ServerPlace, SocketConnector};
use serde_json::json;

use crate::Outcome;
use crate::bench_project::BenchProject;
use crate::report::{Report, Row, Target, Unit};
use crate::rounds::paired_as_told;
use crate::screen::{FRAME, Screen, program};
use crate::system::Process;

const TASKS: usize = 200;
const WRITERS: usize = 20;
const STREAMS: usize = 1_000;
const SENDS: usize = 40;
const PRESSES: usize = 60;
/// How long is watched.
const WHILE: Duration = Duration::from_secs(10);
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn measure(report: &mut Report) -> Outcome {
    baseline_rows(report)?;
    send_row(report)?;
    attach_row(report)?;
    stream_row(report)?;
    idle_row(report)
}

/// An engine in the background. Dropped, it is killed.
struct Server {
    child: Child,
    place: ServerPlace,
    lock: std::path::PathBuf,
}

impl Server {
    fn start(site: &BenchProject, arguments: &[&str]) -> Outcome<Self> {
        let mut child = command(site, program());
        child.args(["serve", "--stay"]).args(arguments);
        let folder = site.home.project(site.project.id);
        let place = ServerPlace::new(&folder, site.project.id);
        let child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let server = Self { child, place, lock: folder.lock() };
        server.info(|_| true)?;
        Ok(server)
    }

    /// Waits until what the server says about itself is enough.
    fn info(&self, is_enough: impl Fn(&ServerInfo) -> bool) -> Outcome<ServerInfo> {
        let started = Instant::now();
        loop {
            if let Some(info) = self.place.info().filter(&is_enough) {
                return Ok(info);
            }
            if started.elapsed() > PATIENCE {
                return Err("the server does not start".into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    async fn join(&self) -> Outcome<Handle> {
        let connector = SocketConnector::new(self.place.clone(), self.lock.clone());
        Ok(Handle::new(Remote::connect(connector, ClientKind::Screen, "bench".to_owned()).await?))
    }

    fn process(&self) -> Process {
        Process::of(self.child.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(site: &BenchProject, program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    command.current_dir(&site.project.path).env_clear().env("MXD_HOME", site.home.root());
    command.env("HOME", site.folder.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.stdin(Stdio::null());
    command
}

fn quiet_site() -> Outcome<BenchProject> {
    let site = BenchProject::new()?;
    let conversations = json!([{ "name": "root", "when": { "first": "none: you are the root" }, "turns": [], "otherwise": { "text": "Noted." } }]);
    let pacing = json!({ "first_token_ms": 0, "chars_per_second": 1_000_000 });
    site.register(&json!({ "version": 1, "pacing": pacing, "conversations": conversations }))?;
    Ok(site)
}

/// The start and a key of this program beside those of an earlier one.
fn baseline_rows(report: &mut Report) -> Outcome {
    let names = ["start to the first frame", "a key until it is drawn"].map(|what| format!("serve, {what}"));
    let Some(baseline) = std::env::var_os("MXD_BASELINE") else { return Ok(()) };
    if !names.iter().any(|name| report.wants(name)) {
        return Ok(());
    }
    let baseline = baseline.to_string_lossy().into_owned();
    // Each has its own data folder: a newer program may write what an older one does not read.
    let sites = [quiet_site()?, quiet_site()?];
    let runtime = tokio::runtime::Runtime::new()?;
    for site in &sites {
        runtime.block_on(site.sleepers(TASKS, 100_000, 20_000))?;
    }
    let start = |site: &BenchProject, program: &str| -> Outcome<Duration> {
        let begun = Instant::now();
        let screen = Screen::of(site, program, 120, 40, &[])?;
        screen.wait_for(FRAME)?;
        let taken = begun.elapsed();
        screen.end()?;
        Ok(taken)
    };
    let result = paired_as_told(|| start(&sites[0], program()), || start(&sites[1], &baseline))?;
    let row = |what: String, result: crate::rounds::Paired| Row {
        what,
        ours: result.ours.as_nanos() as f64,
        limit: result.limit.as_nanos() as f64,
        unit: Unit::NanosPerCall,
        ratio: 1.0 / result.speed,
        against: "MXD_BASELINE".to_owned(),
        target: Target::AtMost(1.1),
    };
    let [first, key] = names;
    report.add(&row(first, result))?;
    let screens = [Screen::of(&sites[0], program(), 120, 40, &[])?, Screen::of(&sites[1], &baseline, 120, 40, &[])?];
    for screen in &screens {
        screen.wait_for(b"message ")?;
    }
    std::thread::sleep(Duration::from_secs(3));
    let press = |screen: &Screen| -> Outcome<Duration> {
        let mut times = Vec::new();
        for at in 0..PRESSES {
            times.push(screen.press_and_see(b"QZ"[at % 2])?);
            // A frame of its own for each key.
            std::thread::sleep(Duration::from_millis(40));
        }
        times.sort();
        Ok(times[times.len() / 2])
    };
    let result = paired_as_told(|| press(&screens[0]), || press(&screens[1]))?;
    report.add(&row(key, result))?;
    screens.into_iter().try_for_each(Screen::end)
}

fn send_row(report: &mut Report) -> Outcome {
    let name = "serve, `mxd send` to an open engine".to_owned();
    if !report.wants(&name) {
        return Ok(());
    }
    let site = quiet_site()?;
    let _server = Server::start(&site, &[])?;
    let mut times = Vec::new();
    for number in 0..SENDS {
        let begun = Instant::now();
        let sent = command(&site, program()).args(["send", "root", &format!("message {number}")]).output()?;
        if !sent.status.success() {
            return Err(String::from_utf8_lossy(&sent.stderr).into_owned().into());
        }
        times.push(begun.elapsed().as_nanos() as f64);
    }
    times.sort_by(f64::total_cmp);
    let middle = times[times.len() / 2];
    report.add(&Row::of_counts(name, Unit::NanosPerCall, middle, 15e6, "15 ms", Target::AtMost(1.0)))
}

fn attach_row(report: &mut Report) -> Outcome {
    let name = format!("serve, attach to a tree of {TASKS} tasks");
    if !report.wants(&name) {
        return Ok(());
    }
    let site = quiet_site()?;
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(site.sleepers(TASKS, 100_000, 20_000))?;
    let server = Server::start(&site, &[])?;
    let mut times = Vec::new();
    for _ in 0..SENDS {
        let begun = Instant::now();
        let tasks = runtime.block_on(async {
            let handle = server.join().await?;
            let (snapshot, _watcher) = handle.subscribe().await?;
            handle.quit().await;
            Outcome::Ok(snapshot.tasks.len())
        })?;
        times.push(begun.elapsed().as_nanos() as f64);
        if tasks != TASKS + 1 {
            return Err("the tree is not there".into());
        }
    }
    times.sort_by(f64::total_cmp);
    let middle = times[times.len() / 2];
    report.add(&Row::of_counts(name, Unit::NanosPerCall, middle, 100e6, "100 ms", Target::AtMost(1.0)))
}

/// What the engine's process uses while agents stream into one screen and into two.
fn stream_row(report: &mut Report) -> Outcome {
    let name = format!("serve, {WRITERS} agents stream into two screens: processor time");
    if !report.wants(&name) {
        return Ok(());
    }
    let pacing = json!({ "first_token_ms": 0, "chars_per_second": 400 });
    let words = "The answer is written word by word, as they do. ".repeat(1_000);
    let tasks = (0..WRITERS).map(|number| json!({ "title": format!("Writer {number}"), "description": "Write." }));
    let calls = tasks.map(|input| json!({ "tool": "create_task", "input": input })).collect::<Vec<_>>();
    let site = BenchProject::new()?;
    site.register(&json!({ "version": 1, "pacing": pacing, "conversations": [
        { "name": "root", "when": { "first": "none: you are the root" }, "turns": [{ "calls": calls }],
          "otherwise": { "text": "I wait." } },
        { "name": "writer", "when": { "first": "Task: Writer" }, "turns": [], "otherwise": { "text": words } },
    ]}))?;
    let server = Server::start(&site, &[])?;
    let sent = command(&site, program()).args(["send", "root", "Let them write."]).status()?;
    if !sent.success() {
        return Err("the goal was not sent".into());
    }
    let runtime = tokio::runtime::Runtime::new()?;
    // One stays, the other one comes and goes, in turns: what else the machine does hits both alike.
    let follow = || -> Outcome<tokio::task::JoinHandle<usize>> {
        let handle = runtime.block_on(server.join())?;
        let (_, mut watcher) = runtime.block_on(handle.subscribe())?;
        Ok(runtime.spawn(async move {
            let _handle = handle;
            let mut streamed = 0;
            loop {
                match watcher.next().await {
                    Update::Live { .. } => streamed += 1,
                    Update::Ended => return streamed,
                    _ => {}
                }
            }
        }))
    };
    let first = follow()?;
    std::thread::sleep(Duration::from_secs(3));
    let share = || -> Outcome<f64> {
        let (before, began) = (server.process().cpu_seconds()?, Instant::now());
        std::thread::sleep(WHILE);
        Ok((server.process().cpu_seconds()? - before) / began.elapsed().as_secs_f64())
    };
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        one.push(share()?);
        let second = follow()?;
        std::thread::sleep(Duration::from_secs(1));
        two.push(share()?);
        second.abort();
        std::thread::sleep(Duration::from_secs(1));
    }
    first.abort();
    one.sort_by(f64::total_cmp);
    two.sort_by(f64::total_cmp);
    report.add(&Row::of_counts(name, Unit::Processors, two[1], one[1], "one screen", Target::AtMost(1.3)))
}

fn idle_row(report: &mut Report) -> Outcome {
    let name = format!("serve, {STREAMS} idle streams over HTTP: memory of each");
    if !report.wants(&name) {
        return Ok(());
    }
    let site = quiet_site()?;
    let server = Server::start(&site, &["--http", "0"])?;
    let info = server.info(|info| info.http.is_some())?;
    let http = info.http.ok_or("it serves no HTTP")?;
    let open = || -> Outcome<TcpStream> {
        let mut stream = TcpStream::connect((http.host.as_str(), http.port))?;
        let (project, token) = (site.project.id, http.token.expose());
        let request = format!(
            "GET /v1/projects/{project}/updates HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(request.as_bytes())?;
        let (mut got, mut buffer) = (Vec::new(), [0; 4096]);
        while memchr::memmem::find(&got, b"event: snapshot").is_none() {
            match stream.read(&mut buffer)? {
                0 => return Err(String::from_utf8_lossy(&got).into_owned().into()),
                read => got.extend_from_slice(&buffer[..read]),
            }
        }
        Ok(stream)
    };
    let first = open()?;
    let before = server.process().bytes("VmRSS:")?;
    let streams = (0..STREAMS).map(|_| open()).collect::<Outcome<Vec<_>>>()?;
    let each = server.process().bytes("VmRSS:")?.saturating_sub(before) as f64 / STREAMS as f64;
    drop((first, streams));
    report.add(&Row::of_counts(name, Unit::Bytes, each, 65_536.0, "64 KB", Target::AtMost(1.0)))
}
