//! Many programs at once.

use crate::check::Known;
use crate::seeded::Seeded;
use std::any::Any;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// Seeds of programs that failed once, and of others that are worth it.
const KEPT: &str = include_str!("seeds.txt");

/// So many that fail are enough: each may take its whole limit.
const MOST_FAILED: usize = 20;

/// A long run says how far it is.
const REPORT: u64 = 5_000;

/// Which programs to run.
pub struct Plan {
    kept: Vec<u64>,
    from: u64,
    programs: Option<u64>,
    time: Duration,
    jobs: usize,
}

impl Plan {
    pub fn of_environment() -> Plan {
        let programs = number("PROGRAMS");
        let kept = KEPT.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        let kept = kept.filter(|text| !text.is_empty()).map(|text| text.parse().expect("a seed"));
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Plan {
            kept: if programs.is_none() { kept.collect() } else { Vec::new() },
            from: number("FROM").unwrap_or(1),
            programs,
            time: Duration::from_secs(number("SECONDS").unwrap_or(45)),
            jobs: number("JOBS").map_or(4 * cores, |jobs| jobs as usize),
        }
    }

    /// The seed of a program by its place in the order; `None` behind the last.
    fn seed(&self, at: u64, begin: Instant) -> Option<u64> {
        let kept = self.kept.len() as u64;
        if at < kept {
            return Some(self.kept[at as usize]);
        }
        let is_over = match self.programs {
            Some(programs) => at - kept >= programs,
            None => begin.elapsed() >= self.time,
        };
        (!is_over).then_some(self.from + (at - kept))
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(format!("HOLDUP_ORDERS_{name}")).ok().map(|text| text.parse().expect("a number"))
}

/// The result of the runs.
#[derive(Default)]
pub struct Outcomes {
    begun: u64,
    ended: u64,
    last: u64,
    seconds: f64,
    known: Known,
    /// Seed and failure.
    pub failed: Vec<(u64, String)>,
}

impl Outcomes {
    /// Facts are there to be compared: a run in which programs knew of few waits would prove nothing.
    pub fn check_that_waits_were_known(&self) {
        assert!(self.known.waits >= 2 * self.ended && self.known.calls >= 20 * self.ended, "{self}");
    }
}

impl fmt::Display for Outcomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcomes { ended, last, seconds, known, failed, .. } = self;
        let Known { waits, calls, children, lost } = known;
        write!(
            f,
            "{ended} programs in {seconds:.0} s, up to seed {last}: {} failed, {waits} waits, {calls} calls and \
             {children} children were known, {lost} records counted as lost",
            failed.len()
        )?;
        failed.iter().try_for_each(|(seed, failure)| write!(f, "\n\nseed {seed}: {failure}"))
    }
}

/// Runs them; each failure is printed at once.
pub fn run(plan: &Plan) -> Outcomes {
    let begin = Instant::now();
    let outcomes = Mutex::new(Outcomes::default());
    // The lock is held for the draw alone.
    let draw = || next(plan, &mut outcomes.lock().expect("no thread panics with it"), begin);
    let work = || {
        while let Some(seed) = draw() {
            let seeded = Seeded::new(seed);
            let result = caught(|| seeded.run()).map_err(|failure| format!("{}: {failure}", seeded.how));
            add(&mut outcomes.lock().expect("no thread panics with it"), seed, result);
        }
    };
    thread::scope(|scope| {
        for _ in 0..plan.jobs {
            scope.spawn(work);
        }
    });
    let outcomes = outcomes.into_inner().expect("no thread panics with it");
    Outcomes { seconds: begin.elapsed().as_secs_f64(), ..outcomes }
}

fn next(plan: &Plan, outcomes: &mut Outcomes, begin: Instant) -> Option<u64> {
    let seed = plan.seed(outcomes.begun, begin).filter(|_| outcomes.failed.len() < MOST_FAILED)?;
    outcomes.begun += 1;
    outcomes.last = seed;
    Some(seed)
}

fn add(outcomes: &mut Outcomes, seed: u64, result: Result<Known, String>) {
    match result {
        Ok(known) => outcomes.known.add(&known),
        Err(failure) => {
            println!("seed {seed}: {failure}");
            outcomes.failed.push((seed, failure));
        }
    }
    outcomes.ended += 1;
    if outcomes.ended.is_multiple_of(REPORT) {
        println!("{} programs, {} failed", outcomes.ended, outcomes.failed.len());
    }
}

/// The result of `run`, or the message of its panic.
pub fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    let said = |panicked: Box<dyn Any + Send>| match panicked.downcast::<String>() {
        Ok(text) => *text,
        Err(other) => other.downcast::<&str>().map_or("it panicked".to_owned(), |text| (*text).to_owned()),
    };
    panic::catch_unwind(AssertUnwindSafe(run)).map_err(said)
}
