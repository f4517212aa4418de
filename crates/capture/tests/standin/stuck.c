/*
 * A library that stops the first thread which asks the loader for the driver that is loaded already: in the middle of
 * the start of a recording.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <semaphore.h>
#include <string.h>

static sem_t inside, go_on;
static int stopped;

__attribute__((constructor)) static void begin(void) {
    sem_init(&inside, 0, 0);
    sem_init(&go_on, 0, 0);
}

sem_t *stuck_inside(void) { return &inside; }
sem_t *stuck_go_on(void) { return &go_on; }

void *dlopen(const char *name, int flags) {
    __typeof__(&dlopen) next = (__typeof__(next))dlsym(RTLD_NEXT, "dlopen");
    int asks = name && strcmp(name, "libcuda.so.1") == 0 && (flags & RTLD_NOLOAD);
    if (asks && !__atomic_exchange_n(&stopped, 1, __ATOMIC_RELAXED)) {
        sem_post(&inside);
        while (sem_wait(&go_on) != 0) {
        }
    }
    return next(name, flags);
}
