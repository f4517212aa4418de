/* Threads that wait for each other's locks, in an order that is the same every time. */
#include "program.h"
#include "other.h"

static sem_t taken, let_go, let_go_too;

static void *hold_alone(void *data) {
    (void)data;
    fact("holder", (unsigned long)gettid());
    STANDIN(standin_plan)((struct standin_plan){.taken = &taken, .waiters = 1, .ms = 5});
    CHECK(copy() == 0);
    return NULL;
}

/* A launch waits for a copy. */
static void reader_behind_writer(void) {
    pthread_t holder = started(hold_alone, NULL);
    wait_for(&taken);
    CHECK(launch() == 0);
    joined(holder);
}

/* A copy waits for a copy. */
static void writer_behind_writer(void) {
    pthread_t holder = started(hold_alone, NULL);
    wait_for(&taken);
    CHECK(copy() == 0);
    joined(holder);
}

static void *hold_shared(void *data) {
    fact("reader", (unsigned long)gettid());
    /* Known to the recorder before the others: the first reader is the one it names. */
    CHECK(CU(cuCtxSynchronize)() == 0);
    STANDIN(standin_plan)((struct standin_plan){.taken = &taken, .let_go = data});
    CHECK(launch() == 0);
    return NULL;
}

static void *let_readers_go(void *data) {
    pthread_t *readers = data;
    wait_for(&taken);
    /* The copy waits. Readers go in turn, so the last to let go is not the first to have taken. */
    sem_post(&let_go);
    joined(readers[0]);
    sem_post(&let_go_too);
    joined(readers[1]);
    return NULL;
}

/* Holds the lock as a third reader until a writer waits. */
static void *watch_writer(void *data) {
    (void)data;
    CHECK(CU(cuCtxSynchronize)() == 0);
    STANDIN(standin_plan)((struct standin_plan){.taken = &taken, .waiters = 1});
    CHECK(launch() == 0);
    sem_post(&taken);
    return NULL;
}

/* A copy waits for three launches. */
static void writer_behind_readers(void) {
    pthread_t readers[2], watcher, helper;
    readers[0] = started(hold_shared, &let_go);
    wait_for(&taken);
    readers[1] = started(hold_shared, &let_go_too);
    wait_for(&taken);
    watcher = started(watch_writer, NULL);
    wait_for(&taken);
    helper = started(let_readers_go, readers);
    CHECK(copy() == 0);
    joined(watcher);
    joined(helper);
}

static void *allocate(void *data) {
    fact("holder", (unsigned long)gettid());
    STANDIN(standin_plan)((struct standin_plan){.taken = &taken, .waiters = 1, .ms = 2});
    CHECK(CU(cuMemAlloc_v2)(data, 64) == 0);
    return NULL;
}

/* A cuMemFree waits for a cuMemAlloc. */
static void mutex(void) {
    CUdeviceptr first, second;
    CHECK(CU(cuMemAlloc_v2)(&first, 64) == 0);
    pthread_t holder = started(allocate, &second);
    wait_for(&taken);
    CHECK(CU(cuMemFree_v2)(first) == 0);
    joined(holder);
    CHECK(CU(cuMemFree_v2)(second) == 0);
}

static void *few_calls(void *data) {
    (void)data;
    CUdeviceptr pointer;
    for (int at = 0; at < 100; at++) {
        CHECK(launch() == 0 && copy() == 0);
        CHECK(CU(cuMemAlloc_v2)(&pointer, 8) == 0 && CU(cuMemFree_v2)(pointer) == 0);
    }
    return NULL;
}

/* Threads that never meet. */
static void uncontended(void) {
    for (int at = 0; at < 4; at++) {
        joined(started(few_calls, NULL));
    }
}

static void *hold_other(void *data) {
    (void)data;
    fact("holder", (unsigned long)gettid());
    other_hold(&taken);
    return NULL;
}

/* A wait for the lock of a library that is not the driver, outside of any call. */
static void other_library(void) {
    pthread_t holder = started(hold_other, NULL);
    wait_for(&taken);
    other_take();
    joined(holder);
}

/* A wait that is given up. */
static void other_timeout(void) {
    pthread_t holder = started(hold_other, NULL);
    wait_for(&taken);
    CHECK(other_take_in(3) == 0);
    other_take();
    joined(holder);
}

static pthread_t early_holder;

/* A lock that was taken before recording began. */
static void take_early(void) {
    early_holder = started(hold_other, NULL);
    wait_for(&taken);
}

static void taken_early(void) {
    other_take();
    joined(early_holder);
}

static void *hold_spin(void *data) {
    fact("holder", (unsigned long)gettid());
    other_spin_hold(&taken, *(pthread_t *)data);
    return NULL;
}

static void spin(void) {
    pthread_t self = pthread_self();
    pthread_t holder = started(hold_spin, &self);
    wait_for(&taken);
    other_spin_take();
    joined(holder);
}

/* One wait in the driver and one in the other library. */
static void both_libraries(void) {
    other_library();
    reader_behind_writer();
}

int main(int count, char **words) {
    static const struct scenario all[] = {
        {"reader-behind-writer", reader_behind_writer},
        {"writer-behind-writer", writer_behind_writer},
        {"writer-behind-readers", writer_behind_readers},
        {"mutex", mutex},
        {"uncontended", uncontended},
        {"other-library", other_library},
        {"other-timeout", other_timeout},
        {"taken-early", taken_early},
        {"spin", spin},
        {"both-libraries", both_libraries},
    };
    sem_init(&taken, 0, 0);
    sem_init(&let_go, 0, 0);
    sem_init(&let_go_too, 0, 0);
    bind_driver();
    if (count == 2 && strcmp(words[1], "taken-early") == 0) {
        take_early();
    }
    CHECK(CU(cuInit)(0) == 0);
    fact("waiter", (unsigned long)gettid());
    fact("api", (unsigned long)(uintptr_t)STANDIN(standin_api_lock)());
    fact("memory", (unsigned long)(uintptr_t)STANDIN(standin_memory_lock)());
    fact("other", (unsigned long)(uintptr_t)other_lock());
    return RUN_SCENARIO(all);
}
