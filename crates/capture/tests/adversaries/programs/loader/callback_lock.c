/*
 * jemalloc's and tcmalloc's heap profilers, libunwind and crash reporters take a lock of their own in a callback of
 * `dl_iterate_phdr`, within which the C library holds a lock of the loader. Meanwhile the thread that holds their lock
 * does something that the only word names; nothing of it needs the loader's lock, so the program ends.
 * Expected: it ends as bare, and every call is recorded.
 */
#include "adversary.h"

#include <link.h>

static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static int is_held, is_within, is_ready;

static int locks(struct dl_phdr_info *info, size_t size, void *data) {
    (void)info, (void)size, (void)data;
    SET(is_within);
    pthread_mutex_lock(&own);
    pthread_mutex_unlock(&own);
    return 1;
}

static void *iterates(void *data) {
    AWAIT(is_held);
    dl_iterate_phdr(locks, NULL);
    return data;
}

/* Holds what the holder of `own` waits for. */
static void *holds(void *data) {
    pthread_mutex_lock(&other);
    pthread_rwlock_wrlock(&rwlock);
    SET(is_ready);
    AWAIT(is_within);
    nap_us(30000);
    pthread_cond_signal(&condition);
    sem_post(&semaphore);
    pthread_rwlock_unlock(&rwlock);
    pthread_mutex_unlock(&other);
    return data;
}

static void *naps(void *data) {
    AWAIT(is_within);
    nap_us(30000);
    return data;
}

static void waits_for_mutex(void) {
    pthread_mutex_lock(&other);
    pthread_mutex_unlock(&other);
}

static void waits_for_rwlock(void) {
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
}

static void waits_for_condition(void) {
    static pthread_mutex_t of_condition = PTHREAD_MUTEX_INITIALIZER;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += 60000000;
    end.tv_sec += end.tv_nsec / 1000000000, end.tv_nsec %= 1000000000;
    pthread_mutex_lock(&of_condition);
    pthread_cond_timedwait(&condition, &of_condition, &end);
    pthread_mutex_unlock(&of_condition);
}

static void waits_for_semaphore(void) { wait_for(&semaphore); }
static void joins(void) { joined(started(naps, NULL)); }
static void calls_shortly(void) { calls(1000); }
static void calls_slowly(void) { slow_call(30); }
/* Its call has a stack, and so has one after a pause. */
static void calls_after_pause(void) {
    nap_us(5000);
    calls(1);
}

static void looks_up(void) {
    for (int at = 0; at < 100; at++) {
        CHECK(dlsym(RTLD_DEFAULT, "cuLaunchKernel") && !dlsym(RTLD_DEFAULT, "cuNothing") && dlsym(RTLD_NEXT, "puts"));
    }
}

static void opens(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    CHECK(driver && dlclose(driver) == 0);
}

static void *waits_for_own(void *data) {
    AWAIT(is_held);
    pthread_mutex_lock(&other);
    SET(is_ready);
    pthread_mutex_lock(&own);
    pthread_mutex_unlock(&own);
    pthread_mutex_unlock(&other);
    return data;
}

/* Another thread, besides the one within the callback, waits for the lock that it releases. */
static void releases(void) { nap_us(30000); }

int main(int count, char **words) {
    static const struct {
        const char *name;
        void (*run)(void);
        void *(*beside)(void *);
    } all[] = {
        {"mutex", waits_for_mutex, holds},
        {"rwlock", waits_for_rwlock, holds},
        {"condition", waits_for_condition, holds},
        {"semaphore", waits_for_semaphore, holds},
        {"join", joins, NULL},
        {"short-calls", calls_shortly, NULL},
        {"slow-call", calls_slowly, NULL},
        {"call-after-pause", calls_after_pause, NULL},
        {"dlsym", looks_up, NULL},
        {"dlopen", opens, NULL},
        {"release", releases, waits_for_own},
    };
    begin();
    calls(10);
    sem_init(&semaphore, 0, 0);
    for (size_t at = 0; count == 2 && at < sizeof all / sizeof *all; at++) {
        if (strcmp(words[1], all[at].name) == 0) {
            pthread_t iterating = started(iterates, NULL), beside = 0;
            if (all[at].beside == holds) {
                beside = started(holds, NULL);
                AWAIT(is_ready);
            }
            pthread_mutex_lock(&own);
            SET(is_held);
            if (all[at].beside == waits_for_own) {
                beside = started(waits_for_own, NULL);
            }
            AWAIT(is_within);
            nap_us(2000);
            all[at].run();
            pthread_mutex_unlock(&own);
            joined(iterating);
            if (beside) {
                joined(beside);
            }
            calls(10);
            puts("done");
            return 0;
        }
    }
    return 98;
}
