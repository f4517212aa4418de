/* A library with locks of its own, to be told apart from the driver's. */
#define _GNU_SOURCE
#include "other.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t spin;

__attribute__((constructor)) static void prepare(void) { pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE); }

static struct timespec after(clockid_t clock, long ms) {
    struct timespec time = {0, 0};
    clock_gettime(clock, &time);
    time.tv_nsec += ms * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static void sleep_ms(long ms) {
    struct timespec until = after(CLOCK_MONOTONIC, ms);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
    }
}

void other_hold(sem_t *taken) {
    pthread_mutex_lock(&lock);
    sem_post(taken);
    /* Whoever gives up leaves this at 2, too: the next one is waited for by time. */
    while (__atomic_load_n(&lock.__data.__lock, __ATOMIC_RELAXED) != 2) {
        sched_yield();
    }
    sleep_ms(8);
    pthread_mutex_unlock(&lock);
}

void other_take(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

void other_take_for_good(void) { pthread_mutex_lock(&lock); }

int other_take_in(long ms) {
    struct timespec until = after(CLOCK_REALTIME, ms);
    int result = pthread_mutex_timedlock(&lock, &until);
    if (result == 0) {
        pthread_mutex_unlock(&lock);
    }
    return result == 0;
}

void other_spin(sem_t *taken, long ms) {
    pthread_spin_lock(&spin);
    if (taken) {
        sem_post(taken);
        sleep_ms(ms);
    }
    pthread_spin_unlock(&spin);
}

void *other_lock(void) { return &lock; }
