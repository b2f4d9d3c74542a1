//! A real sshd on the loopback interface, for one test: its own keys, its own port, nothing of the machine's.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const PROGRAM: &str = "/usr/sbin/sshd";
const PATIENCE: Duration = Duration::from_secs(60);

/// A running sshd. Dropped, it is killed with its sessions.
pub struct Sshd {
    child: Child,
    pub port: u16,
    /// A program that takes the place of `ssh`, and knows the keys.
    pub ssh: PathBuf,
}

impl Sshd {
    /// Starts one below `folder`. Its sessions have these variables. `None` if there is no sshd here.
    pub fn start(folder: &Path, variables: &[(&str, String)]) -> Option<Self> {
        let folder = folder.join("sshd");
        std::fs::create_dir(&folder).unwrap();
        let has_room = rustix::process::geteuid().as_raw() != 0 || Path::new("/run/sshd").is_dir();
        let key = folder.join("key");
        if !Path::new(PROGRAM).exists() || !has_room || !make_key(&key) {
            eprintln!("SKIPPED: sshd is not installed (Debian: openssh-server), or /run/sshd is missing");
            return None;
        }
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let shown = key.display();
        let sets: String = variables.iter().flat_map(|(name, value)| [" ", name, "=", value.as_str()]).collect();
        let server = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {shown}\nAuthorizedKeysFile {shown}.pub\nPidFile none\n\
             StrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             MaxStartups 100\nLogLevel QUIET\nSetEnv{sets}\n"
        );
        std::fs::write(folder.join("server"), server).unwrap();
        let client = format!(
            "Host *\n  IdentityFile {shown}\n  IdentitiesOnly yes\n  StrictHostKeyChecking no\n  UserKnownHostsFile \
             /dev/null\n  LogLevel ERROR\n"
        );
        std::fs::write(folder.join("client"), client).unwrap();
        let ssh = folder.join("ssh");
        std::fs::write(&ssh, format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", folder.join("client").display()))
            .unwrap();
        std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut child = Command::new(PROGRAM);
        child.arg("-D").arg("-f").arg(folder.join("server")).stdin(Stdio::null()).stdout(Stdio::null());
        let child = child.stderr(Stdio::null()).spawn().unwrap();
        let sshd = Self { child, port, ssh };
        let started = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(started.elapsed() < PATIENCE, "sshd does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(sshd)
    }

    /// Cuts every connection. Returns how many processes carried one.
    pub fn cut(&self) -> usize {
        let below = descendants(self.child.id());
        let sessions: Vec<u32> = below.into_iter().filter(|pid| name(*pid).starts_with("sshd")).collect();
        for pid in &sessions {
            // It may have ended already.
            let _ = kill_process(Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap(), Signal::KILL);
        }
        sessions.len()
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.cut();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn make_key(path: &Path) -> bool {
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path).status();
    made.is_ok_and(|status| status.success())
}

fn name(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default()
}

/// Returns the processes below one.
fn descendants(of: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parents: Vec<(u32, u32)> = numbers.filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let (mut found, mut next) = (Vec::new(), vec![of]);
    while let Some(above) = next.pop() {
        let below: Vec<u32> = parents.iter().filter(|(_, parent)| *parent == above).map(|(pid, _)| *pid).collect();
        found.extend(&below);
        next.extend(below);
    }
    found
}

fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}
