//! The hardware queues of recorded kernels.

use super::{Program, call, copy};
use sim::{Queue, RecordedStep, WorkKind};
use trace::CopyKind;

#[test]
fn streams_that_share_a_hardware_queue_wait_for_each_other() {
    let queue = |number| Some(Queue { number, in_order: false, count: 1 });
    for (queues, second) in
        [([queue(0), queue(0)], (108, 208)), ([queue(0), queue(1)], (7, 107)), ([None, None], (7, 107))]
    {
        let mut program = Program::new(2);
        let works = [program.kernel(0, 100), program.kernel(1, 100)];
        let launches = works.map(|work| call(program.launch(work, 1, 0)));
        program.thread(&launches);
        program.0.queues = queues.to_vec();
        assert_eq!(program.run().works, [(6, 106), second], "{queues:?}");
    }
}

#[test]
fn graphs_and_copies_are_in_no_hardware_queue() {
    for kind in [copy(CopyKind::DtoH), WorkKind::Kernel { threads: 32, in_graph: true }] {
        let mut program = Program::new(2);
        let works = [program.kernel(0, 100), program.work(1, kind, 100)];
        let launches = works.map(|work| call(program.launch(work, 1, 0)));
        program.thread(&launches);
        program.0.queues = vec![Some(Queue { number: 0, in_order: false, count: 1 }); 2];
        assert_eq!(program.run().works, [(6, 106), (7, 107)], "{kind:?}");
    }
}

/// Two chains, and a kernel of a third stream, which goes on in the queue used least recently: behind the first chain if there are two
/// queues, in one of its own if there are three. It starts with the last kernel before it in its queue, here the one that starts before it.
#[test]
fn streams_go_on_in_the_hardware_queue_that_was_used_least_recently() {
    for (count, first) in [(1, 3), (2, 1), (3, 2)] {
        let mut program = Program::new(3);
        let works = [
            program.kernel(0, 100),
            program.kernel(0, 100),
            program.kernel(1, 150),
            program.kernel(1, 100),
            program.kernel(2, 10),
        ];
        let launches = works.map(|work| call(program.launch(work, 1, 0)));
        program.thread(&launches);
        program.0.queues = vec![Some(Queue { number: 0, in_order: true, count }); 3];
        let starts: Vec<i64> = program.run().works.iter().map(|(start, _)| *start).collect();
        let before = (0..4).filter(|at| starts[*at] <= starts[4]).max_by_key(|at| starts[*at]);
        assert_eq!(before, Some(first), "{count} queues: {starts:?}");
    }
}

/// The queue of the first stream was used least recently, but has a kernel that waits.
#[test]
fn streams_go_on_in_a_hardware_queue_in_which_nothing_waits() {
    let mut program = Program::new(3);
    let works =
        [program.kernel(0, 100), program.kernel(0, 100), program.kernel(1, 150), program.kernel(2, 10)];
    let [one, two, other, last] = works.map(|work| call(program.launch(work, 1, 0)));
    program.thread(&[one, two, other, RecordedStep::Host(50), last]);
    program.0.queues = vec![Some(Queue { number: 0, in_order: true, count: 2 }); 3];
    let works = program.run().works;
    assert!(works[3].0 < works[1].0, "{works:?}");
}

/// Kernels of streams, each with its duration, after so long without a launch; when they start.
fn starts(streams: usize, kernels: &[(u32, i64, i64)]) -> Vec<i64> {
    let mut program = Program::new(streams);
    let mut steps = Vec::new();
    for (stream, ns, after) in kernels {
        let work = program.kernel(*stream, *ns);
        steps.extend([RecordedStep::Host(*after), call(program.launch(work, 1, 0))]);
    }
    program.thread(&steps);
    program.0.queues = vec![Some(Queue { number: 0, in_order: true, count: 2 }); streams];
    program.run().works.iter().map(|(start, _)| *start).collect()
}

/// The second stream's queue was used before the first one's: nobody else was launched into that one since, though its kernel is done.
#[test]
fn a_stream_stays_in_its_hardware_queue() {
    let starts = starts(2, &[(1, 100, 0), (0, 10, 0), (0, 60, 50), (0, 10, 0), (1, 10, 0)]);
    assert!(starts[4] < starts[3], "{starts:?}");
}

/// The third stream takes the queue of the first one, whose next kernel waits in the other. Then each queue has a kernel that waits, and the
/// last stream's kernel starts with that one.
#[test]
fn a_stream_whose_hardware_queue_was_taken_goes_on_in_another_one() {
    let chains = [(0, 100, 0), (1, 100, 0), (2, 100, 0), (0, 10, 0), (2, 10, 0), (3, 10, 0)];
    let starts = starts(4, &chains);
    assert_eq!(starts[5], starts[3], "{starts:?}");
}

/// Two chains in two queues, and two kernels of a third stream, of which the first waits in neither. The second one does.
#[test]
fn a_stream_with_a_kernel_that_is_alone_goes_on_in_a_hardware_queue_of_several() {
    let mut program = Program::new(3);
    let works = [(0, 300), (0, 10), (1, 300), (1, 10), (2, 10), (2, 10)];
    let works = works.map(|(stream, ns)| program.kernel(stream, ns));
    program.0.works[4].alone = true;
    let launches = works.map(|work| call(program.launch(work, 1, 0)));
    program.thread(&launches);
    program.0.queues = vec![Some(Queue { number: 0, in_order: true, count: 2 }); 3];
    let works = program.run().works;
    assert!(works[4].0 < works[1].0 && works[5].0 >= works[1].0, "{works:?}");
}

/// Two chains in two queues, and a kernel of a third stream: it waits in one of them, unless nobody knows when it was launched.
#[test]
fn a_kernel_that_is_alone_waits_in_no_hardware_queue_of_several() {
    for alone in [false, true] {
        let mut program = Program::new(3);
        let works = [0, 0, 1, 1, 2].map(|stream| program.kernel(stream, 100));
        program.0.works[4].alone = alone;
        let launches = works.map(|work| call(program.launch(work, 1, 0)));
        program.thread(&launches);
        program.0.queues = vec![Some(Queue { number: 0, in_order: true, count: 2 }); 3];
        let works = program.run().works;
        assert_eq!(works[4].0 < works[1].0, alone, "{works:?}");
    }
}
