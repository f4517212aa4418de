/* The locks of the program, each of which checks that it excludes. */
#include "orders.h"

static void make_mutex(pthread_mutex_t *mutex, enum kind kind) {
    pthread_mutexattr_t how;
    NEED(pthread_mutexattr_init(&how) == 0);
    int type = kind == RECURSIVE  ? PTHREAD_MUTEX_RECURSIVE
               : kind == ADAPTIVE ? PTHREAD_MUTEX_ADAPTIVE_NP
               : kind == CHECKED  ? PTHREAD_MUTEX_ERRORCHECK
                                  : PTHREAD_MUTEX_NORMAL;
    NEED(pthread_mutexattr_settype(&how, type) == 0);
    if (kind == ROBUST) {
        NEED(pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST) == 0);
    }
    if (kind == INHERITING) {
        NEED(pthread_mutexattr_setprotocol(&how, PTHREAD_PRIO_INHERIT) == 0);
    }
    NEED(pthread_mutex_init(mutex, &how) == 0);
    NEED(pthread_mutexattr_destroy(&how) == 0);
}

static void make_rwlock(pthread_rwlock_t *lock, enum kind kind) {
    pthread_rwlockattr_t how;
    NEED(pthread_rwlockattr_init(&how) == 0);
    if (kind == FAIR_RWLOCK) {
        NEED(pthread_rwlockattr_setkind_np(&how, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) == 0);
    }
    NEED(pthread_rwlock_init(lock, &how) == 0);
    NEED(pthread_rwlockattr_destroy(&how) == 0);
}

void make_lock(struct lock *lock) {
    switch (lock->kind) {
    case LOADER:
    case STORAGE:
    case OBJECTS: return;
    case RWLOCK:
    case FAIR_RWLOCK: make_rwlock(&lock->rwlock, lock->kind); return;
    case SEMAPHORE: NEED(sem_init(&lock->semaphore, 0, 1) == 0); return;
    case MONITOR:
        NEED(pthread_mutex_init(&lock->monitor.mutex, NULL) == 0);
        NEED(pthread_cond_init(&lock->monitor.condition, NULL) == 0);
        return;
    default: make_mutex(&lock->mutex, lock->kind);
    }
}

/* Longer than a program takes, and hardly any time. */
static struct timespec patience(clockid_t clock, enum how how) { return later(clock, how == IMPATIENT ? 1 : 600000); }

/* 0, or why the lock is not had: EBUSY or ETIMEDOUT. */
static int acquire_mutex(pthread_mutex_t *mutex, enum kind kind, enum how how) {
    /* glibc waits by this clock alone for mutexes that inherit priorities. */
    clockid_t clock = how == CLOCKED && kind != INHERITING ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    struct timespec until = patience(clock, how);
    int result = how == PLAIN                ? pthread_mutex_lock(mutex)
                 : how == TRIED              ? pthread_mutex_trylock(mutex)
                 : clock == CLOCK_MONOTONIC ? pthread_mutex_clocklock(mutex, clock, &until)
                                             : pthread_mutex_timedlock(mutex, &until);
    if (result == EOWNERDEAD) {
        NEED(pthread_mutex_consistent(mutex) == 0);
        return 0;
    }
    return result;
}

static int acquire_rwlock(pthread_rwlock_t *lock, enum how how, int is_shared) {
    struct timespec until = patience(how == CLOCKED ? CLOCK_MONOTONIC : CLOCK_REALTIME, how);
    switch (how) {
    case PLAIN: return is_shared ? pthread_rwlock_rdlock(lock) : pthread_rwlock_wrlock(lock);
    case TRIED: return is_shared ? pthread_rwlock_tryrdlock(lock) : pthread_rwlock_trywrlock(lock);
    case CLOCKED:
        return is_shared ? pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &until)
                         : pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &until);
    default:
        return is_shared ? pthread_rwlock_timedrdlock(lock, &until) : pthread_rwlock_timedwrlock(lock, &until);
    }
}

static int acquire_semaphore(sem_t *semaphore, enum how how) {
    struct timespec until = patience(how == CLOCKED ? CLOCK_MONOTONIC : CLOCK_REALTIME, how);
    for (;;) {
        int result = how == PLAIN     ? sem_wait(semaphore)
                     : how == TRIED   ? sem_trywait(semaphore)
                     : how == CLOCKED ? sem_clockwait(semaphore, CLOCK_MONOTONIC, &until)
                                      : sem_timedwait(semaphore, &until);
        if (result == 0) {
            return 0;
        }
        if (errno != EINTR) {
            return errno == EAGAIN ? EBUSY : errno;
        }
        me->interrupted++;
    }
}

/* A lock made of a mutex, a condition and a flag. */
static int acquire_monitor(struct lock *lock, enum how how) {
    struct timespec until = patience(how == CLOCKED ? CLOCK_MONOTONIC : CLOCK_REALTIME, how);
    pthread_mutex_t *mutex = &lock->monitor.mutex;
    pthread_cond_t *condition = &lock->monitor.condition;
    int result = 0;
    NEED(pthread_mutex_lock(mutex) == 0);
    announce();
    while (lock->monitor.is_held && result == 0) {
        result = how == TRIED     ? EBUSY
                 : how == PLAIN   ? pthread_cond_wait(condition, mutex)
                 : how == CLOCKED ? pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &until)
                                  : pthread_cond_timedwait(condition, mutex, &until);
    }
    if (!lock->monitor.is_held) {
        lock->monitor.is_held = 1, result = 0;
    }
    NEED(pthread_mutex_unlock(mutex) == 0);
    return result;
}

static int acquire_any(struct lock *lock, enum how how, int is_shared) {
    enum { SENTINEL = 12345 };
    int result;
    if (lock->kind != MONITOR) {
        announce();
    }
    switch (lock->kind) {
    case SEMAPHORE: return acquire_semaphore(&lock->semaphore, how);
    case RWLOCK:
    case FAIR_RWLOCK: errno = SENTINEL, result = acquire_rwlock(&lock->rwlock, how, is_shared); break;
    case MONITOR: errno = SENTINEL, result = acquire_monitor(lock, how); break;
    default: errno = SENTINEL, result = acquire_mutex(&lock->mutex, lock->kind, how);
    }
    NEED(errno == SENTINEL);
    return result;
}

/* Inside a lock now: whether nobody else is who must not be. */
static void enter(struct lock *lock, int is_shared) {
    if (is_shared) {
        __atomic_add_fetch(&lock->readers, 1, __ATOMIC_SEQ_CST);
        NEED(__atomic_load_n(&lock->owner, __ATOMIC_SEQ_CST) == 0);
        return;
    }
    int before = __atomic_exchange_n(&lock->owner, me->tid, __ATOMIC_SEQ_CST);
    NEED(before == 0 || (before == me->tid && lock->kind == RECURSIVE));
    NEED(__atomic_load_n(&lock->readers, __ATOMIC_SEQ_CST) == 0);
    lock->depth++;
    lock->sum++;
    me->entered++;
}

static void leave(struct lock *lock, int is_shared) {
    if (is_shared) {
        __atomic_sub_fetch(&lock->readers, 1, __ATOMIC_SEQ_CST);
    } else if (--lock->depth == 0) {
        __atomic_store_n(&lock->owner, 0, __ATOMIC_SEQ_CST);
    }
}

int may_enter(int rank) { return rank > me->top || me->held[rank]; }

void enter_rank(int rank) {
    NEED(may_enter(rank));
    me->held[rank]++;
    me->top = rank > me->top ? rank : me->top;
}

void leave_rank(int rank) {
    me->held[rank]--;
    while (me->top > me->floor && !me->held[me->top]) {
        me->top--;
    }
}

int acquire(int rank, enum how how, int is_shared) {
    struct lock *lock = &program.locks[rank];
    NEED(how == TRIED || rank > me->top || (me->held[rank] && lock->kind == RECURSIVE));
    int result = acquire_any(lock, how, is_shared);
    if (result != 0) {
        NEED(result == (how == TRIED ? EBUSY : ETIMEDOUT) && how >= TRIED);
        return 0;
    }
    enter(lock, is_shared);
    if (lock->kind == CHECKED && lock->sum % 4 == 0) {
        NEED(pthread_mutex_lock(&lock->mutex) == EDEADLK);
    }
    me->held[rank]++;
    me->top = rank > me->top ? rank : me->top;
    return 1;
}

void release(int rank, int is_shared) {
    struct lock *lock = &program.locks[rank];
    leave_rank(rank);
    leave(lock, is_shared);
    switch (lock->kind) {
    case LOADER:
    case STORAGE:
    case OBJECTS: NEED(0); return;
    case RWLOCK:
    case FAIR_RWLOCK: NEED(pthread_rwlock_unlock(&lock->rwlock) == 0); return;
    case SEMAPHORE: NEED(sem_post(&lock->semaphore) == 0); return;
    case MONITOR:
        NEED(pthread_mutex_lock(&lock->monitor.mutex) == 0);
        lock->monitor.is_held = 0;
        NEED(pthread_cond_signal(&lock->monitor.condition) == 0);
        NEED(pthread_mutex_unlock(&lock->monitor.mutex) == 0);
        return;
    default: NEED(pthread_mutex_unlock(&lock->mutex) == 0);
    }
}

void abandon(int rank) {
    leave_rank(rank);
    leave(&program.locks[rank], 0);
}

int is_rwlock(int rank) { return program.locks[rank].kind == RWLOCK || program.locks[rank].kind == FAIR_RWLOCK; }

uintptr_t recorded_address(const struct lock *lock) {
    return lock->kind == MONITOR ? (uintptr_t)&lock->monitor.condition : (uintptr_t)&lock->mutex;
}

enum recorded recorded_kind(const struct lock *lock) {
    return lock->kind == RWLOCK || lock->kind == FAIR_RWLOCK ? AS_RWLOCK
           : lock->kind == SEMAPHORE                        ? AS_SEMAPHORE
           : lock->kind == MONITOR                          ? AS_CONDITION
                                                            : AS_MUTEX;
}
