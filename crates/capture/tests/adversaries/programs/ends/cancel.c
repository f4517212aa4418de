/*
 * Thread pools of C end their threads by `pthread_cancel`, deferred or at once. The first word names what the thread does, the
 * second one is "at-once" for a thread that may be cancelled anywhere.
 * Expected: its clean-up handlers run as bare; what other threads call is recorded.
 */
#include "adversary.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t never;
static int at_once, is_ready, cleaned;

static void cleans(void *data) { cleaned += *(int *)data; }

static void waits(void) {
    pthread_mutex_lock(&lock);
    SET(is_ready);
    pthread_cleanup_push((void (*)(void *))(void *)pthread_mutex_unlock, &lock);
    pthread_cond_wait(&condition, &lock);
    pthread_cleanup_pop(1);
}

static void waits_for_semaphore(void) {
    SET(is_ready);
    sem_wait(&never);
}

static void *sleeps(void *data) {
    nap_us(60000);
    return data;
}

static void joins(void) {
    pthread_t thread = started(sleeps, NULL);
    SET(is_ready);
    pthread_join(thread, NULL);
}

/* The driver sleeps, with a lock that it shares. */
static void is_in_call(void) {
    SET(is_ready);
    slow_call(10000);
}

static void calls_on(void) {
    SET(is_ready);
    for (;;) {
        calls(1);
        pthread_testcancel();
    }
}

static void locks_on(void) {
    SET(is_ready);
    for (;;) {
        int type;
        pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        pthread_setcanceltype(type, NULL);
        pthread_testcancel();
    }
}

static void (*runs)(void);

static void *is_cancelled(void *data) {
    int one = 1;
    if (at_once) {
        CHECK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL) == 0);
    }
    pthread_cleanup_push(cleans, &one);
    runs();
    pthread_cleanup_pop(0);
    return data;
}

int main(int count, char **words) {
    static const struct scenario all[] = {{"wait", waits},      {"semaphore", waits_for_semaphore}, {"join", joins},
                                          {"call", is_in_call}, {"calls", calls_on},               {"locks", locks_on}};
    begin();
    at_once = count == 3 && strcmp(words[2], "at-once") == 0;
    for (size_t at = 0; count > 1 && at < sizeof all / sizeof *all; at++) {
        runs = strcmp(words[1], all[at].name) == 0 ? all[at].run : runs;
    }
    for (int at = 0; runs && at < 10; at++) {
        void *result = NULL;
        is_ready = 0;
        pthread_t thread = started(is_cancelled, NULL);
        AWAIT(is_ready);
        nap_us(1000 + at * 100);
        CHECK(pthread_cancel(thread) == 0);
        CHECK(pthread_join(thread, &result) == 0);
        CHECK(result == PTHREAD_CANCELED);
        calls(10);
    }
    printf("cleaned %d\n", cleaned);
    return runs ? 0 : 98;
}
