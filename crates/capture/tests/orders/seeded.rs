//! A random program, and how it is run: what of the recorder's settings and of the way it is built a seed determines, too.

use crate::built;
use crate::check::{self, Known};
use crate::compile::Binding;
use crate::run::{Program, Recorded};
use std::time::Duration;

/// Longer than any of these takes on a machine with much else to do, seconds.
const LIMIT: u64 = 20;

/// The program of a seed.
pub struct Seeded {
    program: Program,
    /// How it is run, as a command line has it.
    pub how: String,
}

impl Seeded {
    pub fn new(seed: u64) -> Seeded {
        // Not the C program's numbers: those of a seed's neighbours differ.
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        let is = |shift: u32, of: u64| (mixed >> shift).is_multiple_of(of);
        let binding = if is(0, 2) { Binding::Lazy } else { Binding::Now };
        let level = if is(8, 6) { "full" } else { "light" };
        // Its locks are watched as the driver's are.
        let listed = if is(16, 4) { "orders" } else { "nothing" };
        let stacks = if is(24, 4) { "0" } else { "100000" };
        let mut settings = vec![(spool::VAR_LOCKS, listed), (spool::VAR_STACKS, stacks)];
        // Room for a few threads only.
        settings.extend(is(32, 10).then_some((spool::VAR_MAX_SIZE, "327680")));
        settings.extend(is(40, 10).then_some((spool::VAR_KEEP, "last")));
        let program = Seeded::program(binding, &seed.to_string(), LIMIT).at_level(level);
        let program = settings.iter().fold(program, |program, (name, value)| program.with(name, value));
        let settings: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let how = format!("{binding:?}, {}={level} {}", spool::VAR_LEVEL, settings.join(" "));
        Seeded { program, how }
    }

    /// A program that does not end by itself.
    pub fn hanging() -> Seeded {
        Seeded { program: Seeded::program(Binding::Lazy, "hang", 1), how: String::new() }
    }

    fn program(binding: Binding, word: &str, limit: u64) -> Program {
        let folder = built::folder(binding);
        let limit = match word {
            "hang" => limit,
            _ => std::env::var("HOLDUP_ORDERS_LIMIT").map_or(limit, |text| text.parse().expect("seconds")),
        };
        let program = Program::new(folder.join("orders"), folder, &[word]);
        program.in_memory().within(Duration::from_secs(limit))
    }

    /// Runs it bare and recorded, and checks the recording.
    pub fn run(&self) -> Known {
        let recorded = self.program.both();
        let outcome = &recorded.outcome;
        // 99 is what it fails with; each of these is a way in which it ends.
        assert!(
            matches!(outcome.code, Some(0 | 5 | 6)) || outcome.signal == Some(libc::SIGKILL),
            "{outcome:?}"
        );
        assert!(outcome.stdout.ends_with("ended\n") && outcome.stderr.is_empty(), "{outcome:?}");
        check::check(&recorded)
    }

    /// Runs it recorded.
    pub fn record(&self) -> Recorded {
        self.program.recorded()
    }
}
