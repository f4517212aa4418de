/*
 * What POSIX says of locks in unusual cases: owners that die, priorities that are inherited, errors that are checked, errno that
 * stays as it was. The program prints each result.
 * Expected: the same results as bare.
 */
#include "adversary.h"

#include <sys/prctl.h>
#include <threads.h>

/* A function's result, and that it left errno alone. */
#define SHOW(call)                                                                                               \
    do {                                                                                                         \
        errno = 4321;                                                                                            \
        long result = (long)(call);                                                                              \
        printf("%s: %ld, errno %d\n", #call, result, errno);                                                     \
    } while (0)

static pthread_mutex_t mutex_of(int type, int protocol, int robust) {
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    CHECK(pthread_mutexattr_init(&attributes) == 0 && pthread_mutexattr_settype(&attributes, type) == 0);
    CHECK(pthread_mutexattr_setprotocol(&attributes, protocol) == 0);
    CHECK(pthread_mutexattr_setrobust(&attributes, robust) == 0);
    CHECK(pthread_mutex_init(&mutex, &attributes) == 0);
    return mutex;
}

static pthread_mutex_t normal, checked, recursive, robust, inherited, robust_inherited;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;

static struct timespec after_ms(clockid_t clock, long ms) {
    struct timespec end;
    clock_gettime(clock, &end);
    end.tv_nsec += ms * 1000000;
    end.tv_sec += end.tv_nsec / 1000000000, end.tv_nsec %= 1000000000;
    return end;
}

static void *dies_with(void *mutex) {
    pthread_mutex_lock((pthread_mutex_t *)mutex);
    return NULL;
}

static void robust_ones(void) {
    joined(started(dies_with, &robust)), joined(started(dies_with, &robust_inherited));
    SHOW(pthread_mutex_lock(&robust));
    SHOW(pthread_mutex_consistent(&robust));
    SHOW(pthread_mutex_unlock(&robust));
    SHOW(pthread_mutex_trylock(&robust_inherited));
    SHOW(pthread_mutex_unlock(&robust_inherited));
    SHOW(pthread_mutex_lock(&robust_inherited));
    /* An owner dies while another one waits. */
}

static void *holds_and_dies(void *data) {
    pthread_mutex_lock(&robust);
    SET(*(int *)data);
    nap_us(20000);
    return NULL;
}

static void robust_one_waited_for(void) {
    int is_held = 0;
    pthread_t holder = started(holds_and_dies, &is_held);
    AWAIT(is_held);
    SHOW(pthread_mutex_lock(&robust));
    SHOW(pthread_mutex_consistent(&robust));
    SHOW(pthread_mutex_unlock(&robust));
    joined(holder);
}

static void checked_ones(void) {
    struct timespec end = after_ms(CLOCK_REALTIME, 5), later = after_ms(CLOCK_MONOTONIC, 10);
    SHOW(pthread_mutex_unlock(&checked));
    SHOW(pthread_mutex_lock(&checked));
    SHOW(pthread_mutex_lock(&checked));
    SHOW(pthread_mutex_trylock(&checked));
    SHOW(pthread_mutex_timedlock(&checked, &end));
    SHOW(pthread_mutex_unlock(&checked));
    SHOW(pthread_mutex_lock(&recursive));
    SHOW(pthread_mutex_lock(&recursive));
    SHOW(pthread_mutex_unlock(&recursive));
    SHOW(pthread_mutex_unlock(&recursive));
    SHOW(pthread_mutex_unlock(&recursive));
    SHOW(pthread_mutex_lock(&normal));
    SHOW(pthread_mutex_timedlock(&normal, &end));
    SHOW(pthread_mutex_clocklock(&normal, CLOCK_MONOTONIC, &later));
    SHOW(pthread_mutex_clocklock(&normal, CLOCK_PROCESS_CPUTIME_ID, &later));
    end.tv_nsec = -1;
    SHOW(pthread_mutex_timedlock(&normal, &end));
    SHOW(pthread_mutex_destroy(&normal));
    SHOW(pthread_mutex_unlock(&normal));
}

static void rwlocks(void) {
    struct timespec end = after_ms(CLOCK_REALTIME, 5), later = after_ms(CLOCK_MONOTONIC, 10);
    SHOW(pthread_rwlock_wrlock(&rwlock));
    SHOW(pthread_rwlock_wrlock(&rwlock));
    SHOW(pthread_rwlock_rdlock(&rwlock));
    SHOW(pthread_rwlock_trywrlock(&rwlock));
    SHOW(pthread_rwlock_timedrdlock(&rwlock, &end));
    SHOW(pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &later));
    SHOW(pthread_rwlock_unlock(&rwlock));
    SHOW(pthread_rwlock_rdlock(&rwlock));
    SHOW(pthread_rwlock_unlock(&rwlock));
}

static void *keeps_barrier(void *data) {
    int result = pthread_barrier_wait(&barrier);
    return result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD ? data : NULL;
}

static void others(void) {
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec end = after_ms(CLOCK_REALTIME, 5), later = after_ms(CLOCK_MONOTONIC, 10);
    SHOW(pthread_mutex_lock(&normal));
    SHOW(pthread_cond_timedwait(&condition, &normal, &end));
    SHOW(pthread_cond_clockwait(&condition, &normal, CLOCK_MONOTONIC, &later));
    SHOW(pthread_mutex_unlock(&normal));
    SHOW(pthread_cond_timedwait(&condition, &checked, &end));
    SHOW(pthread_cond_signal(&condition));
    SHOW(pthread_cond_broadcast(&condition));
    SHOW(sem_trywait(&semaphore));
    SHOW(sem_timedwait(&semaphore, &end));
    SHOW(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &later));
    SHOW(sem_post(&semaphore));
    SHOW(sem_wait(&semaphore));
    pthread_t thread = started(keeps_barrier, &barrier);
    CHECK(keeps_barrier(&barrier));
    SHOW(pthread_join(thread, NULL));
    SHOW(pthread_join(pthread_self(), NULL));
    SHOW(pthread_timedjoin_np(pthread_self(), NULL, &end));
    SHOW(pthread_spin_lock(&(pthread_spinlock_t){1}));
}

static int runs(void *data) { return *(int *)data; }

static void of_c11(void) {
    int of_thread = 0;
    thrd_t thread;
    mtx_t mutex;
    SHOW(mtx_init(&mutex, mtx_timed));
    SHOW(mtx_lock(&mutex));
    SHOW(mtx_trylock(&mutex));
    struct timespec end = after_ms(CLOCK_REALTIME, 5);
    SHOW(mtx_timedlock(&mutex, &end));
    SHOW(mtx_unlock(&mutex));
    SHOW(thrd_create(&thread, runs, &(int){42}));
    SHOW(thrd_join(thread, &of_thread));
    printf("%d\n", of_thread);
}

static void handled(int signal) { (void)signal; }

static void *interrupts(void *thread) {
    for (int at = 0; at < 20; at++) {
        nap_us(1000);
        pthread_kill(*(pthread_t *)thread, SIGUSR1);
    }
    sem_post(&semaphore);
    return NULL;
}

/* A semaphore's wait ends with a signal, and says so. */
static void interrupted(void) {
    struct sigaction action = {.sa_handler = handled};
    pthread_t self = pthread_self();
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    pthread_t thread = started(interrupts, &self);
    SHOW(sem_wait(&semaphore));
    while (sem_wait(&semaphore) != 0) {
        CHECK(errno == EINTR);
    }
    joined(thread);
}

static void errno_of_driver(void) {
    mine->begun++;
    SHOW(launch());
    mine->ended++;
    SHOW(copy());
    SHOW(cuCtxSynchronize());
    SHOW(cuMemFree_v2(0));
    SHOW(cuPointerGetAttribute(NULL, 0, 0));
    SHOW(dlsym(RTLD_DEFAULT, "nothing") == NULL);
    SHOW(dlopen("nothing.so", RTLD_NOW) == NULL);
    SHOW(prctl(-1));
    SHOW(syscall(-1));
}

int main(void) {
    normal = mutex_of(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
    checked = mutex_of(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
    recursive = mutex_of(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
    robust = mutex_of(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
    inherited = mutex_of(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
    robust_inherited = mutex_of(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_ROBUST);
    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0 && sem_init(&semaphore, 0, 0) == 0);
    begin();
    calls(10);
    robust_ones();
    robust_one_waited_for();
    checked_ones();
    SHOW(pthread_mutex_lock(&inherited));
    SHOW(pthread_mutex_trylock(&inherited));
    SHOW(pthread_mutex_unlock(&inherited));
    rwlocks();
    others();
    of_c11();
    interrupted();
    errno_of_driver();
    return 0;
}
