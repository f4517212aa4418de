/* Wraps the functions of threads and locks, as race detectors and lock profilers do. */
#include "hook.h"

long hook_count(void);
static long count;
long hook_count(void) { return __atomic_load_n(&count, __ATOMIC_RELAXED); }

#define COUNTED(name, parameters, arguments)                                                                     \
    int name parameters {                                                                                        \
        static __typeof__(&name) real;                                                                           \
        if (!real) {                                                                                             \
            real = NEXT(name);                                                                                   \
        }                                                                                                        \
        __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);                                                         \
        return real arguments;                                                                                   \
    }

COUNTED(pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex))
COUNTED(pthread_mutex_unlock, (pthread_mutex_t * mutex), (mutex))
COUNTED(pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex))
COUNTED(pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t *mutex), (condition, mutex))
COUNTED(pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock))
COUNTED(pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock))
COUNTED(pthread_rwlock_unlock, (pthread_rwlock_t * lock), (lock))
COUNTED(pthread_join, (pthread_t thread, void **result), (thread, result))

struct start {
    void *(*run)(void *);
    void *data;
};

static void *runs(void *data) {
    struct start start = *(struct start *)data;
    free(data);
    return start.run(start.data);
}

/* Each thread begins in a function of this library. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *data) {
    struct start *start = malloc(sizeof *start);
    *start = (struct start){run, data};
    __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    return NEXT(pthread_create)(thread, attributes, runs, start);
}
