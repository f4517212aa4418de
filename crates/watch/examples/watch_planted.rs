//! A program that does one thing, measures it, and says so: what the tests compare the watcher with.
//!
//! `watch_planted SPOOL CASE [NUMBER|secret]` begins when the watcher has found it. Lines of output have a name and numbers.

#[cfg(target_os = "linux")]
fn main() {
    planted::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod planted {
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::thread;
    use std::time::{Duration, Instant};

    pub fn main() {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        if arguments.iter().any(|argument| argument == "secret") {
            make_secret();
        }
        let [spool, case, rest @ ..] = arguments.as_slice() else { panic!("a spool and a case") };
        let number = rest.first().and_then(|number| number.parse().ok()).unwrap_or(0);
        let _mapped = begin(Path::new(spool));
        match case.as_str() {
            "burners" => burners(number),
            "sleep" => sleep(),
            "read" => read(),
            "futex" => futex(),
            "brief" => brief(number),
            "idle" => idle(number),
            "exec" => exec(spool),
            "hide" => hide(),
            "end" => {
                burn(Duration::from_millis(200));
                std::process::abort()
            }
            "burn" => burn(Duration::from_millis(number)),
            _ => panic!("no such case"),
        }
        // A few looks more.
        thread::sleep(Duration::from_millis(60));
    }

    /// Makes a file as the capture library does, and waits for the watcher.
    fn begin(spool: &Path) -> memmap2::Mmap {
        let pid = std::process::id();
        let names = (0..).map(|image| spool.join(format!("{pid}-{image}.spool")));
        let path = names.into_iter().find(|path| !path.exists()).expect("a free one");
        let mut build = spool::Build::new(pid, spool::Level::Light);
        build.record(pid, spool::Note::KIND, 0, &[spool::Note { at: 1 }.bytes()]);
        let fresh = path.with_extension("fresh");
        std::fs::write(&fresh, build.finish()).expect("a file");
        // SAFETY: private to this program; nobody truncates it.
        let map =
            unsafe { memmap2::Mmap::map(&std::fs::File::open(&fresh).expect("it is there")).expect("a map") };
        std::fs::rename(&fresh, &path).expect("it gets its name");
        say("pid", &[pid.into()]);
        await_file(&path.with_extension("watch"));
        thread::sleep(Duration::from_millis(30));
        map
    }

    fn await_file(path: &Path) {
        let began = Instant::now();
        while !path.exists() {
            assert!(began.elapsed() < Duration::from_secs(20), "nobody watches");
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn say(name: &str, numbers: &[u64]) {
        let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
        let mut out = std::io::stdout().lock();
        writeln!(out, "{name} {}", numbers.join(" ")).expect("somebody listens");
    }

    fn tid() -> u64 {
        // SAFETY: a plain system call.
        unsafe { libc::gettid() as u64 }
    }

    /// Times that the kernel has counted of this thread since it began: on a processor, and ready.
    fn counted() -> [u64; 2] {
        // A thread that was off its processor is counted to that moment.
        thread::sleep(Duration::from_micros(200));
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
        let mut words = text.split_ascii_whitespace().map(|word| word.parse().expect("a number"));
        [words.next().expect("running"), words.next().expect("ready")]
    }

    #[inline(never)]
    fn burn(time: Duration) {
        let began = Instant::now();
        let mut sum = 0u64;
        while began.elapsed() < time {
            sum = std::hint::black_box(sum.wrapping_mul(3).wrapping_add(1));
        }
    }

    /// Four threads on one processor.
    fn burners(ms: u64) {
        one_processor();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    burn(Duration::from_millis(ms));
                    // All have ended then, and nobody waits for the processor any more.
                    thread::sleep(Duration::from_millis(100));
                    let [running, runnable] = counted();
                    say("burner", &[tid(), running, runnable]);
                    // It stays until its counters were seen.
                    thread::sleep(Duration::from_millis(60));
                });
            }
        });
    }

    fn one_processor() {
        // SAFETY: both calls take a set of this size, which is valid as zeros.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
            let first = (0..libc::CPU_SETSIZE as usize).find(|cpu| libc::CPU_ISSET(*cpu, &set)).expect("one");
            libc::CPU_ZERO(&mut set);
            libc::CPU_SET(first, &mut set);
            assert_eq!(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set), 0);
        }
    }

    /// Says how long `wait` took, and what its call's first argument was.
    fn planted(object: u64, wait: impl FnOnce()) {
        let began = Instant::now();
        wait();
        say("planted", &[tid(), began.elapsed().as_nanos() as u64, object]);
    }

    fn sleep() {
        let time = libc::timespec { tv_sec: 1, tv_nsec: 0 };
        planted(libc::CLOCK_MONOTONIC as u64, || {
            // SAFETY: reads a time that outlives the call.
            unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &time, std::ptr::null_mut()) };
        });
    }

    fn read() {
        let (mut from, mut to) = std::io::pipe().expect("a pipe");
        thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(Duration::from_secs(1));
                to.write_all(b"x").expect("it is read");
            });
            planted(from.as_raw_fd() as u64, || from.read_exact(&mut [0]).expect("it is written"));
        });
    }

    #[inline(never)]
    fn futex() {
        static WORD: AtomicU32 = AtomicU32::new(0);
        let time = libc::timespec { tv_sec: 1, tv_nsec: 0 };
        planted(WORD.as_ptr().addr() as u64, || {
            // SAFETY: a wait of a static word that nobody changes, with a time-out that outlives the call.
            unsafe { libc::syscall(libc::SYS_futex, WORD.as_ptr(), libc::FUTEX_WAIT, 0, &time) };
            assert_eq!(WORD.load(Relaxed), 0);
        });
    }

    /// Threads that live shorter than the time between two looks.
    fn brief(count: u64) {
        let mut sum = 0;
        for _ in 0..count {
            let burner = thread::spawn(|| {
                burn(Duration::from_millis(2));
                let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
                // SAFETY: writes the struct that it is given.
                unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
                time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
            });
            sum += burner.join().expect("it ends");
        }
        say("brief", &[sum]);
        // The process's time is compared with that of its threads ten times a second.
        thread::sleep(Duration::from_millis(200));
    }

    /// Becomes another program, which is watched as another one.
    fn exec(spool: &str) {
        burn(Duration::from_millis(300));
        let this = std::env::current_exe().expect("it has a path");
        let error = std::process::Command::new(this).args([spool, "burn", "300"]).exec();
        panic!("{error}");
    }

    /// Others may not read this process from now on, however they are related: as after a change of its user.
    fn make_secret() {
        // SAFETY: sets an attribute of this process.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
    }

    fn hide() {
        thread::sleep(Duration::from_millis(200));
        make_secret();
        thread::sleep(Duration::from_millis(400));
    }

    /// Threads for the benchmark: half of them wait for ever, half wake up 200 times a second, for two seconds.
    fn idle(count: u64) {
        let began = Instant::now();
        thread::scope(|scope| {
            for which in 0..count {
                scope.spawn(move || {
                    while began.elapsed() < Duration::from_secs(2) {
                        let pause = if which % 2 == 0 { 2_000_000 } else { 5_000 };
                        thread::sleep(Duration::from_micros(pause));
                    }
                });
            }
        });
    }
}
