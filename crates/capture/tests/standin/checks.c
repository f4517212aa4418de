/* Whether locks do what POSIX says they do. Every wait here ends by itself. */
#define _GNU_SOURCE
#include "checks.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int wrong;

#define IS(expected, call)                                                                                       \
    do {                                                                                                         \
        long result_ = (call);                                                                                   \
        if (result_ != (long)(expected)) {                                                                             \
            fprintf(stderr, "%s:%d: %s is %ld, not %ld\n", "checks.c", __LINE__, #call, result_,        \
                    (long)(expected));                                                                           \
            __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);                                                     \
        }                                                                                                        \
    } while (0)

/* Runs `call` on another thread and gives its result. */
struct task {
    int (*call)(void *);
    void *lock;
    int result;
};

static void *run_task(void *data) {
    struct task *task = data;
    task->result = task->call(task->lock);
    return NULL;
}

static int elsewhere(int (*call)(void *), void *lock) {
    struct task task = {call, lock, -1};
    pthread_t thread;
    pthread_create(&thread, NULL, run_task, &task);
    pthread_join(thread, NULL);
    return task.result;
}

static struct timespec in_ms(clockid_t clock, long ms) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += ms * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static const struct timespec never = {1, 1000000000}; /* no time at all */
static const struct timespec long_ago = {1, 0};

static int try_mutex(void *lock) {
    int result = pthread_mutex_trylock(lock);
    return result == 0 ? pthread_mutex_unlock(lock) : result;
}
static int lock_mutex(void *lock) { return pthread_mutex_lock(lock); }
static int unlock_mutex(void *lock) { return pthread_mutex_unlock(lock); }
static int timed_mutex(void *lock) {
    struct timespec until = in_ms(CLOCK_REALTIME, 2);
    return pthread_mutex_timedlock(lock, &until);
}
static int clocked_mutex(void *lock) {
    struct timespec until = in_ms(CLOCK_MONOTONIC, 2);
    return pthread_mutex_clocklock(lock, CLOCK_MONOTONIC, &until);
}
static int mutex_until_never(void *lock) { return pthread_mutex_timedlock(lock, &never); }
static int mutex_until_long_ago(void *lock) { return pthread_mutex_timedlock(lock, &long_ago); }

static void make(pthread_mutex_t *mutex, int type, int robust, int protocol) {
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_settype(&how, type);
    pthread_mutexattr_setrobust(&how, robust);
    pthread_mutexattr_setprotocol(&how, protocol);
    IS(0, pthread_mutex_init(mutex, &how));
    pthread_mutexattr_destroy(&how);
}

/* What holds for a mutex of any type. */
static void any_mutex(int type, int robust, int protocol) {
    pthread_mutex_t mutex;
    make(&mutex, type, robust, protocol);
    IS(0, pthread_mutex_lock(&mutex));
    IS(EBUSY, elsewhere(try_mutex, &mutex));
    IS(ETIMEDOUT, elsewhere(timed_mutex, &mutex));
    if (protocol == PTHREAD_PRIO_NONE) {
        /* glibc waits by the real-time clock only for those that inherit priorities. */
        IS(ETIMEDOUT, elsewhere(clocked_mutex, &mutex));
    }
    IS(EINVAL, elsewhere(mutex_until_never, &mutex));
    IS(ETIMEDOUT, elsewhere(mutex_until_long_ago, &mutex));
    IS(0, pthread_mutex_unlock(&mutex));
    IS(0, elsewhere(try_mutex, &mutex));
    /* Free: the time does not matter. */
    IS(0, pthread_mutex_timedlock(&mutex, &long_ago));
    IS(0, pthread_mutex_unlock(&mutex));
    IS(0, pthread_mutex_timedlock(&mutex, &never));
    IS(0, pthread_mutex_unlock(&mutex));
    IS(0, timed_mutex(&mutex));
    IS(0, pthread_mutex_unlock(&mutex));
    IS(0, pthread_mutex_destroy(&mutex));
}

/* No thread waits by such a clock, and such a time never comes: the lock is not even read. */
static void clock_is_none(void) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct timespec until = in_ms(CLOCK_MONOTONIC, 60000);
    IS(EINVAL, pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC_RAW, &until));
    IS(EINVAL, pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &until));
    IS(0, pthread_mutex_trylock(&mutex));
    IS(0, pthread_mutex_unlock(&mutex));
    IS(0, pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &never));
    IS(0, pthread_mutex_unlock(&mutex));
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    const struct timespec before = {1, -1};
    IS(EINVAL, pthread_rwlock_timedrdlock(&lock, &never));
    IS(EINVAL, pthread_rwlock_timedwrlock(&lock, &never));
    IS(EINVAL, pthread_rwlock_timedwrlock(&lock, &before));
    IS(EINVAL, pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &never));
    IS(EINVAL, pthread_rwlock_clockwrlock(&lock, CLOCK_REALTIME, &before));
    IS(EINVAL, pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC_RAW, &until));
    IS(EINVAL, pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC_RAW, &until));
    IS(0, pthread_rwlock_trywrlock(&lock));
    IS(0, pthread_rwlock_unlock(&lock));
    IS(0, pthread_rwlock_timedwrlock(&lock, &long_ago));
    IS(0, pthread_rwlock_unlock(&lock));
}

static void recursive(void) {
    pthread_mutex_t mutex;
    make(&mutex, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    IS(0, pthread_mutex_lock(&mutex));
    IS(0, pthread_mutex_trylock(&mutex));
    IS(0, pthread_mutex_timedlock(&mutex, &long_ago));
    IS(0, pthread_mutex_unlock(&mutex));
    IS(0, pthread_mutex_unlock(&mutex));
    IS(EBUSY, elsewhere(try_mutex, &mutex));
    IS(EPERM, elsewhere(unlock_mutex, &mutex));
    IS(0, pthread_mutex_unlock(&mutex));
    IS(0, elsewhere(try_mutex, &mutex));
    IS(EPERM, pthread_mutex_unlock(&mutex));
    IS(0, pthread_mutex_destroy(&mutex));
}

static void error_checking(void) {
    pthread_mutex_t mutex;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    make(&mutex, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    IS(EPERM, pthread_mutex_unlock(&mutex));
    IS(EPERM, pthread_cond_wait(&condition, &mutex));
    IS(0, pthread_mutex_lock(&mutex));
    IS(EDEADLK, pthread_mutex_lock(&mutex));
    IS(EBUSY, pthread_mutex_trylock(&mutex));
    IS(EDEADLK, timed_mutex(&mutex));
    IS(EDEADLK, clocked_mutex(&mutex));
    IS(EPERM, elsewhere(unlock_mutex, &mutex));
    IS(EBUSY, elsewhere(try_mutex, &mutex));
    IS(0, pthread_mutex_unlock(&mutex));
    IS(EPERM, pthread_mutex_unlock(&mutex));
    IS(0, elsewhere(try_mutex, &mutex));
    IS(0, pthread_mutex_destroy(&mutex));
}

/* A thread that holds the lock, until it ends, is in the wait. */
static int die_holding_when_wanted(void *data) {
    pthread_mutex_t *mutex = data;
    IS(0, pthread_mutex_lock(mutex));
    __atomic_store_n(&((int *)(mutex + 1))[0], 1, __ATOMIC_RELEASE);
    /* Bit 31 of the lock word: somebody waits. */
    while ((__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) & (int)0x80000000) == 0) {
        sched_yield();
    }
    return 0;
}

static void robust_waiter(void) {
    struct {
        pthread_mutex_t mutex;
        int taken;
    } shared = {.taken = 0};
    make(&shared.mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
    struct task task = {die_holding_when_wanted, &shared, -1};
    pthread_t thread;
    pthread_create(&thread, NULL, run_task, &task);
    while (!__atomic_load_n(&shared.taken, __ATOMIC_ACQUIRE)) {
        sched_yield();
    }
    IS(EOWNERDEAD, pthread_mutex_lock(&shared.mutex));
    IS(0, pthread_mutex_consistent(&shared.mutex));
    IS(0, pthread_mutex_unlock(&shared.mutex));
    pthread_join(thread, NULL);
    IS(0, pthread_mutex_lock(&shared.mutex));
    IS(0, pthread_mutex_unlock(&shared.mutex));
}

static void robust(void) {
    pthread_mutex_t mutex;
    make(&mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
    IS(0, elsewhere(lock_mutex, &mutex));
    IS(EOWNERDEAD, pthread_mutex_lock(&mutex));
    IS(EBUSY, elsewhere(try_mutex, &mutex));
    IS(0, pthread_mutex_consistent(&mutex));
    IS(0, pthread_mutex_unlock(&mutex));
    IS(0, elsewhere(lock_mutex, &mutex));
    IS(EOWNERDEAD, pthread_mutex_trylock(&mutex));
    IS(0, pthread_mutex_unlock(&mutex)); /* not made consistent: of no use any more */
    IS(ENOTRECOVERABLE, pthread_mutex_lock(&mutex));
    IS(ENOTRECOVERABLE, timed_mutex(&mutex));
    IS(ENOTRECOVERABLE, elsewhere(lock_mutex, &mutex));
    IS(ENOTRECOVERABLE, pthread_mutex_lock(&mutex));
    /* Last: glibc's function keeps the lock of a mutex that it says cannot be had. */
    IS(ENOTRECOVERABLE, pthread_mutex_trylock(&mutex));
    IS(0, pthread_mutex_destroy(&mutex));
}

/* Another process takes a lock and ends. */
static void shared_with_child(void) {
    pthread_mutex_t *mutex = mmap(NULL, sizeof *mutex, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
    IS(0, pthread_mutex_init(mutex, &how));
    pid_t child = fork();
    if (child == 0) {
        _exit(pthread_mutex_lock(mutex));
    }
    int status = -1;
    IS(child, waitpid(child, &status, 0));
    IS(0, status);
    IS(EOWNERDEAD, pthread_mutex_lock(mutex));
    IS(0, pthread_mutex_consistent(mutex));
    IS(0, pthread_mutex_unlock(mutex));
    munmap(mutex, sizeof *mutex);
}

/* A ball that two threads pass to each other. */
struct game {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    int ball;
    int clocked;
};

static int play(struct game *game, int self, int rounds) {
    int result = 0;
    result |= pthread_mutex_lock(&game->mutex);
    for (int round = 0; round < rounds; round++) {
        while (game->ball != self) {
            struct timespec until = in_ms(CLOCK_MONOTONIC, 60000);
            result |= game->clocked
                          ? pthread_cond_clockwait(&game->condition, &game->mutex, CLOCK_MONOTONIC, &until)
                          : pthread_cond_wait(&game->condition, &game->mutex);
        }
        game->ball = !self;
        result |= pthread_cond_broadcast(&game->condition);
    }
    result |= pthread_mutex_unlock(&game->mutex);
    return result;
}

static int play_second(void *game) { return play(game, 1, 100); }

static void condition_passes_on(int clocked) {
    struct game game = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, clocked};
    struct task second = {play_second, &game, -1};
    pthread_t thread;
    pthread_create(&thread, NULL, run_task, &second);
    IS(0, play(&game, 0, 100));
    pthread_join(thread, NULL);
    IS(0, second.result);
}

static void condition_times_out(void) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec until = in_ms(CLOCK_REALTIME, 2);
    IS(0, pthread_mutex_lock(&mutex));
    IS(ETIMEDOUT, pthread_cond_timedwait(&condition, &mutex, &until));
    IS(EBUSY, elsewhere(try_mutex, &mutex)); /* held again */
    IS(EINVAL, pthread_cond_timedwait(&condition, &mutex, &never));
    IS(EBUSY, elsewhere(try_mutex, &mutex));
    until = in_ms(CLOCK_MONOTONIC, 2);
    IS(ETIMEDOUT, pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until));
    IS(0, pthread_mutex_unlock(&mutex));
    IS(0, elsewhere(try_mutex, &mutex));
}

static int try_read(void *lock) {
    int result = pthread_rwlock_tryrdlock(lock);
    return result == 0 ? pthread_rwlock_unlock(lock) : result;
}
static int try_write(void *lock) {
    int result = pthread_rwlock_trywrlock(lock);
    return result == 0 ? pthread_rwlock_unlock(lock) : result;
}
static int timed_read(void *lock) {
    struct timespec until = in_ms(CLOCK_REALTIME, 2);
    return pthread_rwlock_timedrdlock(lock, &until);
}
static int timed_write(void *lock) {
    struct timespec until = in_ms(CLOCK_REALTIME, 2);
    return pthread_rwlock_timedwrlock(lock, &until);
}
static int clocked_read(void *lock) {
    struct timespec until = in_ms(CLOCK_MONOTONIC, 2);
    return pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &until);
}
static int clocked_write(void *lock) {
    struct timespec until = in_ms(CLOCK_MONOTONIC, 2);
    return pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &until);
}

static void held_for_reading(pthread_rwlock_t *lock) {
    IS(0, elsewhere(try_read, lock));
    IS(EBUSY, elsewhere(try_write, lock));
    IS(ETIMEDOUT, elsewhere(timed_write, lock));
    IS(ETIMEDOUT, elsewhere(clocked_write, lock));
}

static void held_for_writing(pthread_rwlock_t *lock) {
    IS(EBUSY, elsewhere(try_read, lock));
    IS(EBUSY, elsewhere(try_write, lock));
    IS(ETIMEDOUT, elsewhere(timed_read, lock));
    IS(ETIMEDOUT, elsewhere(timed_write, lock));
    IS(ETIMEDOUT, elsewhere(clocked_read, lock));
    IS(ETIMEDOUT, elsewhere(clocked_write, lock));
    IS(EDEADLK, pthread_rwlock_rdlock(lock));
    IS(EDEADLK, pthread_rwlock_wrlock(lock));
    IS(EBUSY, pthread_rwlock_tryrdlock(lock));
}

static void read_write(int kind) {
    pthread_rwlock_t lock;
    pthread_rwlockattr_t how;
    pthread_rwlockattr_init(&how);
    pthread_rwlockattr_setkind_np(&how, kind);
    IS(0, pthread_rwlock_init(&lock, &how));
    IS(0, pthread_rwlock_rdlock(&lock));
    IS(0, pthread_rwlock_rdlock(&lock));
    held_for_reading(&lock);
    IS(0, pthread_rwlock_unlock(&lock));
    held_for_reading(&lock);
    IS(0, pthread_rwlock_unlock(&lock));
    IS(0, elsewhere(try_write, &lock));
    IS(0, pthread_rwlock_wrlock(&lock));
    held_for_writing(&lock);
    IS(0, pthread_rwlock_unlock(&lock));
    IS(0, timed_write(&lock));
    held_for_writing(&lock);
    IS(0, pthread_rwlock_unlock(&lock));
    IS(0, clocked_read(&lock));
    held_for_reading(&lock);
    IS(0, pthread_rwlock_unlock(&lock));
    IS(0, elsewhere(try_write, &lock));
    IS(0, pthread_rwlock_destroy(&lock));
}

static int try_spin(void *lock) {
    int result = pthread_spin_trylock(lock);
    return result == 0 ? pthread_spin_unlock(lock) : result;
}

static void spinning(void) {
    pthread_spinlock_t lock;
    IS(0, pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
    IS(0, pthread_spin_lock(&lock));
    IS(EBUSY, pthread_spin_trylock(&lock));
    IS(EBUSY, elsewhere(try_spin, (void *)&lock));
    IS(0, pthread_spin_unlock(&lock));
    IS(0, elsewhere(try_spin, (void *)&lock));
    IS(0, pthread_spin_destroy(&lock));
}

/* More locks at once than fit the table, released in another order. */
static void many_at_once(void) {
    enum { MANY = 20 };
    pthread_mutex_t mutexes[MANY];
    for (int at = 0; at < MANY; at++) {
        make(&mutexes[at], PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
        IS(0, pthread_mutex_lock(&mutexes[at]));
    }
    for (int at = 0; at < MANY; at++) {
        IS(EBUSY, elsewhere(try_mutex, &mutexes[at]));
    }
    for (int at = 0; at < MANY; at++) {
        IS(0, pthread_mutex_unlock(&mutexes[at * 7 % MANY]));
        IS(0, elsewhere(try_mutex, &mutexes[at * 7 % MANY]));
        IS(0, pthread_mutex_destroy(&mutexes[at * 7 % MANY]));
    }
}

int check_locks(void) {
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                                PTHREAD_MUTEX_ADAPTIVE_NP};
    wrong = 0;
    for (size_t at = 0; at < sizeof types / sizeof *types; at++) {
        any_mutex(types[at], PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
        any_mutex(types[at], PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
        any_mutex(types[at], PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
    }
    clock_is_none();
    recursive();
    error_checking();
    robust();
    robust_waiter();
    shared_with_child();
    condition_passes_on(0);
    condition_passes_on(1);
    condition_times_out();
    read_write(PTHREAD_RWLOCK_PREFER_READER_NP);
    read_write(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    spinning();
    many_at_once();
    return wrong;
}

/* Sums that only locks keep right. */
static struct {
    pthread_mutex_t plain, recursive;
    pthread_rwlock_t shared;
    pthread_spinlock_t spin;
    pthread_cond_t changed;
    long sums[5];
    long rounds;
} stress;

static void *add_up(void *data) {
    (void)data;
    for (long round = 0; round < stress.rounds; round++) {
        pthread_mutex_lock(&stress.plain);
        stress.sums[0]++;
        pthread_cond_signal(&stress.changed);
        pthread_mutex_unlock(&stress.plain);

        pthread_mutex_lock(&stress.recursive);
        pthread_mutex_lock(&stress.recursive);
        stress.sums[1]++;
        pthread_mutex_unlock(&stress.recursive);
        stress.sums[1]++;
        pthread_mutex_unlock(&stress.recursive);

        pthread_rwlock_rdlock(&stress.shared);
        long before = stress.sums[2];
        pthread_rwlock_unlock(&stress.shared);
        pthread_rwlock_wrlock(&stress.shared);
        stress.sums[2] += before >= 0;
        pthread_rwlock_unlock(&stress.shared);

        /* Held only for a moment: nobody spins while its holder sleeps for long. */
        while (pthread_spin_trylock(&stress.spin) != 0) {
            sched_yield();
        }
        stress.sums[3]++;
        pthread_spin_unlock(&stress.spin);

        if (pthread_mutex_trylock(&stress.plain) != 0) {
            struct timespec until = in_ms(CLOCK_REALTIME, 60000);
            pthread_mutex_timedlock(&stress.plain, &until);
        }
        stress.sums[4]++;
        pthread_mutex_unlock(&stress.plain);
    }
    return NULL;
}

int check_stress(int count, int rounds) {
    pthread_t threads[64];
    make(&stress.plain, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    make(&stress.recursive, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    pthread_rwlock_init(&stress.shared, NULL);
    pthread_spin_init(&stress.spin, PTHREAD_PROCESS_PRIVATE);
    pthread_cond_init(&stress.changed, NULL);
    memset(stress.sums, 0, sizeof stress.sums);
    stress.rounds = rounds;
    for (int at = 0; at < count; at++) {
        pthread_create(&threads[at], NULL, add_up, NULL);
    }
    /* Waits among the others for a sum to be reached. */
    pthread_mutex_lock(&stress.plain);
    while (stress.sums[0] < (long)count * rounds) {
        pthread_cond_wait(&stress.changed, &stress.plain);
    }
    pthread_mutex_unlock(&stress.plain);
    for (int at = 0; at < count; at++) {
        pthread_join(threads[at], NULL);
    }
    wrong = 0;
    for (int at = 0; at < 5; at++) {
        IS((long)count * rounds * (at == 1 ? 2 : 1), stress.sums[at]);
    }
    return wrong;
}

/* A thread that is cancelled in a wait releases the mutex in its cleanup handler. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    int waits;
    int cleaned;
} cancel = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static void clean(void *mutex) {
    cancel.cleaned++;
    pthread_mutex_unlock(mutex);
}

static void *wait_for_ever(void *timed) {
    pthread_mutex_lock(&cancel.mutex);
    pthread_cleanup_push(clean, &cancel.mutex);
    cancel.waits = 1;
    while (1) {
        struct timespec until = in_ms(CLOCK_REALTIME, 600000);
        if (timed) {
            pthread_cond_timedwait(&cancel.condition, &cancel.mutex, &until);
        } else {
            pthread_cond_wait(&cancel.condition, &cancel.mutex);
        }
    }
    pthread_cleanup_pop(1);
    return NULL;
}

int check_cancel(void) {
    wrong = 0;
    for (int timed = 0; timed < 2; timed++) {
        pthread_t thread;
        void *end = NULL;
        int waits = 0;
        pthread_create(&thread, NULL, wait_for_ever, timed ? &cancel : NULL);
        while (!waits) {
            pthread_mutex_lock(&cancel.mutex);
            waits = cancel.waits;
            pthread_mutex_unlock(&cancel.mutex);
        }
        cancel.waits = 0;
        pthread_cancel(thread);
        IS(0, pthread_join(thread, &end));
        IS(1, end == PTHREAD_CANCELED);
        IS(timed + 1, cancel.cleaned);
        IS(0, elsewhere(try_mutex, &cancel.mutex));
    }
    cancel.cleaned = 0;
    return wrong;
}

double lock_cost(long count) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long at = 0; at < count; at++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / (double)count;
}
