//! Rust programs have threads, channels and locks of their own, which are no functions of the C library, and catch panics.
//! Expected: it ends as bare, and every call is recorded.

use std::sync::{Arc, Condvar, Mutex, mpsc};

unsafe extern "C" {
    safe fn adversary_begin();
    safe fn adversary_calls(count: i32);
    safe fn adversary_slow_call(ms: i32);
}

fn main() {
    adversary_begin();
    let (sender, receiver) = mpsc::channel();
    let turn = Arc::new((Mutex::new(0), Condvar::new()));
    let threads: Vec<_> = (0..8)
        .map(|own| {
            let (sender, turn) = (sender.clone(), turn.clone());
            std::thread::spawn(move || {
                adversary_calls(500);
                adversary_slow_call(2);
                let mut next = turn.1.wait_while(turn.0.lock().unwrap(), |next| *next != own).unwrap();
                *next += 1;
                turn.1.notify_all();
                sender.send(own).unwrap();
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let sum: i32 = receiver.try_iter().sum();
    std::panic::set_hook(Box::new(|_| {}));
    let panicked = std::thread::spawn(|| {
        adversary_calls(10);
        panic!("caught");
    });
    println!("{sum} {}", panicked.join().is_err());
}
