//! Dice that fall the same way for the same seed, and the numbers that a user may set for a test.

/// A small generator. Good enough to scatter faults, for nothing else.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns a number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    /// Tells whether one chance in `of` came true.
    pub fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    /// Returns one of `choices`.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        let at = self.below(choices.len() as u64);
        &choices[usize::try_from(at).unwrap()]
    }
}

/// Returns the number that a variable holds.
pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Returns the numbers from 1 to `last` that a proof tries: every `step`-th, beginning where the seed says, and always the
/// first and the last. A `step` of 1 returns all of them.
pub fn spread(last: usize, step: usize) -> Vec<usize> {
    let offset = usize::try_from(Dice::new(number("MXD_SEED", 1)).below(step as u64)).unwrap();
    (1..=last).filter(|number| *number == 1 || *number == last || number % step == offset).collect()
}

/// Returns a seed that nobody has tried, or the one in `MXD_SEED`, and says it: with it the test is played again.
pub fn fresh_seed(test: &str) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let seed = number("MXD_SEED", u64::from(now.subsec_nanos()) ^ (now.as_secs() << 20));
    println!("{test}: MXD_SEED={seed}");
    seed
}
