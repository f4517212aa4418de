//! Variants that take turns, interrupted and resumed, with invented figures.

use super::*;

/// A bench that is no model.
fn gpu() -> Bench {
    Bench::default()
}

/// Runs a session until its run of that number, which is interrupted; the letters of the variants that ran, in their order: S is
/// sequential, D depth-first, B breadth-first. A run takes as many milliseconds as runs of its variant were before.
fn ran(session: Session, before: u32, interrupted_at: Option<usize>) -> (Result<Results, String>, String) {
    let (mut letters, mut runs) = (String::new(), HashMap::new());
    let mut execute = |workload: &Workload, _: Want| {
        if Some(letters.len()) == interrupted_at {
            return Err(Failure::Stopped(String::from("interrupted")));
        }
        let letter = workload.name["overlap-".len()..].to_uppercase().remove(0);
        letters.push(letter);
        let count = runs.entry(letter).or_insert(u64::from(before));
        *count += 1;
        Ok(run_of(*count * 10_000_000))
    };
    let results = session.run(&mut execute, &AtomicBool::new(false), &mut |_| {});
    (results, letters)
}

fn resumed(earlier: &Results, rounds: Option<u32>) -> Session {
    let request = Request { set: vec![String::from("memory=pinned")], rounds, ..Request::default() };
    let session = Session::new(crate::experiment("overlap").expect("there"), gpu(), &request);
    // As a file has it.
    let earlier = Results::read(&crate::json(earlier, None).to_string()).expect("own JSON");
    session.expect("well set").resume(earlier).unwrap_or_else(|problem| panic!("{problem}"))
}

fn samples(results: &Results) -> Vec<Vec<f64>> {
    results.rows.iter().map(|row| row.figures[0].samples.clone()).collect()
}

#[test]
fn variants_take_turns_in_alternating_order() {
    let (results, letters) = ran(session(gpu(), 5), 0, None);
    // A warm-up of each, then ABBA BAAB, and the first half of the next block.
    assert_eq!(letters, ["SDB", "SDB", "BDS", "BDS", "SDB", "BDS"].concat());
    assert_eq!(samples(&results.expect("runs")), [[2.0, 3.0, 4.0, 5.0, 6.0]; 3]);
    let (results, letters) = ran(session(Bench { simulated: true, ..gpu() }, 5), 0, None);
    assert_eq!((letters.as_str(), samples(&results.expect("runs"))), ("SDB", vec![Vec::new(); 3]));
}

#[test]
fn an_interruption_in_a_round_keeps_all_rounds_and_resuming_runs_the_rest() {
    // Warm-ups, four rounds, and two runs of the fifth.
    let (part, _) = ran(session(gpu(), 6), 0, Some(17));
    let part = part.expect("something");
    let partial = part.partial.as_ref().expect("interrupted");
    assert_eq!((partial.missing, partial.incomplete, partial.of), (0, 3, 3));
    assert_eq!(partial.to_string(), "interrupted; the results are partial: 3 of 3 variants are incomplete");
    assert_eq!(samples(&part).iter().map(Vec::len).collect::<Vec<_>>(), [4, 5, 5]);

    // The number of rounds is that of the earlier run.
    let session = resumed(&part, None);
    assert_eq!(session.labels().len(), 3);
    let (whole, letters) = ran(session, 100, None);
    let whole = whole.expect("runs");
    // Warm-ups, the fifth round of the one that lacks it, and the sixth round.
    assert_eq!(letters, ["SDB", "S", "SDB"].concat());
    assert_eq!(whole.partial, None);
    let last = [[5.0, 102.0, 103.0], [5.0, 6.0, 102.0], [5.0, 6.0, 102.0]];
    assert!(samples(&whole).iter().zip(last).all(|(all, last)| all.len() == 6 && all[3..] == last));
    assert_eq!(whole.rows[0].figures[0].value, 4.5);
    assert_eq!(whole.notes, ["a note", "rows come from several runs"]);

    // Nothing is left then, unless more rounds are requested.
    assert!(resumed(&whole, None).labels().is_empty() && resumed(&whole, Some(3)).labels().is_empty());
    let (more, letters) = ran(resumed(&whole, Some(7)), 0, None);
    assert_eq!((letters.as_str(), more.expect("runs").rows[0].figures[0].samples.len()), ("SDBSDB", 7));
}

#[test]
fn an_interruption_in_the_first_round_leaves_variants_missing() {
    let (part, _) = ran(session(gpu(), 2), 0, Some(4));
    let partial = part.expect("one row").partial.expect("interrupted");
    assert_eq!((partial.missing, partial.incomplete, partial.of), (2, 1, 3));
    let expected = "interrupted; the results are partial: 2 of 3 variants are missing, and 1 more incomplete";
    assert_eq!(partial.to_string(), expected);
    let (none, _) = ran(session(gpu(), 2), 0, Some(2));
    assert_eq!(none.err().as_deref(), Some("interrupted before the first measurement"));
}

#[test]
fn an_interruption_before_a_variants_own_runs_leaves_its_rows_as_they_were() {
    let (part, _) = ran(session(gpu(), 4), 0, Some(11));
    let part = part.expect("something");
    let (again, letters) = ran(resumed(&part, None), 0, Some(3));
    let again = again.expect("the earlier rows");
    assert_eq!((letters.as_str(), samples(&again)), ("SDB", samples(&part)));
    assert_eq!(again.rows, part.rows);
    assert_eq!(again.partial.map(|partial| partial.incomplete), Some(3));
}

#[test]
fn rows_without_samples_are_complete() {
    let (whole, _) = ran(session(gpu(), 3), 0, None);
    let mut whole = whole.expect("runs");
    whole.rows.iter_mut().flat_map(|row| &mut row.figures).for_each(|figure| figure.samples.clear());
    assert!(resumed(&whole, Some(9)).labels().is_empty());
    whole.rows.pop();
    let (results, letters) = ran(resumed(&whole, None), 0, None);
    assert_eq!((letters.as_str(), results.expect("runs").rows.len()), ("BBBB", 3));
}

#[test]
fn a_variant_that_the_device_cannot_run_leaves_the_turns() {
    let mut letters = String::new();
    let mut execute = |workload: &Workload, _: Want| {
        let letter = workload.name["overlap-".len()..].to_uppercase().remove(0);
        letters.push(letter);
        match letter {
            'D' => Err(Failure::Impossible(String::from("no streams"))),
            _ => Ok(run_of(10_000_000)),
        }
    };
    let mut last = None;
    let results = session(gpu(), 3).run(&mut execute, &AtomicBool::new(false), &mut |progress| {
        last = Some((progress.done, progress.total));
    });
    let results = results.expect("the others run");
    assert_eq!((letters.as_str(), last), ("SDBSBBSBS", Some((11, 12))));
    assert_eq!(results.left_out, ["depth-first (1 variant): no streams"]);
    assert_eq!((results.rows.len(), results.partial), (2, None));
}

#[test]
fn rows_of_workers_keep_their_samples_over_a_resumed_run() {
    let request = Request {
        set: ["variant=threads", "workers=1,2", "load=products", "sync=no"].map(str::to_owned).to_vec(),
        rounds: Some(4),
        ..Request::default()
    };
    let bench = Bench { gpus: 2, ..gpu() };
    let session = || {
        let experiment = crate::experiment("multi-gpu").expect("there");
        Session::new(experiment, bench.clone(), &request).expect("well set")
    };
    let run = |session: Session, until: usize| {
        let mut runs = 0;
        let mut execute = |workload: &Workload, _: Want| {
            runs += 1;
            if runs > until {
                return Err(Failure::Stopped(String::from("interrupted")));
            }
            let threads: usize = workload.processes.iter().map(|process| process.threads.len()).sum();
            let elapsed_ns = 1_000_000_000 * threads as u64 + 1_000_000 * (runs % 3) as u64;
            let one = |_| outcome(elapsed_ns).threads.remove(0);
            Ok(Run { outcome: Outcome { threads: (0..threads).map(one).collect() }, ..run_of(1) })
        };
        session.run(&mut execute, &AtomicBool::new(false), &mut |_| {}).expect("something")
    };
    let (part, whole) = (run(session(), 7), run(session(), usize::MAX));
    assert_eq!(part.partial.as_ref().map(|partial| partial.incomplete), Some(2));
    let earlier = Results::read(&crate::json(&part, None).to_string()).expect("own JSON");
    let resumed = session().resume(earlier).unwrap_or_else(|problem| panic!("{problem}"));
    let resumed = run(resumed, usize::MAX);
    for (row, other) in resumed.rows.iter().zip(&whole.rows) {
        let names = |row: &Row| row.figures.iter().map(|figure| figure.name).collect::<Vec<_>>();
        assert_eq!(
            (&row.varied, names(row), row.each.len()),
            (&other.varied, names(other), other.each.len())
        );
        let all = row.figures.iter().chain(row.each.iter().flat_map(|row| &row.figures));
        assert!(all.clone().count() > 3 && all.clone().all(|figure| figure.samples.len() == 4), "{row:?}");
    }
    let slowdown = resumed.rows[1].figure("slowdown").expect("two workers");
    let [low, high] = slowdown.interval.expect("four rounds");
    assert!(low < 2.0 && 2.0 < high && high - low < 0.1, "{slowdown:?}");
    // A base is not compared with itself.
    assert_eq!(resumed.rows[0].figure("slowdown").and_then(|figure| figure.interval), None);
}
