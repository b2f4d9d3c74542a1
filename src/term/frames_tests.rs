use super::*;

/// A terminal that takes `flight` per frame, and a clock that jumps from wake-up to wake-up.
struct World {
    limiter: FrameLimiter,
    start: Instant,
    now: Instant,
    flight: Duration,
    arrival: Option<Instant>,
    frames: Vec<Duration>,
    wake_ups: usize,
}

impl World {
    fn new(flight: Duration) -> Self {
        let start = Instant::now();
        let limiter = FrameLimiter::default();
        Self { limiter, start, now: start, flight, arrival: None, frames: Vec::new(), wake_ups: 0 }
    }

    fn fast() -> Self {
        Self::new(Duration::ZERO)
    }

    fn request(&mut self, reason: Reason) -> When {
        let when = self.limiter.request(self.now, reason);
        self.run_until(self.now);
        when
    }

    /// Lets time pass, drawing whenever the limiter wants to be woken.
    fn run_until(&mut self, end: Instant) {
        loop {
            let next = [self.limiter.deadline(), self.arrival].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            self.wake_ups += 1;
            if self.arrival.is_some_and(|arrival| arrival <= self.now) {
                self.arrival = None;
                self.limiter.landed();
            }
            if self.limiter.is_due(self.now) {
                self.limiter.drawn(self.now);
                self.frames.push(self.now - self.start);
                self.arrival = Some(self.now + self.flight);
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
fn nothing_asked_means_nothing_drawn_and_nobody_woken() {
    let mut world = World::fast();
    world.request(Reason::Engine);
    world.pass(MS);
    let (frames, wake_ups) = (world.frames.len(), world.wake_ups);
    world.pass(Duration::from_secs(60));
    assert_eq!(world.frames.len(), frames);
    assert_eq!(world.wake_ups, wake_ups, "an idle minute");
    assert_eq!(world.limiter.deadline(), None);
}

#[test]
fn twenty_agents_with_five_thousand_deltas_each_draw_thirty_frames_a_second() {
    let mut world = World::fast();
    for _ in 0..5_000 {
        for _ in 0..20 {
            world.request(Reason::Engine);
        }
        world.pass(MS);
    }
    world.pass(Duration::from_secs(1));
    let seconds = 5.0;
    assert!(world.frames.len() as f64 <= seconds * 30.0 + 1.0, "{}", world.frames.len());
    assert!(world.frames.len() as f64 >= seconds * 29.0, "{}: and not much less", world.frames.len());
    for second in 0..5 {
        let window = Duration::from_secs(second)..Duration::from_secs(second + 1);
        let count = world.frames.iter().filter(|at| window.contains(*at)).count();
        assert!(count <= 31, "{count} frames in second {second}");
    }
    assert!(*world.frames.last().unwrap() >= 4_999 * MS, "the last state is shown");
}

#[test]
fn a_key_is_drawn_at_once_however_busy_the_engine_is() {
    let mut world = World::fast();
    for step in 0..1_000 {
        world.request(Reason::Engine);
        if step % 50 == 7 {
            let before = world.now - world.start;
            assert_eq!(world.request(Reason::Input), When::Now);
            assert_eq!(*world.frames.last().unwrap(), before, "drawn in the moment of the key");
        }
        world.pass(MS);
    }
}

#[test]
fn a_burst_of_keys_becomes_few_frames_and_the_last_one_is_shown() {
    let mut world = World::fast();
    for _ in 0..1_000 {
        world.request(Reason::Input);
        world.pass(MS);
    }
    world.pass(20 * MS);
    assert!(world.frames.len() <= 126, "{}", world.frames.len());
    assert!(*world.frames.last().unwrap() >= 999 * MS);
}

#[test]
fn a_resize_storm_is_a_few_frames_and_ends_with_the_last_size() {
    let mut world = World::fast();
    for _ in 0..1_000 {
        world.request(Reason::Resize);
        world.pass(MS);
    }
    world.pass(50 * MS);
    assert!(world.frames.len() <= 32, "{}", world.frames.len());
    assert_eq!(world.frames[0], Duration::ZERO, "the first is not delayed");
    assert!(*world.frames.last().unwrap() >= 999 * MS);
}

#[test]
fn a_slow_terminal_gets_fewer_frames_and_never_two_at_once() {
    let mut world = World::new(400 * MS);
    for _ in 0..2_000 {
        world.request(Reason::Engine);
        world.request(Reason::Input);
        world.pass(MS);
    }
    world.pass(Duration::from_secs(1));
    assert!((5..=7).contains(&world.frames.len()), "{:?}", world.frames);
    for pair in world.frames.windows(2) {
        assert!(pair[1] >= pair[0] + 400 * MS);
    }
    assert!(*world.frames.last().unwrap() >= 1_999 * MS, "what was asked in flight is drawn after it");
    assert_eq!(world.limiter.deadline(), None);
}

#[test]
fn nobody_is_woken_while_a_frame_is_on_its_way() {
    let mut limiter = FrameLimiter::default();
    let now = Instant::now();
    assert_eq!(limiter.request(now, Reason::Engine), When::Now);
    limiter.drawn(now);
    assert_eq!(limiter.request(now, Reason::Input), When::AfterLanding);
    assert_eq!(limiter.deadline(), None);
    limiter.landed();
    assert_eq!(limiter.deadline(), Some(now));
}

#[test]
fn a_relaxed_pace_slows_the_engine_and_not_the_person() {
    let mut world = World::fast();
    world.limiter.set_pace(Pace::Relaxed);
    for _ in 0..1_000 {
        world.request(Reason::Engine);
        world.pass(MS);
    }
    assert!(world.frames.len() <= 11, "{}", world.frames.len());
    assert_eq!(world.request(Reason::Input), When::Now);
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
