//! Digests of made-up traces: what is in them, that they stay small, and that the same traces give the same files.

use explain::Options;
use fleet::{COLUMNS, Files, Given, Identity, LIMIT, digest, unreadable};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::collections::BTreeMap;
use trace::*;

/// A rank with so many collectives, before each of which it copies from pageable memory, waits, or does one of many things at a place of
/// its own.
fn rank(number: i64, collectives: usize, places: u32) -> Trace {
    let mut trace = Trace::default();
    (trace.meta.rank, trace.meta.world_size) = (Some(number), Some(8));
    trace.meta.host = String::from("node1");
    let mut sym = |text: &str| trace.strings.intern(text);
    let (launch, kernel, file) = (sym("cuLaunchKernel"), sym("gemm"), sym("/home/me/loader.py"));
    let (reduce, copy) = (sym("ncclDevKernel_AllReduce_Sum_f32_RING_LL"), sym("cuMemcpyHtoDAsync"));
    let process = trace.processes.push(Process { pid: 1, ..Process::default() });
    let thread = trace.threads.push(Thread { process, tid: 1, ..Thread::default() });
    let device = trace.devices.push(Device::default());
    let context = trace.contexts.push(Context { process, device, number: 1 });
    let streams = [7, 20].map(|number| trace.streams.push(Stream { context, number }));
    let stacks: Vec<StackId> = (0..places)
        .map(|line| {
            let function = trace.strings.intern(&format!("function_{line}"));
            let frame = trace.frames.push(Frame { function, file, line: line + 1, ..Frame::default() });
            trace.stacks.push(Stack { frame, caller: StackId::NONE })
        })
        .collect();
    let mut random = 1u64;
    let (mut now, mut correlation) = (0, 0);
    let mut issue = |trace: &mut Trace, start: Ns, name: Sym, stream: usize, op: Op| {
        correlation += 1;
        let call = Call {
            start,
            end: start + 3_000,
            thread,
            api: Api::Driver,
            name,
            correlation,
            ..Call::default()
        };
        let call = trace.calls.push(call);
        trace.ops.push(Op { stream: streams[stream], correlation, call, ..op });
    };
    for _ in 0..collectives {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let works = 200_000 + (random >> 44) as Ns;
        let state = State { start: now, end: now + works, thread, running: works, ..State::default() };
        trace.states.push(State { state: ThreadState::Running, ..state });
        let stack = stacks[(random >> 33) as usize % stacks.len()];
        trace.samples.push(Sample { at: now + works / 2, thread, stack, state: ThreadState::Running });
        now += works;
        let op = Op { start: now + 5_000, end: now + 25_000, kind: OpKind::Copy, ..Op::default() };
        let op = Op {
            copy: CopyKind::HtoD,
            src: MemoryKind::Pageable,
            dst: MemoryKind::Device,
            bytes: 1 << 20,
            ..op
        };
        issue(&mut trace, now, copy, 0, op);
        let op = Op {
            start: now + 30_000,
            end: now + 90_000,
            kind: OpKind::Kernel,
            name: kernel,
            ..Op::default()
        };
        issue(&mut trace, now + 10_000, launch, 0, op);
        let op = Op {
            start: now + 95_000,
            end: now + 300_000,
            kind: OpKind::Kernel,
            name: reduce,
            ..Op::default()
        };
        issue(&mut trace, now + 15_000, launch, 1, op);
        now += 310_000;
    }
    trace
}

type Rows = Vec<BTreeMap<String, Field>>;

/// The groups of a file.
fn groups(bytes: &[u8]) -> Vec<Rows> {
    let reader = SerializedFileReader::new(bytes::Bytes::copy_from_slice(bytes)).expect("Parquet");
    let columns: Vec<_> = reader
        .metadata()
        .file_metadata()
        .schema()
        .get_fields()
        .iter()
        .map(|field| field.name().to_owned())
        .collect();
    assert_eq!(columns, COLUMNS.map(|column| column.name));
    let rows = |group: usize| {
        let group = reader.get_row_group(group).expect("there");
        let rows = group.get_row_iter(None).expect("readable");
        rows.map(|row| row.expect("readable").into_columns().into_iter().collect()).collect()
    };
    (0..reader.num_row_groups()).map(rows).collect()
}

fn of_kind<'a>(rows: &'a Rows, kind: &str) -> Vec<&'a BTreeMap<String, Field>> {
    rows.iter().filter(|row| row["kind"] == Field::Str(kind.to_owned())).collect()
}

fn number(field: &Field) -> Option<i64> {
    match field {
        Field::Long(number) => Some(*number),
        Field::Null => None,
        other => panic!("no number: {other}"),
    }
}

fn files(traces: &[(&str, &Trace)]) -> ([(String, Vec<u8>); 2], Vec<usize>) {
    let (mut files, mut sizes) = (Files::new("made-up"), Vec::new());
    for (name, trace) in traces {
        let (explanation, _) = explain::explain_each(trace, &Options::default());
        let identity =
            Identity::of(name, Some(trace), &Given { run: Some(String::from("made-up")), rank: None });
        sizes.push(files.push(&digest(trace, &explanation, identity)).expect("encoded"));
    }
    (files.write().expect("written"), sizes)
}

#[test]
fn a_digest_has_the_account_and_what_was_done_before_each_collective() {
    let trace = rank(3, 40, 2);
    let ([(name, rows), (other, collectives)], _) = files(&[("/runs/rank3.json", &trace)]);
    assert!(name.starts_with("run=made-up/digests-") && other.starts_with("run=made-up/collectives-"));
    let (rows, collectives) = (groups(&rows).remove(0), groups(&collectives).remove(0));
    assert!(rows.iter().chain(&collectives).all(|row| row["rank"] == Field::Long(3)));
    assert!(rows.iter().all(|row| row["host"] == Field::Str(String::from("node1"))));
    let sum =
        |rows: Vec<&BTreeMap<String, Field>>| rows.iter().filter_map(|row| number(&row["ns"])).sum::<Ns>();
    assert_eq!(
        sum(of_kind(&rows, "account")),
        sum(of_kind(&rows, "gpu")),
        "the parts of the account are its time"
    );

    let kernels = of_kind(&collectives, "collective");
    assert_eq!(kernels.len(), 40);
    // From the end of a collective to the begin of the next the GPU worked, was idle, or only copied from pageable memory.
    for pair in kernels.windows(2) {
        let n = number(&pair[1]["n"]);
        let before: Vec<_> =
            of_kind(&collectives, "before").into_iter().filter(|row| number(&row["n"]) == n).collect();
        let time = number(&pair[1]["begin_ns"]).unwrap() - number(&pair[0]["end_ns"]).unwrap();
        let copies = before.iter().filter(|row| row["cause"] == Field::Str(String::from("pageable-staging")));
        assert_eq!(copies.filter_map(|row| number(&row["ns"])).sum::<Ns>(), 20_000);
        assert_eq!(number(&pair[1]["ns"]).unwrap() + sum(before), time);
    }
    let places: Vec<_> = collectives.iter().map(|row| row["place"].to_string()).collect();
    // Samples are of two functions by chance.
    assert!(places.iter().any(|place| place.starts_with("\"loader.py:")), "{places:?}");
}

#[test]
fn a_digest_stays_small_however_many_collectives_and_places_there_are() {
    let trace = rank(0, 8_000, 500);
    let ([_, (_, collectives)], sizes) = files(&[("/runs/rank0.json", &trace)]);
    assert!(sizes[0] <= LIMIT && sizes[0] > LIMIT / 4, "{}", sizes[0]);
    // What is kept are the same collectives in every rank: each power of two.
    let groups = groups(&collectives);
    let numbers: Vec<i64> =
        of_kind(&groups[0], "collective").iter().filter_map(|row| number(&row["count"])).collect();
    let every = numbers[1] - numbers[0];
    assert!(numbers.len() > 500 && every.count_ones() == 1 && every > 1, "{} of {every}", numbers.len());
    assert!(numbers.iter().enumerate().all(|(at, number)| *number == at as i64 * every));
}

#[test]
fn the_same_traces_give_the_same_files_and_others_do_not() {
    let traces = [rank(0, 8, 1), rank(1, 8, 1)];
    let both = || files(&[("/a/rank0.json", &traces[0]), ("/a/rank1.json", &traces[1])]).0;
    assert_eq!(both(), both());
    assert_eq!(groups(&both()[0].1).len(), 2, "a group for each trace");
    let name = |traces: &[(&str, &Trace)]| files(traces).0[0].0.clone();
    let first = name(&[("/a/rank0.json", &traces[0])]);
    assert_ne!(first, name(&[("/a/rank1.json", &traces[1])]));
    // Files of one name on two machines are two traces.
    let mut elsewhere = rank(0, 8, 1);
    elsewhere.meta.host = String::from("node2");
    assert_ne!(first, name(&[("/a/rank0.json", &elsewhere)]));
}

#[test]
fn a_trace_that_cannot_be_read_is_a_row_with_its_error() {
    let identity = Identity::of("/runs/today/rank7.json", None, &Given::default());
    let run = identity.run.clone();
    let mut files = Files::new(&run);
    files.push(&unreadable(identity, "rank7.json: ends early: export it again")).expect("encoded");
    let [(name, rows), (_, collectives)] = files.write().expect("written");
    assert!(name.starts_with("run=today/"), "{name}");
    let rows = groups(&rows).remove(0);
    assert_eq!((rows.len(), groups(&collectives).len()), (1, 0));
    assert_eq!(rows[0]["kind"], Field::Str(String::from("error")));
    assert_eq!(
        (number(&rows[0]["rank"]), rows[0]["detail"].to_string().contains("ends early")),
        (Some(7), true)
    );
}

#[test]
fn a_run_cannot_name_another_folder() {
    let identity = |run: &str| Identity::of("x", None, &Given { run: Some(run.to_owned()), rank: None });
    for (run, folder) in [("../../etc", "run=%2E./"), ("a b/c", "run=a%20b%2Fc/"), ("", "run=/")] {
        let mut files = Files::new(run);
        files.push(&unreadable(identity(run), "none")).expect("encoded");
        let [(name, _), _] = files.write().expect("written");
        assert!(name.starts_with(folder.trim_end_matches('/')) && name.matches('/').count() == 1, "{name}");
    }
}
