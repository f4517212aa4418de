/*
 * Sampling profilers and watchdogs have a timer interrupt the program a thousand times a second, on any thread and anywhere; what
 * the handler does the only word names.
 * Expected: it ends as bare, and every call is recorded, those of the handler, too, or counted where the handler interrupted the
 * writing of a record.
 */
#include "adversary.h"

#include <execinfo.h>
#include <sys/time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, of_handlers = PTHREAD_MUTEX_INITIALIZER;
static volatile int handled;

static void unwinds(int signal) {
    void *frames[64];
    int before = errno;
    (void)signal;
    CHECK(backtrace(frames, 64) > 0);
    handled++, errno = before;
}

/* Waits for a lock that another thread's handler has. */
static void waits(int signal) {
    (void)signal;
    pthread_mutex_lock(&of_handlers);
    for (volatile int at = 0; at < 10000; at++) {
    }
    pthread_mutex_unlock(&of_handlers);
    handled++;
}

static void launches(int signal) {
    (void)signal;
    calls(1);
    handled++;
}

static void posts(int signal) {
    static sem_t semaphore;
    (void)signal;
    sem_post(&semaphore);
    sem_trywait(&semaphore);
    handled++;
}

static void *works(void *data) {
    unsigned long end = now_ns() + 150000000;
    while (now_ns() < end) {
        calls(20);
        slow_call(1);
        pthread_mutex_lock(&lock);
        nap_us(200);
        pthread_mutex_unlock(&lock);
    }
    return data;
}

/* The kernel gives a process's signal to its main thread, unless that blocks it. */
static void block_alarm(void) {
    sigset_t alarm;
    sigemptyset(&alarm), sigaddset(&alarm, SIGALRM);
    CHECK(pthread_sigmask(SIG_BLOCK, &alarm, NULL) == 0);
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        void (*handle)(int);
        int timer, signal;
    } all[] = {
        {"unwinds", unwinds, ITIMER_REAL, SIGALRM}, {"unwinds-prof", unwinds, ITIMER_PROF, SIGPROF},
        {"waits", waits, ITIMER_REAL, SIGALRM},     {"calls", launches, ITIMER_REAL, SIGALRM},
        {"posts", posts, ITIMER_REAL, SIGALRM},     {"calls-within", launches, ITIMER_REAL, SIGALRM},
    };
    void *frame;
    backtrace(&frame, 1);
    begin();
    for (size_t at = 0; count == 2 && at < sizeof all / sizeof *all; at++) {
        if (strcmp(words[1], all[at].name) == 0) {
            struct sigaction action = {.sa_handler = all[at].handle, .sa_flags = SA_RESTART};
            struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
            CHECK(sigaction(all[at].signal, &action, NULL) == 0 && setitimer(all[at].timer, &often, NULL) == 0);
            pthread_t threads[] = {started(works, NULL), started(works, NULL), started(works, NULL)};
            if (strcmp(words[1], "calls-within") == 0) {
                block_alarm();
            }
            for (int thread = 0; thread < 3; thread++) {
                joined(threads[thread]);
            }
            CHECK(setitimer(all[at].timer, &never, NULL) == 0);
            CHECK(handled > 0 || all[at].timer == ITIMER_PROF);
            puts("done");
            return 0;
        }
    }
    return 98;
}
