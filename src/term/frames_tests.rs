use super::*;

/// A terminal that takes `write_time` per frame, and a clock that jumps from wake-up to wake-up.
struct Simulation {
    limiter: FrameLimiter,
    start: Instant,
    now: Instant,
    write_time: Duration,
    written_at: Option<Instant>,
    frames: Vec<Duration>,
    wake_ups: usize,
}

impl Simulation {
    fn new(write_time: Duration) -> Self {
        let start = Instant::now();
        let limiter = FrameLimiter::default();
        Self { limiter, start, now: start, write_time, written_at: None, frames: Vec::new(), wake_ups: 0 }
    }

    fn fast() -> Self {
        Self::new(Duration::ZERO)
    }

    fn request(&mut self, reason: Reason) -> When {
        let when = self.limiter.request(self.now, reason);
        self.run_until(self.now);
        when
    }

    /// Advances the clock, drawing whenever the limiter has a deadline.
    fn run_until(&mut self, end: Instant) {
        loop {
            let next = [self.limiter.deadline(), self.written_at].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            self.wake_ups += 1;
            if self.written_at.is_some_and(|written_at| written_at <= self.now) {
                self.written_at = None;
                self.limiter.on_written();
            }
            if self.limiter.is_due(self.now) {
                self.limiter.on_drawn(self.now);
                self.frames.push(self.now - self.start);
                self.written_at = Some(self.now + self.write_time);
            }
        }
        self.now = self.now.max(end);
    }

    fn pass(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }
}

const MS: Duration = Duration::from_millis(1);

#[test]
fn without_a_request_nothing_is_drawn_or_woken() {
    let mut sim = Simulation::fast();
    sim.request(Reason::Engine);
    sim.pass(MS);
    let (frames, wake_ups) = (sim.frames.len(), sim.wake_ups);
    sim.pass(Duration::from_secs(60));
    assert_eq!(sim.frames.len(), frames);
    assert_eq!(sim.wake_ups, wake_ups, "an idle minute");
    assert_eq!(sim.limiter.deadline(), None);
}

#[test]
fn twenty_agents_with_five_thousand_deltas_each_draw_thirty_frames_a_second() {
    let mut sim = Simulation::fast();
    for _ in 0..5_000 {
        for _ in 0..20 {
            sim.request(Reason::Engine);
        }
        sim.pass(MS);
    }
    sim.pass(Duration::from_secs(1));
    let seconds = 5.0;
    assert!(sim.frames.len() as f64 <= seconds * 30.0 + 1.0, "{}", sim.frames.len());
    assert!(sim.frames.len() as f64 >= seconds * 29.0, "{}: and not much less", sim.frames.len());
    for second in 0..5 {
        let window = Duration::from_secs(second)..Duration::from_secs(second + 1);
        let count = sim.frames.iter().filter(|at| window.contains(*at)).count();
        assert!(count <= 31, "{count} frames in second {second}");
    }
    assert!(*sim.frames.last().unwrap() >= 4_999 * MS, "the last state is shown");
}

#[test]
fn a_key_is_drawn_at_once_however_busy_the_engine_is() {
    let mut sim = Simulation::fast();
    for step in 0..1_000 {
        sim.request(Reason::Engine);
        if step % 50 == 7 {
            let before = sim.now - sim.start;
            assert_eq!(sim.request(Reason::Input), When::Now);
            assert_eq!(*sim.frames.last().unwrap(), before, "drawn in the moment of the key");
        }
        sim.pass(MS);
    }
}

#[test]
fn a_burst_of_keys_becomes_few_frames_and_the_last_one_is_shown() {
    let mut sim = Simulation::fast();
    for _ in 0..1_000 {
        sim.request(Reason::Input);
        sim.pass(MS);
    }
    sim.pass(20 * MS);
    assert!(sim.frames.len() <= 126, "{}", sim.frames.len());
    assert!(*sim.frames.last().unwrap() >= 999 * MS);
}

#[test]
fn a_resize_storm_is_a_few_frames_and_ends_with_the_last_size() {
    let mut sim = Simulation::fast();
    for _ in 0..1_000 {
        sim.request(Reason::Resize);
        sim.pass(MS);
    }
    sim.pass(50 * MS);
    assert!(sim.frames.len() <= 32, "{}", sim.frames.len());
    assert_eq!(sim.frames[0], Duration::ZERO, "the first is not delayed");
    assert!(*sim.frames.last().unwrap() >= 999 * MS);
}

#[test]
fn a_slow_terminal_gets_fewer_frames_and_never_two_at_once() {
    let mut sim = Simulation::new(400 * MS);
    for _ in 0..2_000 {
        sim.request(Reason::Engine);
        sim.request(Reason::Input);
        sim.pass(MS);
    }
    sim.pass(Duration::from_secs(1));
    assert!((5..=7).contains(&sim.frames.len()), "{:?}", sim.frames);
    for pair in sim.frames.windows(2) {
        assert!(pair[1] >= pair[0] + 400 * MS);
    }
    assert!(*sim.frames.last().unwrap() >= 1_999 * MS, "a request during a write is drawn after it");
    assert_eq!(sim.limiter.deadline(), None);
}

#[test]
fn there_is_no_deadline_while_a_frame_is_being_written() {
    let mut limiter = FrameLimiter::default();
    let now = Instant::now();
    assert_eq!(limiter.request(now, Reason::Engine), When::Now);
    limiter.on_drawn(now);
    assert_eq!(limiter.request(now, Reason::Input), When::AfterWrite);
    assert_eq!(limiter.deadline(), None);
    limiter.on_written();
    assert_eq!(limiter.deadline(), Some(now));
}

#[test]
fn a_relaxed_rate_delays_engine_frames_but_not_input() {
    let mut sim = Simulation::fast();
    sim.limiter.set_rate(FrameRate::Relaxed);
    for _ in 0..1_000 {
        sim.request(Reason::Engine);
        sim.pass(MS);
    }
    assert!(sim.frames.len() <= 11, "{}", sim.frames.len());
    assert_eq!(sim.request(Reason::Input), When::Now);
}

#[test]
fn the_earliest_of_several_requests_wins() {
    let mut limiter = FrameLimiter::default();
    let now = Instant::now();
    limiter.request_at(now + 80 * MS);
    limiter.request_at(now + 40 * MS);
    limiter.request_at(now + 90 * MS);
    assert_eq!(limiter.deadline(), Some(now + 40 * MS));
}
