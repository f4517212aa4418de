/* Long runs: more records than are kept, and recording that is switched off and on. */
#include "program.h"

#include <signal.h>
#include <sys/wait.h>

enum { THREADS = 4, TURNS = 3000, LAUNCHES = 20 };

/* So many values that a fill has another size each time. */
enum { SIZES = 61 };

static __thread unsigned filled[SIZES + 1];

/* A record that says how many there were before. */
static void fill(unsigned long number) {
    CHECK(CU(cuMemsetD32Async)((CUdeviceptr)(uintptr_t)filled, 7, 1 + number % SIZES, NULL) == 0);
}

static void launches(int count) {
    for (int at = 0; at < count; at++) {
        CHECK(launch() == 0);
    }
}

static void turns(unsigned long count) {
    for (unsigned long at = 0; at < count; at++) {
        fill(at);
        launches(LAUNCHES);
    }
}

static void *takes_turns(void *data) {
    unsigned long count = (unsigned long)(uintptr_t)data;
    turns(count);
    fact("thread", (unsigned long)gettid());
    return NULL;
}

/* Threads that write at once. */
static void much(void) {
    pthread_t threads[THREADS];
    for (int at = 0; at < THREADS; at++) {
        threads[at] = started(takes_turns, (void *)(uintptr_t)TURNS);
    }
    for (int at = 0; at < THREADS; at++) {
        joined(threads[at]);
    }
}

/* Threads that come and go: each leaves the room that it took. */
static void in_turn(void) {
    for (int at = 0; at < 300; at++) {
        joined(started(takes_turns, (void *)(uintptr_t)20));
    }
}

static sem_t enough;

static void *takes_turns_for_ever(void *data) {
    for (;;) {
        turns(SIZES);
        if (__atomic_add_fetch((long *)data, 1, __ATOMIC_RELAXED) == 160) {
            sem_post(&enough);
        }
    }
    return NULL;
}

/* Killed while threads overwrite records. */
static void is_killed(void) {
    static long count;
    for (int at = 0; at < THREADS; at++) {
        started(takes_turns_for_ever, &count);
    }
    wait_for(&enough);
    kill(getpid(), SIGKILL);
}

/* A child begins in the middle, and records what it does. */
static void splits(void) {
    turns(TURNS);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "long", "alone", NULL);
        _exit(1);
    }
    turns(TURNS);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    fact("child", (unsigned long)child);
    fact("parent", (unsigned long)getpid());
}

static void alone(void) { turns(TURNS); }

/* Begins off; each phase has fills of another size. */
static void switched(void) {
    for (unsigned long phase = 0; phase < 5; phase++) {
        for (int at = 0; at < 10; at++) {
            fill(phase);
            launches(LAUNCHES);
        }
        switch_recording();
    }
}

static sem_t is_in, may_go;

static void *calls_long(void *data) {
    (void)data;
    fact("long", (unsigned long)gettid());
    for (int at = 0; at < 2; at++) {
        STANDIN(standin_plan)((struct standin_plan){.taken = &is_in, .let_go = &may_go});
        CHECK(launch() == 0);
    }
    return NULL;
}

/* Calls that are under way when recording is switched: of the first one off, of the second one on. */
static void switched_in_calls(void) {
    pthread_t other = started(calls_long, NULL);
    wait_for(&is_in);
    switch_recording();
    fill(1);
    fill(2);
    sem_post(&may_go);
    wait_for(&is_in);
    switch_recording();
    fill(3);
    sem_post(&may_go);
    joined(other);
}

/* How often recording was switched, as the file says that `holdup record` shares with its program. */
static uint32_t switches(void) {
    uint32_t count = 0;
    char path[4096];
    snprintf(path, sizeof path, "%s/budget", getenv("HOLDUP_SPOOL"));
    int file = open(path, O_RDONLY);
    CHECK(file >= 0 && pread(file, &count, sizeof count, 128) == sizeof count && close(file) == 0);
    return count;
}

/* Asks `holdup record`, its parent, by signals. */
static void signals(void) {
    int is_recorded = getenv("HOLDUP_SPOOL") != NULL;
    for (unsigned long phase = 0; phase < 5; phase++) {
        for (int at = 0; at < 10; at++) {
            fill(phase);
        }
        uint32_t before = is_recorded ? switches() : 0;
        CHECK(!is_recorded || kill(getppid(), SIGUSR2) == 0);
        for (int waited = 0; is_recorded && switches() == before; waited++) {
            CHECK(waited < 10000 && usleep(1000) == 0);
        }
    }
}

/* Calls until it was so long there. */
static void lasts(void) {
    for (unsigned long began = now_ns(); now_ns() - began < 1500000000ul;) {
        fill(0);
        CHECK(usleep(1000) == 0);
    }
}

/* What a recorded program asks of the capture library; without it nothing. */
static long no_window(void) { return 0; }
static int no_range(const char *name, long start) { return name == NULL && start == 0; }

/* Its own windows, and ranges in them: the first begins before the driver is initialized. */
static void windows(void) {
    long (*open)(void) = (long (*)(void))dlsym(RTLD_DEFAULT, "holdup_window_open");
    int (*close)(const char *, long) = (int (*)(const char *, long))dlsym(RTLD_DEFAULT, "holdup_window_close");
    int (*range)(const char *, long) = (int (*)(const char *, long))dlsym(RTLD_DEFAULT, "holdup_range");
    int is_recorded = open != NULL;
    open = open ? open : no_window, close = close ? close : no_range, range = range ? range : no_range;
    char directory[2048], name[4096];
    CHECK(getcwd(directory, sizeof directory) != NULL);
    for (unsigned long phase = 0; phase < 5; phase++) {
        long start = phase % 2 == 0 ? open() : 0;
        CHECK(phase > 0 || CU(cuInit)(0) == 0);
        for (int at = 0; at < 10; at++) {
            fill(phase);
        }
        if (phase % 2 == 0) {
            CHECK(range("step 1", start) == is_recorded);
            snprintf(name, sizeof name, "holdup.record %s/window%lu.holdup", directory, phase);
            CHECK(close(name, start) == is_recorded);
        }
    }
}

int main(int count, char **words) {
    static const struct scenario all[] = {
        {"much", much},
        {"in-turn", in_turn},
        {"is-killed", is_killed},
        {"splits", splits},
        {"alone", alone},
        {"switched", switched},
        {"switched-in-calls", switched_in_calls},
        {"signals", signals},
        {"lasts", lasts},
        {"windows", windows},
    };
    sem_init(&enough, 0, 0);
    sem_init(&is_in, 0, 0);
    sem_init(&may_go, 0, 0);
    bind_driver();
    CHECK((count > 1 && strcmp(words[1], "windows") == 0) || CU(cuInit)(0) == 0);
    return RUN_SCENARIO(all);
}
