use super::*;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

#[test]
fn the_lock_is_the_one_that_a_callback_holds() {
    find_lock();
    let lock = LOCK.load(Acquire);
    assert!(!lock.is_null());
    let mut held = [0; WORDS];
    each_object(&mut |_| {
        held = words(lock);
        ControlFlow::Break(())
    });
    assert_eq!((held[0] != 0, held[1], held[3]), (true, 1, 1));
}

#[test]
fn nobody_waits_for_a_thread_in_a_callback() {
    find_lock();
    let (is_inside, is_done) = (AtomicBool::new(false), AtomicBool::new(false));
    let await_it = |flag: &AtomicBool| {
        while !flag.load(SeqCst) {
            thread::yield_now();
        }
    };
    let is_refused = thread::scope(|scope| {
        let other = scope.spawn(|| {
            await_it(&is_inside);
            let is_refused = Loader::hold().is_none();
            is_done.store(true, SeqCst);
            is_refused
        });
        each_object(&mut |_| {
            is_inside.store(true, SeqCst);
            await_it(&is_done);
            ControlFlow::Break(())
        });
        other.join()
    });
    assert!(matches!(is_refused, Ok(true)));
}
