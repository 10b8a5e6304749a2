//! Once in the ordinary test command; again and again in a soak.

use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::Figures;

/// How long each scenario is repeated, a time such as `2m`; or how often, a number. `tests/run --soak` sets it.
const SOAK: &str = "OUTBOX_TEST_SOAK";

/// The seed of the first run, to repeat one that failed.
const SEED: &str = "OUTBOX_TEST_SEED";

/// Runs of a scenario that may say nothing.
const MOST_VOID: usize = 3;

/// What is left to chance in a run.
#[derive(Debug)]
pub struct Dice(StdRng);

impl Dice {
    /// One of them.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.0.random_range(0..choices.len())]
    }

    /// A number below this.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }

    /// A time up to this.
    pub fn up_to(&mut self, longest: Duration) -> Duration {
        longest.mul_f64(self.0.random::<f64>())
    }
}

/// Runs a scenario, again and again as long as a soak lasts, and prints its figures at the end.
pub async fn repeat(what: &str, scenario: impl AsyncFn(&mut Dice, &mut Figures)) {
    let mut soak = Soak::wanted();
    let mut seed = seed();
    let mut figures = Figures::default();
    let mut void = 0;
    loop {
        // Shown where the test fails.
        eprintln!("{what}: {SEED}={seed} repeats this run");
        scenario(&mut Dice(StdRng::seed_from_u64(seed)), &mut figures).await;
        figures.assert_medians();
        if figures.take_void() {
            void += 1;
            assert!(void < MOST_VOID, "the machine stood still in {void} runs: nothing was shown");
            eprintln!("{what}: the machine stood still in this run, so it says nothing");
        } else if soak.is_over() {
            break;
        }
        seed = rand::random();
    }
    eprintln!("{what}\n{figures}");
}

/// When a scenario has been repeated enough.
enum Soak {
    Until(Instant),
    Runs(u32),
}

impl Soak {
    fn wanted() -> Self {
        let Ok(soak) = std::env::var(SOAK) else { return Self::Runs(1) };
        if let Ok(runs) = soak.parse() {
            return Self::Runs(runs);
        }
        let time = humantime::parse_duration(&soak);
        Self::Until(Instant::now() + time.unwrap_or_else(|error| panic!("{SOAK} is {soak:?}, and no time: {error}")))
    }

    /// After another run.
    fn is_over(&mut self) -> bool {
        match self {
            Self::Until(end) => Instant::now() >= *end,
            Self::Runs(left) => {
                *left = left.saturating_sub(1);
                *left == 0
            }
        }
    }
}

fn seed() -> u64 {
    let Ok(seed) = std::env::var(SEED) else { return rand::random() };
    seed.parse().unwrap_or_else(|error| panic!("{SEED} is {seed:?}, and no number: {error}"))
}
