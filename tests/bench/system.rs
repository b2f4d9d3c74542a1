//! What the system knows of a process: its time on the processors, its memory, what its threads waited for.

use crate::Outcome;

/// A process, by what its folder below `/proc` is called.
pub struct Process(String);

impl Process {
    pub fn ourselves() -> Self {
        Self("self".to_owned())
    }

    pub fn of(id: u32) -> Self {
        Self(id.to_string())
    }

    pub fn read(&self, file: &str) -> Outcome<String> {
        Ok(std::fs::read_to_string(format!("/proc/{}/{file}", self.0))?)
    }

    /// Returns a figure of a file that has one on each line, behind its name.
    pub fn figure(&self, file: &str, name: &str) -> Outcome<u64> {
        let text = self.read(file)?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)).ok_or("the system does not tell")?;
        Ok(line.split_whitespace().next().unwrap_or_default().parse()?)
    }

    /// Returns a figure of memory: `VmRSS:`, `VmHWM:`.
    pub fn bytes(&self, name: &str) -> Outcome<u64> {
        Ok(self.figure("status", name)? * 1024)
    }

    /// Returns what it has used of the processors, all threads together.
    pub fn cpu_seconds(&self) -> Outcome<f64> {
        const TICKS: f64 = 100.0;
        let stat = self.read("stat")?;
        let fields: Vec<&str> = stat.rsplit_once(") ").ok_or("the system does not tell")?.1.split(' ').collect();
        let [user, system] = [fields[11], fields[12]].map(str::parse::<f64>);
        Ok((user? + system?) / TICKS)
    }

    /// Returns how often a thread of it has gone to wait, which is how often one was woken.
    pub fn wake_ups(&self) -> Outcome<u64> {
        let mut sum = 0;
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.0))? {
            let id = thread?.file_name().to_string_lossy().into_owned();
            sum += self.figure(&format!("task/{id}/status"), "voluntary_ctxt_switches:")?;
        }
        Ok(sum)
    }
}

/// Returns how long this thread has been on a processor, in nanoseconds. Others' work on the machine does not count.
pub fn thread_nanos() -> Outcome<u64> {
    // Between two of its ticks the system brings this figure up to date only where a thread gives way to others.
    std::thread::yield_now();
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(stat.split(' ').next().unwrap_or_default().parse()?)
}
