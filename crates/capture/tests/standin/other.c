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
    /* A thread that gives up leaves this at 2, too: the next wait is by time. */
    while (__atomic_load_n(&lock.__data.__lock, __ATOMIC_RELAXED) != 2) {
        sched_yield();
    }
    sleep_ms(8);
    pthread_mutex_unlock(&lock);
}

void other_hold_and_cancel(struct other_victim *victim) {
    pthread_mutex_lock(&lock);
    sem_post(victim->taken);
    while (!__atomic_load_n(&victim->known, __ATOMIC_ACQUIRE) ||
           __atomic_load_n(&lock.__data.__lock, __ATOMIC_RELAXED) != 2) {
        sched_yield();
    }
    pthread_cancel(victim->thread);
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

/* Processor time that the thread which wants the spin lock had used by then, ns; 0 for none yet. */
static long wanted_since;

static long used_by(pthread_t thread) {
    clockid_t clock;
    struct timespec time = {0, 0};
    pthread_getcpuclockid(thread, &clock);
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

void other_spin_hold(sem_t *taken, pthread_t other) {
    pthread_spin_lock(&spin);
    sem_post(taken);
    long since = 0;
    /* Nobody sees whether somebody spins, but what it costs. */
    while (since == 0 || used_by(other) < since + 2000000) {
        since = __atomic_load_n(&wanted_since, __ATOMIC_ACQUIRE);
        sched_yield();
    }
    pthread_spin_unlock(&spin);
}

void other_spin_take(void) {
    __atomic_store_n(&wanted_since, used_by(pthread_self()), __ATOMIC_RELEASE);
    pthread_spin_lock(&spin);
    pthread_spin_unlock(&spin);
}

void *other_lock(void) { return &lock; }
