/*
 * Servers fork in threads while other threads are in calls, wait for locks and hold them. The child goes on in the copy of one
 * thread; it must not wait for any lock that a thread of ours held.
 * Expected: all children end; the parent's calls are recorded.
 */
#include "adversary.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_over;

static void *keeps_calling(void *data) {
    while (!__atomic_load_n(&is_over, __ATOMIC_SEQ_CST)) {
        calls(20);
        slow_call(1);
    }
    return data;
}

static void *keeps_waiting(void *data) {
    while (!__atomic_load_n(&is_over, __ATOMIC_SEQ_CST)) {
        pthread_mutex_lock(&lock);
        nap_us(200);
        pthread_mutex_unlock(&lock);
    }
    return data;
}

static void *keeps_starting(void *data) {
    while (!__atomic_load_n(&is_over, __ATOMIC_SEQ_CST)) {
        joined(started(keeps_waiting, &is_over /* ends at once or with all others */));
    }
    return data;
}

static void *forks(void *data) {
    for (int at = 0; at < 15; at++) {
        pid_t child = fork();
        if (child == 0) {
            /* A mutex of its own, and a thread. */
            static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
            pthread_mutex_lock(&own);
            pthread_mutex_unlock(&own);
            SET(is_over);
            joined(started(keeps_waiting, NULL));
            _exit(3);
        }
        calls(3);
        child_ends(child, 3);
    }
    return data;
}

int main(void) {
    begin();
    pthread_t others[] = {started(keeps_calling, NULL), started(keeps_calling, NULL), started(keeps_waiting, NULL),
                          started(keeps_waiting, NULL), started(keeps_starting, NULL)};
    pthread_t forking[] = {started(forks, NULL), started(forks, NULL)};
    joined(forking[0]), joined(forking[1]);
    SET(is_over);
    for (int at = 0; at < 5; at++) {
        joined(others[at]);
    }
    puts("done");
    return 0;
}
