/* Calls of the driver, whose arguments, results and errno must be as without the recorder. */
#include "program.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

/* All eleven arguments arrive, and results come back. */
static void arguments(void) {
    unsigned long sum = 0;
    void *places[] = {&sum};
    CUresult result = CU(cuLaunchKernel)((CUfunction)0x5, 1, 2, 3, 4, 5, 6, 7, (CUstream)0x20, places, (void **)0x9);
    CUstream stream = NULL;
    CUdevice device = 5;
    size_t bytes = 0;
    printf("launch %d, sum %lu\n", result, sum);
    printf("bad flags %d, bad device %d, bad stream %d\n", CU(cuInit)(3), CU(cuDeviceGet)(&device, 1),
           CU(cuStreamDestroy_v2)(stream));
    printf("stream %d, memory %d", CU(cuStreamCreate)(&stream, 1), CU(cuDeviceTotalMem_v2)(&bytes, 0));
    printf(" %p %zu\n", (void *)stream, bytes);
}

/* There and back again, on a stream and without one. */
static void copies(void) {
    char there[5000], back[5000];
    CUdeviceptr memory;
    CUstream stream;
    for (size_t at = 0; at < sizeof there; at++) {
        there[at] = (char)at;
    }
    CHECK(CU(cuMemAlloc_v2)(&memory, sizeof there) == 0 && CU(cuStreamCreate)(&stream, 0) == 0);
    CHECK(CU(cuMemcpyHtoDAsync_v2)(memory, there, sizeof there, stream) == 0);
    CHECK(CU(cuMemcpyDtoHAsync_v2)(back, memory, sizeof back, stream) == 0);
    CHECK(memcmp(there, back, sizeof there) == 0);
    CHECK(CU(cuMemsetD32Async)(memory, 0x01010101, 1000, stream) == 0);
    CHECK(CU(cuMemcpyDtoH_v2)(back, memory, 4001) == 0);
    CHECK(back[3999] == 1 && back[4000] == (char)4000);
    CHECK(CU(cuStreamSynchronize)(stream) == 0 && launch() == 0);
    CHECK(CU(cuStreamDestroy_v2)(stream) == 0 && CU(cuMemFree_v2)(memory) == 0);
    fact("stream", (unsigned long)(uintptr_t)stream);
}

static void *some_launches(void *data) {
    for (long at = 0; at < (long)data; at++) {
        CHECK(launch() == 0);
    }
    /* One fact, not two: others say theirs at the same time. */
    char name[32];
    snprintf(name, sizeof name, "launched-%ld", (long)data);
    fact(name, (unsigned long)gettid());
    return NULL;
}

/* Threads that call at once. */
static void counted(void) {
    pthread_t threads[4];
    for (long at = 0; at < 4; at++) {
        threads[at] = started(some_launches, (void *)(1000 * (at + 1)));
    }
    for (int at = 0; at < 4; at++) {
        joined(threads[at]);
    }
}

/* Slow by 2 ms, so that its stack is worth a record. */
__attribute__((noinline)) static void slow_copy(void) {
    STANDIN(standin_plan)((struct standin_plan){.ms = 2});
    CHECK(copy() == 0);
    __asm__ volatile("");
}

static void stack(void) {
    fact("function", (unsigned long)(uintptr_t)slow_copy);
    CHECK(launch() == 0);
    slow_copy();
}

__attribute__((noinline)) static void launch_after(int ms) {
    usleep(1000u * (unsigned)ms);
    CHECK(launch() == 0 && launch() == 0);
    __asm__ volatile("");
}

/* Short calls, two of them after pauses. */
static void pauses(void) {
    fact("function", (unsigned long)(uintptr_t)launch_after);
    CHECK(launch() == 0);
    launch_after(0);
    launch_after(20);
    launch_after(20);
}

/* The budget for stacks grows with time. */
__attribute__((noinline)) static void launch_often(void) {
    for (int at = 0; at < 1000; at++) {
        CHECK(launch() == 0);
        for (volatile int spin = 0; spin < 100000; spin++) {
        }
    }
    __asm__ volatile("");
}

static void often(void) {
    fact("function", (unsigned long)(uintptr_t)launch_often);
    launch_often();
}

/* Nothing of the driver's touches errno here, so nobody else may. */
static void *keeps_errno(void *data) {
    CUdeviceptr memory;
    CUstream stream;
    (void)data;
#define KEEPS(call)                                                                                              \
    do {                                                                                                         \
        errno = 77;                                                                                              \
        CHECK((call) == 0);                                                                                      \
        CHECK(errno == 77);                                                                                      \
    } while (0)
    for (int at = 0; at < 3000; at++) {
        KEEPS(CU(cuStreamCreate)(&stream, 0));
        KEEPS(launch());
        KEEPS(CU(cuMemAlloc_v2)(&memory, 8));
        KEEPS(CU(cuMemFree_v2)(memory));
        KEEPS(copy());
    }
    STANDIN(standin_plan)((struct standin_plan){.ms = 1});
    KEEPS(copy());
    errno = 77;
    CHECK(dlsym(RTLD_DEFAULT, "cuNoSuchFunction") == NULL && dlsym(RTLD_DEFAULT, "cuptiNoSuchFunction") == NULL);
    CHECK(errno == 77);
    return NULL;
}

static void errno_kept(void) {
    keeps_errno(NULL);
    joined(started(keeps_errno, NULL));
}

/* What a thread does that is cancelled in a call: nothing more. */
static sem_t taken, never;

static void *wait_for_ever(void *data) {
    (void)data;
    STANDIN(standin_plan)((struct standin_plan){.taken = &taken, .let_go = &never});
    CU(cuStreamSynchronize)(NULL);
    return NULL;
}

static void cancelled(void) {
    void *end = NULL;
    pthread_t thread = started(wait_for_ever, NULL);
    wait_for(&taken);
    CHECK(pthread_cancel(thread) == 0);
    CHECK(pthread_join(thread, &end) == 0 && end == PTHREAD_CANCELED);
    CHECK(launch() == 0);
}

/* Launches inside of signal handlers, which interrupt calls and launches anywhere. */
static volatile sig_atomic_t signals;

static void on_signal(int number) {
    (void)number;
    /* Of the two locks, the mutex must not be taken here: the interrupted call may have it. */
    CHECK(launch() == 0);
    signals++;
}

static void in_handlers(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    timer_t timer;
    long calls = 0;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    while (signals < 1000) {
        /* One at a time: one that comes as the last one's handler returns would interrupt the same place again. */
        struct itimerspec once = {{0, 0}, {0, 1 + signals * 7919L % 100000}};
        sig_atomic_t before = signals;
        CHECK(timer_settime(timer, 0, &once, NULL) == 0);
        while (signals == before) {
            CHECK(CU(cuStreamSynchronize)(NULL) == 0 && launch() == 0);
            calls++;
        }
    }
    CHECK(timer_delete(timer) == 0);
    fact("calls", (unsigned long)calls);
    fact("signals", (unsigned long)signals);
}

static unsigned long page_faults(void) {
    struct rusage usage;
    CHECK(getrusage(RUSAGE_THREAD, &usage) == 0);
    return (unsigned long)usage.ru_minflt;
}

/* Two hundred launches and a wait for them, again and again: how many page faults the launches take. */
static void between_waits(void) {
    unsigned long faults = 0;
    for (int turn = 0; turn < 100; turn++) {
        unsigned long before = page_faults();
        for (int at = 0; at < 200; at++) {
            CHECK(launch() == 0);
        }
        /* At first everything is new. */
        faults += turn ? page_faults() - before : 0;
        CHECK(CU(cuStreamSynchronize)(NULL) == 0);
    }
    fact("page-faults", faults);
}

/* What a call costs, and a launch, which takes a lock, too. */
static void cost(void) {
    enum { COUNT = 1000000 };
    launch();
    unsigned long begin = now_ns();
    for (int at = 0; at < COUNT; at++) {
        CU(cuCtxSynchronize)();
    }
    unsigned long middle = now_ns();
    for (int at = 0; at < COUNT; at++) {
        launch();
    }
    fact("picoseconds", (middle - begin) * 1000 / COUNT);
    fact("launch-picoseconds", (now_ns() - middle) * 1000 / COUNT);
}

static int in_order(const void *one, const void *other) {
    unsigned long a = *(const unsigned long *)one, b = *(const unsigned long *)other;
    return (a > b) - (a < b);
}

/*
 * What the recorder adds to a launch: bursts of 200 of them, and a wait after each, with the recorder and, by
 * the library STANDIN_TURNS, without it.
 */
static void by_turns(void) {
    enum { BURSTS = 4000, LAUNCHES = 200 };
    static unsigned long costs[2][BURSTS];
    void *turns = dlopen(getenv("STANDIN_TURNS"), RTLD_NOW);
    CHECK(turns);
    int (*find)(void) = (int (*)(void))dlsym(turns, "turns_find");
    void (*take)(int) = (void (*)(int))dlsym(turns, "turns_take");
    CHECK(find && take && launch() == 0 && find() > 0);
    for (int at = 0; at < 2 * BURSTS; at++) {
        /* With, without, without, with: neither is always first. */
        int without = (at ^ at >> 1) & 1;
        take(without);
        unsigned long begin = now_ns();
        for (int more = 0; more < LAUNCHES; more++) {
            launch();
        }
        costs[without][at / 2] = now_ns() - begin;
        CU(cuStreamSynchronize)(NULL);
    }
    take(0);
    for (int without = 0; without < 2; without++) {
        qsort(costs[without], BURSTS, sizeof costs[without][0], in_order);
        unsigned long median = costs[without][BURSTS / 2];
        fact(without ? "launch-picoseconds" : "recorded-picoseconds", median * 1000 / LAUNCHES);
    }
}

int main(int count, char **words) {
    static const struct scenario all[] = {
        {"arguments", arguments},     {"copies", copies},    {"counted", counted},
        {"stack", stack},             {"errno", errno_kept}, {"cancelled", cancelled},
        {"in-handlers", in_handlers}, {"cost", cost},        {"between-waits", between_waits},
        {"by-turns", by_turns},       {"pauses", pauses},    {"often", often},
    };
    sem_init(&taken, 0, 0);
    sem_init(&never, 0, 0);
    bind_driver();
    errno = 77;
    CHECK(CU(cuInit)(0) == 0);
    fact("errno", (unsigned long)errno);
    fact("main", (unsigned long)gettid());
    return RUN_SCENARIO(all);
}
