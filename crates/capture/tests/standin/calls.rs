//! Driver calls: they do what they did, and what is recorded is what was called.

use crate::compile::Binding;
use crate::recording::{Process, Row, StackRow};
use crate::run::{Program, Recorded};
use spool::{Call, Level, call};

const TO_DEVICE: u32 = 1;
const TO_HOST: u32 = 2;
const PAGEABLE: u32 = 1;
const DEVICE_MEMORY: u32 = 3;

/// The ways in which a program gets at the driver's functions.
fn ways(scenario: &str) -> [Program; 4] {
    [
        Program::linked(Binding::Lazy, "calls", scenario),
        Program::linked(Binding::Now, "calls", scenario),
        Program::looking_up("calls", scenario),
        Program::looking_up("calls", scenario).with("STANDIN_BIND", "address"),
    ]
}

fn every_way(scenario: &str, check: &dyn Fn(&Recorded)) {
    every_one(ways(scenario), check);
}

fn every_one(programs: [Program; 4], check: &dyn Fn(&Recorded)) {
    for program in programs {
        let recorded = program.both();
        assert_eq!(recorded.outcome.code, Some(0), "{:?}", recorded.outcome);
        let process = recorded.process();
        assert_eq!((process.level, process.finished), (Some(Level::Light), true));
        assert_eq!((process.dropped, process.untracked_threads, process.within.len()), (0, 0, 0));
        check(&recorded);
    }
}

/// The only call of a function, whatever version of it was asked for.
fn only<'a>(process: &'a Process, function: &str) -> &'a Row<Call> {
    let is_it = |call: &&Row<Call>| call.name.trim_end_matches("_v2") == function;
    let calls: Vec<_> = process.calls.iter().filter(is_it).collect();
    match calls.as_slice() {
        [only] => only,
        several => panic!("{} calls of {function}", several.len()),
    }
}

#[test]
fn arguments_and_results_pass_through() {
    every_way("arguments", &|recorded| {
        let process = recorded.process();
        assert_eq!(only(process, "cuStreamDestroy").record.result, 1);
        let launch = &only(process, "cuLaunchKernel").record;
        assert_eq!((launch.result, launch.stream, launch.flags), (0, 0x20, call::HAS_STREAM));
        // Queries are not recorded at level light.
        assert!(process.calls.iter().all(|call| !call.name.starts_with("cuDevice")));
    });
}

#[test]
fn copies_say_how_much_went_where() {
    every_way("copies", &|recorded| {
        let process = recorded.process();
        let stream = recorded.fact("stream");
        // Memory of the host that the driver does not know is pageable; it is asked for slow calls only.
        let is = |function: &str, bytes: u64, flags: u32, stream: Option<u64>| {
            let call = &only(process, function).record;
            let has_stream = if stream.is_some() { call::HAS_STREAM } else { 0 };
            let asked = 0xff << call::SOURCE_SHIFT | 0xff << call::TARGET_SHIFT;
            let (known, fixed) = (call.flags & asked, call.flags & !asked);
            assert_eq!((call.bytes, call.stream), (bytes, stream.unwrap_or(0)), "{function}");
            assert_eq!(fixed | known & flags, has_stream | flags, "{function}: {:#x}", call.flags);
            assert!(call.start <= call.end && call.result == 0);
        };
        let (source, target) = (DEVICE_MEMORY << call::SOURCE_SHIFT, DEVICE_MEMORY << call::TARGET_SHIFT);
        is("cuMemcpyHtoDAsync", 5000, TO_DEVICE | target, Some(stream));
        is("cuMemcpyDtoHAsync", 5000, TO_HOST | source, Some(stream));
        is("cuMemcpyDtoH", 4001, TO_HOST | source, None);
        is("cuMemsetD32Async", 4000, target, Some(stream));
        is("cuStreamSynchronize", 0, 0, Some(stream));
        is("cuLaunchKernel", 0, 0, Some(0));
    });
}

#[test]
fn calls_of_threads_at_once_are_counted() {
    every_way("counted", &|recorded| {
        let process = recorded.process();
        let in_order = |calls: &[&Row<Call>]| calls.is_sorted_by(|a, b| a.record.end <= b.record.start);
        for launches in [1000, 2000, 3000, 4000] {
            let tid = u32::try_from(recorded.fact(&format!("launched-{launches}"))).expect("an id");
            assert_eq!(process.counts(tid), [("cuLaunchKernel", launches)]);
            let own: Vec<_> = process.calls.iter().filter(|call| call.tid == tid).collect();
            assert!(in_order(&own));
        }
        assert_eq!(process.begun, 10_000);
    });
}

#[test]
fn a_slow_call_has_a_stack() {
    every_way("stack", &|recorded| {
        let process = recorded.process();
        let copy = only(process, "cuMemcpyDtoHAsync");
        let slow = process.stacks.iter().find(|stack| stack.record.start == copy.record.start);
        let slow = slow.expect("a stack of the copy");
        // Slow copies are asked what memory they touch: of the program's own, the driver knows nothing.
        let flags = TO_HOST | DEVICE_MEMORY << call::SOURCE_SHIFT | PAGEABLE << call::TARGET_SHIFT;
        assert_eq!(copy.record.flags, flags | call::HAS_STREAM);
        assert_eq!((slow.tid, slow.record.end, slow.python.len()), (copy.tid, copy.record.end, 0));
        let function = recorded.fact("function");
        assert!(slow.native.iter().any(|at| (function..function + 512).contains(at)));
        // The module that the frame lies in is known, with its path.
        let holds =
            |module: &&Row<spool::Module>| (module.record.start..module.record.end).contains(&function);
        let module = process.modules.iter().find(holds).expect("the program among the modules");
        assert!(module.name.contains("/calls"), "{}", module.name);
        assert_eq!(process.drivers, [13000]);
        let device = process.devices.first().expect("the stand-in's device");
        assert_eq!(device.name, "Stand-in 0");
        let record = &device.record;
        assert_eq!((record.compute_major, record.multiprocessors, record.copy_engines), (9, 132, 3));
        assert_eq!(record.memory, 80 << 30);
    });
}

#[test]
fn a_call_after_a_pause_has_a_stack() {
    every_way("pauses", &|recorded| {
        let process = recorded.process();
        let launches = process.calls_of("cuLaunchKernel");
        let starts: Vec<i64> = launches.iter().map(|call| call.record.start).collect();
        assert_eq!(starts.len(), 7);
        let function = recorded.fact("function");
        let is_there = |at: &u64| (function..function + 512).contains(at);
        let stacks = process.stacks.iter().filter(|stack| stack.native.iter().any(is_there));
        let of: Vec<i64> = stacks.map(|stack| stack.record.start).collect();
        // The thread may lose its processor before any call.
        assert!([starts[3], starts[5]].iter().all(|start| of.contains(start)), "{starts:?} {of:?}");
    });
    let off = Program::looking_up("calls", "pauses").with(spool::VAR_STACKS, "off").both();
    assert!(off.process().stacks.is_empty());
}

/// One of 61 short calls, of each path on which calls are written.
#[test]
fn some_short_calls_have_a_stack() {
    every_way("often", &|recorded| {
        let process = recorded.process();
        let function = recorded.fact("function");
        let is_there = |at: &u64| (function..function + 512).contains(at);
        let is_short = |stack: &&StackRow| stack.record.end - stack.record.start < 100_000;
        let short = process.stacks.iter().filter(is_short);
        let count = short.filter(|stack| stack.native.iter().any(is_there)).count();
        // The budget is small, and the first stacks of a program take longest; pauses of a busy machine have stacks, too.
        assert!(count >= 2, "{count} of {}", process.calls.len());
    });
    let off = Program::looking_up("calls", "often").with(spool::VAR_STACKS, "off").both();
    assert!(off.process().stacks.is_empty());
}

#[test]
fn at_level_calls_calls_are_counted_and_slow_ones_have_a_stack() {
    let launches = Program::looking_up("endings", "returns").at_level("calls").both();
    let process = launches.process();
    assert_eq!((process.level, process.calls_of("cuLaunchKernel").len()), (Some(Level::Calls), 0));
    assert_eq!(process.begun, 100);
    let slow = Program::looking_up("calls", "stack").at_level("calls").both();
    assert_eq!(slow.process().calls_of("cuMemcpyDtoHAsync_v2").len(), 0);
    let function = slow.fact("function");
    let is_slow = |at: &u64| (function..function + 512).contains(at);
    let stacks = slow.process().stacks.iter();
    assert_eq!(stacks.filter(|stack| stack.native.iter().any(is_slow)).count(), 1);
}

#[test]
fn stacks_can_be_turned_off() {
    let recorded = Program::looking_up("calls", "stack").with(spool::VAR_STACKS, "off").both();
    assert_eq!(recorded.process().stacks.len(), 0);
    assert_eq!(recorded.process().calls_of("cuMemcpyDtoHAsync_v2").len(), 1);
}

#[test]
fn a_call_as_long_as_asked_for_has_a_stack() {
    let recorded = Program::looking_up("calls", "stack").with(spool::VAR_STACKS, "0").both();
    let process = recorded.process();
    assert_eq!(process.stacks.len(), process.calls.len());
}

#[test]
fn a_library_without_a_name_is_no_obstacle() {
    let program = Program::linked(Binding::Now, "endings", "returns").with(spool::VAR_STACKS, "0");
    let recorded = program.preloading("libnameless.so").both();
    let process = recorded.process();
    assert_eq!((recorded.outcome.code, process.calls_of("cuLaunchKernel").len()), (Some(0), 100));
    assert!(process.modules.iter().any(|module| module.name.ends_with("/endings")), "the program itself");
}

#[test]
fn records_that_the_thread_cannot_write_are_counted() {
    let lost = |nested: &str| {
        let program = Program::looking_up("endings", "returns").at_level("calls").gathered();
        let trace = program.with("STANDIN_NESTED", nested).both().trace.expect("it was gathered");
        let reasons = trace.meta.lost.reasons.iter();
        reasons.filter(|(reason, _)| reason.contains("CUPTI")).map(|(_, count)| count).sum::<u64>()
    };
    // CUPTI drops three records each time it is asked. The buffer within has two more.
    assert_eq!(lost("1"), lost("0") + 3 + 2);
}

/// Calls have a stack if they are as long as asked for, whatever clock they are timed with.
fn is_timed_well(program: impl Fn() -> Program) {
    for threshold in [1_000_000, 4_000_000] {
        let recorded = program().with(spool::VAR_STACKS, &threshold.to_string()).both();
        let process = recorded.process();
        let long = |call: &&Row<Call>| call.record.end - call.record.start >= threshold;
        let of_long = |stack: &&StackRow| stack.record.end - stack.record.start >= threshold;
        assert_eq!(process.stacks.iter().filter(of_long).count(), process.calls.iter().filter(long).count());
        // A busy machine makes pauses between calls.
        for stack in process.stacks.iter().filter(|stack| !of_long(stack)) {
            let before = process.calls.iter().map(|call| call.record.end);
            let last =
                before.filter(|end| *end <= stack.record.start).max().expect("it is not the first call");
            assert!(stack.record.start - last >= 990_000, "{:?} after {last}", stack.record);
        }
        let copy = &only(process, "cuMemcpyDtoHAsync").record;
        assert!(copy.end - copy.start >= 2_000_000, "{copy:?}");
        // When the library was loaded, when its first chunk was made, and at the end.
        let [loaded, .., ended] = &process.readings[..] else { panic!("{:?}", process.readings) };
        assert!(process.readings.len() >= 3 && loaded.ns < copy.start && copy.end < ended.ns);
        assert!(process.readings.is_sorted_by_key(|clock| clock.ns));
    }
}

#[test]
fn time_is_the_kernels_whatever_it_is_taken_from() {
    is_timed_well(|| Program::looking_up("calls", "stack"));
    is_timed_well(|| Program::looking_up("calls", "stack").preloading("libcounterless.so"));
}

#[test]
fn ticks_are_the_counters_where_the_kernel_trusts_it() {
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let trusted = cfg!(target_arch = "x86_64") && source.is_ok_and(|source| source == "tsc\n");
    let program = || Program::looking_up("calls", "stack");
    for (program, counted) in [(program(), trusted), (program().preloading("libcounterless.so"), false)] {
        let recorded = program.both();
        let mut readings = recorded.process().readings.iter();
        assert_eq!(readings.any(|clock| clock.ticks != clock.ns), counted);
    }
}

#[test]
fn launches_between_waits_take_no_page_faults() {
    every_one(ways("between-waits").map(Program::in_memory), &|recorded| {
        assert_eq!(recorded.process().calls_of("cuLaunchKernel").len(), 20_000);
        // They fill forty pages, which have come before the waits; a busy machine takes some of them back.
        assert!(recorded.fact("page-faults") <= 25, "{} page faults", recorded.fact("page-faults"));
    });
}

#[test]
fn errno_is_left_alone() {
    every_way("errno", &|recorded| assert_eq!(recorded.fact("errno"), 77, "after cuInit"));
    // Where the first call starts the recording, which fails.
    let program = Program::looking_up("calls", "errno").with("CUDA_INJECTION64_PATH", "");
    let recorded = program.with(spool::VAR_DIRECTORY, "/nonexistent").both();
    assert_eq!((recorded.outcome.code, recorded.fact("errno")), (Some(0), 77));
}

#[test]
fn a_thread_can_be_cancelled_in_a_call() {
    every_way("cancelled", &|recorded| {
        assert_eq!(only(recorded.process(), "cuLaunchKernel").record.result, 0);
    });
}

#[test]
fn calls_in_signal_handlers_are_recorded_whole() {
    for program in ways("in-handlers") {
        let recorded = program.both();
        assert_eq!(recorded.outcome.code, Some(0), "{:?}", recorded.outcome);
        let process = recorded.process();
        let [calls, signals] = ["calls", "signals"].map(|name| recorded.fact(name) as usize);
        let synchronized = process.calls_of("cuStreamSynchronize");
        let launched = process.calls_of("cuLaunchKernel").len();
        // A handler that comes while its thread writes a record is not recorded, and counted: few are.
        assert_eq!(synchronized.len(), calls);
        assert!(launched <= calls + signals && launched > calls + signals / 10, "{launched}");
        assert!(launched + process.dropped as usize <= calls + 2 * signals, "{}", process.dropped);
        assert!(process.calls.iter().all(|call| call.record.result == 0));
        assert!(process.calls.iter().all(|call| call.record.start <= call.record.end));
    }
}
