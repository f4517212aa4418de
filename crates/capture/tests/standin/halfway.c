/*
 * A library that stops while the loader fills in its slots: a function of it is chosen at that
 * time, by code that says so through one pipe and waits for another. It can call nothing yet.
 */
#define _GNU_SOURCE
#include "halfway.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static long on_file(long call, long file, char *byte) {
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(call), "D"(file), "S"(byte), "d"(1L) : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = call;
    register long x0 __asm__("x0") = file;
    register char *x1 __asm__("x1") = byte;
    register long x2 __asm__("x2") = 1;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
#endif
}

static int one(void) { return 1; }

static int (*choose(void))(void) {
    static int chosen;
    char byte = 0;
    if (!chosen) {
        chosen = 1;
        on_file(SYS_write, HALFWAY_SAYS, &byte);
        on_file(SYS_read, HALFWAY_WAITS, &byte);
    }
    return one;
}

int halfway_number(void) __attribute__((ifunc("choose")));
/* Filled in before the slots for calls. */
int (*halfway_pointer)(void) = halfway_number;

void halfway_hold(sem_t *taken) {
    pthread_mutex_lock(&lock);
    sem_post(taken);
    while (__atomic_load_n(&lock.__data.__lock, __ATOMIC_RELAXED) != 2) {
        sched_yield();
    }
    pthread_mutex_unlock(&lock);
}

void halfway_take(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}
