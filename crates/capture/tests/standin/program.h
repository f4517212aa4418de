/*
 * What the test programs share. A program calls a function of the driver as CU(name)(…): the one
 * it is linked with, or, built with LOOK_UP, the one that it looks up by `dlsym` or, when
 * STANDIN_BIND is "address", by `cuGetProcAddress`.
 */
#ifndef PROGRAM_H
#define PROGRAM_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "standin.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                                                         \
    do {                                                                                                         \
        if (!(condition)) {                                                                                      \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                              \
            exit(99);                                                                                            \
        }                                                                                                        \
    } while (0)

#ifdef LOOK_UP
#define CU_POINTER(name, arguments) __typeof__(&name) name;
static struct { STANDIN_FUNCTIONS(CU_POINTER) } cu;
static void *driver_library;
#define CU(name) cu.name
#define STANDIN(name) ((__typeof__(&name))dlsym(driver_library, #name))

static inline void *look_up(const char *name) {
    const char *how = getenv("STANDIN_BIND");
    void *found = NULL;
    if (how && strcmp(how, "address") == 0 && strcmp(name, "cuGetProcAddress_v2") != 0) {
        char plain[64];
        size_t length = strlen(name) - (strstr(name, "_v2") ? 3 : 0);
        snprintf(plain, sizeof plain, "%.*s", (int)length, name);
        CHECK(cu.cuGetProcAddress_v2(plain, &found, 13000, 0, NULL) == 0);
    } else {
        found = dlsym(driver_library, name);
    }
    CHECK(found);
    return found;
}

static inline void bind_driver(void) {
    driver_library = dlopen("libcuda.so.1", RTLD_NOW);
    CHECK(driver_library);
    cu.cuGetProcAddress_v2 = (__typeof__(&cuGetProcAddress_v2))look_up("cuGetProcAddress_v2");
#define CU_FIND(name, arguments) cu.name = (__typeof__(&name))look_up(#name);
    STANDIN_FUNCTIONS(CU_FIND)
}
#else
#define CU(name) name
#define STANDIN(name) name
static inline void bind_driver(void) {}
#endif

/* What a program can do, by the name that it is asked for. */
struct scenario {
    const char *name;
    void (*run)(void);
};

/* Does what the only word names; the program's exit status. */
#define RUN_SCENARIO(all) run_scenario(all, sizeof(all) / sizeof *(all), count, words)

static inline int run_scenario(const struct scenario *all, size_t number, int count, char **words) {
    for (size_t at = 0; at < number; at++) {
        if (count == 2 && strcmp(words[1], all[at].name) == 0) {
            all[at].run();
            printf("done\n");
            return 0;
        }
    }
    return 98;
}

/* Says something to the test that differs from run to run: a line in the file STANDIN_FACTS. */
static inline void fact(const char *name, unsigned long value) {
    FILE *file = fopen(getenv("STANDIN_FACTS"), "a");
    CHECK(file);
    fprintf(file, "%s %lu\n", name, value);
    fclose(file);
}

static inline unsigned long now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (unsigned long)time.tv_sec * 1000000000ul + (unsigned long)time.tv_nsec;
}

static inline pthread_t started(void *(*run)(void *), void *data) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run, data) == 0);
    return thread;
}

static inline void joined(pthread_t thread) { CHECK(pthread_join(thread, NULL) == 0); }

static inline void wait_for(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0) {
    }
}

/* The smallest launch. */
static inline CUresult launch(void) { return CU(cuLaunchKernel)(NULL, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL); }

/* Eight bytes to the host. */
static inline CUresult copy(void) {
    static __thread long from, to;
    return CU(cuMemcpyDtoHAsync_v2)(&to, (CUdeviceptr)(uintptr_t)&from, sizeof to, NULL);
}

/*
 * Has recording switched on or off, as `holdup record` does: in the file that all processes of a program share
 * (crates/spool/src/shared.rs). Without one, nothing is recorded.
 */
static inline void switch_recording(void) {
    enum { COUNT = 128, TIMES = 136, SIZE = 4096 };
    const char *spool = getenv("HOLDUP_SPOOL");
    char path[4096];
    if (!spool) {
        return;
    }
    snprintf(path, sizeof path, "%s/budget", spool);
    int file = open(path, O_RDWR | O_CREAT, 0600);
    CHECK(file >= 0 && ftruncate(file, SIZE) == 0);
    char *shared = (char *)mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(shared != MAP_FAILED);
    uint32_t *count = (uint32_t *)(shared + COUNT);
    ((int64_t *)(shared + TIMES))[*count] = (int64_t)now_ns();
    __atomic_store_n(count, *count + 1, __ATOMIC_RELEASE);
    CHECK(munmap(shared, SIZE) == 0 && close(file) == 0);
}

#endif
