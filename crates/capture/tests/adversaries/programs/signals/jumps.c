/*
 * Interpreters leave a long operation by `siglongjmp` out of a signal handler, and runtimes recover so from SIGSEGV. The only word
 * names what the jump leaves.
 * Expected: it ends as bare; the call that was left never ended, later ones are recorded.
 */
#include "adversary.h"

#include <setjmp.h>
#include <sys/time.h>

static sigjmp_buf back;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void jumps(int signal) { siglongjmp(back, signal); }

static void alarm_after_ms(long ms) {
    struct itimerval once = {{0, 0}, {0, ms * 1000}};
    CHECK(signal(SIGALRM, jumps) != SIG_ERR && setitimer(ITIMER_REAL, &once, NULL) == 0);
}

/* Leaves the driver with a lock of it shared, which hinders no launch. */
static void out_of_call(void) {
    for (volatile int at = 0; at < 5; at++) {
        if (sigsetjmp(back, 1) == 0) {
            alarm_after_ms(5);
            slow_call(1000);
        }
        calls(10);
    }
}

static void *holds(void *data) {
    pthread_mutex_lock(&lock);
    SET(*(int *)data);
    nap_us(60000);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void out_of_wait(void) {
    static int is_held;
    pthread_t holder = started(holds, &is_held);
    AWAIT(is_held);
    if (sigsetjmp(back, 1) == 0) {
        alarm_after_ms(5);
        pthread_mutex_lock(&lock);
    }
    calls(10);
    joined(holder);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    calls(10);
}

static void out_of_semaphore(void) {
    sem_t never;
    sem_init(&never, 0, 0);
    for (volatile int at = 0; at < 5; at++) {
        if (sigsetjmp(back, 1) == 0) {
            alarm_after_ms(5);
            sem_wait(&never);
        }
        calls(10);
    }
}

/* As a runtime does for null references. */
static void out_of_fault(void) {
    CHECK(signal(SIGSEGV, jumps) != SIG_ERR && signal(SIGBUS, jumps) != SIG_ERR);
    for (volatile int at = 0; at < 200; at++) {
        if (sigsetjmp(back, 1) == 0) {
            *(volatile int *)16 = at;
        }
        calls(2);
    }
}

/* The driver is given a place that is not there: the fault is within a call. */
static void out_of_fault_in_call(void) {
    CHECK(signal(SIGSEGV, jumps) != SIG_ERR);
    for (volatile int at = 0; at < 20; at++) {
        if (sigsetjmp(back, 1) == 0) {
            CU(cuDriverGetVersion)((int *)16);
        }
        calls(2);
    }
}

int main(int count, char **words) {
    static const struct scenario all[] = {{"call", out_of_call}, {"wait", out_of_wait}, {"semaphore", out_of_semaphore},
                                          {"fault", out_of_fault}, {"fault-in-call", out_of_fault_in_call}};
    begin();
    calls(10);
    return RUN_SCENARIO(all);
}
