/* Many threads, at once and one after the other. */
#include "program.h"
#include "other.h"

#include <sched.h>

static pthread_barrier_t all_there;

static void *calls_among_others(void *data) {
    pthread_barrier_wait(&all_there);
    for (int at = 0; at < 50; at++) {
        CHECK(launch() == 0);
    }
    *(unsigned long *)data = (unsigned long)gettid();
    /* Nobody ends before everybody has called. */
    pthread_barrier_wait(&all_there);
    return NULL;
}

/* Starts so many threads that are all there at once. */
static void at_once(int count, void *(*run)(void *)) {
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    unsigned long *tids = calloc((size_t)count, sizeof *tids);
    pthread_attr_t small;
    CHECK(threads && tids && pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 128 << 10) == 0);
    CHECK(pthread_barrier_init(&all_there, NULL, (unsigned)count) == 0);
    for (int at = 0; at < count; at++) {
        CHECK(pthread_create(&threads[at], &small, run, &tids[at]) == 0);
    }
    for (int at = 0; at < count; at++) {
        joined(threads[at]);
        fact("thread", tids[at]);
    }
}

static void two_hundred(void) { at_once(200, calls_among_others); }

static void *one_call(void *data) {
    (void)data;
    CHECK(launch() == 0);
    pthread_barrier_wait(&all_there);
    return NULL;
}

/* More than are known at once: the last ones are not recorded. */
static void too_many(void) { at_once(4200, one_call); }

static void *calls(void *data) {
    *(unsigned long *)data = (unsigned long)gettid();
    for (int at = 0; at < 3; at++) {
        CHECK(launch() == 0);
    }
    return NULL;
}

static void *locks(void *data) {
    (void)data;
    other_take();
    return NULL;
}

static void one_by_one(int count) {
    for (int at = 0; at < count; at++) {
        unsigned long tid = 0;
        joined(started(calls, &tid));
        fact("thread", tid);
    }
}

/* More threads than are known at once come and go; later ones take the places of those that ended. */
static void come_and_go(void) {
    one_by_one(100);
    for (int at = 0; at < 4500; at++) {
        joined(started(locks, NULL));
    }
    one_by_one(150);
}

/* How many mappings the recording has. */
static unsigned long maps(void) {
    char line[512];
    unsigned long count = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    CHECK(file);
    while (fgets(line, sizeof line, file)) {
        count += strstr(line, ".spool") != NULL;
    }
    fclose(file);
    return count;
}

/* Each needs a place to write. */
static void many_in_turn(void) {
    one_by_one(400);
    fact("maps", maps());
}

static void *many_calls(void *data) {
    (void)data;
    for (int at = 0; at < 4000; at++) {
        CHECK(launch() == 0);
    }
    return NULL;
}

/* More records than there is room for. */
static void full(void) {
    pthread_t threads[8];
    for (int at = 0; at < 8; at++) {
        threads[at] = started(many_calls, NULL);
    }
    for (int at = 0; at < 8; at++) {
        joined(threads[at]);
    }
}

static void *takes_and_ends(void *data) {
    (void)data;
    fact("ended", (unsigned long)gettid());
    CHECK(launch() == 0);
    other_take_for_good();
    return NULL;
}

/* A thread ended without letting go. */
static void ended_holding(void) {
    joined(started(takes_and_ends, NULL));
    CHECK(other_take_in(2) == 0);
}

static sem_t taken;

static void *holds(void *data) {
    (void)data;
    fact("holder", (unsigned long)gettid());
    other_hold(&taken);
    return NULL;
}

/* Threads that took the lock and ended are not blamed; the one that has it is. */
static void ended_holding_nothing(void) {
    for (int at = 0; at < 20; at++) {
        joined(started(locks, NULL));
    }
    pthread_t holder = started(holds, NULL);
    wait_for(&taken);
    other_take();
    joined(holder);
}

static pthread_key_t key;

static void call_once_more(void *data) {
    (void)data;
    CHECK(launch() == 0);
}

static void *calls_when_it_ends(void *data) {
    CHECK(pthread_setspecific(key, data) == 0);
    CHECK(launch() == 0);
    return NULL;
}

/* Calls by what a thread runs when it ends. */
static void last_words(void) {
    CHECK(pthread_key_create(&key, call_once_more) == 0);
    for (int at = 0; at < 10; at++) {
        joined(started(calls_when_it_ends, &key));
    }
}

static sem_t cancelled;
static long launches_made;

/* A cancellation is pending all the time, and no call here acts on one. */
static void *calls_although_cancelled(void *data) {
    (void)data;
    while (sem_trywait(&cancelled) != 0) {
        sched_yield();
    }
    for (; launches_made < 20000; launches_made++) {
        CHECK(launch() == 0);
    }
    pthread_testcancel();
    return NULL;
}

static void cancelled_in_calls(void) {
    void *result = NULL;
    pthread_t thread = started(calls_although_cancelled, NULL);
    CHECK(pthread_cancel(thread) == 0 && sem_post(&cancelled) == 0);
    CHECK(pthread_join(thread, &result) == 0);
    printf("cancelled %d after %ld launches\n", result == PTHREAD_CANCELED, launches_made);
}

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static int let_go;

/* The wait is recorded when the lock is released: this thread's first record. */
static void *waits_although_cancelled(void *data) {
    pthread_mutex_lock(&outer);
    sem_post(data);
    other_take();
    let_go = 1;
    pthread_mutex_unlock(&outer);
    pthread_testcancel();
    return NULL;
}

static void *holds_and_cancels(void *data) {
    other_hold_and_cancel(data);
    return NULL;
}

static void cancelled_with_locks(void) {
    void *result = NULL;
    sem_t there;
    sem_init(&there, 0, 0);
    struct other_victim victim = {.taken = &taken};
    pthread_t holder = started(holds_and_cancels, &victim);
    wait_for(&taken);
    victim.thread = started(waits_although_cancelled, &there);
    wait_for(&there);
    __atomic_store_n(&victim.known, 1, __ATOMIC_RELEASE);
    CHECK(pthread_join(victim.thread, &result) == 0);
    joined(holder);
    printf("cancelled %d, let go %d, outer lock %d\n", result == PTHREAD_CANCELED, let_go, pthread_mutex_trylock(&outer));
}

int main(int count, char **words) {
    static const struct scenario all[] = {
        {"two-hundred", two_hundred},
        {"too-many", too_many},
        {"come-and-go", come_and_go},
        {"many-in-turn", many_in_turn},
        {"full", full},
        {"ended-holding", ended_holding},
        {"ended-holding-nothing", ended_holding_nothing},
        {"last-words", last_words},
        {"cancelled-in-calls", cancelled_in_calls},
        {"cancelled-with-locks", cancelled_with_locks},
    };
    sem_init(&taken, 0, 0);
    sem_init(&cancelled, 0, 0);
    bind_driver();
    CHECK(CU(cuInit)(0) == 0 && launch() == 0);
    return RUN_SCENARIO(all);
}
