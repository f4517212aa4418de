/*
 * Servers have thousands of threads, or start one for each request. The first word names which.
 * Expected: it ends as bare; calls of threads beyond those that can be known are counted.
 */
#include "adversary.h"

#include <limits.h>

enum { AT_ONCE = 2000, IN_TURN = 3000 };
static int go_on;
static sem_t ready;

static pthread_t small(void *(*run)(void *), void *data) {
    pthread_attr_t attributes;
    pthread_t thread;
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 64 * 1024) == 0);
    int failed = pthread_create(&thread, &attributes, run, data);
    if (failed == EAGAIN) {
        cannot("this machine permits too few threads");
    }
    CHECK(failed == 0);
    return thread;
}

static void *waits(void *data) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    calls(1);
    sem_post(&ready);
    while (!__atomic_load_n(&go_on, __ATOMIC_SEQ_CST)) {
        nap_us(20000);
    }
    pthread_mutex_lock(&lock);
    calls(1);
    pthread_mutex_unlock(&lock);
    return data;
}

static void at_once(void) {
    static pthread_t threads[AT_ONCE];
    for (int at = 0; at < AT_ONCE; at++) {
        threads[at] = small(waits, NULL);
    }
    for (int at = 0; at < AT_ONCE; at++) {
        wait_for(&ready);
    }
    SET(go_on);
    for (int at = 0; at < AT_ONCE; at++) {
        joined(threads[at]);
    }
}

static void *calls_once(void *data) {
    calls(1);
    return data;
}

static void in_turn(void) {
    for (int at = 0; at < IN_TURN; at++) {
        joined(small(calls_once, NULL));
    }
}

/* Nobody joins them: they end some time after their call. */
static void *calls_and_posts(void *data) {
    calls(1);
    sem_post(&ready);
    return data;
}

static void detached(void) {
    for (int at = 0; at < IN_TURN; at++) {
        CHECK(pthread_detach(small(calls_and_posts, NULL)) == 0);
        wait_for(&ready);
    }
}

/* Values of threads whose destructors call the driver, again and again. */
static pthread_key_t key;

static void calls_late(void *times) {
    calls(1);
    if ((intptr_t)times > 1) {
        pthread_setspecific(key, (void *)((intptr_t)times - 1));
    }
}

static void *has_value(void *data) {
    CHECK(pthread_setspecific(key, (void *)(intptr_t)PTHREAD_DESTRUCTOR_ITERATIONS) == 0);
    return data;
}

static void destructors(void) {
    CHECK(pthread_key_create(&key, calls_late) == 0);
    for (int at = 0; at < 100; at++) {
        joined(small(has_value, NULL));
    }
}

/* All keys that there are; the library under test has had its own before. */
static void keys(void) {
    pthread_key_t one;
    int count = 0;
    while (pthread_key_create(&one, NULL) == 0) {
        CHECK(pthread_setspecific(one, &one) == 0);
        count++;
    }
    CHECK(count > 100);
    joined(small(calls_once, NULL));
}

int main(int count, char **words) {
    static const struct scenario all[] = {{"at-once", at_once}, {"in-turn", in_turn}, {"detached", detached},
                                          {"destructors", destructors}, {"keys", keys}};
    sem_init(&ready, 0, 0);
    begin();
    calls(10);
    return RUN_SCENARIO(all);
}
